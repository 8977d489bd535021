#pragma once
/// \file
/// The warps that take finished tiles out of tensor memory and write D.

#include <cstdint>

#include "common/device/grid_dependency.cuh"
#include "solutions/03_warp_contexts/output_role_views.cuh"
#include "solutions/05_blockwise_fp8_gemm/output_tile_writer.cuh"
#include "solutions/07_block_scaled_gemm/block_scaled_cta.cuh"
#include "solutions/07_block_scaled_gemm/quantised_tile_writer.cuh"

namespace bw {

/// Epilogue warps: take a tile, give its accumulator back, write the tile. Of overlapping
/// accumulators the shared columns come first: the next tile is multiplied into the other columns
/// while this one's rest is still being read.
template <class Config>
__device__ __forceinline__ void write_scaled_tiles(const BlockScaledCta<Config>& cta) {
  using Tmem = typename Config::Tmem;
  using Accumulator = typename Config::Accumulator;
  constexpr int kBeforeRelease = Tmem::kOverlaps ? Tmem::kSharedColumns : Accumulator::kColumns;
  Config::EpilogueWarp::Sync::wait();
  auto epilogue =
      Config::EpilogueWarp::create(&cta.shared.tmem_address, cta.shared.accumulator_barriers,
                                   &cta.shared.tmem_dealloc, cta.complete_mask());
  auto epi_load = cta.epi_load_pipeline();
  auto tiles = cta.tile_scheduler();
  OutputTileWriter<Config> writer(cta);
  QuantisedTileWriter<Config> quantised(cta);
  Accumulator accumulator;
  ptx::grid_dependency_wait();
  WorkTile tile;
  for (uint32_t count = 0; tiles.next(tile); ++count) {
    {
      auto stage = epilogue.output_pipeline().consumer().acquire();
      const TmemAddress first = stage.tmem().tensor() + Tmem::accumulator_offset(count);
      accumulator.template take<kBeforeRelease>(first, /*from_the_right=*/count % 2 == 0,
                                                cta.scaled.factor,
                                                [&] { stage.release_accumulator(); });
    }
    const int32_t row = cta.row_of(tile), column = cta.column_of(tile);
    if (cta.scaled.quantised.values == nullptr) {
      writer.write(accumulator, row, column, epi_load);
    } else if (cta.scaled.quantised.format == BlockFormat::kMxfp8) {
      quantised.template write<BlockFormat::kMxfp8>(accumulator, row, column, epi_load);
    } else {
      quantised.template write<BlockFormat::kNvfp4>(accumulator, row, column, epi_load);
    }
  }
  writer.finish();
}

}  // namespace bw
