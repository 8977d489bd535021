/// \file
/// New: several products in a row, and two accumulators for them. Where all warps multiplied, read
/// and met in turn, one warp fills the accumulators and four empty them, with a ring of two stages
/// between.

#include "solutions/01_mbarrier_pipeline/producer_consumer_pipeline.cuh"
#include "solutions/02_tmem_lifecycle/labs/mma_lab.cuh"

namespace bw {

constexpr uint32_t kAccumulators = 2;
constexpr uint32_t kProducts = 64;  ///< each of a quarter of K: every quarter comes 16 times
constexpr uint32_t kQuarters = kLabK / kMmaBytes;
constexpr uint32_t kAllThreads = kLabThreads + ptx::kWarpThreads;
using Tmem = TmemAllocation<1, kAccumulators * kLabColumns>;
using Ring = ProducerConsumerPipeline<kAccumulators>;

struct Storage {
  OperandTile<kLabRows> a;
  OperandTile<kLabColumns> b;
  SharedMemBarrier ring[Ring::kNumBarriers], loaded;
  uint32_t tmem_address;
};

/// True in the warp that multiplies; the other four read, one thread a row of D.
__device__ __forceinline__ bool is_mma_warp() { return threadIdx.x >= kLabThreads; }

/// All lanes of the MMA warp: one MMA of quarter `product` % 4 of K into the accumulator at `d`,
/// and its commit to `done`.
__device__ __forceinline__ void multiply_quarter(TmemAddress d, const Storage& shared,
                                                 uint32_t product, SharedMemBarrier* done) {
  constexpr uint32_t kInstruction = make_e4m3_instruction_descriptor<kLabRows, kLabColumns, 1>();
  const uint32_t byte = product % kQuarters * kMmaBytes;
  const auto descriptor = [byte](const uint8_t* operand) {
    return advance_descriptor(make_k_major_descriptor(ptx::shared_address(operand), Swizzle::k128B),
                              byte);
  };
  if (ptx::elect_one()) {
    ptx::tcgen05_mma_f8f6f4<1>(d.addr, descriptor(shared.a.bytes), descriptor(shared.b.bytes),
                               kInstruction, /*accumulate=*/false);
    ptx::tcgen05_commit<1>(done->address());
  }
  __syncwarp();
}

/// A thread of warps 0 to 3: adds its row of the accumulator at `d` to `sum`.
__device__ __forceinline__ void add_accumulator(TmemAddress d, float (&sum)[kLabColumns]) {
  float row[kLabColumns];
  d.load_32x32b(row);
  TmemAddress::wait_load(row);
#pragma unroll
  for (uint32_t column = 0; column < kLabColumns; ++column) sum[column] += row[column];
}

/// All warps: each reading thread's row of the sum of all products.
__device__ void sum_products(Ring ring, TmemAddress d, Storage& shared, float (&sum)[kLabColumns]) {
  // >>> exercise 2.10 "Two accumulators from one loop"
  // Right, but the tensor core waits while the threads read. `ring` is a ring of two.
  SharedMemBarrier* full = ring.producer_mbar(0);
  for (uint32_t t = 0; t < kProducts; ++t) {
    if (is_mma_warp()) multiply_quarter(d, shared, t, full);
    full->wait(t & 1);
    ptx::tcgen05_fence_after_thread_sync();
    if (!is_mma_warp()) add_accumulator(d, sum);
    meet_at_tensor_memory();  // the accumulator is empty
  }
  // <<< exercise 2.10
}

__global__ void two_accumulators(const __grid_constant__ MmaLabArguments args) {
  __shared__ Storage shared;
  Ring ring(shared.ring);
  if (threadIdx.x == 0) {
    ring.init_barriers(1, kLabThreads);  // a commit; every reading thread
    shared.loaded.init(1);
    ptx::fence_mbarrier_init();
    shared.loaded.arrive_and_expect_bytes(sizeof shared.a + sizeof shared.b);
    ptx::tma_load_2d(ptx::shared_address(&shared.a), &args.a_map, shared.loaded.address(), 0, 0);
    ptx::tma_load_2d(ptx::shared_address(&shared.b), &args.b_map, shared.loaded.address(), 0, 0);
  }
  if (is_mma_warp()) Tmem::allocate(&shared.tmem_address);
  meet_at_tensor_memory();
  shared.loaded.wait(0);

  const Tmem tmem = Tmem::from_shared(&shared.tmem_address);
  const int64_t begin = clock64();
  float sum[kLabColumns] = {};
  sum_products(ring, TmemAddress{tmem.addr}, shared, sum);
  if (!is_mma_warp()) {
    constexpr float kPartOfASum = 1.0f * kQuarters / kProducts;
    if (threadIdx.x == 0) args.cycles[0] = clock64() - begin;
#pragma unroll
    for (uint32_t column = 0; column < kLabColumns; ++column) {
      args.d[threadIdx.x * kLabColumns + column] = kPartOfASum * sum[column];
    }
  }
  meet_at_tensor_memory();
  if (is_mma_warp()) {
    tmem.release_lock();
    tmem.deallocate();
  }
}

}  // namespace bw

int main(int argc, char** argv) {
  const bw::CommandLine command_line("Products in a row, through two accumulators.");
  return bw::run_main(command_line, "lab_02_from_one_loop", argc, argv, [] {
    return bw::run_mma_lab({.kernel = bw::two_accumulators, .threads = bw::kAllThreads});
  });
}
