#pragma once
/// \file
/// Roles, rings and shared memory of the blockwise FP8 GEMM kernel, as GemmTraits determine them.

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "common/device/min_max.cuh"
#include "common/device/register_budget.cuh"
#include "common/device/shared_mem_barrier.cuh"
#include "common/device/shared_memory_budget.cuh"
#include "common/device/swizzle.cuh"
#include "solutions/02_tmem_lifecycle/tmem_stage.cuh"
#include "solutions/03_warp_contexts/epilogue_warp_context.cuh"
#include "solutions/03_warp_contexts/mma_warp_context.cuh"
#include "solutions/04_per_k_contexts/blockwise_fp8_accumulator.cuh"
#include "solutions/04_per_k_contexts/epilogue_groups.cuh"
#include "solutions/04_per_k_contexts/input_tile_pipeline.cuh"
#include "solutions/05_blockwise_fp8_gemm/clc_tile_scheduler.cuh"
#include "solutions/05_blockwise_fp8_gemm/cluster_layout.cuh"
#include "solutions/05_blockwise_fp8_gemm/epi_load_pipeline.cuh"
#include "solutions/05_blockwise_fp8_gemm/gemm_traits.hpp"
#include "solutions/05_blockwise_fp8_gemm/load_order_barrier.cuh"
#include "solutions/05_blockwise_fp8_gemm/packed_sums.cuh"
#include "solutions/05_blockwise_fp8_gemm/static_tile_scheduler.cuh"

namespace bw {

/// Warps of the CTA by role. Warps 0 to 3 are the epilogue: warp w reads TMEM lanes 32w … 32w+31.
/// With two epilogue groups warps 8 to 11 are epilogue too: warp w reads the lanes of w % 4.
///
/// Every count of epilogue threads or warps in the kernel comes from here.
template <int epilogue_groups>
struct WarpRolesOf {
  static_assert(epilogue_groups == 1 || epilogue_groups == 2, "one or two groups of four warps");
  static constexpr uint32_t kSchedulerWarp = 4;     ///< number of the scheduler's warp
  static constexpr uint32_t kLoadWarp = 5;          ///< number of the load warp
  static constexpr uint32_t kMmaWarp = 6;           ///< number of the MMA warp
  static constexpr uint32_t kEpilogueLoadWarp = 7;  ///< number of the warp that loads C
  /// Where the epilogue's threads sit.
  using Epilogue = std::conditional_t<epilogue_groups == 1, EpilogueGroups<0>,
                                      EpilogueGroups<0, kEpilogueLoadWarp + 1>>;
  static constexpr uint32_t kEpilogueWarps = Epilogue::kWarps;  ///< number of epilogue warps
  static constexpr uint32_t kWarps = 4 + kEpilogueWarps;        ///< warps of a CTA
  static constexpr uint32_t kThreads = kWarps * 32;             ///< threads of a CTA
  /// Threads of all epilogue warps.
  static constexpr uint32_t kEpilogueThreads = Epilogue::kThreads;
  static constexpr uint32_t kMmaThreads = 32;  ///< threads of the MMA warp
  /// Threads that take work tiles: load, MMA, epilogue load and the epilogue.
  static constexpr uint32_t kTileConsumerThreads = 3 * 32 + kEpilogueThreads;

  /// The epilogue's groups, asked as what none of the four other roles is.
  static constexpr bool is_epilogue(uint32_t warp) {
    return warp < kSchedulerWarp || warp > kEpilogueLoadWarp;
  }

  /// Registers per thread. The SM has 65536: 8 warps may have 255 each, 12 warps only 168, where
  /// an epilogue thread needs 128 for its columns, 32 for what it loads and some 40 more. So with
  /// two groups the four other warps hand theirs over.
  static constexpr bool kMovesRegisters = epilogue_groups == 2;
  static constexpr int kEpilogueRegisters = 208;  ///< registers of a thread that promotes
  static constexpr int kOtherRegisters = 88;      ///< registers of the other threads
  static_assert(!kMovesRegisters ||
                    (kEpilogueRegisters * kEpilogueThreads + kOtherRegisters * 128 <=
                     ptx::registers_at_launch(kThreads) * kThreads),
                "setmaxnreg moves registers within what the CTA had at launch");
};

/// The roles and counts of the contract.
using WarpRoles = WarpRolesOf<1>;

/// What one epilogue thread's part of a slice of D and C looks like. A slice is what TMA moves at
/// once: `kColumns` of every thread, a row of shared memory for each. With two threads to a row of
/// D it holds two boxes, of the left and of the right half of the tile.
template <GemmTraits traits, int thread_columns>
struct OutputSlice {
  /// Rows of a piece.
  static constexpr int kRows = WarpRolesOf<traits.epilogue_groups()>::kEpilogueThreads;
  static constexpr int kMostBytes = 16 * 1024;  ///< larger ones would cost input stages
  /// The widest swizzle, or half of it.
  static constexpr int kMostRowBytes = min_of(128, kMostBytes / kRows);
  /// Most columns that a swizzled row holds.
  static constexpr int kMostColumns = kMostRowBytes / traits.output_bytes();
  /// The widest power of two that divides a thread's columns.
  static constexpr int kColumns = min_of(kMostColumns, thread_columns & -thread_columns);
  static constexpr int kPerTile = thread_columns / kColumns;  ///< slices of a thread's columns

  /// Bytes of a row of a slice of D.
  static constexpr uint32_t kDRowBytes = kColumns * traits.output_bytes();
  /// Bytes of a row of a slice of C.
  static constexpr uint32_t kCRowBytes = kColumns * sizeof(uint16_t);
  static constexpr uint32_t kDBytes = kRows * kDRowBytes;  ///< bytes of a slice of D
  static constexpr uint32_t kCBytes = kRows * kCRowBytes;  ///< bytes of a slice of C

  /// Rows of one swizzle width; rows of 16 bytes aren't swizzled.
  static constexpr Swizzle swizzle_of(uint32_t row_bytes) {
    return row_bytes == 16 ? Swizzle::kNone : static_cast<Swizzle>(row_bytes);
  }
};

/// Everything that follows from `traits_`; each condition on them is a static_assert here.
template <GemmTraits traits_>
struct GemmConfig {
  static constexpr GemmTraits traits = traits_;  ///< the shape that it is made for
  static_assert(is_mma_shape(traits),
                "MMA_M is 64 or 128 and N a multiple of 16 with cta_group 1, MMA_M 128 or 256 and N"
                " a multiple of 32 with cta_group 2; N is at most 256");
  static_assert(is_cluster_shape(traits),
                "clusters are (1,1), (2,1), (2,2), (4,2), (4,4) or (8,2) CTAs along (M, N)");
  static_assert(slices_keep_the_swizzle(traits),
                "the CTAs that share a tile load a slice each, of whole groups of 8 rows: the"
                " cluster is too large for this tile");

  /// CTAs that share an MMA: 1, or 2 for a pair.
  static constexpr int kCtaGroup = traits.cta_group;
  /// Rows of D in a CTA.
  static constexpr int kCtaRows = traits.cta_rows();
  static constexpr int kMmaN = traits.mma_n;  ///< columns of the MMA
  static constexpr int kTileK = kScaleBlock;  ///< elements of K in a block

  /// Which warp does what.
  using Roles = WarpRolesOf<traits.epilogue_groups()>;
  /// The CTA's place in its cluster.
  using Cluster = ClusterLayout<kCtaGroup, traits.cluster_m, traits.cluster_n>;
  /// What an input stage holds.
  using Payload = BlockwiseFp8TilePayload<kCtaRows, traits.cta_b_rows()>;
  /// The sum in registers.
  using Accumulator =
      BlockwiseFp8Accumulator<kCtaRows, kMmaN, kCtaGroup, typename Roles::Epilogue, PackedSums>;
  /// A piece of the output.
  using Slice = OutputSlice<traits, Accumulator::kColumns>;

  /// Accumulators: as many as tensor memory holds, and no more than keep the MMA warp busy.
  static constexpr int kTmemColumns = 512;
  /// As many as fit into tensor memory, at most four.
  static constexpr int kNumAccumulatorStages =
      min_of(4, kTmemColumns / Accumulator::Layout::kTmemColumns);
  /// The ring of accumulators.
  static constexpr OutputPipelineConfig kOutput{
      kNumAccumulatorStages, Accumulator::Layout::kTmemColumns, kCtaGroup, Roles::kEpilogueThreads};
  /// The MMA warp's context.
  using MmaWarp = MmaWarpContext<kOutput, Roles::kMmaThreads, Roles::kEpilogueThreads>;
  /// The epilogue warps' context.
  using EpilogueWarp = EpilogueWarpContext<kOutput, Roles::kMmaThreads, Roles::kEpilogueThreads>;

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
  /// The load warp can hold tile t + kNumScheduleStages while the epilogue-load warp, which has
  /// taken no later message than tile t's, still waits for tile t.
  using LoadOrder = LoadOrderBarrier<kNumScheduleStages + 1>;

  /// Input stages: what is left of the SM's shared memory.
  static constexpr uint32_t kBarrierBytes = 1024;  ///< barriers, messages, padding
  /// Bytes of all slices of C and D.
  static constexpr uint32_t kOutputBytes =
      kNumEpiLoadStages * Slice::kCBytes + kNumOutputBuffers * Slice::kDBytes;
  /// K blocks that fit into what is left.
  static constexpr int kNumInputBlocks =
      min_of(8, static_cast<int>((kMaxSharedBytesPerCta - kOutputBytes - kBarrierBytes) /
                                 Payload::kStageBytes));
  /// A stage holds a group of K blocks: one pair of barriers and one wait for all of them.
  static constexpr int kKGroupSize = traits.k_group_size;
  static_assert(kKGroupSize == 1 || kKGroupSize == 2, "an input stage holds one or two K blocks");
  /// Stages of the input ring.
  static constexpr int kNumInputStages = kNumInputBlocks / kKGroupSize;
  static_assert(kNumInputStages >= 2,
                "less than two input stages fit into shared memory: choose smaller tiles, or one K"
                " block a stage");
  /// The input ring with its payload.
  using InputPipeline = InputTilePipeline<Payload, kNumInputStages, kKGroupSize, kCtaGroup,
                                          (traits.cluster_m * traits.cluster_n > 1)>;

  /// Input-full arrivals: the lane that announces the bytes.
  static constexpr uint32_t kInputProducerArrivals = 1;
  /// Input-empty arrivals: one commit of every MMA that reads what this CTA loads, and one per
  /// epilogue warp (A-scales read).
  static constexpr uint32_t kInputConsumerArrivals =
      traits.b_slices() + traits.a_slices() - 1 + Roles::kEpilogueWarps;
  /// Input-full bytes of one K block, of both CTAs of a pair; a stage expects those of its blocks.
  static constexpr uint32_t kInputBlockBytes = kCtaGroup * Payload::kStageBytes;
  /// Bytes that fill a stage.
  static constexpr uint32_t kInputStageBytes = kKGroupSize * kInputBlockBytes;

  /// The kernel's dynamic shared memory. Barriers come first (kBarrierRegionBytes); tiles want
  /// 1024-byte alignment.
  struct SharedStorage {
    /// Which tile comes next, a message a stage.
    typename TileScheduler::Message schedule_messages[kNumScheduleStages];
    /// Barriers of the input ring.
    SharedMemBarrier input_barriers[InputPipeline::Pipeline::kNumBarriers];
    /// Barriers of the ring of accumulators.
    SharedMemBarrier accumulator_barriers[2 * kNumAccumulatorStages];
    SharedMemBarrier epi_load_barriers[EpiLoad::kNumBarriers];  ///< barriers of the ring of C
    /// Barriers of the ring of messages.
    SharedMemBarrier schedule_barriers[TileScheduler::kNumBarriers];
    /// Barriers of the order of loads.
    SharedMemBarrier load_order_barriers[LoadOrder::kNumBarriers];
    SharedMemBarrier tmem_dealloc;  ///< counts the readers that are done with tensor memory
    uint32_t tmem_address;          ///< written by the allocation, read by the other roles
    /// Stages of A, B and A-scales.
    typename Payload::template Storage<InputPipeline::kNumTiles> input;
    /// Slices of C, by TMA.
    alignas(1024) uint8_t c_slices[kNumEpiLoadStages][Slice::kCBytes];
    /// Slices of D, for TMA.
    alignas(1024) uint8_t d_slices[kNumOutputBuffers][Slice::kDBytes];
  };
  static_assert(offsetof(SharedStorage, tmem_address) < kBarrierRegionBytes,
                "barriers lie in the first 8 KiB of shared memory");
  static_assert(sizeof(SharedStorage) <= kMaxSharedBytesPerCta,
                "the rings need more shared memory than a CTA can have");
};

}  // namespace bw
