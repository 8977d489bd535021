#pragma once
/// \file
/// Faults of operations that break a rule after the instruction that began them, when the strand
/// that issued it may be gone.

#include <utility>

#include "common/simulator/machine/execution.hpp"

namespace bw::sim {

/// Substitute for the strand that issued the operation: its warp, CTA and cluster.
[[nodiscard]] Strand issuer_of(Cluster& cluster, const Origin& origin);

/// Throws the fault as a SimulationError placed at the instruction that issued the operation.
[[noreturn]] void fault_at(Cluster& cluster, const Origin& origin, Fault fault);

/// Likewise for a rule that only the level `isa` enforces (Site::fault_at_isa).
template <class Make>
void fault_at_isa(Cluster& cluster, const Origin& origin, FaultCode code, Make&& make) {
  const Strand issuer = issuer_of(cluster, origin);
  Site{issuer, *origin.instruction, origin.lanes}.fault_at_isa(code, std::forward<Make>(make));
}

/// "gemm.cuh:87": location of an instruction, for the details of a fault.
[[nodiscard]] std::string place_of(const Cluster& cluster, const Instruction& instruction);

}  // namespace bw::sim
