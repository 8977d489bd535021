/// \file
/// New: the copy engine knows the matrix. One lane asks for a whole tile by its coordinates; a ring
/// of one to four stages decides how many tiles are under way at once.

#include "solutions/01_mbarrier_pipeline/labs/column_sums_lab.cuh"

namespace {

/// The copying warp: one lane, one instruction a tile.
template <int num_stages>
__device__ void copy_tiles(bw::ProducerConsumerPipeline<num_stages> pipeline, bw::MatrixTile* tiles,
                           const bw::ColumnSumArguments& args) {
  for (uint32_t t = 0; t < bw::kLabTiles; ++t) {
    auto stage = pipeline.produce();
    const bw::TileRegion region = bw::TileRegion::of(args, t);
    if (bw::ptx::elect_one()) {
      stage.mbar()->arrive_and_expect_bytes(sizeof(bw::MatrixTile));
      bw::ptx::tma_load_2d(bw::ptx::shared_address(&tiles[stage.index()]), &args.map,
                           stage.mbar()->address(), region.column, region.row);
    }
    __syncwarp();
  }
}

template <int num_stages>
__global__ void copy_boxes(const __grid_constant__ bw::ColumnSumArguments args) {
  extern __shared__ __align__(128) uint8_t dynamic_shared[];
  auto& shared = *reinterpret_cast<bw::StreamStorage<num_stages>*>(dynamic_shared);
  bw::ProducerConsumerPipeline<num_stages> pipeline(shared.barriers);
  if (threadIdx.x == 0) {
    pipeline.init_barriers(1, bw::StreamRoles::kConsumerThreads);
    bw::ptx::fence_mbarrier_init();
  }
  __syncthreads();

  if (bw::is_copy_warp()) return copy_tiles(pipeline, shared.tiles, args);
  const int64_t begin = clock64();
  float sum = 0.0f;
  for (uint32_t t = 0; t < bw::kLabTiles; ++t) {
    auto stage = pipeline.consume();
    sum = bw::add_column(shared.tiles[stage.index()], sum);
    bw::ptx::fence_proxy_async_shared();
  }
  bw::write_sum(args, sum, begin);
}

template <int num_stages>
bw::ExitStatus run_lab() {
  return bw::run_column_sums_lab(
      {.kernel = copy_boxes<num_stages>, .shared_bytes = sizeof(bw::StreamStorage<num_stages>)});
}

}  // namespace

int main(int argc, char** argv) {
  constexpr bw::ExitStatus (*kRunners[])() = {run_lab<1>, run_lab<2>, run_lab<3>, run_lab<4>};
  int stages = 1;  // index of "2"
  bw::CommandLine command_line("Column sums: the copy engine brings boxes of the matrix.");
  command_line.add("stages", stages, {"1", "2", "3", "4"}, "stages of the ring");
  return bw::run_main(command_line, "lab_01_tensor_copy", argc, argv,
                      [&] { return kRunners[stages](); });
}
