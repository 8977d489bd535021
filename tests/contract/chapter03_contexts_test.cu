/// \file
/// Contract, chapter 3: what MmaWarpContext and EpilogueWarpContext do on entry and exit.
#include <vector>

#include "solutions/03_warp_contexts/epilogue_warp_context.cuh"
#include "solutions/03_warp_contexts/mma_warp_context.cuh"
#include "tests/contract/observation.cuh"
#include "tests/device_cases.hpp"

namespace bw::test::chapter03_contexts {
namespace {

template <int CtaGroup, int epilogue_threads>
constexpr OutputPipelineConfig kOutput{2, 64, CtaGroup, epilogue_threads};
template <int CtaGroup, int epilogue_threads = 128>
using MmaWarpOf = MmaWarpContext<kOutput<CtaGroup, epilogue_threads>, 32, epilogue_threads>;
template <int CtaGroup, int epilogue_threads = 128>
using EpilogueWarpOf =
    EpilogueWarpContext<kOutput<CtaGroup, epilogue_threads>, 32, epilogue_threads>;
constexpr unsigned kThreads = kContextThreads<128>;
constexpr uint32_t kGarbage = 0xdeadbeef;
constexpr uint32_t kPublished = 96;  ///< a TMEM address
constexpr int kDealloc = 4;          ///< the barrier after those of the two accumulators
constexpr uint16_t kMask = 3;

/// The form that makes the contexts, and the numbers of CTAs and epilogue threads.
enum class Form { kCreate, kReadyMade };
struct Making {
  const char* name;
  Form form;
  int cta_group;
  int epilogue_threads;
};

struct ContextSeen {
  uint32_t mma_entered;           ///< 1: when the epilogue's `Sync::wait()` returned
  uint32_t address_before_sync;   ///< the shared word as the epilogue finds it without waiting
  uint32_t epilogue_address;      ///< tmem() of the epilogue's context
  uint32_t mma_address;           ///< tmem() of the MMA warp's context
  uint32_t mma_stage_offset;      ///< of the first stage of its pipeline
  uint32_t mask;                  ///< of its pipeline
  uint32_t epilogue_left;         ///< epilogue threads of the CTA that have left their scope
  uint32_t left_early;            ///< … of all CTAs, when the MMA warp's scope began to end
  uint32_t left;                  ///< … when it had ended
  uint32_t dealloc_phase_inside;  ///< in the last epilogue warp, before its exit
  uint32_t dealloc_phase_after;
};

/// A whole life: the MMA warp allocates late, the epilogue leaves late, that of a second CTA last.
template <Form form, int CtaGroup, int epilogue_threads>
struct Life {
  using Seen = ContextSeen;
  using MmaWarp = MmaWarpOf<CtaGroup, epilogue_threads>;
  using EpilogueWarp = EpilogueWarpOf<CtaGroup, epilogue_threads>;

  static __device__ uint32_t count_left(Seen& seen) {
    Seen* const first = &seen - ptx::cluster_cta_rank();
    uint32_t left = 0;
    for (int cta = 0; cta < CtaGroup; ++cta) left += atomicAdd(&first[cta].epilogue_left, 0);
    return left;
  }

  static __device__ typename MmaWarp::Pipeline pipeline_of(SharedMemBarrier* barriers,
                                                           const typename MmaWarp::Tmem& tmem) {
    return {typename MmaWarp::Pipeline::Pipeline(barriers), tmem, kMask};
  }

  static __device__ void look(MmaWarp& mma, Seen& seen) {
    if (lane_index() == 0) {
      seen.mma_address = mma.tmem().addr;
      seen.mma_stage_offset = mma.output_pipeline().acquire_for_mma().tmem().offset();
      seen.mask = mma.output_pipeline().mma_complete_mask;
      seen.left_early = count_left(seen);
    }
    __syncwarp();
  }

  static __device__ void look(const EpilogueWarp& epilogue, SharedMemBarrier& dealloc, Seen& seen) {
    const uint32_t rank = ptx::cluster_cta_rank();
    for (uint32_t i = 0; i <= (epilogue_thread() + epilogue_threads * rank) / 32; ++i) come_late();
    const bool in_last_warp = epilogue_thread() == epilogue_threads - 32;
    if (in_last_warp && rank == CtaGroup - 1) seen.dealloc_phase_inside = current_phase(dealloc);
    if (in_last_warp) seen.epilogue_address = epilogue.tmem().addr;
    __syncwarp();
  }

  static __device__ void run(SharedMemBarrier* barriers, Seen& seen) {
    __shared__ uint32_t slot;
    __shared__ volatile uint32_t entered;
    if (threadIdx.x == 0) {
      MmaWarp::Pipeline::init_barriers(barriers);
      typename MmaWarp::Dealloc{&barriers[kDealloc]}.init_barrier();
      slot = kGarbage;
      seen.epilogue_left = 0;
      entered = 0;
    }
    meet();
    if (warp_index() == kMmaWarp) {
      come_late();
      entered = 1;
      if constexpr (form == Form::kCreate) {
        auto mma = MmaWarp::create(&slot, barriers, &barriers[kDealloc], kMask);
        look(mma, seen);
      } else {
        const auto tmem = MmaWarp::Tmem::allocate(&slot);
        MmaWarp mma(tmem, pipeline_of(barriers, tmem),
                    typename MmaWarp::Dealloc{&barriers[kDealloc]});
        look(mma, seen);
      }
      if (lane_index() == 0) {
        seen.left = count_left(seen);
        seen.dealloc_phase_after = current_phase(barriers[kDealloc]);
      }
    } else if (is_epilogue_warp()) {
      if (threadIdx.x == 0) seen.address_before_sync = *static_cast<volatile uint32_t*>(&slot);
      __syncwarp();
      EpilogueWarp::Sync::wait();
      if (threadIdx.x == 0) seen.mma_entered = entered;
      __syncwarp();
      if constexpr (form == Form::kCreate) {
        auto epilogue = EpilogueWarp::create(&slot, barriers, &barriers[kDealloc], kMask);
        look(epilogue, barriers[kDealloc], seen);
        atomicAdd(&seen.epilogue_left, 1);
      } else {
        const auto tmem = EpilogueWarp::Tmem::from_shared(&slot);
        EpilogueWarp epilogue(tmem, pipeline_of(barriers, tmem),
                              typename EpilogueWarp::Dealloc{&barriers[kDealloc]});
        look(epilogue, barriers[kDealloc], seen);
        atomicAdd(&seen.epilogue_left, 1);
      }
    }
  }
};

/// Lives of every form, CTA group and number of epilogue threads; the expectations hold in each
/// CTA.
struct WarpContext {
  static constexpr const char* kInstance = "Makings";
  static constexpr Making kValues[] = {
      {"Create", Form::kCreate, 1, 128},
      {"ReadyMade", Form::kReadyMade, 1, 128},
      {"CreateOfAPair", Form::kCreate, 2, 128},
      {"ReadyMadeOfAPair", Form::kReadyMade, 2, 128},
      {"CreateWithTwoEpilogueGroups", Form::kCreate, 1, 256},
      {"ReadyMadeWithTwoEpilogueGroups", Form::kReadyMade, 1, 256},
      {"CreateOfAPairWithTwoEpilogueGroups", Form::kCreate, 2, 256},
      {"ReadyMadeOfAPairWithTwoEpilogueGroups", Form::kReadyMade, 2, 256}};
  const Making* value;

  template <int CtaGroup, int epilogue_threads>
  static std::vector<ContextSeen> lives_of(Form form) {
    constexpr unsigned kCtaThreads = kContextThreads<epilogue_threads>;
    using Created = Life<Form::kCreate, CtaGroup, epilogue_threads>;
    using ReadyMade = Life<Form::kReadyMade, CtaGroup, epilogue_threads>;
    return form == Form::kCreate ? observe_cluster<Created>(CtaGroup, kCtaThreads)
                                 : observe_cluster<ReadyMade>(CtaGroup, kCtaThreads);
  }
  std::vector<ContextSeen> lives() const {
    const auto [name, form, cta_group, epilogue_threads] = *value;
    if (cta_group == 1) {
      return epilogue_threads == 128 ? lives_of<1, 128>(form) : lives_of<1, 256>(form);
    }
    return epilogue_threads == 128 ? lives_of<2, 128>(form) : lives_of<2, 256>(form);
  }
};

TEST_P(WarpContext, MmaAllocatesAndBuildsThePipeline) {
  for (const ContextSeen& seen : lives()) {
    EXPECT_EQ(seen.mma_address, 0u) << "all 512 columns start at column 0";
    EXPECT_EQ(seen.mma_stage_offset, seen.mma_address);
    EXPECT_EQ(seen.mask, kMask);
  }
}
TEST_P(WarpContext, MmaEnterReleasesTheWaitingEpilogue) {
  for (const ContextSeen& seen : lives()) EXPECT_EQ(seen.mma_entered, 1u);
}
TEST_P(WarpContext, MmaEnterDoesNotWaitForTheEpiloguesEnd) {
  for (const ContextSeen& seen : lives()) EXPECT_EQ(seen.left_early, 0u);
}
TEST_P(WarpContext, MmaExitWaitsForEveryEpilogueThreadAndDeallocates) {
  // The simulator faults when a CTA exits with tensor memory that is still allocated.
  for (const ContextSeen& seen : lives()) {
    EXPECT_EQ(seen.left, static_cast<uint32_t>(value->epilogue_threads * value->cta_group));
    EXPECT_EQ(seen.dealloc_phase_after, 1u);
  }
}
TEST_P(WarpContext, EpilogueReadsGarbageBeforeSyncTheAddressAfterIt) {
  for (const ContextSeen& seen : lives()) {
    EXPECT_EQ(seen.address_before_sync, kGarbage);
    EXPECT_EQ(seen.epilogue_address, seen.mma_address);
  }
}
TEST_P(WarpContext, EpilogueEnterSignalsNothing) {
  EXPECT_EQ(lives().back().dealloc_phase_inside, 0u) << "in the warp that leaves last";
}

/// The epilogue comes late to its `Sync::wait()`.
struct EnterAlone {
  struct Seen {
    uint32_t epilogue_waits;  ///< 1: it had reached its wait when the MMA warp had entered
  };
  static __device__ void run(SharedMemBarrier* barriers, Seen& seen) {
    __shared__ uint32_t slot;
    __shared__ volatile uint32_t waits;
    if (threadIdx.x == 0) {
      MmaWarpOf<1>::Pipeline::init_barriers(barriers);
      MmaWarpOf<1>::Dealloc{&barriers[kDealloc]}.init_barrier();
      waits = 0;
    }
    meet();
    if (warp_index() == kMmaWarp) {
      auto mma = MmaWarpOf<1>::create(&slot, barriers, &barriers[kDealloc], kMask);
      if (lane_index() == 0) seen.epilogue_waits = waits;
      __syncwarp();
    } else {
      come_late();
      waits = 1;
      EpilogueWarpOf<1>::Sync::wait();
      auto epilogue = EpilogueWarpOf<1>::create(&slot, barriers, &barriers[kDealloc], kMask);
    }
  }
};
TEST(MmaWarpContext, EnterArrivesAndDoesNotWaitForTheEpilogue) {
  EXPECT_EQ(observe<EnterAlone>(kThreads).epilogue_waits, 0u);
}

/// Two epilogue warps of the last CTA enter and leave; no other thread is there.
template <int CtaGroup>
struct EpilogueExit {
  struct Seen {
    uint32_t address, pipeline_address, mask;  ///< of the context
    BarrierState dealloc;
    BarrierState full[2], empty[2];
  };
  static __device__ void run(SharedMemBarrier* barriers, Seen& seen) {
    using EpilogueWarp = EpilogueWarpOf<CtaGroup>;
    __shared__ uint32_t slot;
    if (threadIdx.x == 0) {
      EpilogueWarp::Pipeline::init_barriers(barriers);
      typename EpilogueWarp::Dealloc{&barriers[kDealloc]}.init_barrier();
      slot = kPublished;
    }
    meet();
    if (ptx::cluster_cta_rank() == CtaGroup - 1) {
      auto epilogue = EpilogueWarp::create(&slot, barriers, &barriers[kDealloc], kMask);
      if (threadIdx.x == 0) {
        seen.address = epilogue.tmem().addr;
        seen.pipeline_address = epilogue.output_pipeline().tmem.addr;
        seen.mask = epilogue.output_pipeline().mma_complete_mask;
      }
    }
    meet();
    if (threadIdx.x == 0) {
      for (int stage = 0; stage < 2; ++stage) {
        seen.full[stage] = complete_and_count(barriers[stage]);
        seen.empty[stage] = complete_and_count(barriers[2 + stage]);
      }
      seen.dealloc = complete_and_count(barriers[kDealloc]);
    }
    meet();
  }
};
TEST(EpilogueWarpContext, CreateTakesThePublishedAddressAndTheMask) {
  const auto seen = observe<EpilogueExit<1>>(64);
  EXPECT_EQ(seen.address, kPublished);
  EXPECT_EQ(seen.pipeline_address, kPublished);
  EXPECT_EQ(seen.mask, kMask);
}
TEST(EpilogueWarpContext, ExitIsOneArrivalPerThreadOnTheDeallocBarrierOnly) {
  const auto seen = observe<EpilogueExit<1>>(64);
  EXPECT_EQ(seen.dealloc.pending, 128u - 64);
  for (int stage = 0; stage < 2; ++stage) {
    EXPECT_EQ(seen.full[stage].pending, 1u);
    EXPECT_EQ(seen.empty[stage].pending, 128u);
  }
}
TEST(EpilogueWarpContext, ExitInAPairArrivesInBothCtas) {
  for (const auto& seen : observe_cluster<EpilogueExit<2>>(2, 64)) {
    EXPECT_EQ(seen.dealloc.pending, 256u - 64);
    for (int stage = 0; stage < 2; ++stage) {
      EXPECT_EQ(seen.full[stage].pending, 1u);
      EXPECT_EQ(seen.empty[stage].pending, 256u);
    }
  }
}

}  // namespace
}  // namespace bw::test::chapter03_contexts
