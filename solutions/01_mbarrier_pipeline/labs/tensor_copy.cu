/// \file
/// New: the copy engine knows the matrix. One lane asks for a whole tile by its coordinates; a ring
/// of one to four stages decides how many tiles are under way at once.

#include "solutions/01_mbarrier_pipeline/labs/column_sums_lab.cuh"

namespace bw {

/// The copying warp: one lane, one instruction a tile.
template <int num_stages>
__device__ void copy_tiles(ProducerConsumerPipeline<num_stages> pipeline, MatrixTile* tiles,
                           const ColumnSumArguments& args) {
  for (uint32_t t = 0; t < kLabTiles; ++t) {
    auto stage = pipeline.produce();
    const TileRegion region = TileRegion::of(args, t);
    if (ptx::elect_one()) {
      stage.mbar()->arrive_and_expect_bytes(sizeof(MatrixTile));
      ptx::tma_load_2d(ptx::shared_address(&tiles[stage.index()]), &args.map,
                       stage.mbar()->address(), region.column, region.row);
    }
    __syncwarp();
  }
}

template <int num_stages>
__global__ void copy_boxes(const __grid_constant__ ColumnSumArguments args) {
  extern __shared__ __align__(128) uint8_t dynamic_shared[];
  auto& shared = *reinterpret_cast<StreamStorage<num_stages>*>(dynamic_shared);
  ProducerConsumerPipeline<num_stages> pipeline(shared.barriers);
  if (threadIdx.x == 0) {
    pipeline.init_barriers(1, StreamRoles::kConsumerThreads);
    ptx::fence_mbarrier_init();
  }
  __syncthreads();

  if (is_copy_warp()) return copy_tiles(pipeline, shared.tiles, args);
  const int64_t begin = clock64();
  float sum = 0.0f;
  for (uint32_t t = 0; t < kLabTiles; ++t) {
    auto stage = pipeline.consume();
    sum = add_column(shared.tiles[stage.index()], sum);
    ptx::fence_proxy_async_shared();
  }
  write_sum(args, sum, begin);
}

template <int num_stages>
ExitStatus run_lab() {
  return run_column_sums_lab(
      {.kernel = copy_boxes<num_stages>, .shared_bytes = sizeof(StreamStorage<num_stages>)});
}

}  // namespace bw

int main(int argc, char** argv) {
  constexpr bw::ExitStatus (*kRunners[])() = {bw::run_lab<1>, bw::run_lab<2>, bw::run_lab<3>,
                                              bw::run_lab<4>};
  int stages = 1;  // index of "2"
  bw::CommandLine command_line("Column sums: the copy engine brings boxes of the matrix.");
  command_line.add("stages", stages, {"1", "2", "3", "4"}, "stages of the ring");
  return bw::run_main(command_line, "lab_01_tensor_copy", argc, argv,
                      [&] { return kRunners[stages](); });
}
