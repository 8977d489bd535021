/// \file
/// Lab: the promotion's arithmetic alone, one column or two in an instruction. One CTA of eight
/// warps; each thread adds products, which tensor memory holds, to its sums, K block after K block,
/// as the two groups of the kernel's epilogue do, and between the additions it executes some
/// instructions of another kind.
///
/// New compared with whole_gemm: nothing is multiplied, so the epilogue alone is the limit.

#include <cstdint>
#include <cstdio>
#include <vector>

#include "common/device/tcgen05_fence.cuh"
#include "common/host/comparison.hpp"
#include "common/host/device_buffer.hpp"
#include "common/host/program.hpp"
#include "common/host/timed_launch.hpp"
#include "solutions/02_tmem_lifecycle/tmem_address.cuh"
#include "solutions/02_tmem_lifecycle/tmem_allocation.cuh"
#include "solutions/05_blockwise_fp8_gemm/packed_sums.cuh"

namespace bw {

constexpr int kRows = 128;                    ///< of the product: lanes of tensor memory
constexpr int kColumns = 256;                 ///< of the product
constexpr int kThreadColumns = kColumns / 2;  ///< two threads share a row
constexpr int kChunk = 16;                    ///< columns of one load
constexpr uint32_t kThreads = 2 * kRows;
using Tmem = TmemAllocation<1, kColumns>;

/// The same sums, a column at a time.
struct ScalarSums {
  template <int columns>
  static __device__ __forceinline__ void add(float* sums, const float* products, float scale) {
#pragma unroll
    for (int i = 0; i < columns; ++i) sums[i] = fmaf(products[i], scale, sums[i]);
  }
};

struct SumArguments {
  float* sums;       ///< [kColumns, kRows]: neighbouring lanes write neighbouring words
  uint32_t* others;  ///< what the other instructions gave, one a thread
  uint64_t* cycles;  ///< of all K blocks
  int64_t k_blocks;
  uint32_t mask;  ///< an operand that the compiler does not know
};

/// The product's element, and the scale of a K block: powers of two, so that every sum is exact.
__host__ __device__ constexpr float product_of(int row, int column) {
  return static_cast<float>(row + 2 * column);
}
__host__ __device__ constexpr float scale_of(int64_t k_block) {
  return k_block % 2 == 0 ? 1.0f : 0.5f;
}

/// `others`: instructions of another kind for every two columns.
template <class Sums, int others>
__global__ __launch_bounds__(kThreads, 1) void sums_kernel(const SumArguments args) {
  __shared__ uint32_t tmem_address;
  const bool first_warp = threadIdx.x < ptx::kWarpThreads;
  if (first_warp) Tmem::allocate(&tmem_address);
  __syncthreads();
  const Tmem tmem = Tmem::from_shared(&tmem_address);
  const int row = static_cast<int>(threadIdx.x) % kRows;
  const int first = static_cast<int>(threadIdx.x) / kRows * kThreadColumns;
  const TmemAddress product = TmemAddress{tmem.addr} + first;
  float sums[kThreadColumns];
#pragma unroll
  for (int i = 0; i < kThreadColumns; ++i) sums[i] = product_of(row, first + i);
  product.store_32x32b(sums);
  TmemAddress::wait_store();
#pragma unroll
  for (float& sum : sums) sum = 0;
  constexpr int kOthers = 8;  // independent values: no instruction waits for the one before it
  uint32_t other[kOthers];
#pragma unroll
  for (int i = 0; i < kOthers; ++i) other[i] = threadIdx.x + i;

  const int64_t begin = clock64();
  for (int64_t k_block = 0; k_block < args.k_blocks; ++k_block) {
    float scale = scale_of(k_block);
#pragma unroll
    for (int chunk = 0; chunk < kThreadColumns; chunk += kChunk) {
      float fragment[kChunk];
      (product + chunk).load_32x32b(fragment);
      TmemAddress::wait_load_before_uses_of(scale);
      Sums::template add<kChunk>(sums + chunk, fragment, scale);
#pragma unroll
      for (int i = 0; i < others * kChunk / 2; ++i) {
        other[i % kOthers] = (other[i % kOthers] & args.mask) ^ other[(i + 1) % kOthers];
      }
    }
  }
  if (threadIdx.x == 0) *args.cycles = clock64() - begin;
#pragma unroll
  for (int i = 0; i < kThreadColumns; ++i) args.sums[(first + i) * kRows + row] = sums[i];
  for (int i = 1; i < kOthers; ++i) other[0] ^= other[i];
  args.others[threadIdx.x] = other[0];
  ptx::tcgen05_fence_before_thread_sync();
  __syncthreads();
  ptx::tcgen05_fence_after_thread_sync();
  if (first_warp) {
    tmem.release_lock();
    tmem.deallocate();
  }
}

template <class Sums, int others>
ExitStatus run_sums(int64_t k_blocks) {
  DeviceBuffer<float> sums(kRows * kColumns);
  DeviceBuffer<uint32_t> other(kThreads);
  DeviceBuffer<uint64_t> cycles(1);
  constexpr int kPoisonByte = 0xff;  // every float a NaN
  sums.fill_bytes(kPoisonByte);
  run_timed(sums_kernel<Sums, others>, {.ctas = 1, .threads = kThreads, .shared_bytes = 0},
            SumArguments{sums.data(), other.data(), cycles.data(), k_blocks, 0x7fffffffu});
  const std::vector<float> got = sums.download();
  std::printf("cycles   %llu\n", static_cast<unsigned long long>(cycles.download().front()));
  double scales = 0;
  for (int64_t k_block = 0; k_block < k_blocks; ++k_block) scales += scale_of(k_block);
  return report(compare_elements(
                    kColumns, kRows, [&](int64_t i) { return got[i]; },
                    [&](int64_t i) {
                      return scales *
                             product_of(static_cast<int>(i % kRows), static_cast<int>(i / kRows));
                    },
                    [](int64_t) { return 0.0; }),
                "the sums");
}

template <class Sums>
ExitStatus run_with_others(int others, int64_t k_blocks) {
  return others == 0   ? run_sums<Sums, 0>(k_blocks)
         : others == 1 ? run_sums<Sums, 1>(k_blocks)
                       : run_sums<Sums, 2>(k_blocks);
}

}  // namespace bw

int main(int argc, char** argv) {
  int arithmetic = 0, others = 0;
  int64_t k_blocks = 64;
  bw::CommandLine command_line("The promotion's additions alone, from tensor memory.");
  command_line.add("arithmetic", arithmetic, {"scalar", "packed"},
                   "one column in an instruction, or two");
  command_line.add("others", others, {"0", "1", "2"},
                   "instructions of another kind for every two columns");
  command_line.add("k-blocks", k_blocks, "times that the product is added");
  return bw::run_main(command_line, "lab_05_packed_sums", argc, argv, [&] {
    constexpr int64_t kMost = 1024;  // the sums stay exact
    bw::require(k_blocks >= 1 && k_blocks <= kMost, "--k-blocks ", k_blocks, ": give 1 to ", kMost,
                ".");
    bw::require_blackwell();
    bw::print_machine();
    return arithmetic == 0 ? bw::run_with_others<bw::ScalarSums>(others, k_blocks)
                           : bw::run_with_others<bw::PackedSums>(others, k_blocks);
  });
}
