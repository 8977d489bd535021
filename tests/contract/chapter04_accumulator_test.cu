/// \file
/// Contract, chapter 4: BlockwiseFp8Accumulator. Tensor memory is filled as tcgen05.mma would, and
/// the promoted sums are compared bit by bit with the host's float arithmetic.
#include <bit>
#include <cmath>
#include <type_traits>

#include "solutions/02_tmem_lifecycle/tmem_allocation.cuh"
#include "solutions/04_per_k_contexts/blockwise_fp8_accumulator.cuh"
#include "solutions/04_per_k_contexts/epilogue_k_context.cuh"
#include "tests/contract/observation.cuh"
#include "tests/device_cases.hpp"

namespace bw::test::chapter04_accumulator {
namespace {

constexpr int kKBlocks = 3;
constexpr uint32_t kArrivals = 3000;  ///< more than all threads make in all K blocks
constexpr int kInputStages = 1;

/// A float with a full mantissa, in (-1, 1), different for every argument.
__host__ __device__ inline float noise(uint32_t a, uint32_t b, uint32_t c) {
  uint32_t bits = a * 0x9e3779b9u ^ b * 0x85ebca6bu ^ c * 0xc2b2ae35u;
  bits = (bits ^ bits >> 15) * 0x2c1b3c6du;
  bits = (bits ^ bits >> 12) * 0x297a2d39u;
  bits ^= bits >> 15;
  return static_cast<float>(static_cast<int32_t>(bits | 1) >> 7) * 0x1p-24f;
}
__host__ __device__ inline float product_at(uint32_t k, uint32_t row, uint32_t column) {
  return noise(k, row, column) * 8.0f;
}
__host__ __device__ inline float a_scale_at(uint32_t k, uint32_t row) {
  return noise(k, row, 1001) * 0.5f;
}
__host__ __device__ inline float b_scale_at(uint32_t k, uint32_t block) {
  return noise(k, block, 1002) * 0.25f;
}

/// `boundary`: columns of the tile that have the first B-scale.
template <int rows, int columns, int CtaGroup, int boundary, int epilogue_threads = 128>
struct Promote {
  static constexpr int kRows = rows, kColumns = columns, kBoundary = boundary;
  static constexpr OutputPipelineConfig kOutput{2, 256, CtaGroup, epilogue_threads};
  using Groups = std::conditional_t<epilogue_threads == 128, EpilogueGroups<0>,
                                    EpilogueGroups<0, kSecondGroupsFirstWarp>>;
  using Accumulator = BlockwiseFp8Accumulator<rows, columns, CtaGroup, Groups>;
  using Stage = EpilogueKStage<kOutput, kInputStages>;
  static constexpr uint32_t kOutputStage = 1;

  struct Seen {
    float sums[rows][columns];
    float of_last_block[rows][columns];
    BarrierState output_empty, input_empty;
  };

  /// The element of D in `lane` and `column` of the accumulator (PTX ISA, "Data path
  /// layout organization"): its row, or -1 where D has nothing, and its column.
  static __device__ int row_in(int lane) {
    if (rows == 128) return lane;
    if (CtaGroup == 2) return lane % 64;
    return lane % 32 < 16 ? lane / 32 * 16 + lane % 16 : -1;
  }
  static __device__ uint32_t column_in(uint32_t lane, uint32_t column) {
    return rows == 64 && CtaGroup == 2 && lane >= 64 ? column + columns / 2 : column;
  }
  static constexpr int kTmemColumns = rows == 64 && CtaGroup == 2 ? columns / 2 : columns;

  /// The first four warps reach all lanes.
  static __device__ void fill(TmemAddress accumulator, uint32_t k) {
    if (epilogue_thread() >= 128) return;
    constexpr int kAtOnce = 8;
    const int row = row_in(threadIdx.x);
    for (int column = 0; column < kTmemColumns; column += kAtOnce) {
      float values[kAtOnce];
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        values[i] = row < 0 ? NAN : product_at(k, row, column_in(threadIdx.x, column + i));
      }
      (accumulator + column).store_32x32b(values);
    }
    TmemAddress::wait_store();
  }
  static __device__ void keep(const Accumulator& accumulator, float (&to)[rows][columns]) {
    using Layout = typename Accumulator::Layout;
#pragma unroll
    for (int i = 0; i < Accumulator::kColumns; ++i) {
      to[Layout::row()][Layout::first_column() + i] = accumulator[i];
    }
  }

  /// Waits for all epilogue threads; what they did with tensor memory comes before what follows.
  static __device__ void meet_epilogue() {
    ptx::tcgen05_fence_before_thread_sync();
    ptx::bar_sync<1, epilogue_threads>();
    ptx::tcgen05_fence_after_thread_sync();
  }

  static __device__ void promote_block(Accumulator& accumulator, Stage stage, uint32_t k) {
    __shared__ float a_scales[rows];
    fill(stage.output_stage.tmem().tensor(), k);
    if (threadIdx.x < rows) a_scales[threadIdx.x] = a_scale_at(k, threadIdx.x);
    meet_epilogue();
    accumulator.promote(stage, a_scales, BScalePair{b_scale_at(k, 0), b_scale_at(k, 1), boundary});
    meet_epilogue();
  }

  static __device__ void promote_all(SharedMemBarrier* barriers, uint32_t tmem, Seen& seen) {
    ProducerConsumerPipeline<kOutput.num_stages> output(barriers);
    ProducerConsumerPipeline<kInputStages> input(barriers + output.kNumBarriers);
    const Stage stage{{kOutputStage, TmemStage<kOutput>{tmem, kOutputStage}, &output}, 0, &input};
    Accumulator accumulator;
    accumulator.zero();
    for (uint32_t k = 0; k < kKBlocks; ++k) promote_block(accumulator, stage, k);
    keep(accumulator, seen.sums);
    accumulator.zero();
    promote_block(accumulator, stage, kKBlocks - 1);
    keep(accumulator, seen.of_last_block);
  }

  static __device__ void run(SharedMemBarrier* barriers, Seen& seen) {
    __shared__ uint32_t slot;
    if (threadIdx.x == 0) {
      for (int i = 0; i < 2 * (kOutput.num_stages + kInputStages); ++i) barriers[i].init(kArrivals);
    }
    meet();
    using Tmem = TmemAllocation<CtaGroup>;
    if (warp_index() == kMmaWarp) Tmem::allocate(&slot);
    __syncthreads();
    const auto tmem = Tmem::from_shared(&slot);
    if (is_epilogue_warp()) {
      promote_all(barriers, tmem.addr, seen);
      ptx::tcgen05_fence_before_thread_sync();
    }
    meet();
    ptx::tcgen05_fence_after_thread_sync();
    if (warp_index() == kMmaWarp) {
      tmem.release_lock();
      tmem.deallocate();
    }
    if (threadIdx.x == 0) {
      seen.output_empty = complete_and_count(barriers[kOutput.num_stages + kOutputStage]);
      seen.input_empty = complete_and_count(barriers[2 * kOutput.num_stages + kInputStages]);
    }
    meet();
  }
};

/// What the contract says: the scale product first, then one multiply-add per K block.
float expected_sum(uint32_t row, uint32_t column, uint32_t boundary, uint32_t first_k) {
  float sum = 0.0f;
  for (uint32_t k = first_k; k < kKBlocks; ++k) {
    const float scale = a_scale_at(k, row) * b_scale_at(k, column < boundary ? 0 : 1);
    sum = std::fma(product_at(k, row, column), scale, sum);
  }
  return sum;
}
/// The wrong result: the product scaled by one scale after the other.
float sum_in_other_order(uint32_t row, uint32_t column, uint32_t boundary) {
  float sum = 0.0f;
  for (uint32_t k = 0; k < kKBlocks; ++k) {
    sum = std::fma(product_at(k, row, column) * a_scale_at(k, row),
                   b_scale_at(k, column < boundary ? 0 : 1), sum);
  }
  return sum;
}
bool same_bits(float a, float b) {
  return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b);
}

template <class Scenario>
auto promote_in_each_cta() {
  return observe_cluster<Scenario>(Scenario::kOutput.cta_group,
                                   kContextThreads<Scenario::kOutput.epilogue_threads>);
}

using Tiles = Types<Promote<128, 64, 1, 64>,          // one B-scale
                    Promote<128, 96, 1, 32>,          // the second tile of 96
                    Promote<128, 192, 1, 64>,         // the most columns of a thread
                    Promote<64, 128, 1, 128>,         // half of the lanes
                    Promote<64, 96, 1, 64>,           // …, the boundary in the first thread's
                    Promote<64, 128, 2, 128>,         // a pair's MMA of 128 rows
                    Promote<128, 80, 2, 48>,          // a pair's MMA of 256 rows
                    Promote<128, 256, 1, 128, 256>,   // two groups of epilogue warps
                    Promote<128, 256, 2, 128, 256>>;  // … of each CTA of a pair
TYPED_TEST_SUITE(BlockwiseFp8AccumulatorOf, Tiles);

TYPED_TEST(BlockwiseFp8AccumulatorOf, PromoteFormsTheScaleProductFirst) {
  for (const auto& seen : promote_in_each_cta<TypeParam>()) {
    int differs = 0;
    for (int row = 0; row < TypeParam::kRows; ++row) {
      for (int column = 0; column < TypeParam::kColumns; ++column) {
        const float expected = expected_sum(row, column, TypeParam::kBoundary, 0);
        ASSERT_TRUE(same_bits(seen.sums[row][column], expected))
            << "[" << row << "][" << column << "] = " << seen.sums[row][column] << ", expected "
            << expected;
        differs += !same_bits(expected, sum_in_other_order(row, column, TypeParam::kBoundary));
      }
    }
    EXPECT_GT(differs, TypeParam::kRows * TypeParam::kColumns / 4) << "the inputs tell the orders";
  }
}
TYPED_TEST(BlockwiseFp8AccumulatorOf, ZeroForgetsTheTileBefore) {
  for (const auto& seen : promote_in_each_cta<TypeParam>()) {
    for (int row = 0; row < TypeParam::kRows; ++row) {
      for (int column = 0; column < TypeParam::kColumns; ++column) {
        ASSERT_TRUE(same_bits(seen.of_last_block[row][column],
                              expected_sum(row, column, TypeParam::kBoundary, kKBlocks - 1)))
            << "[" << row << "][" << column << "]";
      }
    }
  }
}
TYPED_TEST(BlockwiseFp8AccumulatorOf, PromoteReleasesAccumulatorAndInputOncePerKBlock) {
  constexpr uint32_t kPromotions = kKBlocks + 1;
  const auto seen = promote_in_each_cta<TypeParam>();
  constexpr uint32_t kCtas = TypeParam::kOutput.cta_group;
  constexpr uint32_t kEpilogueThreads = TypeParam::kOutput.epilogue_threads;
  EXPECT_EQ(seen[0].output_empty.pending, kArrivals - kPromotions * kEpilogueThreads * kCtas);
  for (const auto& cta : seen) {
    EXPECT_EQ(cta.input_empty.pending, kArrivals - kPromotions * kEpilogueThreads / 32);
  }
  if (kCtas == 2) EXPECT_EQ(seen[1].output_empty.pending, kArrivals) << "the leader's counts";
}

}  // namespace
}  // namespace bw::test::chapter04_accumulator
