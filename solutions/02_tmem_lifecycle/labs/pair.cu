/// \file
/// New: two CTAs, one MMA. M is 256: each CTA of the pair holds 128 rows of A, half of B's rows,
/// and its 128 rows of D. The leader's lane multiplies for both.

#include "common/device/cluster.cuh"
#include "solutions/02_tmem_lifecycle/labs/mma_lab.cuh"
#include "solutions/02_tmem_lifecycle/labs/swizzled_operand.cuh"

namespace bw {

constexpr int kPair = 2;
constexpr uint32_t kBRowsPerCta = kLabColumns / kPair;
constexpr uint32_t kMmaWarp = kLabThreads / ptx::kWarpThreads;
constexpr uint32_t kAllThreads = kLabThreads + ptx::kWarpThreads;
using Tmem = TmemAllocation<kPair, kLabColumns>;
using TmemReady = WarpGroupBarrier<kAllThreads, 1>;
using Dealloc = TmemDeallocBarrier<kPair>;

struct Storage {
  OperandTile<kLabRows> a;
  OperandTile<kBRowsPerCta> b;
  SharedMemBarrier loaded;  ///< the leader's: the bytes of both CTAs
  SharedMemBarrier done, dealloc;
  uint32_t tmem_address;
};

/// One lane of each CTA: its own halves, whose bytes count on the leader's barrier.
__device__ void load_halves(const MmaLabArguments& args, Storage& shared, uint32_t rank) {
  constexpr uint32_t kBytesPerCta = sizeof(Storage::a) + sizeof(Storage::b);
  if (rank == 0) shared.loaded.arrive_and_expect_bytes(kPair * kBytesPerCta);
  const uint32_t loaded = ptx::leader_address(shared.loaded.address());
  ptx::tma_load_2d_pair(ptx::shared_address(&shared.a), &args.a_map, loaded, 0, rank * kLabRows);
  ptx::tma_load_2d_pair(ptx::shared_address(&shared.b), &args.b_map, loaded, 0,
                        rank * kBRowsPerCta);
}

/// The fifth warp of each CTA.
__device__ void load_and_multiply(const MmaLabArguments& args, Storage& shared, uint32_t rank) {
  constexpr uint16_t kBothCtas = 0b11;
  const Tmem tmem = Tmem::allocate(&shared.tmem_address);
  TmemReady::arrive();
  if (ptx::elect_one()) {
    load_halves(args, shared, rank);
    if (rank == 0) {
      shared.loaded.wait_cluster(0);
      multiply_swizzled<kPair>(tmem.addr, shared.a.bytes, shared.b.bytes);
      ptx::tcgen05_commit_multicast<kPair>(shared.done.address(), kBothCtas);
    }
  }
  __syncwarp();
  Dealloc{&shared.dealloc}.complete_dealloc(tmem);
}

/// Warps 0 to 3 of each CTA: its own 128 rows.
__device__ void read_d(const MmaLabArguments& args, Storage& shared, int64_t begin) {
  TmemReady::sync();
  const TmemAddress d{Tmem::from_shared(&shared.tmem_address).addr};
  shared.done.wait_cluster(0);
  ptx::tcgen05_fence_after_thread_sync();
  write_d(args, d, begin);
  Dealloc{&shared.dealloc}.signal_complete();
}

__global__ __cluster_dims__(kPair, 1, 1) void pair(const __grid_constant__ MmaLabArguments args) {
  __shared__ Storage shared;
  const int64_t begin = clock64();
  const uint32_t rank = ptx::cluster_cta_rank();
  if (threadIdx.x == 0) {
    shared.loaded.init(1);
    shared.done.init(1);
    Dealloc{&shared.dealloc}.init_barrier();
    ptx::fence_mbarrier_init();
  }
  __syncwarp();           // the cluster's barrier is .aligned
  ptx::cluster_arrive();  // no CTA signals the other's barrier before it is initialised
  ptx::cluster_wait();
  if (threadIdx.x / ptx::kWarpThreads == kMmaWarp) return load_and_multiply(args, shared, rank);
  read_d(args, shared, begin);
}

}  // namespace bw

int main(int argc, char** argv) {
  const bw::CommandLine command_line("A pair of CTAs computes one MMA of 256 rows.");
  return bw::run_main(command_line, "lab_02_pair", argc, argv, [] {
    return bw::run_mma_lab({.kernel = bw::pair, .ctas = bw::kPair, .threads = bw::kAllThreads});
  });
}
