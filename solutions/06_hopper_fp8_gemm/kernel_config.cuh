#pragma once
/// \file
/// Rings and shared memory of the Hopper GEMM kernel, as GemmTraits determine them.

#include <cstdint>
#include <numeric>
#include <type_traits>

#include "common/device/register_budget.cuh"
#include "common/device/scale_block.cuh"
#include "common/device/shared_mem_barrier.cuh"
#include "common/device/shared_memory_budget.cuh"
#include "common/device/swizzle.cuh"
#include "solutions/01_mbarrier_pipeline/producer_consumer_pipeline.cuh"
#include "solutions/04_per_k_contexts/input_tile_pipeline.cuh"
#include "solutions/05_blockwise_fp8_gemm/cluster_layout.cuh"
#include "solutions/06_hopper_fp8_gemm/b_scales.cuh"
#include "solutions/06_hopper_fp8_gemm/gemm_traits.hpp"

namespace bw::hopper {

/// Warps of the loading warpgroup by role; warp kFirstOutput + g serves math warpgroup g.
struct LoadWarps {
  static constexpr uint32_t kLoad = 0;         ///< the warp that loads
  static constexpr uint32_t kFirstOutput = 1;  ///< the first warp that loads C and stores D
  /// The warp that initialises the barriers.
  static constexpr uint32_t kInitialise = kFirstOutput + kMathWarpgroups;
};
static_assert(LoadWarps::kInitialise < kWarpgroupWarps,
              "the loading warpgroup has a warp for each");

/// Everything that follows from `traits_`; each condition on them is a static_assert here.
template <GemmTraits traits_>
struct GemmConfig {
  static constexpr GemmTraits traits = traits_;   ///< the shape that it is made for
  static constexpr int kTileM = traits.tile_m;    ///< rows of a tile of D
  static constexpr int kTileN = traits.tile_n;    ///< columns of a tile of D
  static constexpr int kTileK = kScaleBlock;      ///< elements of K in a block
  static constexpr int kMmaN = traits.mma_n;      ///< columns of the MMA
  static constexpr int kSplitK = traits.split_k;  ///< CTAs that share a tile's K
  /// Of them, those that write it: the first ones of the cluster.
  static constexpr int kOwners = traits.owners();

  /// A math warpgroup's part of the tile: waves of 64 rows, each of pieces of one wgmma's width.
  static constexpr int kWarpgroupsAlongN = traits.warpgroups_along_n;
  /// Warpgroups along M of a tile.
  static constexpr int kWarpgroupsAlongM = kMathWarpgroups / kWarpgroupsAlongN;
  static constexpr int kWarpgroupRows = kTileM / kWarpgroupsAlongM;     ///< rows of a warpgroup
  static constexpr int kWarpgroupColumns = kTileN / kWarpgroupsAlongN;  ///< columns of a warpgroup
  static constexpr int kWaves = kWarpgroupRows / kMmaRows;              ///< MMAs along M
  static constexpr int kPieces = kWarpgroupColumns / kMmaN;             ///< MMAs along N
  /// Accumulator registers of a thread for one wave, and for one wgmma.
  static constexpr int kWaveRegisters = kWarpgroupColumns / 2;
  static constexpr int kMmaRegisters = kMmaN / 2;  ///< registers of a thread for one MMA's sums
  static_assert(kWarpgroupsAlongM * kWarpgroupsAlongN == kMathWarpgroups,
                "the math warpgroups form a rectangle");
  static_assert(kTileM % (kMmaRows * kWarpgroupsAlongM) == 0 && kWaves >= 1,
                "each warpgroup has whole 64-row MMAs");
  static_assert(kTileN % (kMmaN * kWarpgroupsAlongN) == 0 && kMmaN % 8 == 0 && kMmaN <= 256,
                "a warpgroup's columns are whole wgmmas, each a multiple of 8 columns up to 256");
  static constexpr int kFragmentRegisters = 208;  ///< the most that sums may take
  static_assert(kWaves * kWaveRegisters + kMmaRegisters <= kFragmentRegisters,
                "the accumulator and one wgmma's result must fit into a thread's 240 registers");

  /// Columns that certainly share a B-scale, wherever the warpgroup's part starts.
  static constexpr int kScaleColumns = std::gcd(kWarpgroupColumns, kScaleBlock);
  /// Groups of columns with a B-scale of their own.
  static constexpr int kScaleGroups = kWarpgroupColumns / kScaleColumns;
  static_assert(kScaleColumns % 8 == 0, "a B-scale begins at a multiple of 8 columns");
  /// Rows of the matrix of B-scales that a warpgroup's columns have at most.
  static constexpr int kScaleRows =
      (kWarpgroupColumns + 2 * kScaleBlock - kScaleColumns - 1) / kScaleBlock;
  /// Where the groups are many and their rows two, a row is loaded once, and each group picks one.
  static constexpr bool kPicksScales = kScaleGroups > kScaleRows + 1;
  static_assert(!kPicksScales || kScaleRows == 2, "a group picks one of two scales");
  /// B-scales that are loaded for a K block.
  static constexpr int kLoadedScales = kPicksScales ? kScaleRows : kScaleGroups;
  /// K blocks of an iteration of the math warps' loop that covers laps of the ring.
  static constexpr int kLapBlocks = traits.laps * traits.stages;
  /// Where a warpgroup has the widest part of a tile, a K block takes long.
  static constexpr bool kHasLongBlocks = kWarpgroupColumns == 256;
  /// The B-scales' way from memory.
  using BScales = std::conditional_t<kHasLongBlocks && kLapBlocks == 0,
                                     BScalesAhead<kLoadedScales, traits.stream_k>,
                                     BScalesInLanes<kLoadedScales, kLapBlocks>>;

  static_assert(kSplitK == 1 || (traits.cluster_m == 1 && traits.cluster_n == 1),
                "a cluster either shares operands or splits K, not both");
  static_assert(kSplitK <= kOwners + 1,
                "the owners' partial sums come first, of which the order doesn't matter, then one");
  static_assert(kSplitK == 1 || !traits.writes_behind,
                "a cluster that splits K computes one tile: no next one can hide its output");
  static constexpr bool kStreamK = traits.stream_k;  ///< whether the last round is shared
  static_assert(!kStreamK || traits.writes_behind,
                "parts of a piece come together where a tile is finished but not yet written");
  static_assert(!traits.grouped || (traits.cluster_size() == 1 && !traits.stream_k),
                "the tiles of a cluster could be of several products, which have nothing to share");
  static_assert(!traits.two_products ||
                    (kWaves * kPieces == 1 && !traits.writes_behind && kLapBlocks % 2 == 0),
                "two products take turns where a warpgroup has one MMA, and twice in a lap");
  static_assert((1 + traits.two_products) * kMmaRegisters + kWaveRegisters <= kFragmentRegisters,
                "two products must fit into a thread's registers");
  /// The CTA's place in its cluster.
  using Cluster = ClusterLayout</*CtaGroup=*/1, traits.cluster_m, traits.cluster_n>;
  /// CTAs of a cluster.
  static constexpr int kClusterSize = traits.cluster_size();
  static_assert(kClusterSize <= 8, "clusters of more than 8 CTAs aren't portable");
  /// CTAs that share a tile of A (of B): each loads a slice and multicasts it.
  static constexpr int kASlices = traits.cluster_n;
  static constexpr int kBSlices = traits.cluster_m;  ///< parts in which a tile of B is loaded
  static_assert(kTileM % (8 * kASlices) == 0 && kTileN % (8 * kBSlices) == 0,
                "slices are whole groups of 8 rows, the swizzle's repeat");

  /// What an input stage holds.
  using Payload = BlockwiseFp8TilePayload<kTileM, kTileN>;
  /// The input ring with its payload.
  using InputPipeline = InputTilePipeline<Payload, traits.stages>;
  /// Input-full arrivals: the lane that announces the bytes.
  static constexpr uint32_t kInputProducerArrivals = 1;
  /// One arrival of each math warp of each CTA that this CTA sends data to.
  static constexpr uint32_t kInputConsumerArrivals = kMathWarps * (kASlices + kBSlices - 1);

  /// Slices of D, and of C before: 64 rows, moved by one TMA copy.
  static constexpr int kSliceColumns = traits.slice_columns();
  /// Bytes of a row of an output slice.
  static constexpr uint32_t kSliceRowBytes = kSliceColumns * sizeof(uint16_t);
  static constexpr uint32_t kSliceBytes = kMmaRows * kSliceRowBytes;  ///< bytes of an output slice
  /// Swizzle of an output slice.
  static constexpr Swizzle kSliceSwizzle = static_cast<Swizzle>(kSliceRowBytes);
  /// Columns that a warpgroup writes: all of its part, or its share of a split tile.
  static constexpr int kOutputColumns = kWarpgroupColumns / kOwners;
  /// Slices of what a warpgroup writes of a row.
  static constexpr int kSlicesPerWave = kOutputColumns / kSliceColumns;
  static_assert(kOutputColumns % kSliceColumns == 0 && kSliceColumns >= 16,
                "each warpgroup writes whole slices of 16, 32 or 64 columns");
  /// Of a wave's sums, those that one CTA owns: registers of a thread.
  static constexpr int kOwnedRegisters = kWaveRegisters / kOwners;
  /// With split_k: bytes that a warpgroup sends to an owner.
  static constexpr uint32_t kSentBytes =
      kWaves * kOwnedRegisters * kWarpgroupThreads * sizeof(float);
  /// Parts of a warpgroup's sums, of kSentBytes each, that a CTA sends at most, and that it gets.
  static constexpr int kMostSent = kSplitK > kOwners ? kOwners : kOwners - 1;
  static constexpr int kReceived = kSplitK - 1;                       ///< parts that an owner gets
  static constexpr uint32_t kReceivedBytes = kReceived * kSentBytes;  ///< bytes of them
  static constexpr int kSlots = traits.output_slots;  ///< output slices that can be in flight
  /// Slices that take their slots together.
  static constexpr int kSliceGroup = traits.output_group;
  static_assert(kSliceGroup >= 1 && kSliceGroup <= kSlots, "a group of slices has a slot for each");
  static_assert(kSlicesPerWave % kSliceGroup == 0 && kMmaN / kSliceColumns % kSliceGroup == 0,
                "the slices of a wave, and those of one wgmma, are whole groups");
  using EpiLoad = ProducerConsumerPipeline<kSlots>;        ///< the ring of C
  using StorePipeline = ProducerConsumerPipeline<kSlots>;  ///< the ring of output slots
  /// C's slot is full by the arrival that announces its bytes, and empty by every thread's.
  static constexpr uint32_t kEpiLoadProducerArrivals = 1;
  static constexpr uint32_t kEpiLoadConsumerArrivals = kWarpgroupThreads;  ///< C has been read
  /// D's slot is full by an arrival of each warp, and empty by the one that has stored it.
  static constexpr uint32_t kStoreProducerArrivals = kWarpgroupWarps;
  static constexpr uint32_t kStoreConsumerArrivals = 1;  ///< the slot has been stored
  static constexpr uint32_t kSumsArrivals = 1;           ///< with split_k: announces the bytes

  /// Registers per thread after setmaxnreg; at launch each has 65536 / 384, rounded down to 168.
  static constexpr int kLoadRegisters = 24;
  static constexpr int kMathRegisters = 240;  ///< registers of a math thread
  /// Registers of a thread at the launch.
  static constexpr int kLaunchRegisters = ptx::registers_at_launch(kThreads);
  static_assert(kLoadRegisters + kMathWarpgroups * kMathRegisters <=
                    (1 + kMathWarpgroups) * kLaunchRegisters,
                "setmaxnreg moves registers within what the CTA had at launch");

  /// The kernel's dynamic shared memory. Tiles come first: they want 1024-byte alignment.
  struct alignas(1024) SharedStorage {
    typename Payload::template Storage<traits.stages> input;  ///< stages of A, B and A-scales
    /// Output slices.
    alignas(1024) uint8_t slots[kMathWarpgroups][kSlots][kSliceBytes];
    /// Barriers of the input ring.
    SharedMemBarrier input_barriers[InputPipeline::Pipeline::kNumBarriers];
    /// Barriers of the ring of C.
    SharedMemBarrier epi_load_barriers[kMathWarpgroups][EpiLoad::kNumBarriers];
    /// Barriers of the ring of output slots.
    SharedMemBarrier store_barriers[kMathWarpgroups][StorePipeline::kNumBarriers];
    /// With split_k: it counts what comes to each warpgroup from the cluster's other CTAs.
    SharedMemBarrier sums_arrived[kMathWarpgroups];
    /// What has come, from each of the others a warpgroup's vectors of four sums of each thread.
    /// (A copy from CTA to CTA takes up to a third longer where its place isn't so aligned.)
    alignas(128) uint8_t sums[kMathWarpgroups][kSplitK > 1 ? kReceivedBytes : 1];
  };
  static_assert(kSplitK == 1 ||
                    kMathWarpgroups * kMostSent * kSentBytes <= sizeof(SharedStorage::input),
                "what a CTA sends fits where the ring was");
  static_assert(sizeof(SharedStorage) <= kMaxSharedBytesPerCta,
                "the rings need more shared memory than a CTA can have: fewer stages or slots");
};

}  // namespace bw::hopper
