#pragma once
/// \file
/// What --describe says of a configuration: all that GemmConfig and SwapAbConfig derive from its
/// traits.

#include "common/device/register_budget.cuh"
#include "common/host/kernel_description.hpp"
#include "solutions/06_hopper_fp8_gemm/kernel_config.cuh"
#include "solutions/06_hopper_fp8_gemm/swap_ab_config.cuh"

namespace bw::hopper {

/// The description of a GemmConfig.
template <class Config>
KernelDescription describe_gemm() {
  using Storage = typename Config::SharedStorage;
  constexpr GemmTraits kTraits = Config::traits;
  constexpr bool kSplits = Config::kSplitK > 1;
  KernelDescription description{
      .tile = {Config::kTileM, " x ", Config::kTileN, " of D; wgmma ", kMmaRows, " x ",
               Config::kMmaN},
      .cluster_m = kTraits.cluster_m,
      .cluster_n = kTraits.cluster_n * kTraits.split_k,
      .roles = {{"load", 1, Config::kLoadRegisters},
                {"output", kMathWarpgroups, Config::kLoadRegisters},
                {"initialise", 1, Config::kLoadRegisters},
                {"math", kMathWarps, Config::kMathRegisters}},
      .launch_registers = Config::kLaunchRegisters,
      .rings = {{"input", kTraits.stages, Config::kInputProducerArrivals,
                 Config::Payload::kStageBytes, Config::kInputConsumerArrivals},
                {"slots of C", Config::kSlots, Config::kEpiLoadProducerArrivals,
                 Config::kSliceBytes, Config::kEpiLoadConsumerArrivals, kMathWarpgroups},
                {"slots of D", Config::kSlots, Config::kStoreProducerArrivals, 0,
                 Config::kStoreConsumerArrivals, kMathWarpgroups}},
      .shared = {{"mbarriers", sizeof(Storage::input_barriers) +
                                   sizeof(Storage::epi_load_barriers) +
                                   sizeof(Storage::store_barriers) +
                                   (kSplits ? sizeof(Storage::sums_arrived) : 0)},
                 {"A, B, A-scales", sizeof(Storage::input)},
                 {"slots of C and D", sizeof(Storage::slots)},
                 {"partial sums", kSplits ? sizeof(Storage::sums) : 0}},
      .storage_bytes = sizeof(Storage),
      .shared_bytes = sizeof(Storage)};
  if (kSplits) {
    description.rings.push_back(
        {"partial sums", 1, Config::kSumsArrivals, Config::kReceivedBytes, 0, kMathWarpgroups});
  }
  return description;
}

/// The description of a SwapAbConfig in clusters of `split` CTAs.
template <class Config>
KernelDescription describe_swap_ab(int split) {
  using Storage = typename Config::SharedStorage;
  const uint32_t shared_bytes = Config::shared_bytes(split);
  return {
      .tile = {Config::kTileM, " x ", Config::kTileN, " of D, with B on wgmma's M side"},
      .cluster_m = 1,
      .cluster_n = split,
      .roles = {{"math", kWarpgroupWarps}, {"load", 1}},
      .launch_registers = ptx::registers_at_launch(Config::kThreads * Config::traits.resident_ctas),
      .rings = {{"input", Config::kStages, Config::kProducerArrivals, Config::kStageBytes,
                 Config::kConsumerArrivals},
                {"partial sums", 1, Config::kSumsArrivals,
                 Config::incoming_bytes(/*rank=*/split - 1, split), 0}},
      .shared = {{"mbarriers", sizeof(Storage::barriers) + sizeof(Storage::sums_arrived)},
                 {"B", sizeof(Storage::b)},
                 {"A", sizeof(Storage::a)},
                 {"A-scales", sizeof(Storage::a_scales)},
                 {"rows of D", sizeof(Storage::d)},
                 {"partial sums", shared_bytes - sizeof(Storage)}},
      .storage_bytes = shared_bytes,
      .shared_bytes = shared_bytes};
}

}  // namespace bw::hopper
