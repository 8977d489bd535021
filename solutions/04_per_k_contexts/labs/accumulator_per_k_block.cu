/// \file
/// Lab: an accumulator for every K block. Roles again: the MMA warp hands over every K block as
/// chapter 3 handed over every tile, and the epilogue promotes one product while the tensor core
/// makes the next. The scales are read from global memory by the epilogue's own threads.
///
/// New compared with promotion.cu: MmaKStage and the per-K view of the accumulator ring.

#include "solutions/04_per_k_contexts/labs/lab_roles.cuh"

namespace bw {

/// The chapter's roles without A-scales in the input ring: an input stage has one reader, the MMA.
struct ScalesByThreads : BlockwiseTileRoles<BlockwiseTileConfig<128>> {
  using Config = BlockwiseTileConfig<128>;
  using SharedStorage = Config::SharedStorage;

  __device__ __forceinline__ void init_barriers() const {
    input_pipeline().pipeline.init_barriers(1, 1);  // one expect_tx, one commit
    OutputTilePipeline<Config::kOutput>::init_barriers(shared.accumulator_barriers);
    TmemDeallocBarrier<1>{&shared.tmem_dealloc}.init_barrier();
    ptx::fence_mbarrier_init();
  }

  __device__ __forceinline__ void load() const {
    auto input = input_pipeline();
    auto producer = input.producer();
    for (uint32_t k_block = 0; k_block < args.k_blocks; ++k_block) {
      auto stage = producer.acquire();
      if (ptx::elect_one()) {
        const uint32_t full = stage.barrier()->address(), index = stage.tile_index();
        const int32_t k = k_block * Config::kTileK;
        stage.expect_bytes(Config::Payload::kATileBytes + Config::Payload::kBTileBytes);
        ptx::tma_load_2d(ptx::shared_address(input.payload.a_tile(index)), &args.a, full, k, row());
        ptx::tma_load_2d(ptx::shared_address(input.payload.b_tile(index)), &args.b, full, k,
                         column());
      }
      __syncwarp();
    }
    producer.drain();
  }

  __device__ __forceinline__ void write() const {
    Config::EpilogueWarp::Sync::wait();
    auto epilogue = Config::EpilogueWarp::create(&shared.tmem_address, shared.accumulator_barriers,
                                                 &shared.tmem_dealloc, mma_complete_mask<1>(0));
    const uint32_t d_row = row() + threadIdx.x;
    float sum[Config::kTileN] = {};
    for (uint32_t k_block = 0; k_block < args.k_blocks; ++k_block) {
      const float a_scale = d_row < args.d.rows ? args.a_scale_rows.at(d_row, k_block) : 0.0f;
      const float scale =
          a_scale * args.b_scales.template pair_at<Config::kTileN>(column(), k_block).first;
      auto accumulator = epilogue.output_pipeline().per_k().consume();
#pragma unroll
      for (int first = 0; first < Config::kTileN; first += kPartColumns) {
        float part[kPartColumns];
        (accumulator.tmem().tensor() + first).load_32x32b(part);
        TmemAddress::wait_load(part);
        add_scaled(sum, first, part, scale);
      }
    }
    write_output_row<Config::kTileN>(args.d, d_row, column(), sum);
  }
};

}  // namespace bw

int main(int argc, char** argv) {
  bw::LabOptions options;
  bw::CommandLine command_line("An accumulator stage per K block; scales read by the threads.");
  options.add_to(command_line);
  return bw::run_main(command_line, "lab_04_accumulator_per_k_block", argc, argv, [&] {
    return bw::run_lab(bw::begin_lab(options, "4 accumulators"),
                       bw::lab_roles_kernel_of<bw::ScalesByThreads, 128>());
  });
}
