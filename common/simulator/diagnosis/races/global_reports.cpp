/// \file
/// What is missing between two accesses to global memory, and the report that says it.
#include <bit>

#include "common/simulator/diagnosis/races/global_memory.hpp"

namespace bw::sim::races {

LaneMask GlobalRaces::lanes_at(const ShadowEntry& entry, uint32_t bytes) {
  const LanePattern pattern = entry.pattern();
  if (!pattern.is_linear()) return entry.lanes;
  LaneMask lanes = 0;
  for (uint32_t rest = bytes; rest != 0; rest &= rest - 1)
    lanes |= lane_bit(pattern.lane_of(std::countr_zero(rest)));
  return lanes;
}

void GlobalRaces::found(const Conflict& conflict, const Touch& touch, const LaneGroup* group) {
  const Accessor& earlier = shadow_->accessors[conflict.earlier.number()];
  const Accessor& later = *touch.accessor;
  const auto clock_knows = [&](const VectorClock& clock) {
    const LaneMask lanes = conflict.earlier_lane < 0 ? kAllLanes : lane_bit(conflict.earlier_lane);
    return (lanes & ~clock.known(earlier.cluster != cluster_index_, earlier.cluster,
                                 earlier.is_async, earlier.agent, conflict.earlier.clock)) == 0;
  };
  const auto knows = [&](const View& view) { return clock_knows(view.generic); };
  const bool by_one_proxy = earlier.proxy == later.proxy;
  const bool lacks_proxy = lack_one_proxy(earlier, later);
  const bool both_strong = earlier.is_strong && later.is_strong && by_one_proxy;
  bool lacks_reader_fence = false;
  if (group != nullptr && conflict.lane >= 0) {
    const auto order =
        threads_.find(later.agent * kWarpLanes + static_cast<uint32_t>(conflict.lane));
    View loose, of_location;
    if (order != threads_.end())
      order->second.acquire_fence({cluster_index_, later.cta_rank}, MemoryScope::sys,
                                  [&](Location location, const Released& one, bool meets) {
                                    if (!meets) return;
                                    one.tell(loose, cluster_index_);
                                    if (location == Location::global(conflict.address))
                                      one.tell(of_location, cluster_index_);
                                  });
    lacks_reader_fence = !lacks_proxy && knows(loose);
    // Strong accesses of one location have one order. What a strong read has seen comes before what
    // the thread does to the location afterwards, with or without a fence.
    const bool reads_only = !later.writes;
    const bool is_atomic = later.writes && !later.is_volatile;
    if (both_strong && (reads_only || is_atomic) && knows(of_location)) return;
    if (both_strong && later.writes &&
        shadow_->bytes.any(
            conflict.address, conflict.bytes, [&](const ShadowEntry& entry, uint32_t bytes) {
              const Accessor& own = shadow_->accessors[entry.number()];
              return !own.is_async && !own.writes && own.cluster == later.cluster &&
                     own.agent == later.agent && lanes_at(entry, bytes) == lane_bit(conflict.lane);
            }))
      return;
  }
  // What the thread's own atomic has found at the location comes before it in observation order,
  // and it before what the thread does there afterwards (PTX ISA, "Causality order").
  if (const auto own = conflict.lane < 0 ? own_atomics_.end()
                                         : own_atomics_.find(later.agent * kWarpLanes +
                                                             static_cast<uint32_t>(conflict.lane));
      own != own_atomics_.end() && !later.is_async && group != nullptr && earlier.is_strong &&
      by_one_proxy && earlier.writes && !earlier.is_volatile &&
      own->second.contains(conflict.address))
    return;
  Missing missing = Missing::global_order;
  const bool is_incoherent = later.is_noncoherent && earlier.writes;
  const bool same_warp = !earlier.is_async && !later.is_async && earlier.agent == later.agent &&
                         earlier.cluster == later.cluster;
  if (is_incoherent)
    missing = Missing::coherence;
  else if (lacks_proxy)
    missing = Missing::one_proxy;
  else if (later.proxy == Proxy::tensormap || earlier.proxy == Proxy::tensormap)
    missing = Missing::tensor_map;
  else if (earlier.proxy == Proxy::generic && later.proxy != Proxy::generic && knows(*touch.view))
    missing = Missing::proxy_fence;
  else if (earlier.is_async && earlier.cluster == later.cluster)
    missing = earlier.writes ? Missing::completion : Missing::source_free;
  else if (same_warp)  // The first cause that fits counts. NOLINTNEXTLINE(bugprone-branch-clone)
    missing = Missing::warp_order;
  else if ((both_strong && !later.is_volatile && !earlier.is_volatile) ||
           (group != nullptr && knows(group->unordered().too_narrow)))
    missing = Missing::wider_scope;
  else if (lacks_reader_fence || (group != nullptr && (knows(group->unordered().relaxed) ||
                                                       clock_knows(group->unordered().unfenced))))
    missing = Missing::release_acquire;
  else if (!earlier.is_async && touch.view != nullptr &&
           touch.view->generic.known(earlier.cluster != cluster_index_, earlier.cluster,
                                     /*is_chain=*/false, earlier.agent,
                                     conflict.earlier.clock) != 0)
    missing = Missing::warp_order;
  const LaneMask earlier_lanes = conflict.earlier_lane < 0 ? 0 : lane_bit(conflict.earlier_lane);
  const LaneMask lanes = conflict.lane < 0 ? touch.lanes : lane_bit(conflict.lane);
  // Texts of the kinds speak of mbarriers.
  const char* fix = "";
  if (missing == Missing::wider_scope)
    fix =
        "use the scope of the GPU between CTAs: __threadfence() for __threadfence_block(), "
        "atomicAdd for atomicAdd_block, .gpu for .cta";
  else if (missing == Missing::release_acquire)
    fix =
        "put __threadfence() after {first} and before its thread writes the flag, and another one "
        "after the wait for the flag and before {second}; or write the flag with .release and "
        "read it with .acquire";
  if (are_of_two_lanes(earlier, conflict.earlier.lanes, later, touch.lanes)) fix = kElectFix;
  const bool by_one_lane = missing == Missing::warp_order && !same_warp;
  if (by_one_lane) fix = kOneLaneFix;
  // Volatile data alone is exchanged as hardware exchanges words; a hand-over that lacks its fence
  // is a fault there too.
  const bool exchanges = both_strong && (earlier.is_volatile || later.is_volatile) &&
                         missing != Missing::release_acquire && missing != Missing::wider_scope;
  const bool is_isa_only = exchanges || lacks_reader_fence || lacks_proxy;
  const Weight weight = store_same_value(earlier, later) ? Weight::same_value
                        : is_isa_only                    ? Weight::isa_only
                                                         : Weight::fault;
  if (lacks_reader_fence)
    fix = "put __threadfence() after the atomic or load that read the flag, before {second}";
  detector_.add_finding(missing, weight, earlier.instruction, later.instruction, [&] {
    Finding finding;
    finding.missing = missing;
    if (by_one_lane) finding.edge = kOneLaneEdge;
    if (lacks_reader_fence)
      finding.edge =
          "the writer has a fence before its flag, but the reader has none after reading the flag";
    finding.earlier = launch_->side_of(earlier, earlier_lanes);
    finding.later = launch_->side_of(later, lanes);
    finding.memory = memory_text(detector_.cluster().memory(), conflict.address, conflict.bytes);
    finding.fix = fix;
    return finding;
  });
}

void GlobalRaces::on_end(RunStatus) {
  launch_->take(cluster_index_, shadow_);
  launch_->take_grid_waits(has_waited_ != 0, (has_waited_ & ~triggers_early_) != 0);
}

}  // namespace bw::sim::races
