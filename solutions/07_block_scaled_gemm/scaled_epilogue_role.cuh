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

/// Epilogue warps: take a tile, give its accumulator back, write the tile by `write(accumulator,
/// row, column, epi_load)`. Of overlapping accumulators the shared columns come first: the next
/// tile is multiplied into the other columns while this one's rest is still being read.
template <class Config, class Write>
__device__ __forceinline__ void take_tiles(const BlockScaledCta<Config>& cta, const Write& write) {
  using Tmem = typename Config::Tmem;
  using Accumulator = typename Config::Accumulator;
  constexpr int kBeforeRelease = Tmem::kOverlaps ? Tmem::kSharedColumns : Accumulator::kColumns;
  Config::EpilogueWarp::Sync::wait();
  auto epilogue =
      Config::EpilogueWarp::create(&cta.shared.tmem_address, cta.shared.accumulator_barriers,
                                   &cta.shared.tmem_dealloc, cta.complete_mask());
  auto epi_load = cta.epi_load_pipeline();
  auto tiles = cta.tile_scheduler();
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
    write(accumulator, cta.row_of(tile), cta.column_of(tile), epi_load);
  }
}

/// Epilogue warps: write D in bf16, MXFP8 or NVFP4.
template <class Config>
__device__ __forceinline__ void write_scaled_tiles(const BlockScaledCta<Config>& cta) {
  using Accumulator = typename Config::Accumulator;
  using EpiLoad = typename Config::EpiLoad;
  const auto quantise = [&]<BlockFormat format>() {
    QuantisedTileWriter<Config> writer(cta);
    take_tiles(cta, [&](Accumulator& tile, int32_t row, int32_t column, EpiLoad& epi_load) {
      writer.template write<format>(tile, row, column, epi_load);
    });
  };
  // Each has a loop of its own: what the others execute costs bf16 neither registers nor code.
  const QuantisedOutputArguments& out = cta.scaled.quantised;
  if (out.values == nullptr) {
    OutputTileWriter<Config> writer(cta);
    take_tiles(cta, [&](Accumulator& tile, int32_t row, int32_t column, EpiLoad& epi_load) {
      writer.write(tile, row, column, epi_load);
    });
    writer.finish();
  } else if (out.format == BlockFormat::kMxfp8) {
    quantise.template operator()<BlockFormat::kMxfp8>();
  } else {
    quantise.template operator()<BlockFormat::kNvfp4>();
  }
}

}  // namespace bw
