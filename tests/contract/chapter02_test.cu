/// \file
/// Contract, chapter 2: the life of tensor memory.
#include "solutions/02_tmem_lifecycle/tmem_address.cuh"
#include "solutions/02_tmem_lifecycle/tmem_allocation.cuh"
#include "solutions/02_tmem_lifecycle/tmem_dealloc_barrier.cuh"
#include "solutions/02_tmem_lifecycle/tmem_stage.cuh"
#include "solutions/02_tmem_lifecycle/warp_group_barrier.cuh"
#include "tests/contract/observation.cuh"
#include "tests/device_cases.hpp"

namespace bw::test::chapter02_lifecycle {
namespace {

constexpr unsigned kThreads = kContextThreads<128>;
constexpr int kColumns = 64;

// ---- TmemAllocation

struct AllocationSeen {
  uint32_t slot;         ///< the shared word after `allocate`
  uint32_t allocated;    ///< what `allocate` returned
  uint32_t from_shared;  ///< as another warp reads it
  uint32_t whole;        ///< an allocation of all columns, before the others and given back
  uint32_t second;       ///< a further allocation next to the first
};
template <int CtaGroup>
struct AllocateAndDeallocate {
  using Seen = AllocationSeen;
  static __device__ void run(SharedMemBarrier*, Seen& seen) {
    __shared__ uint32_t slot, second_slot;
    meet();
    if (warp_index() == 0) {
      // Allocations of a CTA never grow. The later ones find columns because this one is given
      // back.
      const auto whole = TmemAllocation<CtaGroup>::allocate(&slot);
      whole.deallocate();
      const auto second = TmemAllocation<CtaGroup, 256>::allocate(&second_slot);
      const auto tmem = TmemAllocation<CtaGroup, kColumns>::allocate(&slot);
      if (threadIdx.x == 0) {
        seen.slot = slot;
        seen.allocated = tmem.addr;
        seen.whole = whole.addr;
        seen.second = second.addr;
      }
      __syncthreads();
      __syncthreads();
      second.deallocate();
      tmem.deallocate();
      tmem.release_lock();
    } else {
      __syncthreads();
      if (lane_index() == 0) {
        seen.from_shared = TmemAllocation<CtaGroup, kColumns>::from_shared(&slot).addr;
      }
      __syncthreads();
    }
    meet();
  }
};
void expect_allocations(const AllocationSeen& seen) {
  EXPECT_EQ(seen.allocated, seen.slot);
  EXPECT_EQ(seen.from_shared, seen.slot);
  EXPECT_EQ(seen.allocated >> 16, 0u) << "an allocation starts at lane 0";
  const uint32_t first = seen.allocated & 0xffff, second = seen.second & 0xffff;
  EXPECT_TRUE(first + kColumns <= second || second + 256 <= first) << first << ", " << second;
  EXPECT_EQ(seen.whole, 0u) << "512 columns start at column 0";
}
TEST(TmemAllocation, AllocateReturnsAndPublishesMaxColsColumns) {
  expect_allocations(observe<AllocateAndDeallocate<1>>(64));
}
TEST(TmemAllocation, BothCtasOfAPairAllocateAndDeallocate) {
  for (const AllocationSeen& seen : observe_cluster<AllocateAndDeallocate<2>>(2, 64)) {
    expect_allocations(seen);
  }
}

struct NothingSeen {};
struct AllocateAfterReleaseLock {
  using Seen = NothingSeen;
  static __device__ void run(SharedMemBarrier*, Seen&) {
    __shared__ uint32_t slot;
    const auto tmem = TmemAllocation<1, kColumns>::allocate(&slot);
    tmem.release_lock();
    const auto second = TmemAllocation<1, kColumns>::allocate(&slot);
    second.deallocate();
    tmem.deallocate();
  }
};
TEST(TmemAllocationDeathTest, ReleaseLockForbidsFurtherAllocation) {
  EXPECT_DEATH(observe<AllocateAfterReleaseLock>(32), "relinquish");
}

struct NeverDeallocates {
  using Seen = NothingSeen;
  static __device__ void run(SharedMemBarrier*, Seen&) {
    __shared__ uint32_t slot;
    TmemAllocation<1, kColumns>::allocate(&slot).release_lock();
  }
};
TEST(TmemAllocationDeathTest, DeallocateIsTheUsersDuty) {
  EXPECT_DEATH(observe<NeverDeallocates>(32), "dealloc");
}

// ---- TmemAddress

struct AddressSeen {
  uint32_t plus, upper, lower;
};
struct AddressArithmetic {
  using Seen = AddressSeen;
  static __device__ void run(SharedMemBarrier*, Seen& seen) {
    const TmemAddress address{7u << 16 | 40};
    seen = {(address + 24).addr, address.upper().addr, address.lower().addr};
  }
};
TEST(TmemAddress, PlusMovesColumnsUpperStaysLowerIsSixteenLanesOn) {
  const AddressSeen seen = observe<AddressArithmetic>(1);
  EXPECT_EQ(seen.plus, 7u << 16 | 64);
  EXPECT_EQ(seen.upper, 7u << 16 | 40);
  EXPECT_EQ(seen.lower, 23u << 16 | 40);
}

/// Each lane and column of a tile, in one number.
__host__ __device__ constexpr uint32_t position(uint32_t lane, uint32_t column) {
  return lane << 16 | column;
}
constexpr int kTileColumns = 16;

/// Four warps write their quarters by the 32x32b shape and read them by every shape.
struct Copies {
  struct Seen {
    uint32_t by_32x32b[128][16];
    uint32_t upper_16x256b[128][8], lower_16x256b[128][8];
    uint32_t upper_16x128b[128][8], upper_16x64b[128][8];
  };
  static __device__ void keep(uint32_t (&to)[8], const uint32_t (&from)[8]) {
    for (int r = 0; r < 8; ++r) to[r] = from[r];
  }
  static __device__ void run(SharedMemBarrier*, Seen& seen) {
    __shared__ uint32_t slot;
    if (warp_index() == kMmaWarp) TmemAllocation<1, kColumns>::allocate(&slot);
    __syncthreads();
    const auto tmem = TmemAllocation<1, kColumns>::from_shared(&slot);
    if (warp_index() < kMmaWarp) {
      const TmemAddress tile{tmem.addr};
      uint32_t values[kTileColumns];
#pragma unroll
      for (int c = 0; c < kTileColumns; ++c) values[c] = position(threadIdx.x, c);
      tile.store_32x32b(values);
      TmemAddress::wait_store();
      uint32_t read[kTileColumns];
      tile.load_32x32b(read);
      TmemAddress::wait_load(read);
#pragma unroll
      for (int c = 0; c < kTileColumns; ++c) seen.by_32x32b[threadIdx.x][c] = read[c];
      uint32_t part[8];
      tile.upper().load_16x256b(part);
      TmemAddress::wait_load(part);
      keep(seen.upper_16x256b[threadIdx.x], part);
      tile.lower().load_16x256b(part);
      TmemAddress::wait_load(part);
      keep(seen.lower_16x256b[threadIdx.x], part);
      tile.upper().load_16x128b(part);
      TmemAddress::wait_load(part);
      keep(seen.upper_16x128b[threadIdx.x], part);
      tile.upper().load_16x64b(part);
      TmemAddress::wait_load(part);
      keep(seen.upper_16x64b[threadIdx.x], part);
      ptx::tcgen05_fence_before_thread_sync();
    }
    __syncthreads();
    ptx::tcgen05_fence_after_thread_sync();
    if (warp_index() == kMmaWarp) tmem.deallocate();
  }
};
TEST(TmemAddress, EveryWarpReachesItsOwnQuarterOfTheLanes) {
  const auto seen = observe<Copies>(kThreads);
  for (uint32_t thread = 0; thread < 128; ++thread) {
    for (uint32_t column = 0; column < 16; ++column) {
      EXPECT_EQ(seen.by_32x32b[thread][column], position(thread, column));
    }
  }
}
// Which element a register holds: PTX ISA, "Data movement shape" of tcgen05.ld.
TEST(TmemAddress, Loads16x256bOfBothHalves) {
  const auto seen = observe<Copies>(kThreads);
  for (uint32_t thread = 0; thread < 128; ++thread) {
    const uint32_t quarter = thread / 32 * 32, t = thread % 32;
    for (uint32_t r = 0; r < 8; ++r) {
      const uint32_t lane = quarter + t / 4 + (r % 4 / 2) * 8;
      const uint32_t column = r / 4 * 8 + t % 4 * 2 + r % 2;
      EXPECT_EQ(seen.upper_16x256b[thread][r], position(lane, column));
      EXPECT_EQ(seen.lower_16x256b[thread][r], position(lane + 16, column));
    }
  }
}
TEST(TmemAddress, Loads16x128b) {
  const auto seen = observe<Copies>(kThreads);
  for (uint32_t thread = 0; thread < 128; ++thread) {
    const uint32_t quarter = thread / 32 * 32, t = thread % 32;
    for (uint32_t r = 0; r < 8; ++r) {
      EXPECT_EQ(seen.upper_16x128b[thread][r],
                position(quarter + t / 4 + r % 2 * 8, r / 2 * 4 + t % 4));
    }
  }
}
TEST(TmemAddress, Loads16x64b) {
  const auto seen = observe<Copies>(kThreads);
  for (uint32_t thread = 0; thread < 128; ++thread) {
    const uint32_t quarter = thread / 32 * 32, t = thread % 32;
    for (uint32_t r = 0; r < 8; ++r) {
      EXPECT_EQ(seen.upper_16x64b[thread][r],
                position(quarter + t / 4 + t % 2 * 8, r * 2 + t / 2 % 2));
    }
  }
}

// ---- TmemStage

constexpr OutputPipelineConfig kOutput{4, 96, 1};
struct StageSeen {
  uint32_t offset[4], tensor[4], index_from_offset[4], base_from_offset[4];
};
struct Stages {
  using Seen = StageSeen;
  static __device__ void run(SharedMemBarrier*, Seen& seen) {
    constexpr uint32_t kBase = 32;
    for (uint32_t i = 0; i < 4; ++i) {
      const TmemStage<kOutput> stage{kBase, i};
      const auto same = TmemStage<kOutput>::from_offset(kBase, stage.offset());
      seen.offset[i] = stage.offset();
      seen.tensor[i] = stage.tensor().addr;
      seen.index_from_offset[i] = same.index;
      seen.base_from_offset[i] = same.base;
    }
  }
};
TEST(TmemStage, OffsetIsBasePlusIndexTimesStride) {
  const StageSeen seen = observe<Stages>(1);
  for (uint32_t i = 0; i < 4; ++i) EXPECT_EQ(seen.offset[i], 32 + 96 * i);
}
TEST(TmemStage, TensorIsAtOffset) {
  const StageSeen seen = observe<Stages>(1);
  for (uint32_t i = 0; i < 4; ++i) EXPECT_EQ(seen.tensor[i], 32 + 96 * i);
}
TEST(TmemStage, FromOffsetFindsTheStage) {
  const StageSeen seen = observe<Stages>(1);
  for (uint32_t i = 0; i < 4; ++i) {
    EXPECT_EQ(seen.index_from_offset[i], i);
    EXPECT_EQ(seen.base_from_offset[i], 32u);
  }
}

// ---- TmemDeallocBarrier

template <int CtaGroup, int epilogue_threads = 128>
struct DeallocInit {
  struct Seen {
    BarrierState barrier;
  };
  static __device__ void run(SharedMemBarrier* barriers, Seen& seen) {
    TmemDeallocBarrier<CtaGroup, epilogue_threads>{barriers}.init_barrier();
    seen.barrier = complete_and_count(barriers[0]);
  }
};
TEST(TmemDeallocBarrier, Counts128ThreadsOfEachCtaOfTheGroup) {
  EXPECT_EQ(observe<DeallocInit<1>>(1).barrier.pending, 128u);
  EXPECT_EQ(observe<DeallocInit<2>>(1).barrier.pending, 256u);
}
TEST(TmemDeallocBarrier, CountsBothGroupsOfEpilogueWarps) {
  EXPECT_EQ((observe<DeallocInit<1, 256>>(1).barrier.pending), 256u);
  EXPECT_EQ((observe<DeallocInit<2, 256>>(1).barrier.pending), 512u);
}

/// Only the epilogue of CTA 0 signals, half of its warps.
template <int CtaGroup>
struct SignalComplete {
  struct Seen {
    BarrierState barrier;
  };
  static __device__ void run(SharedMemBarrier* barriers, Seen& seen) {
    const TmemDeallocBarrier<CtaGroup> dealloc{barriers};
    if (threadIdx.x == 0) dealloc.init_barrier();
    meet();
    if (ptx::cluster_cta_rank() == 0) dealloc.signal_complete();
    meet();
    if (threadIdx.x == 0) seen.barrier = complete_and_count(barriers[0]);
  }
};
TEST(TmemDeallocBarrier, SignalCompleteIsOneArrivalPerThread) {
  const auto seen = observe<SignalComplete<1>>(64);
  EXPECT_EQ(seen.barrier.phase, 0u);
  EXPECT_EQ(seen.barrier.pending, 128u - 64);
}
TEST(TmemDeallocBarrier, SignalCompleteOfAPairArrivesInBothCtas) {
  for (const auto& seen : observe_cluster<SignalComplete<2>>(2, 64)) {
    EXPECT_EQ(seen.barrier.phase, 0u);
    EXPECT_EQ(seen.barrier.pending, 256u - 64);
  }
}

/// The epilogue warps of every CTA read late; the MMA warp must not free before the last of them.
template <int CtaGroup, int epilogue_threads = 128>
struct CompleteDealloc {
  struct Seen {
    uint32_t signalled;         ///< in CTA 0: by epilogue threads of the whole group
    uint32_t signalled_before;  ///< the value above when `complete_dealloc` returned
    uint32_t phase_after;
  };
  static __device__ void run(SharedMemBarrier* barriers, Seen& seen) {
    __shared__ uint32_t slot;
    const TmemDeallocBarrier<CtaGroup, epilogue_threads> dealloc{barriers};
    const uint32_t rank = ptx::cluster_cta_rank();
    uint32_t& signalled = (&seen - rank)->signalled;
    if (threadIdx.x == 0) {
      dealloc.init_barrier();
      seen.signalled = 0;
    }
    meet();
    if (warp_index() == kMmaWarp) {
      const auto tmem = TmemAllocation<CtaGroup, kColumns>::allocate(&slot);
      dealloc.complete_dealloc(tmem);
      if (lane_index() == 0) {
        seen.signalled_before = atomicAdd(&signalled, 0);
        seen.phase_after = current_phase(barriers[0]);
      }
    } else if (is_epilogue_warp()) {
      // One warp after the other, those of the second CTA last.
      for (uint32_t i = 0; i <= (epilogue_thread() + epilogue_threads * rank) / 32; ++i)
        come_late();
      atomicAdd(&signalled, 1);
      dealloc.signal_complete();
    }
    meet();
  }
};
// The simulator faults when a CTA exits with tensor memory that is still allocated.
TEST(TmemDeallocBarrier, CompleteDeallocWaitsForEveryEpilogueThreadAndFrees) {
  const auto seen = observe<CompleteDealloc<1>>(kThreads);
  EXPECT_EQ(seen.signalled_before, 128u);
  EXPECT_EQ(seen.phase_after, 1u);
}
TEST(TmemDeallocBarrier, CompleteDeallocOfAPairWaitsForBothEpilogues) {
  for (const auto& seen : observe_cluster<CompleteDealloc<2>>(2, kThreads)) {
    EXPECT_EQ(seen.signalled_before, 256u);
    EXPECT_EQ(seen.phase_after, 1u);
  }
}
TEST(TmemDeallocBarrier, CompleteDeallocWaitsForBothGroupsOfEpilogueWarps) {
  EXPECT_EQ((observe<CompleteDealloc<1, 256>>(kContextThreads<256>).signalled_before), 256u);
  for (const auto& seen : observe_cluster<CompleteDealloc<2, 256>>(2, kContextThreads<256>)) {
    EXPECT_EQ(seen.signalled_before, 512u);
  }
}

struct AllocateAfterCompleteDealloc {
  using Seen = NothingSeen;
  static __device__ void run(SharedMemBarrier* barriers, Seen&) {
    __shared__ uint32_t slot;
    const TmemDeallocBarrier<1> dealloc{barriers};
    if (threadIdx.x == 0) dealloc.init_barrier();
    meet();
    if (warp_index() == kMmaWarp) {
      dealloc.complete_dealloc(TmemAllocation<1, kColumns>::allocate(&slot));
      TmemAllocation<1, kColumns>::allocate(&slot).deallocate();
    } else {
      dealloc.signal_complete();
    }
  }
};
TEST(TmemDeallocBarrierDeathTest, CompleteDeallocReleasesTheLock) {
  EXPECT_DEATH(observe<AllocateAfterCompleteDealloc>(kThreads), "relinquish");
}

// ---- WarpGroupBarrier

using Group = WarpGroupBarrier<64, 1>;
template <bool waits>
struct GroupBarrier {
  struct Seen {
    uint32_t arrived_before;   ///< seen by the waiting warp: 1 when it waited
    uint32_t waiter_returned;  ///< seen by the arriving warp: 0 when it didn't wait
  };
  static __device__ void run(SharedMemBarrier*, Seen& seen) {
    __shared__ volatile uint32_t arrived, waiter_returned;
    if (threadIdx.x == 0) {
      arrived = 0;
      waiter_returned = 0;
    }
    __syncthreads();
    if (warp_index() == 0) {  // announces, and goes on
      if constexpr (waits) {
        come_late();
        arrived = 1;
        Group::arrive();
      } else {
        Group::arrive();
        if (lane_index() == 0) seen.waiter_returned = waiter_returned;
      }
    } else if (warp_index() == 1) {
      if constexpr (waits) {
        Group::wait();
      } else {
        come_late();
        Group::sync();
      }
      waiter_returned = 1;
      if (lane_index() == 0) seen.arrived_before = arrived;
    }
  }
};
TEST(WarpGroupBarrier, WaitHoldsUntilTheOthersArrive) {
  EXPECT_EQ(observe<GroupBarrier<true>>(96).arrived_before, 1u);
}
TEST(WarpGroupBarrier, ArriveDoesNotWait) {
  EXPECT_EQ(observe<GroupBarrier<false>>(96).waiter_returned, 0u);
}
TEST(WarpGroupBarrier, HasTheContractsThreadsAndId) {
  EXPECT_EQ(Group::kThreads, 64);
  EXPECT_GE(Group::kId, 1);
}

}  // namespace
}  // namespace bw::test::chapter02_lifecycle
