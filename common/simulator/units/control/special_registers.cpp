#include "common/simulator/units/control/special_registers.hpp"

#include <algorithm>

#include "common/simulator/clock/tensor_clock.hpp"
#include "common/simulator/machine/address_space.hpp"
#include "common/simulator/machine/grid.hpp"
#include "common/simulator/machine/kernel.hpp"

namespace bw::sim {
namespace {

enum class Axis { x, y, z };

template <Axis axis>
uint64_t along(const Dim3& extents) {
  return axis == Axis::x ? extents.x : axis == Axis::y ? extents.y : extents.z;
}

const LaunchConfiguration& configuration(const Strand& strand) {
  return strand.cluster->grid().configuration();
}

template <Axis axis>
uint64_t thread_coordinate(const Strand& strand, int lane) {
  return along<axis>(delinearize(strand.thread_index(lane), configuration(strand).block));
}
template <Axis axis>
uint64_t block_extent(const Strand& strand, int) {
  return along<axis>(configuration(strand).block);
}
template <Axis axis>
uint64_t cta_coordinate(const Strand& strand, int) {
  return along<axis>(strand.cta->index);
}
template <Axis axis>
uint64_t grid_extent(const Strand& strand, int) {
  return along<axis>(configuration(strand).grid);
}
template <Axis axis>
uint64_t cluster_extent(const Strand& strand, int) {
  return along<axis>(configuration(strand).cluster);
}
template <Axis axis>
uint64_t cluster_coordinate(const Strand& strand, int lane) {
  return along<axis>(strand.cta->index) / cluster_extent<axis>(strand, lane);
}
template <Axis axis>
uint64_t clusters_extent(const Strand& strand, int) {
  return along<axis>(strand.cluster->grid().clusters());
}
template <Axis axis>
uint64_t coordinate_in_cluster(const Strand& strand, int lane) {
  return along<axis>(strand.cta->index) % cluster_extent<axis>(strand, lane);
}

/// What a driver leaves for a cooperative launch (cooperative_groups, details/driver_abi.h).
uint64_t workspace_high(const Strand& strand, int) {
  return strand.cluster->grid().workspace_address() >> 32;
}
uint64_t workspace_low(const Strand& strand, int) {
  return strand.cluster->grid().workspace_address() & 0xffffffffu;
}

uint64_t zero(const Strand&, int) { return 0; }
uint64_t lane_id(const Strand&, int lane) { return static_cast<uint64_t>(lane); }
uint64_t warp_id(const Strand& strand, int) { return strand.warp->index; }
uint64_t warp_count(const Strand& strand, int) { return strand.cta->warps.size(); }
uint64_t sm_id(const Strand& strand, int) { return strand.cta->sm; }
uint64_t sm_count(const Strand& strand, int) { return strand.cluster->settings().sm_count; }
uint64_t cluster_rank(const Strand& strand, int) { return strand.cta->rank; }
uint64_t cluster_size(const Strand& strand, int) { return strand.cluster->size(); }
uint64_t explicit_cluster(const Strand& strand, int) {
  return configuration(strand).cluster.volume() > 1 ||
         strand.cluster->kernel().function().directives.explicit_cluster;
}

uint64_t mask_eq(const Strand&, int lane) { return LaneMask{1} << lane; }
uint64_t mask_lt(const Strand&, int lane) { return (LaneMask{1} << lane) - 1; }
uint64_t mask_le(const Strand& strand, int lane) {
  return mask_lt(strand, lane) | mask_eq(strand, lane);
}
uint64_t mask_gt(const Strand& strand, int lane) {
  return static_cast<LaneMask>(~mask_le(strand, lane));
}
uint64_t mask_ge(const Strand& strand, int lane) {
  return static_cast<LaneMask>(~mask_lt(strand, lane));
}

uint64_t clock(const Strand& strand, int) { return strand.time; }
uint64_t clock_high(const Strand& strand, int) { return strand.time >> 32; }
/// Not in cycles: it runs while the SMs' clock is low.
uint64_t nanoseconds(const Strand& strand, int) {
  const Settings& settings = strand.cluster->settings();
  const auto ctas = static_cast<double>(configuration(strand).grid.volume());
  const double delay = strand.cluster->costs().clock_delay(strand.cluster->demand(), strand.time,
                                                           std::min(1.0, ctas / settings.sm_count));
  const Cycle now = strand.cluster->grid().begin() + strand.time;
  return static_cast<uint64_t>(settings.nanoseconds_of(static_cast<double>(now) + delay));
}
uint64_t nanoseconds_high(const Strand& strand, int lane) {
  return nanoseconds(strand, lane) >> 32;
}

uint64_t dynamic_shared(const Strand& strand, int) {
  return configuration(strand).dynamic_shared_bytes;
}
uint64_t aggregate_shared(const Strand& strand, int lane) {
  return strand.cluster->kernel().static_shared_bytes() + dynamic_shared(strand, lane);
}
uint64_t total_shared(const Strand& strand, int lane) {
  return aggregate_shared(strand, lane) - kReservedSharedBytes;
}
uint64_t reserved_shared_end(const Strand&, int) { return kReservedSharedBytes; }
uint64_t group_scratch(const Strand&, int) { return kGroupScratchOffset; }

struct Named {
  std::string_view name;
  SpecialValue value;
};

constexpr Named kRegisters[] = {
    {"%tid.x", thread_coordinate<Axis::x>},
    {"%tid.y", thread_coordinate<Axis::y>},
    {"%tid.z", thread_coordinate<Axis::z>},
    {"%ntid.x", block_extent<Axis::x>},
    {"%ntid.y", block_extent<Axis::y>},
    {"%ntid.z", block_extent<Axis::z>},
    {"%ctaid.x", cta_coordinate<Axis::x>},
    {"%ctaid.y", cta_coordinate<Axis::y>},
    {"%ctaid.z", cta_coordinate<Axis::z>},
    {"%nctaid.x", grid_extent<Axis::x>},
    {"%nctaid.y", grid_extent<Axis::y>},
    {"%nctaid.z", grid_extent<Axis::z>},
    {"%clusterid.x", cluster_coordinate<Axis::x>},
    {"%clusterid.y", cluster_coordinate<Axis::y>},
    {"%clusterid.z", cluster_coordinate<Axis::z>},
    {"%nclusterid.x", clusters_extent<Axis::x>},
    {"%nclusterid.y", clusters_extent<Axis::y>},
    {"%nclusterid.z", clusters_extent<Axis::z>},
    {"%cluster_ctaid.x", coordinate_in_cluster<Axis::x>},
    {"%cluster_ctaid.y", coordinate_in_cluster<Axis::y>},
    {"%cluster_ctaid.z", coordinate_in_cluster<Axis::z>},
    {"%cluster_nctaid.x", cluster_extent<Axis::x>},
    {"%cluster_nctaid.y", cluster_extent<Axis::y>},
    {"%cluster_nctaid.z", cluster_extent<Axis::z>},
    {"%cluster_ctarank", cluster_rank},
    {"%cluster_nctarank", cluster_size},
    {"%is_explicit_cluster", explicit_cluster},
    {"%laneid", lane_id},
    {"%warpid", warp_id},
    {"%nwarpid", warp_count},
    {"%smid", sm_id},
    {"%nsmid", sm_count},
    {"%gridid", zero},
    {"%lanemask_eq", mask_eq},
    {"%lanemask_lt", mask_lt},
    {"%lanemask_le", mask_le},
    {"%lanemask_gt", mask_gt},
    {"%lanemask_ge", mask_ge},
    {"%clock", clock},
    {"%clock_hi", clock_high},
    {"%clock64", clock},
    {"%globaltimer", nanoseconds},
    {"%globaltimer_lo", nanoseconds},
    {"%globaltimer_hi", nanoseconds_high},
    {"%envreg1", workspace_high},
    {"%envreg2", workspace_low},
    {"%dynamic_smem_size", dynamic_shared},
    {"%total_smem_size", total_shared},
    {"%aggr_smem_size", aggregate_shared},
    {"%reserved_smem_offset_begin", zero},
    {"%reserved_smem_offset_end", reserved_shared_end},
    {"%reserved_smem_offset_cap", zero},
    {"%reserved_smem_offset_0", zero},
    {"%reserved_smem_offset_1", group_scratch},
};

}  // namespace

SpecialValue special_value(std::string_view name) {
  const auto* const found = std::find_if(std::begin(kRegisters), std::end(kRegisters),
                                         [&](const Named& named) { return named.name == name; });
  if (found != std::end(kRegisters)) return found->value;
  // No driver sets the others.
  return name.starts_with("%envreg") ? zero : nullptr;
}

}  // namespace bw::sim
