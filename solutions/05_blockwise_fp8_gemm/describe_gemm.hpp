#pragma once
/// \file
/// What --describe says of a configuration: all that GemmConfig derives from its traits.

#include <vector>

#include "common/device/register_budget.cuh"
#include "common/host/kernel_description.hpp"
#include "solutions/03_warp_contexts/describe_parts.hpp"
#include "solutions/05_blockwise_fp8_gemm/kernel_config.cuh"

namespace bw {

/// The roles of a CTA, with the registers that setmaxnreg gives them.
template <class Roles>
std::vector<RoleDescription> describe_roles() {
  constexpr int kOthers = Roles::kMovesRegisters ? Roles::kOtherRegisters : 0;
  constexpr int kEpilogue = Roles::kMovesRegisters ? Roles::kEpilogueRegisters : 0;
  return {{"epilogue", Roles::kEpilogueWarps, kEpilogue},
          {"scheduler", 1, kOthers},
          {"load", 1, kOthers},
          {"MMA", 1, kOthers},
          {"epilogue load", 1, kOthers}};
}

/// The description of a GemmConfig.
template <class Config>
KernelDescription describe_gemm() {
  using Storage = typename Config::SharedStorage;
  using Scheduler = typename Config::TileScheduler;
  constexpr GemmTraits kTraits = Config::traits;
  KernelDescription description{
      .tile = {Config::kCtaRows, " x ", Config::kMmaN, " of D, K blocks of ", Config::kTileK, ", ",
               Config::kKGroupSize, " a stage; MMA ", kTraits.mma_m, " x ", kTraits.mma_n,
               ", cta_group ", Config::kCtaGroup},
      .cluster_m = kTraits.cluster_m,
      .cluster_n = kTraits.cluster_n,
      .roles = describe_roles<typename Config::Roles>(),
      .launch_registers = ptx::registers_at_launch(Config::Roles::kThreads),
      .rings = {{"input", Config::kNumInputStages, Config::kInputProducerArrivals,
                 Config::kInputStageBytes, Config::kInputConsumerArrivals},
                {"C", Config::kNumEpiLoadStages, Config::EpiLoad::kProducerArrivals,
                 Config::Slice::kCBytes, Config::Roles::kEpilogueThreads},
                {"work tiles", Config::kNumScheduleStages, Scheduler::kProducerArrivals,
                 Scheduler::kFullBytes, Scheduler::kConsumerArrivals},
                {"order of loads", Config::LoadOrder::kNumBarriers, Config::LoadOrder::kArrivals, 0,
                 0}},
      .shared = {{"mbarriers",
                  sizeof(Storage::input_barriers) + sizeof(Storage::accumulator_barriers) +
                      sizeof(Storage::epi_load_barriers) + sizeof(Storage::schedule_barriers) +
                      sizeof(Storage::load_order_barriers) + sizeof(Storage::tmem_dealloc)},
                 {"work tiles", sizeof(Storage::schedule_messages)},
                 {"address of tmem", sizeof(Storage::tmem_address)},
                 {"A, B, A-scales", sizeof(Storage::input)},
                 {"slices of C", sizeof(Storage::c_slices)},
                 {"slices of D", sizeof(Storage::d_slices)}},
      .storage_bytes = sizeof(Storage),
      .shared_bytes = shared_bytes_for_all_columns(sizeof(Storage))};
  if constexpr (kTraits.scheduling == TileScheduling::kLaunchControl) {
    description.rings.push_back({"throttle", 1, Scheduler::kThrottleArrivals, 0, 0});
  }
  describe_accumulators<Config::kOutput>(description);
  return description;
}

}  // namespace bw
