/// \file
/// New: scales have a layout. Threads lay the scales of 128 rows out in shared memory, one
/// tcgen05.cp.32x128b.warpx4 copies them into four columns of tensor memory, once into each quarter
/// of the lanes, and four warps read back what every lane has got.

#include <cstdio>
#include <utility>
#include <vector>

#include "common/device/exercise.cuh"
#include "solutions/07_block_scaled_gemm/labs/scaled_lab.cuh"

namespace bw {

constexpr uint32_t kRows = kScaleAtomRows;             ///< of A or B, with four scales each
constexpr uint32_t kLines = kScaleRowsPerColumn;       ///< of 16 bytes: what one lane gets
constexpr uint32_t kWordsPerLine = kScaleAtomColumns;  ///< words of 32 bits: one in each column
constexpr uint32_t kScalesPerWord = kScaleAtomBlocks;  ///< of one row
constexpr int kTmemColumns = 32;
using Tmem = TmemAllocation<1, kTmemColumns>;

enum class Order { kOfTheAtom, kRowAfterRow };

struct ScaleAtomArguments {
  const uint32_t* scales;  ///< a word for each row
  uint32_t* words;         ///< [lane][column] of tensor memory
  uint64_t* cycles;        ///< from the first instruction until the words are in registers
};

/// Thread `row` puts its row's word into the atom.
template <Order order>
__device__ void put_scales(uint32_t (&atom)[kLines][kWordsPerLine], uint32_t row, uint32_t word) {
  if constexpr (order == Order::kRowAfterRow) {  // as the words follow each other in global memory
    atom[row / kWordsPerLine][row % kWordsPerLine] = word;
  } else {
    // >>> exercise 7.1 "Lay out an atom"
    // The copy brings line i of the atom to lane i of every quarter, and word j of the line to column j.
    BW_EXERCISE_NOT_DONE("7.1", "Lay out an atom");
    // <<< exercise 7.1
  }
}

template <Order order>
__global__ void scale_atom(const __grid_constant__ ScaleAtomArguments args) {
  __shared__ alignas(128) uint32_t atom[kLines][kWordsPerLine];
  __shared__ SharedMemBarrier copied;
  __shared__ uint32_t tmem_address;
  const int64_t begin = clock64();
  const bool first_warp = threadIdx.x < ptx::kWarpThreads;
  if (first_warp) Tmem::allocate(&tmem_address);
  if (threadIdx.x == 0) {
    copied.init(1);
    ptx::fence_mbarrier_init();
  }
  put_scales<order>(atom, threadIdx.x, args.scales[threadIdx.x]);
  ptx::fence_proxy_async_shared();  // tcgen05.cp reads by the async proxy
  __syncthreads();

  const Tmem tmem = Tmem::from_shared(&tmem_address);
  if (first_warp) {
    if (ptx::elect_one()) {
      ptx::tcgen05_cp_32x128b_warpx4<1>(tmem.addr,
                                        make_scale_atom_descriptor(ptx::shared_address(atom)));
      ptx::tcgen05_commit<1>(copied.address());
    }
    __syncwarp();
  }
  copied.wait(0);
  ptx::tcgen05_fence_after_thread_sync();
  uint32_t words[kScaleAtomColumns];
  TmemAddress{tmem.addr}.load_32x32b(words);
  TmemAddress::wait_load(words);
  const int64_t end = clock64();
#pragma unroll
  for (uint32_t column = 0; column < kScaleAtomColumns; ++column) {
    args.words[threadIdx.x * kScaleAtomColumns + column] = words[column];
  }
  if (threadIdx.x == 0) *args.cycles = end - begin;
  meet_at_tensor_memory();
  if (first_warp) {
    tmem.release_lock();
    tmem.deallocate();
  }
}

/// What the lanes hold if byte i of row r's word is `code(r, i)`; the kernel's cycles.
template <class Code>
std::vector<uint32_t> run_atom(Order order, DeviceBuffer<uint64_t>& cycles, const Code& code) {
  constexpr uint32_t kByteBits = 8;
  std::vector<uint32_t> scales(kRows);
  for (uint32_t row = 0; row < kRows; ++row) {
    for (uint32_t i = 0; i < kScalesPerWord; ++i) scales[row] |= code(row, i) << i * kByteBits;
  }
  const DeviceBuffer<uint32_t> device_scales(scales);
  DeviceBuffer<uint32_t> words(size_t{kLabThreads} * kScaleAtomColumns);
  run_timed(
      order == Order::kOfTheAtom ? scale_atom<Order::kOfTheAtom> : scale_atom<Order::kRowAfterRow>,
      {1, kLabThreads, 0}, ScaleAtomArguments{device_scales.data(), words.data(), cycles.data()});
  return words.download();
}

/// Prints what some lanes hold; how many bytes are those that the MMA expects there: in lane l and
/// column c the four scales of row 32 c + l % 32 (PTX ISA, "Scale Factor A Layout").
Comparison show(Order order, DeviceBuffer<uint64_t>& cycles) {
  constexpr uint32_t kByteBits = 8, kByteMask = 0xff;
  const auto rows = run_atom(order, cycles, [](uint32_t row, uint32_t) { return row; });
  const auto places = run_atom(order, cycles, [](uint32_t, uint32_t i) { return i; });
  const auto byte_of = [&](const std::vector<uint32_t>& words, int64_t i) {
    return words[i / kScalesPerWord] >> i % kScalesPerWord * kByteBits & kByteMask;
  };
  std::printf("order    %s\n           column 0  column 1  column 2  column 3\n",
              order == Order::kOfTheAtom ? "32 rows to a column" : "row after row");
  for (const uint32_t lane : {0u, 1u, 2u, 31u, 32u, 33u, 127u}) {
    std::printf("lane %3u ", lane);
    for (uint32_t column = 0; column < kScaleAtomColumns; ++column) {
      std::printf("   row %3u",
                  byte_of(rows, (lane * kScaleAtomColumns + column) * kScalesPerWord));
    }
    std::printf("\n");
  }
  return compare_elements(
      kLabThreads, kScaleAtomColumns * kScalesPerWord,
      [&](int64_t i) { return byte_of(rows, i) * kScalesPerWord + byte_of(places, i); },
      [](int64_t i) {
        const int64_t lane = i / kScaleAtomColumns / kScalesPerWord;
        const int64_t column = i / kScalesPerWord % kScaleAtomColumns;
        return (column * kLines + lane % kLines) * kScalesPerWord + i % kScalesPerWord;
      },
      [](int64_t) { return 0.0; });
}

ExitStatus run_scale_atom() {
  require_blackwell();
  print_machine();
  DeviceBuffer<uint64_t> cycles(1);
  const Comparison wrong = show(Order::kRowAfterRow, cycles);
  std::printf("wrong    %lld of %lld bytes belong to other rows\n",
              static_cast<long long>(wrong.bad_elements), static_cast<long long>(wrong.elements));
  const Comparison right = show(Order::kOfTheAtom, cycles);
  print_own_cycles(cycles);
  return print_verdict(right, "tensor memory (each byte 4 x row + block)");
}

}  // namespace bw

int main(int argc, char** argv) {
  const bw::CommandLine command_line("The scales of 128 rows to tensor memory and back.");
  return bw::run_main(command_line, "lab_07_scale_atom", argc, argv,
                      [] { return bw::run_scale_atom(); });
}
