#pragma once
/// \file
/// The four warps that promote the accumulators and write D.

#include <cstdint>

#include "common/device/grid_dependency.cuh"
#include "solutions/04_per_k_contexts/epilogue_k_context.cuh"
#include "solutions/05_blockwise_fp8_gemm/gemm_cta.cuh"
#include "solutions/05_blockwise_fp8_gemm/output_tile_writer.cuh"

namespace bw {

/// The B-scales of K block `k_block` for the tile that starts at `column`, from global memory;
/// zeros for columns that B doesn't have.
template <int tile_n>
__device__ __forceinline__ BScalePair load_b_scales(const GemmKernelArguments& args,
                                                    uint32_t column, uint32_t k_block) {
  const uint32_t scale_row = column / kScaleBlock;
  const float* scale = args.b_scales + scale_row * args.b_scales_stride + k_block;
  const int boundary = kScaleBlock - column % kScaleBlock;
  const bool has_first = scale_row < args.b_scale_rows;
  const bool has_second = boundary < tile_n && scale_row + 1 < args.b_scale_rows;
  return BScalePair{has_first ? scale[0] : 0.0f, has_second ? scale[args.b_scales_stride] : 0.0f,
                    boundary};
}

/// Epilogue warps: promote every K block by its scales, then write the tile.
template <class Config>
__device__ __forceinline__ void write_tiles(const GemmCta<Config>& cta) {
  Config::EpilogueWarp::Sync::wait();
  auto epilogue =
      Config::EpilogueWarp::create(&cta.shared.tmem_address, cta.shared.accumulator_barriers,
                                   &cta.shared.tmem_dealloc, cta.complete_mask());
  auto input = cta.input_pipeline();
  auto epi_load = cta.epi_load_pipeline();
  auto tiles = cta.tile_scheduler();
  OutputTileWriter<Config> writer(cta);
  typename Config::Accumulator accumulator;
  ptx::grid_dependency_wait();
  WorkTile tile;
  while (tiles.next(tile)) {
    const int32_t row = cta.row_of(tile), column = cta.column_of(tile);
    accumulator.zero();
    for (uint32_t k_block = 0; k_block < cta.args.k_blocks; ++k_block) {
      const BScalePair b_scales = load_b_scales<Config::kMmaN>(cta.args, column, k_block);
      auto k_context = epilogue.per_k_stage(input);
      accumulator.promote(k_context.stage(),
                          input.payload.a_scales_tile(k_context.input_stage_index()), b_scales);
    }
    writer.write(accumulator, row, column, epi_load);
  }
  writer.finish();
}

}  // namespace bw
