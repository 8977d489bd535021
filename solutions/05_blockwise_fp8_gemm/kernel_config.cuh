#pragma once
/// \file
/// Shapes, roles, shared memory and arguments of the blockwise FP8 GEMM kernel.

#include <cuda.h>

#include <cstdint>

#include "common/device/scale_block.cuh"
#include "common/device/shared_mem_barrier.cuh"
#include "common/device/swizzle.cuh"
#include "solutions/02_tmem_lifecycle/output_pipeline_config.cuh"
#include "solutions/03_warp_contexts/epilogue_warp_context.cuh"
#include "solutions/03_warp_contexts/mma_warp_context.cuh"
#include "solutions/04_per_k_contexts/input_tile_pipeline.cuh"
#include "solutions/05_blockwise_fp8_gemm/epi_load_pipeline.cuh"
#include "solutions/05_blockwise_fp8_gemm/tile_scheduler.cuh"

namespace bw {

/// Warps of the CTA by role. Warps 0 to 3 are the epilogue: warp w reads TMEM lanes 32w … 32w+31.
struct WarpRoles {
  static constexpr uint32_t kEpilogueWarps = 4;
  static constexpr uint32_t kSchedulerWarp = 4;
  static constexpr uint32_t kLoadWarp = 5;
  static constexpr uint32_t kMmaWarp = 6;
  static constexpr uint32_t kEpilogueLoadWarp = 7;
  static constexpr uint32_t kWarps = 8;
  static constexpr uint32_t kThreads = kWarps * 32;
  static constexpr uint32_t kEpilogueThreads = kEpilogueWarps * 32;
  static constexpr uint32_t kMmaThreads = 32;
  /// Threads that take work tiles: load, MMA, epilogue load and the epilogue.
  static constexpr uint32_t kTileConsumerThreads = 3 * 32 + kEpilogueThreads;
};

/// Compile-time choices: the tile, the depth of each ring, and what follows from them.
template <int TileM, int TileN, int NumInputStages>
struct GemmConfig {
  static constexpr int kCtaGroup = 1;
  static constexpr int kTileM = TileM;
  static constexpr int kTileN = TileN;
  static constexpr int kTileK = kScaleBlock;
  static constexpr int kMmaK = 32;  ///< elements along K of one MMA
  static constexpr int kNumInputStages = NumInputStages;
  static constexpr int kNumAccumulatorStages = 4;
  static constexpr int kNumWorkTileStages = 2;

  /// D and C pass through shared memory in slices as wide as one 128B-swizzled row.
  static constexpr Swizzle kSwizzle = Swizzle::k128B;
  static constexpr int kSliceColumns = 64;
  static constexpr int kSlicesPerTile = TileN / kSliceColumns;
  static constexpr uint32_t kSliceBytes = TileM * kSliceColumns * sizeof(uint16_t);
  static constexpr int kNumEpiLoadStages = 2;
  static constexpr int kNumOutputBuffers = 2;

  static_assert(TileM == 128, "the first form computes 128 rows per CTA, one per epilogue thread");
  static_assert(TileN % kSliceColumns == 0 && TileN <= 128,
                "TileN is 64 or 128: more accumulator registers per thread would spill");

  static constexpr OutputPipelineConfig kOutput{kNumAccumulatorStages, TileN, kCtaGroup};
  using Payload = BlockwiseFp8TilePayload<TileM, TileN>;
  using InputPipeline = InputTilePipeline<Payload, NumInputStages>;
  using EpiLoad = EpiLoadPipeline<kNumEpiLoadStages>;
  using WorkTiles = WorkTilePipeline<kNumWorkTileStages, WarpRoles::kTileConsumerThreads>;
  using MmaWarp = MmaWarpContext<kOutput, WarpRoles::kMmaThreads, WarpRoles::kEpilogueThreads>;
  using EpilogueWarp =
      EpilogueWarpContext<kOutput, WarpRoles::kMmaThreads, WarpRoles::kEpilogueThreads>;

  /// Input-empty arrivals: one MMA commit and one per epilogue warp (A-scales read).
  static constexpr uint32_t kInputConsumerArrivals = 1 + WarpRoles::kEpilogueWarps;

  /// The kernel's dynamic shared memory. Tiles come first: they want 1024-byte alignment.
  struct alignas(1024) SharedStorage {
    typename Payload::template Storage<NumInputStages> input;
    alignas(1024) uint8_t c_slices[kNumEpiLoadStages][kSliceBytes];
    alignas(1024) uint8_t d_slices[kNumOutputBuffers][kSliceBytes];
    WorkTile work_tiles[kNumWorkTileStages];
    SharedMemBarrier input_barriers[InputPipeline::Pipeline::kNumBarriers];
    SharedMemBarrier accumulator_barriers[2 * kNumAccumulatorStages];
    SharedMemBarrier epi_load_barriers[EpiLoad::kNumBarriers];
    SharedMemBarrier work_tile_barriers[WorkTiles::kNumBarriers];
    SharedMemBarrier tmem_dealloc;
    uint32_t tmem_address;
  };
  static constexpr uint32_t kMaxSharedBytesPerCta = 227 * 1024;  // sm_100
  static_assert(sizeof(SharedStorage) <= kMaxSharedBytesPerCta,
                "the rings need more shared memory than a CTA can have: use fewer input stages");
};

/// Kernel arguments; the tensor maps are read where they lie in parameter memory.
struct GemmKernelArguments {
  CUtensorMap a;         ///< e4m3 [M, K], box kTileK × kTileM, swizzle 128B
  CUtensorMap b;         ///< e4m3 [N, K], box kTileK × kTileN, swizzle 128B
  CUtensorMap a_scales;  ///< fp32 [ceil(K/128), M], box kTileM × 1
  CUtensorMap c;  ///< bf16 [M, N], box kSliceColumns × kTileM, swizzle 128B; if has_residual
  CUtensorMap d;  ///< bf16 [M, N], box as of c
  const float* b_scales;    ///< fp32 [ceil(N/128), ceil(K/128)]
  int64_t b_scales_stride;  ///< elements from one row of b_scales to the next
  uint32_t tiles_m;
  uint32_t tiles_n;
  uint32_t k_blocks;      ///< ceil(K / 128)
  uint32_t b_scale_rows;  ///< ceil(N / 128)
  float beta;
  uint32_t has_residual;  ///< 0: C isn't read
};

}  // namespace bw
