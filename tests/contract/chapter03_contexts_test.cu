/// \file
/// Contract, chapter 3: what MmaWarpContext and EpilogueWarpContext do on entry and exit.
#include <gtest/gtest.h>

#include "solutions/03_warp_contexts/epilogue_warp_context.cuh"
#include "solutions/03_warp_contexts/mma_warp_context.cuh"
#include "tests/contract/observation.cuh"

namespace bw::test {
namespace {

constexpr OutputPipelineConfig kOutput{2, 64, 1};
using MmaWarp = MmaWarpContext<kOutput, 32, 128>;
using EpilogueWarp = EpilogueWarpContext<kOutput, 32, 128>;
constexpr uint32_t kMmaWarp = 4;
constexpr unsigned kThreads = 160;
constexpr uint32_t kGarbage = 0xdeadbeef;
constexpr int kDealloc = 4;  ///< the barrier behind those of the two accumulators
constexpr uint16_t kMask = 1;

/// Which form makes the contexts.
enum class Form { kCreate, kReadyMade };

struct ContextSeen {
  uint32_t mma_entered;           ///< 1: when the epilogue's `Sync::wait()` returned
  uint32_t address_before_sync;   ///< the shared word as the epilogue finds it without waiting
  uint32_t epilogue_address;      ///< tmem() of the epilogue's context
  uint32_t mma_address;           ///< tmem() of the MMA warp's context
  uint32_t mma_stage_offset;      ///< of the first stage of its pipeline
  uint32_t mask;                  ///< of its pipeline
  uint32_t epilogue_left_early;   ///< epilogue threads that had left when MMA's scope began to end
  uint32_t epilogue_left;         ///< … when it had ended
  uint32_t dealloc_phase_inside;  ///< in the last epilogue warp, before its exit
  uint32_t dealloc_phase_after;
};

/// A whole life: the MMA warp allocates late, the epilogue leaves late.
template <Form form>
struct Life {
  using Seen = ContextSeen;

  static __device__ MmaWarp::Pipeline pipeline_of(SharedMemBarrier* barriers,
                                                  const MmaWarp::Tmem& tmem) {
    return {MmaWarp::Pipeline::Pipeline(barriers), tmem, kMask};
  }

  static __device__ void look(MmaWarp& mma, volatile uint32_t& left, Seen& seen) {
    if (lane_index() == 0) {
      seen.mma_address = mma.tmem().addr;
      seen.mma_stage_offset = mma.output_pipeline().acquire_for_mma().tmem().offset();
      seen.mask = mma.output_pipeline().mma_complete_mask;
      seen.epilogue_left_early = left;
    }
    __syncwarp();
  }

  static __device__ void look(const EpilogueWarp& epilogue, SharedMemBarrier& dealloc, Seen& seen) {
    for (uint32_t i = 0; i <= warp_index(); ++i) come_late();
    if (threadIdx.x == 96) {
      seen.epilogue_address = epilogue.tmem().addr;
      seen.dealloc_phase_inside = current_phase(dealloc);
    }
    __syncwarp();
  }

  static __device__ void run(SharedMemBarrier* barriers, Seen& seen) {
    __shared__ uint32_t slot, left;
    __shared__ volatile uint32_t entered;
    if (threadIdx.x == 0) {
      MmaWarp::Pipeline::init_barriers(barriers);
      MmaWarp::Dealloc{&barriers[kDealloc]}.init_barrier();
      slot = kGarbage;
      left = 0;
      entered = 0;
    }
    meet();
    if (warp_index() == kMmaWarp) {
      come_late();
      entered = 1;
      if constexpr (form == Form::kCreate) {
        auto mma = MmaWarp::create(&slot, barriers, &barriers[kDealloc], kMask);
        look(mma, left, seen);
      } else {
        const auto tmem = MmaWarp::Tmem::allocate(&slot);
        MmaWarp mma(tmem, pipeline_of(barriers, tmem), MmaWarp::Dealloc{&barriers[kDealloc]});
        look(mma, left, seen);
      }
      if (lane_index() == 0) {
        seen.epilogue_left = atomicAdd(&left, 0);
        seen.dealloc_phase_after = current_phase(barriers[kDealloc]);
      }
    } else {
      if (threadIdx.x == 0) seen.address_before_sync = *static_cast<volatile uint32_t*>(&slot);
      __syncwarp();
      EpilogueWarp::Sync::wait();
      if (threadIdx.x == 0) seen.mma_entered = entered;
      __syncwarp();
      if constexpr (form == Form::kCreate) {
        auto epilogue = EpilogueWarp::create(&slot, barriers, &barriers[kDealloc], kMask);
        look(epilogue, barriers[kDealloc], seen);
        atomicAdd(&left, 1);
      } else {
        const auto tmem = EpilogueWarp::Tmem::from_shared(&slot);
        EpilogueWarp epilogue(tmem, pipeline_of(barriers, tmem),
                              EpilogueWarp::Dealloc{&barriers[kDealloc]});
        look(epilogue, barriers[kDealloc], seen);
        atomicAdd(&left, 1);
      }
    }
  }
};

class WarpContext : public testing::TestWithParam<Form> {
 protected:
  static ContextSeen life() {
    return GetParam() == Form::kCreate ? observe<Life<Form::kCreate>>(kThreads)
                                       : observe<Life<Form::kReadyMade>>(kThreads);
  }
};

TEST_P(WarpContext, MmaAllocatesAndBuildsThePipeline) {
  const ContextSeen seen = life();
  EXPECT_EQ(seen.mma_address, 0u) << "all 512 columns start at column 0";
  EXPECT_EQ(seen.mma_stage_offset, seen.mma_address);
  EXPECT_EQ(seen.mask, kMask);
}
TEST_P(WarpContext, MmaEnterReleasesTheWaitingEpilogue) { EXPECT_EQ(life().mma_entered, 1u); }
TEST_P(WarpContext, MmaEnterWaitsForNobody) { EXPECT_EQ(life().epilogue_left_early, 0u); }
TEST_P(WarpContext, MmaExitWaitsForEveryEpilogueThreadAndDeallocates) {
  // The simulator faults when a CTA exits with tensor memory that is still allocated.
  const ContextSeen seen = life();
  EXPECT_EQ(seen.epilogue_left, 128u);
  EXPECT_EQ(seen.dealloc_phase_after, 1u);
}
TEST_P(WarpContext, EpilogueReadsGarbageBeforeSyncTheAddressAfterIt) {
  const ContextSeen seen = life();
  EXPECT_EQ(seen.address_before_sync, kGarbage);
  EXPECT_EQ(seen.epilogue_address, seen.mma_address);
}
TEST_P(WarpContext, EpilogueEnterSignalsNothing) { EXPECT_EQ(life().dealloc_phase_inside, 0u); }
INSTANTIATE_TEST_SUITE_P(Forms, WarpContext, testing::Values(Form::kCreate, Form::kReadyMade),
                         [](const testing::TestParamInfo<Form>& form) {
                           return form.param == Form::kCreate ? "Create" : "ReadyMade";
                         });

/// Two epilogue warps enter and leave; nobody else is there.
struct EpilogueExit {
  struct Seen {
    BarrierState dealloc;
    BarrierState full[2], empty[2];
  };
  static __device__ void run(SharedMemBarrier* barriers, Seen& seen) {
    __shared__ uint32_t slot;
    if (threadIdx.x == 0) {
      MmaWarp::Pipeline::init_barriers(barriers);
      MmaWarp::Dealloc{&barriers[kDealloc]}.init_barrier();
      slot = 0;
    }
    meet();
    { auto epilogue = EpilogueWarp::create(&slot, barriers, &barriers[kDealloc], kMask); }
    meet();
    if (threadIdx.x == 0) {
      for (int stage = 0; stage < 2; ++stage) {
        seen.full[stage] = complete_and_count(barriers[stage]);
        seen.empty[stage] = complete_and_count(barriers[2 + stage]);
      }
      seen.dealloc = complete_and_count(barriers[kDealloc]);
    }
  }
};
TEST(EpilogueWarpContext, ExitIsOneArrivalPerThreadOnTheDeallocBarrierOnly) {
  const auto seen = observe<EpilogueExit>(64);
  EXPECT_EQ(seen.dealloc.pending, 128u - 64);
  for (int stage = 0; stage < 2; ++stage) {
    EXPECT_EQ(seen.full[stage].pending, 1u);
    EXPECT_EQ(seen.empty[stage].pending, 128u);
  }
}

}  // namespace
}  // namespace bw::test
