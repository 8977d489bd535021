#pragma once
/// \file
/// One life of tensor memory: D = C + A · Bᵀ by a single tcgen05.mma.
///
///     MMA warp        allocate ─▶ publish address         ─▶ mma, commit         ─▶ wait, free
///     epilogue warps  A, B to shared memory ─▶ C to TMEM ─▶         wait ─▶ read D ─▶ hand back

#include <cstddef>
#include <cstdint>

#include "common/device/cluster.cuh"
#include "common/device/elect.cuh"
#include "common/device/fence.cuh"
#include "common/device/instruction_descriptor.cuh"
#include "common/device/shared_descriptor.cuh"
#include "common/device/shared_mem_barrier.cuh"
#include "common/device/tcgen05_commit.cuh"
#include "common/device/tcgen05_fence.cuh"
#include "common/device/tcgen05_mma.cuh"
#include "solutions/02_tmem_lifecycle/tmem_allocation.cuh"
#include "solutions/02_tmem_lifecycle/tmem_dealloc_barrier.cuh"
#include "solutions/02_tmem_lifecycle/tmem_fragment.cuh"
#include "solutions/02_tmem_lifecycle/warp_group_barrier.cuh"

namespace bw {

/// What the MMA was told, for the program to explain.
struct MmaDescriptors {
  uint64_t a;            ///< shared-memory descriptor of A
  uint64_t b;            ///< shared-memory descriptor of B
  uint32_t instruction;  ///< the instruction descriptor
};

/// Kernel arguments: row-major, dense matrices; A, B, C and D are 16-byte aligned.
struct TmemLifecycleArguments {
  const uint8_t* a;             ///< e4m3 [M, 32]
  const uint8_t* b;             ///< e4m3 [N, 32]
  const float* c;               ///< [M, N]
  float* d;                     ///< [kNumTmemShapes, M, N]: D as each shape reads it
  MmaDescriptors* descriptors;  ///< written by the leader
};

/// Sizes, roles and shared memory. A CTA has 128 rows; with cta_group 2, a pair of CTAs computes
/// 256 rows together, each holding its rows of A, half of B's rows, and its rows of D.
template <int CtaGroup, int n>
struct TmemLifecycleConfig {
  static constexpr int kCtaGroup = CtaGroup;         ///< CTAs that share an MMA: 1, or 2 for a pair
  static constexpr int kRowsPerCta = 128;            ///< rows of A and D in a CTA
  static constexpr int kM = kRowsPerCta * CtaGroup;  ///< rows of the MMA
  static constexpr int kN = n;                       ///< columns of the MMA
  static constexpr int kBRowsPerCta = n / CtaGroup;  ///< rows of B in a CTA
  static constexpr int kRowBytes = 32;               ///< K of one MMA: 32 e4m3
  /// Rows of 32 bytes in the 32B swizzle: eight of them are what the pattern repeats after.
  static constexpr Swizzle kSwizzle = Swizzle::k32B;

  static constexpr uint32_t kEpilogueThreads = 128;  ///< threads of all epilogue warps
  /// Number of the MMA warp.
  static constexpr uint32_t kMmaWarp = kEpilogueThreads / ptx::kWarpThreads;
  static constexpr uint32_t kThreads = kEpilogueThreads + ptx::kWarpThreads;  ///< threads of a CTA

  /// The allocation.
  using Tmem = TmemAllocation<CtaGroup, n>;  // one fp32 column of D per column of TMEM
  /// The barrier after which the address of tensor memory may be read.
  using TmemReady = WarpGroupBarrier<kThreads, 1>;
  /// The barrier that ends the life of tensor memory.
  using Dealloc = TmemDeallocBarrier<CtaGroup>;

  /// Contents of the CTA's shared memory; barriers come first (kBarrierRegionBytes).
  struct SharedStorage {
    SharedMemBarrier inputs_ready;  ///< the leader's: every epilogue thread of the pair
    SharedMemBarrier multiplied;    ///< one commit
    SharedMemBarrier dealloc;       ///< counts the readers that are done
    uint32_t tmem_address;          ///< written by the allocation, read by the other roles
    /// Operand A.
    alignas(swizzle_repeat_bytes(kSwizzle)) uint8_t a[kRowsPerCta * kRowBytes];
    /// Operand B.
    alignas(swizzle_repeat_bytes(kSwizzle)) uint8_t b[kBRowsPerCta * kRowBytes];
  };
  static_assert(offsetof(SharedStorage, tmem_address) < kBarrierRegionBytes,
                "barriers are in the first 8 KiB of shared memory");
};

/// The roles of one CTA.
template <class Config>
struct TmemLifecycleRoles {
  const TmemLifecycleArguments& args;      ///< the kernel's arguments
  typename Config::SharedStorage& shared;  ///< the CTA's shared memory
  uint32_t rank;                           ///< of the CTA in its pair; the leader's is 0

  /// One thread of each CTA.
  __device__ __forceinline__ void init_barriers() const {
    shared.inputs_ready.init(Config::kEpilogueThreads * Config::kCtaGroup);
    shared.multiplied.init(1);
    typename Config::Dealloc{&shared.dealloc}.init_barrier();
    ptx::fence_mbarrier_init();
  }

  /// MMA warp: owns the tensor memory. In a pair, both allocate and free, the leader multiplies.
  __device__ __forceinline__ void multiply() const {
    const auto tmem = Config::Tmem::allocate(&shared.tmem_address);
    Config::TmemReady::arrive();
    if (rank == 0) {
      shared.inputs_ready.template wait_for_pair<Config::kCtaGroup>(0);
      ptx::tcgen05_fence_after_thread_sync();  // C was written to TMEM by other threads
      if (ptx::elect_one()) issue_mma(tmem.addr);
      __syncwarp();
    }
    typename Config::Dealloc{&shared.dealloc}.complete_dealloc(tmem);
  }

  /// One lane: the MMA, and the commit that tells both CTAs when it is complete.
  __device__ __forceinline__ void issue_mma(uint32_t d_tmem) const {
    constexpr uint32_t kInstruction =
        make_e4m3_instruction_descriptor<Config::kM, Config::kN, Config::kCtaGroup>();
    const uint64_t a = make_k_major_descriptor(ptx::shared_address(shared.a), Config::kSwizzle);
    const uint64_t b = make_k_major_descriptor(ptx::shared_address(shared.b), Config::kSwizzle);
    ptx::tcgen05_mma_f8f6f4<Config::kCtaGroup>(d_tmem, a, b, kInstruction, /*accumulate=*/true);
    constexpr uint16_t kAllCtas = (1u << Config::kCtaGroup) - 1;
    ptx::tcgen05_commit_multicast<Config::kCtaGroup>(shared.multiplied.address(), kAllCtas);
    *args.descriptors = MmaDescriptors{a, b, kInstruction};
  }

  /// Epilogue warps: bring the inputs, then take the result.
  __device__ __forceinline__ void write_and_read() const {
    put_operand(args.a + rank * sizeof(shared.a), shared.a, Config::kRowsPerCta);
    put_operand(args.b + rank * sizeof(shared.b), shared.b, Config::kBRowsPerCta);
    ptx::fence_proxy_async_shared();  // the tensor core reads shared memory by the async proxy

    Config::TmemReady::sync();  // before it, the address word is garbage
    const TmemAddress d{Config::Tmem::from_shared(&shared.tmem_address).addr};
    put_accumulator(d);
    ptx::tcgen05_fence_before_thread_sync();
    shared.inputs_ready.template arrive_on_leader<Config::kCtaGroup>();

    shared.multiplied.template wait_for_pair<Config::kCtaGroup>(0);
    ptx::tcgen05_fence_after_thread_sync();
    read_back<TmemShape::k32x32b>(d);
    read_back<TmemShape::k16x64b>(d);
    read_back<TmemShape::k16x128b>(d);
    read_back<TmemShape::k16x256b>(d);
    typename Config::Dealloc{&shared.dealloc}.signal_complete();
  }

  /// Thread t copies rows t, t + 128, …, swizzled as the descriptor will say.
  __device__ __forceinline__ void put_operand(const uint8_t* rows, uint8_t* tile,
                                              uint32_t num_rows) const {
    for (uint32_t row = threadIdx.x; row < num_rows; row += Config::kEpilogueThreads) {
#pragma unroll
      for (uint32_t byte = 0; byte < Config::kRowBytes; byte += sizeof(uint4)) {
        const uint32_t offset = row * Config::kRowBytes + byte;
        *reinterpret_cast<uint4*>(tile + offset) = *reinterpret_cast<const uint4*>(rows + offset);
      }
    }
  }

  static constexpr int kChunkColumns = 16;  ///< of one copy between registers and TMEM

  /// Thread t writes row t of C to lane t, in place of what D = A · Bᵀ is added to.
  __device__ __forceinline__ void put_accumulator(TmemAddress d) const {
    const float* c = args.c + (rank * Config::kRowsPerCta + threadIdx.x) * Config::kN;
#pragma unroll 1
    for (int column = 0; column < Config::kN; column += kChunkColumns) {
      float values[kChunkColumns];
#pragma unroll
      for (int i = 0; i < kChunkColumns; ++i) values[i] = c[column + i];
      (d + column).store_32x32b(values);
    }
    TmemAddress::wait_store();
  }

  /// Reads this CTA's rows of D by one shape, to that shape's matrix in global memory.
  template <TmemShape shape>
  __device__ __forceinline__ void read_back(TmemAddress d) const {
    constexpr int kRegisters = tmem_fragment_registers<shape>(kChunkColumns);
    constexpr int kLanes = kTmemShapeLanes<shape>;
    const uint32_t warp_row = threadIdx.x / ptx::kWarpThreads * ptx::kWarpThreads;
    float* out =
        args.d +
        (static_cast<int>(shape) * Config::kM + rank * Config::kRowsPerCta + warp_row) * Config::kN;
#pragma unroll 1
    for (int column = 0; column < Config::kN; column += kChunkColumns) {
#pragma unroll
      for (uint32_t half = 0; half < ptx::kWarpThreads / kLanes; ++half) {
        float values[kRegisters];
        load_tmem_fragment<shape>((half == 0 ? d.upper() : d.lower()) + column, values);
        TmemAddress::wait_load(values);
#pragma unroll
        for (int r = 0; r < kRegisters; ++r) {
          const TmemElement e = tmem_element<shape>(threadIdx.x % ptx::kWarpThreads, r);
          out[(half * kLanes + e.lane) * Config::kN + column + e.column] = values[r];
        }
      }
    }
  }
};

/// Entry: one cluster of CtaGroup CTAs of Config::kThreads threads.
template <int CtaGroup, int n>
__global__ __cluster_dims__(CtaGroup, 1, 1)
    __launch_bounds__(TmemLifecycleConfig<CtaGroup, n>::kThreads) void tmem_lifecycle_kernel(
        const TmemLifecycleArguments args) {
  using Config = TmemLifecycleConfig<CtaGroup, n>;
  __shared__ typename Config::SharedStorage shared;
  const TmemLifecycleRoles<Config> roles{args, shared, ptx::cluster_cta_rank()};
  if (threadIdx.x == 0) roles.init_barriers();
  __syncwarp();           // the cluster's barrier is .aligned
  ptx::cluster_arrive();  // the other CTA must not arrive before the barriers are there
  ptx::cluster_wait();

  if (threadIdx.x / ptx::kWarpThreads == Config::kMmaWarp) {
    roles.multiply();
  } else {
    roles.write_and_read();
  }
}

}  // namespace bw
