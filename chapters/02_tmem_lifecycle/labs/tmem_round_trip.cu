/// \file
/// Tensor memory without a tensor core: allocate columns, store a matrix, load it back, give the
/// columns back. Four warps, each in its own quarter of the lanes.

#include <cstdint>
#include <cstdio>
#include <vector>

#include "common/device/exercise.cuh"
#include "common/device/tcgen05_fence.cuh"
#include "common/host/comparison.hpp"
#include "common/host/device_buffer.hpp"
#include "common/host/program.hpp"
#include "common/host/timed_launch.hpp"
#include "solutions/02_tmem_lifecycle/tmem_address.cuh"
#include "solutions/02_tmem_lifecycle/tmem_allocation.cuh"

namespace bw {

constexpr int kLanes = 128;
constexpr int kColumns = 64;
using Tmem = TmemAllocation<1, kColumns>;

struct RoundTripArguments {
  const float* in;        ///< [kLanes, kColumns]
  float* out;             ///< the same
  uint64_t* cycles;       ///< of the whole trip
  uint64_t* read_cycles;  ///< of its way back
  int64_t reads;          ///< times that the way back is gone: many are most of the kernel's time
};

/// The way back: this thread's lane of tensor memory, `columns` columns from `tile` on.
template <int columns>
__device__ __forceinline__ void read_row(TmemAddress tile, float (&row)[columns]) {
  // >>> exercise 2.3 "One wait for all"
  // Right, but it waits for every four columns before it asks for the next ones.
  #pragma unroll
  for (int column = 0; column < columns; column += 4) {
    float part[4];
    (tile + column).load_32x32b(part);
    TmemAddress::wait_load(part);
    for (int i = 0; i < 4; ++i) row[column + i] = part[i];
  }
  // <<< exercise 2.3
}

/// One CTA of `groups` times kLanes threads. Thread t moves row t % kLanes; each group of four
/// warps has its share of the columns.
template <int groups>
__global__ void round_trip(const RoundTripArguments args) {
  constexpr int kOwnColumns = kColumns / groups;
  __shared__ uint32_t tmem_address;
  const int64_t begin = clock64();
  const bool first_warp = threadIdx.x < ptx::kWarpThreads;
  if (first_warp) Tmem::allocate(&tmem_address);
  __syncthreads();  // the address is in shared memory
  const Tmem tmem = Tmem::from_shared(&tmem_address);

  const uint32_t first_column = threadIdx.x / kLanes * kOwnColumns;
  const uint32_t offset = threadIdx.x % kLanes * kColumns + first_column;
  const TmemAddress tile = TmemAddress{tmem.addr} + first_column;
  float row[kOwnColumns];
#pragma unroll
  for (int i = 0; i < kOwnColumns; ++i) row[i] = args.in[offset + i];
  tile.store_32x32b(row);
  TmemAddress::wait_store();  // before it the columns may still hold what was there

  const int64_t begin_of_read = clock64();
  for (int64_t read = 0; read < args.reads; ++read) {
    // What is not read again has no value. (The compiler leaves this out before a read of all.)
#pragma unroll
    for (float& value : row) value = nanf("");
    read_row(tile, row);
  }
  const int64_t end_of_read = clock64();
#pragma unroll
  for (int i = 0; i < kOwnColumns; ++i) args.out[offset + i] = row[i];
  if (threadIdx.x == 0) {
    *args.read_cycles = end_of_read - begin_of_read;
    *args.cycles = clock64() - begin;
  }

  ptx::tcgen05_fence_before_thread_sync();
  __syncthreads();  // every warp has read its last column
  ptx::tcgen05_fence_after_thread_sync();
  if (first_warp) {
    tmem.release_lock();
    tmem.deallocate();
  }
}

template <int groups>
ExitStatus run_round_trip(int64_t reads) {
  require_blackwell();
  require(reads > 0, "reads is ", reads, ", it has to be at least 1.");
  print_machine();
  std::vector<float> matrix(kLanes * kColumns);
  for (size_t i = 0; i < matrix.size(); ++i) matrix[i] = static_cast<float>(i);
  const DeviceBuffer<float> in(matrix);
  DeviceBuffer<float> out(matrix.size());
  DeviceBuffer<uint64_t> cycles(1), read_cycles(1);
  constexpr int kPoisonByte = 0xff;  // every float a NaN
  out.fill_bytes(kPoisonByte);
  run_timed(round_trip<groups>, {.ctas = 1, .threads = groups * kLanes, .shared_bytes = 0},
            RoundTripArguments{in.data(), out.data(), cycles.data(), read_cycles.data(), reads});
  const std::vector<float> got = out.download();
  std::printf("read     %.0f cycles, the mean of %lld\ncycles   %llu\n",
              static_cast<double>(read_cycles.download().front()) / static_cast<double>(reads),
              static_cast<long long>(reads),
              static_cast<unsigned long long>(cycles.download().front()));
  return report(compare_elements(
                    kLanes, kColumns, [&](int64_t i) { return got[i]; },
                    [&](int64_t i) { return matrix[i]; }, [](int64_t) { return 0.0; }),
                "the matrix");
}

}  // namespace bw

int main(int argc, char** argv) {
  int groups = 0;
  int64_t reads = 1;
  bw::CommandLine command_line("A matrix to tensor memory and back.");
  command_line.add("groups", groups, {"1", "2"}, "groups of four warps that share the columns");
  command_line.add("reads", reads, "times that the matrix is read from tensor memory");
  return bw::run_main(command_line, "lab_02_tmem_round_trip", argc, argv, [&] {
    return groups == 0 ? bw::run_round_trip<1>(reads) : bw::run_round_trip<2>(reads);
  });
}
