/// \file
/// Lab: a context from its description. The chapter's roles, but the MMA warp's two scopes of a K
/// block, operands and accumulator, are one type of the lab's own.
///
/// New compared with the chapter's kernel: what such a type does, for both rings at once.

#include "solutions/04_per_k_contexts/labs/lab_roles.cuh"

namespace bw {

// Four input stages, but two accumulators: an index of one ring does not fit the other.
using TileConfig = BlockwiseTileConfig<128, 2>;
using InputRing = TileConfig::Input::Pipeline;
using AccumulatorRing = ProducerConsumerPipeline<TileConfig::kOutput.num_stages>;

/// Scope of one K block of the MMA warp, all 32 lanes.
///
///     enter: waits for an empty accumulator and for full operands; what tcgen05 instructions do
///            after it is ordered after what the waits have seen
///     exit:  one lane commits the MMAs to two barriers: the input stage is empty when they have
///            read it, and the accumulator is full when they have written it; all lanes step in
///            both rings
struct MmaBlock {
  InputRing& input;
  AccumulatorRing& accumulators;

  // >>> exercise 4.10 "A context from its description"
  // Enter and exit, as the description above says. A member function of the rings may do
  // what you need: wait_consumer, wait_producer, consumer_mbar, producer_step, …
  __device__ MmaBlock(InputRing& in, AccumulatorRing& out) : input(in), accumulators(out) {
    BW_EXERCISE_NOT_DONE("4.10", "A context from its description");
  }
  __device__ ~MmaBlock() {}
  // <<< exercise 4.10
  MmaBlock(const MmaBlock&) = delete;
  MmaBlock& operator=(const MmaBlock&) = delete;
};

/// The chapter's load and epilogue warps, and an MMA warp with the scope above.
struct OwnContextRoles : BlockwiseTileRoles<TileConfig> {
  using SharedStorage = TileConfig::SharedStorage;

  __device__ __forceinline__ void multiply() const {
    const auto mma = TileConfig::MmaWarp::create(&shared.tmem_address, shared.accumulator_barriers,
                                                 &shared.tmem_dealloc, mma_complete_mask<1>(0));
    auto operands = input_pipeline();
    AccumulatorRing accumulators(shared.accumulator_barriers);
    for (uint32_t k_block = 0; k_block < args.k_blocks; ++k_block) {
      const MmaBlock block(operands.pipeline, accumulators);
      if (ptx::elect_one()) {
        const uint32_t index = operands.pipeline.consumer_stage();
        multiply_k_block<TileConfig::kTileM, TileConfig::kTileN, 1>(
            mma.tmem().addr + accumulators.producer_stage() * TileConfig::kTileN,
            operands.payload.a_tile(index), operands.payload.b_tile(index), /*accumulate=*/false);
      }
      __syncwarp();
    }
  }
};

}  // namespace bw

int main(int argc, char** argv) {
  bw::LabOptions options;
  bw::CommandLine command_line("The chapter's roles with an MMA scope of the lab's own.");
  options.add_to(command_line);
  return bw::run_main(command_line, "lab_04_own_context", argc, argv, [&] {
    return bw::run_lab(bw::begin_lab(options, "2 accumulators"),
                       bw::lab_roles_kernel_of<bw::OwnContextRoles, 128>());
  });
}
