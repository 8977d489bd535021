#pragma once
/// \file
/// A math warpgroup: wgmma, promotion, output.

#include <cstdint>
#include <type_traits>

#include "common/device/cluster.cuh"
#include "common/device/elect.cuh"
#include "common/device/shared_address.cuh"
#include "common/device/wgmma.cuh"
#include "common/device/wgmma_descriptor.cuh"
#include "solutions/06_hopper_fp8_gemm/gemm_cta.cuh"
#include "solutions/06_hopper_fp8_gemm/output_slices.cuh"
#include "solutions/06_hopper_fp8_gemm/partial_sums.cuh"
#include "solutions/06_hopper_fp8_gemm/promoted_accumulator.cuh"
#include "solutions/06_hopper_fp8_gemm/split_k_reduction.cuh"
#include "solutions/06_hopper_fp8_gemm/value_hints.cuh"

namespace bw::hopper {

/// One stage's operands of a math warpgroup, as the low words of their descriptors.
template <class Config>
struct StageOperandsOf {
  /// Bytes: what the addresses in descriptors count.
  static constexpr uint32_t kUnit = 16;

  uint32_t a;  ///< low word of the descriptor of A
  uint32_t b;  ///< low word of the descriptor of B

  /// product = A · Bᵀ over the K block, asynchronously, for 64 rows from `row` on of the
  /// warpgroup's and one wgmma's columns from `column` on: one group of MMAs.
  template <int row, int column>
  __device__ __forceinline__ void multiply(float (&product)[Config::kMmaRegisters]) const {
    constexpr int kMmaK = 32;  // bytes = elements of K of one wgmma
    ptx::wgmma_hold(product);
    ptx::wgmma_fence();
#pragma unroll
    for (int step = 0; step < Config::kTileK / kMmaK; ++step) {
      const uint32_t k = step * kMmaK;
      ptx::wgmma_e4m3(product, wgmma_descriptor(a + (row * Config::kTileK + k) / kUnit),
                      wgmma_descriptor(b + (column * Config::kTileK + k) / kUnit), step > 0);
    }
    ptx::wgmma_commit_group();
  }
};

/// One math warpgroup's walk over the K blocks of its tiles.
template <class Config>
class MathWarpgroup {
  using StageOperands = StageOperandsOf<Config>;

 public:
  /// For one math warpgroup of the CTA.
  __device__ __forceinline__ MathWarpgroup(const GemmCta<Config>& cta, uint32_t warpgroup)
      : cta_(cta),
        warpgroup_(warpgroup),
        thread_(threadIdx.x % kWarpgroupThreads),
        input_(cta.input_pipeline()),
        promoted_(input_.pipeline) {
    const uint32_t first_row = GemmCta<Config>::warpgroup_row(warpgroup);
    const uint32_t first_column = GemmCta<Config>::warpgroup_column(warpgroup);
    const auto& payload = input_.payload;
    a_operand_ = uniform(
        wgmma_descriptor_low(ptx::shared_address(payload.a_tile(0)) + first_row * Config::kTileK));
    b_operand_ = uniform(wgmma_descriptor_low(ptx::shared_address(payload.b_tile(0)) +
                                              first_column * Config::kTileK));
    const uint32_t thread_row =
        thread_ / ptx::kWarpThreads * kWarpRows + thread_ % ptx::kWarpThreads / 4;
    a_scales_ =
        ptx::shared_address(payload.a_scales_tile(0)) + (first_row + thread_row) * sizeof(float);
    keep(a_scales_);
    const uint32_t lane = thread_ % ptx::kWarpThreads;
    if constexpr (kReleasesRemotely) {
      releases_ =
          lane < Config::kClusterSize && (cta.cluster().input_empty_mask() >> lane & 1) != 0;
      __syncwarp();
      remote_empty_ =
          ptx::map_to_cta(input_.pipeline.consumer_mbar(0)->address(), lane % Config::kClusterSize);
      keep(remote_empty_);
    } else {
      releases_ = lane == 0;
    }
    keep(thread_);
  }

  /// The warpgroup's whole life. With `writes_behind` a tile is written while the first product of
  /// the next is being computed, else as soon as it is finished.
  __device__ __forceinline__ void run() {
    OutputSlices<Config> output(cta_, warpgroup_, thread_);
    PromotedAccumulator<Config> accumulator;
    TilePart pending{};  // the tile in the accumulator that hasn't been written
    bool is_pending = false;
    cta_.for_each_part([&](const TilePart& part) {
      begin_part(part);
      uint32_t k_block = part.first;
      if constexpr (Config::traits.writes_behind) {
        accumulate_block(accumulator, k_block++, part.end, [&](auto wave, auto piece) {
          if (is_pending) output.template write<wave, piece>(accumulator, pending);
          accumulator.template zero<wave, piece>();
        });
      } else {
        accumulator.zero();
      }
      accumulate_blocks(accumulator, k_block, part.end);
      if constexpr (Config::kSplitK > 1) {
        float sum[Config::kWaves][Config::kOwnedRegisters];
        reduce_over_cluster(cta_, warpgroup_, thread_, accumulator, sum);
        if (cta_.is_owner()) output.write(sum, part);
      } else if constexpr (Config::traits.writes_behind) {
        is_pending = !Config::kStreamK || complete(accumulator, part);
        pending = part;
      } else {
        output.write(accumulator.values(), part);
      }
    });
    if (is_pending) output.write(accumulator.values(), pending);
  }

 private:
  /// Steps of a K block: each is the MMAs of one wave times one wgmma's columns.
  static constexpr int kSteps = Config::kWaves * Config::kPieces;
  using Product = float[Config::kMmaRegisters];

  /// With stream_k, after the K blocks of `part`: leaves a helper's partial sum, or adds to an
  /// owner's what the helpers have left. Whether the tile is this CTA's to write.
  __device__ __forceinline__ bool complete(PromotedAccumulator<Config>& accumulator,
                                           const TilePart& part) {
    const StreamKSchedule& schedule = cta_.args.stream_k.schedule;
    const PartialSums<Config> partial_sums(cta_);
    if (part.first > 0) {
      partial_sums.leave(schedule.partial_sum(cta_.cluster_index(), part.piece), accumulator);
      return false;
    }
    if (part.piece >= schedule.whole) {
      schedule.for_each_helper(part.piece, [&](uint32_t helper) {
        partial_sums.add(schedule.partial_sum(helper, part.piece), accumulator);
      });
    }
    return true;
  }

  /// Begins with the B-scales of the warpgroup's columns of a tile.
  __device__ __forceinline__ void begin_part(const TilePart& part) {
    const int32_t column = part.column + GemmCta<Config>::warpgroup_column(warpgroup_);
    constexpr uint32_t kStep = Config::kPicksScales ? kScaleBlock : Config::kScaleColumns;
    if constexpr (Config::kPicksScales) {
      first_scale_columns_ = uniform(static_cast<uint32_t>(kScaleBlock - column % kScaleBlock));
    }
    const auto row_of = [&](uint32_t group) {
      uint32_t row = min((column + group * kStep) / kScaleBlock, cta_.args.b_scales.rows - 1);
      if constexpr (Config::traits.grouped) row += part.group * cta_.args.groups.scale_rows;
      return cta_.args.b_scales.scales + row * cta_.args.b_scales.stride;
    };
    if constexpr (Config::kLapBlocks > 0) {
      b_scales_.begin(row_of, part.first, part.end, input_.pipeline.consumer_stage());
    } else {
      b_scales_.begin(row_of, part.first, part.end);
    }
  }

  /// Adds K blocks `k_block` to `end` - 1.
  __device__ __forceinline__ void accumulate_blocks(PromotedAccumulator<Config>& accumulator,
                                                    uint32_t k_block, uint32_t end) {
    if constexpr (Config::traits.two_products) {
      accumulate_in_turn(accumulator, k_block, end);
      return;
    }
    const auto add_next = [&] { accumulate_block(accumulator, k_block++, end, [](auto, auto) {}); };
#pragma unroll 1
    while (k_block < end) {
      if constexpr (Config::kLapBlocks > 0) {
        if (b_scales_.step() == 0 && k_block + Config::kLapBlocks <= end) {
          // Sets of B-scales begin with laps: from here on ptxas knows every stage.
          __builtin_assume(input_.pipeline.consumer_stage() == 0);
          __builtin_assume(b_scales_.step() == 0);
#pragma unroll
          for (int i = 0; i < Config::kLapBlocks; ++i) add_next();
          continue;
        }
      }
      add_next();
    }
  }

  /// The same with two products in turn: while one is promoted, the next one's MMAs run.
  __device__ __forceinline__ void accumulate_in_turn(PromotedAccumulator<Config>& accumulator,
                                                     uint32_t k_block, uint32_t end) {
    if (k_block >= end) return;
    Product even, odd;
    begin(even);
#pragma unroll 1
    while (true) {
      if (Config::kLapBlocks > 0 && b_scales_.step() == 0 &&
          k_block + Config::kLapBlocks + 1 <= end) {
        __builtin_assume(b_scales_.step() == 0);
        __builtin_assume(promoted_.consumer_stage() == 0);
        __builtin_assume(input_.pipeline.consumer_stage() == 1);
#pragma unroll
        for (int i = 0; i < Config::kLapBlocks; i += 2) {
          begin(odd);
          finish<1>(accumulator, even, k_block++, end);
          begin(even);
          finish<1>(accumulator, odd, k_block++, end);
        }
        continue;
      }
      if (k_block + 1 == end) {
        finish<0>(accumulator, even, k_block, end);
        return;
      }
      begin(odd);
      finish<1>(accumulator, even, k_block++, end);
      if (k_block + 1 == end) {
        finish<0>(accumulator, odd, k_block, end);
        return;
      }
      begin(even);
      finish<1>(accumulator, odd, k_block++, end);
    }
  }

  /// Starts the MMAs of the ring's next K block, when it is there.
  __device__ __forceinline__ void begin(Product& product) {
    auto& ring = input_.pipeline;
    ring.wait_producer_if_needed(ready_);
    operands_of(ring.consumer_stage()).template multiply<0, 0>(product);
    ring.consumer_step();
    ready_ = ring.try_wait_producer();
  }

  /// Adds the product of K block `k_block`, when at most `pending` groups of MMAs still run.
  template <int pending>
  __device__ __forceinline__ void finish(PromotedAccumulator<Config>& accumulator, Product& product,
                                         uint32_t k_block, uint32_t end) {
    const uint32_t index = promoted_.consumer_stage();
    const KBlockScales<Config> scales = scales_of(index);
    b_scales_.advance(k_block, end);
    ptx::wgmma_wait_group<pending>();
    ptx::wgmma_hold(product);
    release(index);
    promoted_.consumer_step();
    accumulator.template promote<0, 0>(product, scales);
  }

  __device__ __forceinline__ StageOperands operands_of(uint32_t stage) const {
    return {a_operand_ + stage * (Config::Payload::kATileBytes / StageOperands::kUnit),
            b_operand_ + stage * (Config::Payload::kBTileBytes / StageOperands::kUnit)};
  }
  __device__ __forceinline__ KBlockScales<Config> scales_of(uint32_t stage) const {
    KBlockScales<Config> scales;
    scales.read_a(a_scales_ + stage * Config::Payload::kAScalesBytes);
    if constexpr (Config::kPicksScales) {
      const float first = b_scales_.of_group(0), second = b_scales_.of_group(1);
#pragma unroll
      for (int group = 0; group < Config::kScaleGroups; ++group) {
        scales.b[group] = group * Config::kScaleColumns < first_scale_columns_ ? first : second;
      }
    } else {
#pragma unroll
      for (int group = 0; group < Config::kScaleGroups; ++group) {
        scales.b[group] = b_scales_.of_group(group);
      }
    }
    return scales;
  }

  /// Adds K block `k_block` of those before `end`. `when_begun` is called for each piece of each
  /// wave, when its MMAs have been issued and nothing has been added to it yet.
  template <class WhenBegun>
  __device__ __forceinline__ void accumulate_block(PromotedAccumulator<Config>& accumulator,
                                                   uint32_t k_block, uint32_t end,
                                                   WhenBegun&& when_begun) {
    auto& ring = input_.pipeline;
    ring.wait_producer_if_needed(ready_);
    const uint32_t index = ring.consumer_stage();
    const KBlockScales<Config> scales = scales_of(index);
    const StageOperands operands = operands_of(index);
    const auto when_issued = [&] { b_scales_.advance(k_block, end); };
    const auto when_read = [&] {
      release(index);
      ring.consumer_step();
      ready_ = ring.try_wait_producer();
    };
    Product product;
    multiply_from<0>(accumulator, scales, operands, product, when_begun, when_issued, when_read);
  }

  /// The MMAs of a stage from step `step` on, each promoted while other warpgroups' MMAs run.
  /// `when_issued` is called when the last MMA is on its way, `when_read` as soon as no MMA reads
  /// the stage any more.
  template <int step, class WhenBegun, class WhenIssued, class WhenRead>
  __device__ __forceinline__ void multiply_from(PromotedAccumulator<Config>& accumulator,
                                                const KBlockScales<Config>& scales,
                                                const StageOperands& operands, Product& product,
                                                WhenBegun&& when_begun, WhenIssued&& when_issued,
                                                WhenRead&& when_read) {
    constexpr bool kLast = step == kSteps - 1;
    operands.template multiply<step / Config::kPieces * kMmaRows,
                               step % Config::kPieces * Config::kMmaN>(product);
    if constexpr (kLast) when_issued();
    when_begun(std::integral_constant<int, step / Config::kPieces>{},
               std::integral_constant<int, step % Config::kPieces>{});
    ptx::wgmma_wait_group<0>();
    ptx::wgmma_hold(product);
    if constexpr (kLast) when_read();
    accumulator.template promote<step / Config::kPieces, step % Config::kPieces>(product, scales);
    if constexpr (!kLast) {
      multiply_from<step + 1>(accumulator, scales, operands, product, when_begun, when_issued,
                              when_read);
    }
  }

  /// Whether stages are released in other CTAs, too: those that send data to this one.
  static constexpr bool kReleasesRemotely = Config::kSplitK == 1 && Config::kClusterSize > 1;

  /// One arrival of this warp in every CTA that sends data to this one.
  __device__ __forceinline__ void release(uint32_t stage) {
    if constexpr (kReleasesRemotely) {
      if (releases_) {
        ptx::mbarrier_arrive_remote(remote_empty_ + stage * uint32_t{sizeof(SharedMemBarrier)});
      }
    } else {
      if (releases_) input_.pipeline.consumer_mbar(stage)->arrive();
    }
    __syncwarp();
  }

  const GemmCta<Config>& cta_;
  uint32_t warpgroup_;
  uint32_t thread_;
  uint32_t a_operand_, b_operand_;  ///< descriptors' low words, of the first stage
  uint32_t a_scales_;               ///< address of this thread's first A-scale in the first stage
  typename Config::InputPipeline input_;
  typename Config::InputPipeline::Pipeline
      promoted_;                       ///< with two_products: of the one to be promoted
  bool ready_ = false;                 ///< is the next stage known to be full?
  bool releases_;                      ///< whether this lane arrives where a stage is released
  uint32_t remote_empty_ = 0;          ///< kReleasesRemotely: the lane's first empty barrier
  typename Config::BScales b_scales_;  ///< of the part's columns
  uint32_t first_scale_columns_ = 0;   ///< kPicksScales: the columns with the first of two scales
};

}  // namespace bw::hopper
