#pragma once
/// \file
/// Roles, rings and memory of the block-scaled GEMM kernel, as BlockScaledTraits determine them.

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "common/device/min_max.cuh"
#include "common/device/shared_memory_budget.cuh"
#include "solutions/05_blockwise_fp8_gemm/kernel_config.cuh"
#include "solutions/07_block_scaled_gemm/block_scaled_payload.cuh"
#include "solutions/07_block_scaled_gemm/block_scaled_tmem.cuh"
#include "solutions/07_block_scaled_gemm/block_scaled_traits.hpp"
#include "solutions/07_block_scaled_gemm/tile_accumulator.cuh"

namespace bw {

/// Chapter 5's slice of C and D in half its width. With K blocks this cheap, an input stage more is
/// worth more than wide copies.
template <GemmTraits traits, int thread_columns>
struct NarrowOutputSlice : OutputSlice<traits, thread_columns> {
  using Wide = OutputSlice<traits, thread_columns>;             ///< chapter 5's
  static constexpr int kColumns = Wide::kColumns / 2;           ///< of a thread, in a slice
  static constexpr int kPerTile = Wide::kPerTile * 2;           ///< slices of a thread's columns
  static constexpr uint32_t kDRowBytes = Wide::kDRowBytes / 2;  ///< bytes of a row of a slice of D
  static constexpr uint32_t kCRowBytes = Wide::kCRowBytes / 2;  ///< bytes of a row of a slice of C
  static constexpr uint32_t kDBytes = Wide::kDBytes / 2;        ///< bytes of a slice of D
  static constexpr uint32_t kCBytes = Wide::kCBytes / 2;        ///< bytes of a slice of C
};

/// Everything that follows from `traits_`. Members have the names of chapter 5's GemmConfig, whose
/// schedulers, ring of C, order of loads and writer this kernel uses as they are.
template <BlockScaledTraits traits_>
struct BlockScaledConfig {
  static constexpr BlockScaledTraits kScaled = traits_;   ///< all choices
  static constexpr GemmTraits traits = traits_.gemm;      ///< those that chapter 5 has too
  static constexpr BlockFormat kFormat = traits_.format;  ///< of A and B
  static_assert(is_block_scaled_shape(traits),
                "a CTA has 128 rows (MMA_M 128 with cta_group 1, 256 with cta_group 2) and N is a"
                " multiple of 32 up to 256");
  static_assert(slices_keep_the_swizzle(traits),
                "the CTAs that share a tile load a slice each, of whole groups of 8 rows: the"
                " cluster is too large for this tile");

  static constexpr int kCtaGroup = traits.cta_group;   ///< CTAs that share an MMA
  static constexpr int kCtaRows = traits.cta_rows();   ///< rows of D in a CTA
  static constexpr int kMmaN = traits.mma_n;           ///< columns of the MMA
  static constexpr int kTileK = kBlockScaledRowBytes;  ///< bytes of K in a block

  /// Groups of 128 rows of B that the columns of a tile reach into. A tile of 192 begins in the
  /// middle of an atom every other time, and one of 224 may reach into three.
  static constexpr int kBScaleParts = [] {
    constexpr int kBegin = kScaleAtomRows - min_of(kMmaN & -kMmaN, kScaleAtomRows);
    return (kBegin + kMmaN + kScaleAtomRows - 1) / kScaleAtomRows;
  }();

  using Roles = WarpRolesOf<traits.epilogue_groups()>;  ///< which warp does what
  /// The CTA's place in its cluster.
  using Cluster = ClusterLayout<kCtaGroup, traits.cluster_m, traits.cluster_n>;
  /// What an input stage holds.
  using Payload = BlockScaledTilePayload<kFormat, kCtaRows, traits.cta_b_rows(), kBScaleParts>;
  /// A tile's columns in registers, on their way out.
  using Accumulator = TileAccumulator<kMmaN, kCtaGroup, typename Roles::Epilogue>;
  using Slice = NarrowOutputSlice<traits, Accumulator::kColumns>;  ///< a piece of the output

  static constexpr int kNumEpiLoadStages = 2;          ///< stages of the ring of C
  static constexpr int kNumOutputBuffers = 2;          ///< buffers of D that wait for their stores
  using EpiLoad = EpiLoadPipeline<kNumEpiLoadStages>;  ///< the ring of C

  static constexpr int kNumScheduleStages = 2;  ///< messages that can be under way
  /// Which tile comes next.
  using TileScheduler = std::conditional_t<
      traits.scheduling == TileScheduling::kStatic,
      StaticTileScheduler<kNumScheduleStages, Roles::kTileConsumerThreads, traits.cluster_m>,
      ClcTileScheduler<kNumScheduleStages, Roles::kTileConsumerThreads, traits.cluster_m,
                       Cluster::kSize>>;
  using LoadOrder = LoadOrderBarrier<kNumScheduleStages + 1>;  ///< the order of loads

  static constexpr uint32_t kBarrierBytes = 1024;  ///< barriers, messages, padding
  /// Bytes of all slices of C and D.
  static constexpr uint32_t kOutputBytes =
      kNumEpiLoadStages * Slice::kCBytes + kNumOutputBuffers * Slice::kDBytes;
  static constexpr int kKGroupSize = 1;  ///< K blocks of a stage
  /// Input stages: what is left of the SM's shared memory.
  static constexpr int kNumInputStages =
      min_of(8, static_cast<int>((kMaxSharedBytesPerCta - kOutputBytes - kBarrierBytes) /
                                 Payload::kStageBytes));
  static_assert(kNumInputStages >= 2,
                "less than two input stages fit into shared memory: choose smaller tiles");
  /// The input ring with its payload.
  using InputPipeline = InputTilePipeline<Payload, kNumInputStages, kKGroupSize, kCtaGroup,
                                          (traits.cluster_m * traits.cluster_n > 1)>;

  /// What the columns of tensor memory hold.
  using Tmem = BlockScaledTmem<traits_, kBScaleParts, kNumInputStages>;
  /// The ring of accumulators.
  static constexpr OutputPipelineConfig kOutput{Tmem::kNumAccumulators, Tmem::kAccumulatorColumns,
                                                kCtaGroup, Roles::kEpilogueThreads};
  /// The MMA warp's context.
  using MmaWarp = MmaWarpContext<kOutput, Roles::kMmaThreads, Roles::kEpilogueThreads>;
  /// The epilogue warps' context.
  using EpilogueWarp = EpilogueWarpContext<kOutput, Roles::kMmaThreads, Roles::kEpilogueThreads>;

  /// Input-full arrivals: the lane that announces the bytes.
  static constexpr uint32_t kInputProducerArrivals = 1;
  /// Input-empty arrivals: one commit of every MMA that reads what this CTA loads. No thread of the
  /// epilogue: the scales went into tensor memory.
  static constexpr uint32_t kInputConsumerArrivals = traits.b_slices() + traits.a_slices() - 1;
  /// Input-full bytes of a stage, of both CTAs of a pair.
  static constexpr uint32_t kInputStageBytes = kCtaGroup * Payload::kStageBytes;

  /// The kernel's dynamic shared memory; barriers come first (kBarrierRegionBytes).
  struct SharedStorage {
    /// Which tile comes next, a message a stage.
    typename TileScheduler::Message schedule_messages[kNumScheduleStages];
    /// Barriers of the input ring.
    SharedMemBarrier input_barriers[InputPipeline::Pipeline::kNumBarriers];
    /// Barriers of the ring of accumulators.
    SharedMemBarrier accumulator_barriers[2 * Tmem::kNumAccumulators];
    SharedMemBarrier epi_load_barriers[EpiLoad::kNumBarriers];  ///< barriers of the ring of C
    /// Barriers of the ring of messages.
    SharedMemBarrier schedule_barriers[TileScheduler::kNumBarriers];
    /// Barriers of the order of loads.
    SharedMemBarrier load_order_barriers[LoadOrder::kNumBarriers];
    SharedMemBarrier tmem_dealloc;  ///< counts the readers that are done with tensor memory
    uint32_t tmem_address;          ///< written by the allocation, read by the other roles
    /// Stages of A, B and their scales.
    typename Payload::template Storage<kNumInputStages> input;
    /// Slices of C, by TMA.
    alignas(1024) uint8_t c_slices[kNumEpiLoadStages][Slice::kCBytes];
    /// Slices of D, for TMA.
    alignas(1024) uint8_t d_slices[kNumOutputBuffers][Slice::kDBytes];
  };
  static_assert(offsetof(SharedStorage, tmem_address) < kBarrierRegionBytes,
                "barriers are in the first 8 KiB of shared memory");
  static_assert(sizeof(SharedStorage) <= kMaxSharedBytesPerCta,
                "the rings need more shared memory than a CTA can have");
};

}  // namespace bw
