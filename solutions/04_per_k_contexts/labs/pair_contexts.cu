/// \file
/// Lab: the contexts of a pair of CTAs. Two CTAs compute one tile of 256 rows: each loads its own
/// rows of A and half of B's, the leader's MMA warp multiplies for both, each epilogue promotes its
/// own 128 rows. The contexts are the same types with cta_group 2.
///
/// New compared with one CTA: which role waits for which across the pair.
///
///     barrier            whose         arrivals
///     input full         the leader's  its expect_tx for the bytes of both CTAs
///     input empty        each its own  one commit, multicast to both; its four epilogue warps
///     accumulator full   each its own  one commit, multicast to both (mma_complete_mask)
///     accumulator empty  the leader's  256: the epilogue threads of both
///     dealloc            each its own  256

#include "common/device/cluster.cuh"
#include "solutions/04_per_k_contexts/blockwise_tile_kernel.cuh"
#include "solutions/04_per_k_contexts/labs/lab_run.hpp"

namespace bw {

constexpr int kPairRows = 256, kCtaRows = 128, kColumns = 128;
constexpr uint16_t kBothCtas = 0b11;

struct PairConfig {
  static constexpr OutputPipelineConfig kOutput{/*num_stages=*/4, kColumns, /*cta_group=*/2};
  using Payload = BlockwiseFp8TilePayload<kCtaRows, kColumns / 2>;
  using Input = InputTilePipeline<Payload, 4, /*KGroupSize=*/1, /*CtaGroup=*/2>;
  using MmaWarp = MmaWarpContext<kOutput, TileRoles::kMmaThreads, TileRoles::kEpilogueThreads>;
  using EpilogueWarp =
      EpilogueWarpContext<kOutput, TileRoles::kMmaThreads, TileRoles::kEpilogueThreads>;

  struct SharedStorage {
    SharedMemBarrier input_barriers[Input::Pipeline::kNumBarriers];
    SharedMemBarrier accumulator_barriers[2 * kOutput.num_stages];
    SharedMemBarrier tmem_dealloc;
    uint32_t tmem_address;
    Payload::Storage<4> input;
  };
};

/// The roles of one CTA of the pair.
struct PairRoles {
  using Config = PairConfig;
  const BlockwiseTileArguments& args;
  Config::SharedStorage& shared;
  uint32_t rank;  ///< in the pair; the leader's is 0

  __device__ __forceinline__ uint32_t tile() const { return blockIdx.x / 2; }
  __device__ __forceinline__ uint32_t row() const {
    return tile() % args.tiles_m * kPairRows + rank * kCtaRows;
  }
  __device__ __forceinline__ uint32_t column() const { return tile() / args.tiles_m * kColumns; }
  __device__ __forceinline__ Config::Input input_pipeline() const {
    return {Config::Input::Pipeline(shared.input_barriers), Config::Payload::of(shared.input)};
  }

  __device__ __forceinline__ void init_barriers() const {
    input_pipeline().pipeline.init_barriers(1, 1 + 4);
    OutputTilePipeline<Config::kOutput>::init_barriers(shared.accumulator_barriers);
    Config::MmaWarp::Dealloc{&shared.tmem_dealloc}.init_barrier();
    ptx::fence_mbarrier_init();
  }

  /// Both load warps: the bytes of both count on the leader's barrier, which the leader announces.
  __device__ __forceinline__ void load() const {
    auto input = input_pipeline();
    auto producer = input.producer();
    for (uint32_t k_block = 0; k_block < args.k_blocks; ++k_block) {
      auto stage = producer.acquire();
      if (ptx::elect_one()) {
        const uint32_t full = ptx::leader_address(stage.barrier()->address());
        const uint32_t index = stage.tile_index();
        const auto& tiles = stage.payload();
        const int32_t k = k_block * kScaleBlock;
        if (rank == 0) stage.expect_bytes(2 * Config::Payload::kStageBytes);
        ptx::tma_load_2d_pair(ptx::shared_address(tiles.a_tile(index)), &args.a, full, k, row());
        ptx::tma_load_2d_pair(ptx::shared_address(tiles.b_tile(index)), &args.b, full, k,
                              column() + rank * kColumns / 2);
        ptx::tma_load_2d_pair(ptx::shared_address(tiles.a_scales_tile(index)), &args.a_scales, full,
                              row(), k_block);
      }
      __syncwarp();
    }
    producer.drain();
  }

  /// Both MMA warps own their CTA's tensor memory; the leader's multiplies for both.
  __device__ __forceinline__ void multiply() const {
    auto mma = Config::MmaWarp::create(&shared.tmem_address, shared.accumulator_barriers,
                                       &shared.tmem_dealloc, mma_complete_mask<2>(rank));
    if (rank != 0) return;
    auto input = input_pipeline();
    auto consumer = input.consumer();
    for (uint32_t k_block = 0; k_block < args.k_blocks; ++k_block) {
      auto accumulator = mma.per_k_stage();
      auto operands = consumer.acquire();
      if (ptx::elect_one()) {
        const uint32_t index = operands.tile_index();
        multiply_k_block<kPairRows, kColumns, 2>(
            accumulator.tmem().offset(), operands.payload().a_tile(index),
            operands.payload().b_tile(index), /*accumulate=*/false);
        ptx::tcgen05_commit_multicast<2>(operands.barrier()->address(), kBothCtas);
      }
      __syncwarp();
    }
  }

  /// Both epilogues, each with its own rows: the same lines as with one CTA.
  __device__ __forceinline__ void write() const {
    Config::EpilogueWarp::Sync::wait();
    auto epilogue = Config::EpilogueWarp::create(&shared.tmem_address, shared.accumulator_barriers,
                                                 &shared.tmem_dealloc, mma_complete_mask<2>(rank));
    auto input = input_pipeline();
    BlockwiseFp8Accumulator<kCtaRows, kColumns, 2> accumulator;
    accumulator.zero();
    for (uint32_t k_block = 0; k_block < args.k_blocks; ++k_block) {
      const BScalePair b_scales = args.b_scales.pair_at<kColumns>(column(), k_block);
      auto k_context = epilogue.per_k_stage(input);
      accumulator.promote(k_context.stage(),
                          input.payload.a_scales_tile(k_context.input_stage_index()), b_scales);
    }
    write_output_row<kColumns>(args.d, row() + threadIdx.x, column(), accumulator);
  }
};

/// Entry: pairs of CTAs of TileRoles::kThreads threads, a pair per output tile.
__global__ __cluster_dims__(2, 1, 1)
    __launch_bounds__(TileRoles::kThreads, 1) void pair_contexts_kernel(
        const __grid_constant__ BlockwiseTileArguments args) {
  extern __shared__ __align__(1024) uint8_t dynamic_shared[];
  const PairRoles roles{args, *reinterpret_cast<PairConfig::SharedStorage*>(dynamic_shared),
                        ptx::cluster_cta_rank()};
  if (threadIdx.x == 0) roles.init_barriers();
  __syncwarp();
  ptx::cluster_arrive();  // both CTAs run, and their barriers are there
  ptx::cluster_wait();
  run_role(roles);
  __syncwarp();
  ptx::cluster_arrive();  // a CTA's shared memory outlives what its peer sends to it
  ptx::cluster_wait();
}

}  // namespace bw

int main(int argc, char** argv) {
  bw::LabOptions options;
  options.m = bw::kPairRows;
  bw::CommandLine command_line("The contexts of a pair of CTAs (cta_group 2).");
  options.add_to(command_line);
  return bw::run_main(command_line, "lab_04_pair_contexts", argc, argv, [&] {
    return bw::run_lab(
        bw::begin_lab(options, "a pair of CTAs per tile of 256 x 128"),
        {.entry = bw::pair_contexts_kernel,
         .threads = bw::TileRoles::kThreads,
         .shared_bytes = sizeof(bw::PairConfig::SharedStorage),
         .ctas = {.rows = bw::kCtaRows, .columns = bw::kColumns, .b_rows = bw::kColumns / 2},
         .ctas_per_tile = 2});
  });
}
