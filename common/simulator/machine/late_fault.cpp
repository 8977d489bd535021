#include "common/simulator/machine/late_fault.hpp"

#include <utility>

#include "common/simulator/machine/kernel.hpp"

namespace bw::sim {

Strand issuer_of(Cluster& cluster, const Origin& origin) {
  Strand strand;
  strand.cluster = &cluster;
  strand.cta = &cluster.cta(origin.cta_rank);
  strand.warp = &strand.cta->warps[origin.warp];
  return strand;
}

void fault_at(Cluster& cluster, const Origin& origin, Fault fault) {
  const Strand issuer = issuer_of(cluster, origin);
  Site{issuer, *origin.instruction, origin.lanes}.fault(std::move(fault));
}

std::string place_of(const Cluster& cluster, const Instruction& instruction) {
  const Kernel& kernel = cluster.kernel();
  return kernel.module().ptx().describe_location(kernel.source(instruction));
}

}  // namespace bw::sim
