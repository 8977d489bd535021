#pragma once
/// \file
/// What --describe says of what the chapters' kernels share: the roles of chapters 3 and 4, and
/// tensor memory with its accumulators, their ring, and the end of their life.

#include <vector>

#include "common/device/register_budget.cuh"
#include "common/host/kernel_description.hpp"
#include "solutions/03_warp_contexts/tile_roles.cuh"
#include "solutions/03_warp_contexts/warp_context_types.cuh"

namespace bw {

/// Adds the parts that the warp contexts of this configuration share to a description.
template <OutputPipelineConfig opc>
void describe_accumulators(KernelDescription& description) {
  using Types = WarpContextTypes<opc, /*mma_threads=*/32, opc.epilogue_threads>;
  description.tmem_columns = Types::Tmem::kColumns;
  description.accumulators = opc.num_stages;
  description.accumulator_columns = opc.stage_stride_cols;
  description.rings.push_back({.name = "accumulators",
                               .stages = opc.num_stages,
                               .full_arrivals = Types::Pipeline::kProducerArrivals,
                               .full_bytes = 0,
                               .empty_arrivals = Types::Pipeline::kConsumerArrivals});
  description.rings.push_back({.name = "end of tmem",
                               .stages = 1,
                               .full_arrivals = Types::Dealloc::kArrivals,
                               .full_bytes = 0,
                               .empty_arrivals = 0});
}

/// The roles of chapters 3 and 4.
inline std::vector<RoleDescription> describe_tile_roles() {
  return {{"epilogue", TileRoles::kEpilogueThreads / ptx::kWarpThreads}, {"load", 1}, {"MMA", 1}};
}

}  // namespace bw
