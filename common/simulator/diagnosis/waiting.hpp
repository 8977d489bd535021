#pragma once
/// \file
/// What the threads of a stuck cluster wait for, in words. Used by the reports of deadlock and
/// livelock.

#include <cstdint>
#include <string>
#include <vector>

#include "common/simulator/machine/execution.hpp"

namespace bw::sim::waiting {

/// What is known about one thing that threads wait for.
struct Facts {
  std::string summary;             ///< what is waited for and its state, one line
  std::vector<std::string> lines;  ///< who has contributed, who could still
  std::string cause;               ///< what is missing and what would fix it; may be empty
};

/// Source position of an instruction.
[[nodiscard]] std::string location(const Cluster& cluster, const Instruction& instruction);
/// "0-3, 5" from ascending numbers.
[[nodiscard]] std::string ranges(const std::vector<uint32_t>& numbers);
/// "warp 3" or, in clusters of several CTAs, "CTA rank 1 warp 3".
[[nodiscard]] std::string warp_name(const Cluster& cluster, uint32_t cta_rank, uint32_t warp);
/// Where a warp is now: "has exited", "waits at gemm.cuh:88 for phase 2 of full", "runs at
/// gemm.cuh:88".
[[nodiscard]] std::string whereabouts(Cluster& cluster, uint32_t cta_rank, uint32_t warp);

/// Facts about what a suspended strand waits for.
[[nodiscard]] Facts facts_of(Cluster& cluster, const Strand& strand);

/// The facts of an mbarrier of a CTA; `waited_parity` is the parity that is waited for.
[[nodiscard]] Facts mbarrier_facts(Cluster& cluster, Cta& cta, uint32_t offset_bytes,
                                   uint64_t waited_parity);

}  // namespace bw::sim::waiting
