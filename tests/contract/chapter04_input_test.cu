/// \file
/// Contract, chapter 4: TilePayload, BlockwiseFp8TilePayload and InputTilePipeline.
#include <type_traits>

#include "common/device/bulk_copy.cuh"
#include "solutions/04_per_k_contexts/input_tile_pipeline.cuh"
#include "tests/contract/observation.cuh"
#include "tests/device_cases.hpp"

namespace bw::test::chapter04_input {
namespace {

// ---- TilePayload

constexpr int kRows = 64, kColumns = 96;
using Fp8Payload = BlockwiseFp8TilePayload<kRows, kColumns>;
struct WithoutBytes {
  template <int NumStages>
  struct Storage {};
};
struct WithoutStorage {
  enum : uint32_t { kStageBytes = 128 };
};
struct NotCopyable : WithoutBytes, WithoutStorage {
  NotCopyable(const NotCopyable&) = delete;
};
static_assert(TilePayload<Fp8Payload>, "the payload of this workbook is one");
static_assert(!TilePayload<WithoutBytes>, "a payload says how many bytes fill a stage");
static_assert(!TilePayload<WithoutStorage>, "a payload names the memory of its stages");
static_assert(!TilePayload<NotCopyable>, "every thread has its own copy of the payload");

TEST(BlockwiseFp8TilePayload, StageBytesAreATileBTileAndAScales) {
  EXPECT_EQ(Fp8Payload::kStageBytes, kRows * 128u + kColumns * 128u + kRows * 4u);
}

struct PayloadLayout {
  static constexpr int kStages = 2;
  struct Seen {
    uint32_t a[kStages], b[kStages], a_scales[kStages];  ///< shared addresses
    uint32_t end;
  };
  static __device__ void run(SharedMemBarrier*, Seen& seen) {
    __shared__ struct {
      uint8_t before;  // so that the storage isn't aligned by accident
      Fp8Payload::Storage<kStages> storage;
    } shared;
    auto& storage = shared.storage;
    const auto payload = Fp8Payload::of(storage);
    for (int stage = 0; stage < kStages; ++stage) {
      seen.a[stage] = ptx::shared_address(payload.a_tile(stage));
      seen.b[stage] = ptx::shared_address(payload.b_tile(stage));
      seen.a_scales[stage] = ptx::shared_address(payload.a_scales_tile(stage));
    }
    seen.end = ptx::shared_address(&storage) + sizeof(storage);
  }
};
TEST(BlockwiseFp8TilePayload, TilesStartAtTheSwizzlesRepeatScalesWhereTmaCanWrite) {
  const auto seen = observe<PayloadLayout>(1);
  for (int stage = 0; stage < PayloadLayout::kStages; ++stage) {
    EXPECT_EQ(seen.a[stage] % 1024, 0u);
    EXPECT_EQ(seen.b[stage] % 1024, 0u);
    EXPECT_EQ(seen.a_scales[stage] % 128, 0u);
  }
}
TEST(BlockwiseFp8TilePayload, StagesFollowEachOtherAndDoNotOverlap) {
  const auto seen = observe<PayloadLayout>(1);
  EXPECT_EQ(seen.a[1] - seen.a[0], kRows * 128u) << "rows of 128 bytes, K-major";
  EXPECT_EQ(seen.b[1] - seen.b[0], kColumns * 128u);
  EXPECT_EQ(seen.a_scales[1] - seen.a_scales[0], kRows * 4u) << "one fp32 per row";
  EXPECT_EQ(seen.b[0], seen.a[1] + kRows * 128u);
  EXPECT_EQ(seen.a_scales[0], seen.b[1] + kColumns * 128u);
  EXPECT_LE(seen.a_scales[1] + kRows * 4u, seen.end);
}

// ---- InputTilePipeline

constexpr int kStages = 2, kGroup = 2;
using Payload = BlockwiseFp8TilePayload<32, 8>;
using Input = InputTilePipeline<Payload, kStages, kGroup>;
constexpr uint32_t kArrivals = 40;  ///< more than one warp makes
constexpr bool kHasInnerPipeline =
    std::is_same_v<Input::Pipeline, ProducerConsumerPipeline<kStages>> &&
    std::is_same_v<Input::PayloadType, Payload>;
static_assert(kHasInnerPipeline, "{pipeline, payload}");

TEST(InputTilePipeline, HoldsGroupsOfTiles) {
  EXPECT_EQ(Input::kNumGroupStages, 2);
  EXPECT_EQ(Input::kGroupSize, 2);
  EXPECT_EQ(Input::kNumTiles, 4);
}

__device__ Input input_over(SharedMemBarrier* barriers) {
  return Input{Input::Pipeline(barriers), Payload{}};
}

constexpr bool is_place(KGroupPlace place, uint32_t index, bool is_last) {
  return place.index == index && place.is_last == is_last;
}
static_assert(is_place(place_in_group<1>(5, 9), 0, true), "a group of one is one block");
static_assert(is_place(place_in_group<2>(4, 9), 0, false) &&
                  is_place(place_in_group<2>(5, 9), 1, true),
              "two blocks share a stage");
static_assert(is_place(place_in_group<2>(8, 9), 0, true), "the last group may be incomplete");

/// The blocks of a stage, one by one. Stage 1's full barrier is never signalled.
struct BlocksOfAStage {
  struct Seen {
    uint32_t waited;         ///< 1: the first block's scope began after the signal
    uint32_t tile_index[2];  ///< of both blocks
    int32_t barrier[2];      ///< of their scopes, counted from the first one
    uint32_t stage_after_first, stage_after_last, stage_after_lone_last;
  };
  static __device__ void run(SharedMemBarrier* barriers, Seen& seen) {
    __shared__ volatile uint32_t signalled;
    Input input = input_over(barriers);
    if (threadIdx.x == 0) {
      input.pipeline.init_barriers(1, kArrivals);
      signalled = 0;
    }
    meet();
    if (warp_index() == 1) {
      if (lane_index() == 0) {
        come_late();
        signalled = 1;
        barriers[0].arrive();
      }
      return;
    }
    Seen own{};
    auto consumer = input.consumer();
    {
      auto block = consumer.acquire_block({.index = 0, .is_last = false}, consumer.try_acquire());
      own.waited = signalled;
      own.tile_index[0] = block.tile_index();
      own.barrier[0] = static_cast<int32_t>(block.barrier() - barriers);
    }
    own.stage_after_first = input.pipeline.consumer_stage();
    {
      auto block = consumer.acquire_block({.index = 1, .is_last = true}, false);
      own.tile_index[1] = block.tile_index();
      own.barrier[1] = static_cast<int32_t>(block.barrier() - barriers);
    }
    own.stage_after_last = input.pipeline.consumer_stage();
    // A later block of a stage waits for nothing: here it would wait forever.
    { auto block = consumer.acquire_block({.index = 1, .is_last = true}, false); }
    own.stage_after_lone_last = input.pipeline.consumer_stage();
    if (lane_index() == 0) seen = own;
  }
};
TEST(InputConsumer, AcquireBlockWaitsAtTheFirstAndStepsAtTheLastOfAGroup) {
  const auto seen = observe<BlocksOfAStage>(64);
  EXPECT_EQ(seen.waited, 1u);
  for (uint32_t block = 0; block < 2; ++block) {
    EXPECT_EQ(seen.tile_index[block], block);
    EXPECT_EQ(seen.barrier[block], kStages) << "empty[0] of both";
  }
  EXPECT_EQ(seen.stage_after_first, 0u);
  EXPECT_EQ(seen.stage_after_last, 1u);
  EXPECT_EQ(seen.stage_after_lone_last, 0u);
}

/// How a side enters its scope.
enum class Enter { kAcquire, kIfNeededNotReady, kIfNeededReady };

struct ScopeSeen {
  uint32_t ready_before;   ///< `try_acquire` before the other side has signalled
  uint32_t waited;         ///< 1: entered only after the signal
  uint32_t ready_after;    ///< `try_acquire` after the signal
  uint32_t tile_index[2];  ///< of both tiles of the group
  int32_t barrier;         ///< of the scope, counted from the first one
  uint32_t payload;        ///< 1: the pipeline's
  uint32_t stage_inside, stage_after, other_stage;
  BarrierState full, empty;
};

/// One warp takes stage 1 in the lap in which it has to wait; another warp signals it late, once.
template <bool producer_side, Enter enter>
struct ScopeOfStage {
  using Seen = ScopeSeen;

  static __device__ uint32_t stage_of(const Input& input) {
    return producer_side ? input.pipeline.producer_stage() : input.pipeline.consumer_stage();
  }
  template <class View>
  static __device__ auto enter_scope(View& view) {
    if constexpr (enter == Enter::kAcquire) return view.acquire();
    if constexpr (enter != Enter::kAcquire) {
      return view.acquire_if_needed(enter == Enter::kIfNeededReady);
    }
  }
  template <class View>
  static __device__ void use_stage(Input& input, View view, const SharedMemBarrier* barriers,
                                   const volatile uint32_t& signalled, Seen& seen) {
    const uint32_t ready_before = view.try_acquire();
    {
      const auto scope = enter_scope(view);
      if (lane_index() == 0) {
        seen.ready_before = ready_before;
        seen.waited = signalled;
        seen.tile_index[0] = scope.tile_index();
        seen.tile_index[1] = scope.tile_index(1);
        seen.barrier = scope.barrier() - barriers;
        seen.payload = &scope.payload() == &input.payload;
        seen.stage_inside = stage_of(input);
      }
      __syncwarp();
      while (signalled == 0) come_late();  // where it needn't wait, the signal is still to come
      come_late();
      seen.ready_after = view.try_acquire();
    }
    if (lane_index() == 0) seen.stage_after = stage_of(input);
  }

  static __device__ void run(SharedMemBarrier* barriers, Seen& seen) {
    __shared__ volatile uint32_t signalled;
    auto input = input_over(barriers);
    if (threadIdx.x == 0) {
      input.pipeline.init_barriers(producer_side ? kArrivals : 1, producer_side ? 1 : kArrivals);
      signalled = 0;
    }
    meet();
    if (warp_index() == 0) {
      if constexpr (producer_side) {
        for (int i = 0; i < kStages + 1; ++i) input.pipeline.producer_step();
        use_stage(input, input.producer(), barriers, signalled, seen);
      } else {
        input.pipeline.consumer_step();
        use_stage(input, input.consumer(), barriers, signalled, seen);
      }
      if (lane_index() == 0) {
        seen.other_stage =
            producer_side ? input.pipeline.consumer_stage() : input.pipeline.producer_stage();
        seen.full = complete_and_count(barriers[1]);
        seen.empty = complete_and_count(barriers[kStages + 1]);
      }
    } else if (lane_index() == 0) {
      come_late();
      signalled = 1;
      barriers[producer_side ? kStages + 1 : 1].arrive();
    }
  }
};

template <bool producer_side, Enter enter>
ScopeSeen observe_scope() {
  const auto seen = observe<ScopeOfStage<producer_side, enter>>(64);
  EXPECT_EQ(seen.ready_before, 0u) << "try_acquire tells, and doesn't wait";
  EXPECT_EQ(seen.ready_after, 1u);
  EXPECT_EQ(seen.tile_index[0], 2u) << "stage 1 of groups of 2";
  EXPECT_EQ(seen.tile_index[1], 3u);
  EXPECT_EQ(seen.payload, 1u);
  EXPECT_EQ(seen.stage_inside, 1u) << "the index moves at the end";
  EXPECT_EQ(seen.stage_after, 0u);
  EXPECT_EQ(seen.other_stage, 0u);
  const BarrierState& signalled_by_user = producer_side ? seen.full : seen.empty;
  EXPECT_EQ(signalled_by_user.phase, 0u);
  EXPECT_EQ(signalled_by_user.pending, kArrivals) << "the scope signals nothing";
  return seen;
}

TEST(InputProducer, AcquireWaitsForEmptyAndOnlySteps) {
  const ScopeSeen seen = observe_scope<true, Enter::kAcquire>();
  EXPECT_EQ(seen.waited, 1u);
  EXPECT_EQ(seen.barrier, 1) << "full[1]";
}
TEST(InputProducer, AcquireIfNeededWaitsUnlessReady) {
  EXPECT_EQ((observe_scope<true, Enter::kIfNeededNotReady>().waited), 1u);
  EXPECT_EQ((observe_scope<true, Enter::kIfNeededReady>().waited), 0u);
}
TEST(InputConsumer, AcquireWaitsForFullAndOnlySteps) {
  const ScopeSeen seen = observe_scope<false, Enter::kAcquire>();
  EXPECT_EQ(seen.waited, 1u);
  EXPECT_EQ(seen.barrier, kStages + 1) << "empty[1]";
}
TEST(InputConsumer, AcquireIfNeededWaitsUnlessReady) {
  EXPECT_EQ((observe_scope<false, Enter::kIfNeededNotReady>().waited), 1u);
  EXPECT_EQ((observe_scope<false, Enter::kIfNeededReady>().waited), 0u);
}

/// Full counts one arrival; the stage's bytes come in two copies.
struct ExpectBytes {
  static constexpr uint32_t kFirstBytes = 48, kSecondBytes = 16;
  struct alignas(16) Seen {
    uint8_t source[kFirstBytes];
    uint32_t phase_expected, phase_after_first, phase_after_second;
  };
  static __device__ void run(SharedMemBarrier* barriers, Seen& seen) {
    __shared__ alignas(16) uint8_t tile[kFirstBytes];
    auto input = input_over(barriers);
    input.pipeline.init_barriers(1, 1);
    ptx::fence_mbarrier_init();
    auto stage = input.producer().acquire();
    const uint32_t full = stage.barrier()->address();
    stage.expect_bytes(kFirstBytes + kSecondBytes);
    seen.phase_expected = current_phase(barriers[0]);
    ptx::bulk_load(ptx::shared_address(tile), seen.source, kFirstBytes, full);
    come_late();
    seen.phase_after_first = current_phase(barriers[0]);
    ptx::bulk_load(ptx::shared_address(tile), seen.source, kSecondBytes, full);
    come_late();
    seen.phase_after_second = current_phase(barriers[0]);
  }
};
TEST(InputProducer, ExpectBytesIsTheArrivalAndWaitsForAllBytes) {
  const auto seen = observe<ExpectBytes>(1);
  EXPECT_EQ(seen.phase_expected, 0u);
  EXPECT_EQ(seen.phase_after_first, 0u);
  EXPECT_EQ(seen.phase_after_second, 1u);
}

/// The load warp fills `filled` stages and drains; the other side releases each late.
struct DrainSeen {
  uint32_t released;  ///< stages that the consumer had released when `drain` returned
};
template <int filled>
struct Drain {
  using Seen = DrainSeen;
  static __device__ void run(SharedMemBarrier* barriers, Seen& seen) {
    __shared__ volatile uint32_t released;
    auto input = input_over(barriers);
    if (threadIdx.x == 0) {
      input.pipeline.init_barriers(1, 1);
      released = 0;
    }
    meet();
    if (warp_index() == 0) {
      auto producer = input.producer();
      for (int i = 0; i < filled; ++i) {
        auto stage = producer.acquire();
        if (lane_index() == 0) stage.barrier()->arrive();
        __syncwarp();
      }
      producer.drain();
      if (lane_index() == 0) {
        seen.released = released;
      }
    } else if (lane_index() == 0) {
      auto consumer = input.consumer();
      for (int i = 0; i < filled; ++i) {
        auto stage = consumer.acquire();
        come_late();
        released = released + 1;
        stage.barrier()->arrive();
      }
    }
  }
};
TEST(InputProducer, DrainWaitsUntilEveryStageIsReleased) {
  const DrainSeen all = observe<Drain<kStages>>(64);
  EXPECT_EQ(all.released, 2u);
  const DrainSeen laps = observe<Drain<2 * kStages + 1>>(64);
  EXPECT_EQ(laps.released, 5u);
}
TEST(InputProducer, DrainDoesNotWaitForStagesThatWereNeverFilled) {
  const DrainSeen some = observe<Drain<1>>(64);
  EXPECT_EQ(some.released, 1u);
  const DrainSeen none = observe<Drain<0>>(64);
  EXPECT_EQ(none.released, 0u);
}

}  // namespace
}  // namespace bw::test::chapter04_input
