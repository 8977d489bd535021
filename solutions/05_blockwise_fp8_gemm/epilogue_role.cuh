#pragma once
/// \file
/// The warps that promote the accumulators and write D.

#include <cstdint>

#include "common/device/grid_dependency.cuh"
#include "solutions/04_per_k_contexts/epilogue_k_context.cuh"
#include "solutions/05_blockwise_fp8_gemm/gemm_cta.cuh"
#include "solutions/05_blockwise_fp8_gemm/output_tile_writer.cuh"

namespace bw {

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
    const auto b_scales_at = [&](uint32_t k_block) {
      return cta.args.b_scales.template pair_at<Config::kMmaN>(column, k_block);
    };
    BScalePair next_b_scales = b_scales_at(0);
    for (uint32_t k_block = 0; k_block < cta.args.k_blocks; ++k_block) {
      const BScalePair b_scales = next_b_scales;
      next_b_scales = b_scales_at(min(k_block + 1, cta.args.k_blocks - 1));  // one K block ahead
      const KGroupPlace place = place_in_group<Config::kKGroupSize>(k_block, cta.args.k_blocks);
      auto k_context = epilogue.per_k_stage(input, place);
      const uint32_t a_scales_index = input.tile_index(k_context.input_stage_index(), place.index);
      accumulator.promote(k_context.stage(), input.payload.a_scales_tile(a_scales_index), b_scales);
    }
    writer.write(accumulator, row, column, epi_load);
  }
  writer.finish();
}

}  // namespace bw
