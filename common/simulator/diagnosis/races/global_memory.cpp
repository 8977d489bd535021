#include "common/simulator/diagnosis/races/global_memory.hpp"

#include <algorithm>
#include <bit>
#include <string_view>
#include <utility>

#include "common/simulator/isa/instruction_form.hpp"
#include "common/simulator/machine/address_space.hpp"
#include "common/simulator/machine/kernel.hpp"

namespace bw::sim::races {
GlobalRaces::GlobalRaces(Detector& detector, std::shared_ptr<LaunchRaces> launch)
    : detector_(detector),
      launch_(std::move(launch)),
      shadow_(launch_->shadow_of_cluster()),
      cluster_index_(detector.cluster().index()) {}

EventKinds GlobalRaces::wants() const {
  return event_kinds(EventKind::access, EventKind::fence, EventKind::copy, EventKind::order,
                     EventKind::footprint);
}

Accessor GlobalRaces::accessor_of(const Origin& origin) const {
  Accessor accessor;
  accessor.instruction = origin.instruction;
  accessor.agent = detector_.threads().warp_of(origin);
  accessor.cluster = cluster_index_;
  accessor.cta_rank = origin.cta_rank;
  accessor.warp = origin.warp;
  return accessor;
}

uint32_t GlobalRaces::number_of(Accessor& accessor, bool is_early) {
  accessor.is_early = is_early;
  Numbered& numbered =
      numbered_[(reinterpret_cast<uintptr_t>(accessor.instruction) / sizeof(Instruction) +
                 size_t{accessor.agent} * 29) %
                numbered_.size()];
  if (numbered.instruction != accessor.instruction || numbered.agent != accessor.agent ||
      numbered.is_early != is_early || numbered.value_bytes != accessor.value_bytes) {
    accessor.is_noncoherent =
        !accessor.writes &&
        detector_.cluster().kernel().source(*accessor.instruction).match->reads_constants();
    numbered = {accessor.instruction, accessor.agent, is_early, accessor.value_bytes,
                shadow_->accessors.number(accessor)};
  }
  return numbered.number;
}

ThreadOrder& GlobalRaces::thread(const Origin& origin, int lane) {
  return threads_[detector_.threads().warp_of(origin) * kWarpLanes + static_cast<uint32_t>(lane)];
}

void GlobalRaces::acquire(const Origin& origin, const Released& one) {
  detector_.threads().change_groups(
      origin, [&](LaneGroup& group) { one.tell(group.view, cluster_index_); });
}

void GlobalRaces::see(const Origin& origin, const Released& one, View Unordered::*as) {
  detector_.threads().change_groups(
      origin, [&](LaneGroup& group) { one.tell(group.own_unordered().*as, cluster_index_); });
}

GlobalRaces::Strength GlobalRaces::strength_of(const AccessEvent& event) const {
  const Instruction& instruction = *event.origin.instruction;
  const MemoryOrder order = instruction.order;
  Strength strength;
  strength.is_strong = event.atomic || is_strong(order);
  if (!strength.is_strong) return strength;
  strength.acquires = order == MemoryOrder::acquire || order == MemoryOrder::acq_rel;
  strength.releases = order == MemoryOrder::release || order == MemoryOrder::acq_rel;
  strength.is_volatile = order == MemoryOrder::is_volatile;
  strength.scope = instruction.scope;
  if (strength.is_volatile || order == MemoryOrder::mmio)
    strength.scope = MemoryScope::sys;
  else if (strength.scope == MemoryScope::unspecified)
    strength.scope = MemoryScope::gpu;  // the default of atom and red
  return strength;
}

void GlobalRaces::on_access(const AccessEvent& event) {
  LaneMask lanes = 0;
  if (event.space == AddressSpace::global) {
    lanes = event.origin.lanes;
  } else if (event.space == AddressSpace::generic) {
    for (const int lane : lanes_of(event.origin.lanes))
      if (space_of_generic(event.addresses[static_cast<size_t>(lane)]) == AddressSpace::global)
        lanes |= lane_bit(lane);
  }
  if (lanes == 0) return;
  const Strength strength = strength_of(event);
  check(event, lanes, strength);
  if (strength.is_strong) order(event, lanes, strength);
}

void GlobalRaces::check(const AccessEvent& event, LaneMask lanes, const Strength& strength) {
  const Origin origin = with_lanes(event.origin, lanes);
  Accessor accessor = accessor_of(origin);
  accessor.writes = event.access != Access::read;
  accessor.is_strong = strength.is_strong;
  accessor.is_volatile = strength.is_volatile;
  accessor.is_poll = strength.is_volatile && !accessor.writes &&
                     polls_.contains(detector_.cluster().kernel(), *origin.instruction);
  accessor.scope = strength.scope;
  accessor.unit = event.atomic ? "atomic" : accessor.writes ? "store" : "load";
  if (accessor.writes && !strength.is_strong)
    stored_values_.set(detector_.cluster(), event, accessor);
  Touch touch;
  touch.clock = detector_.threads().now(origin);
  touch.fenced = &View::async_global;
  touch.warp = accessor.agent;

  // Pieces of memory: lanes one after the other, or lanes at one place.
  runs_.clear();
  for (const int lane : lanes_of(lanes)) {
    const uint64_t address = event.addresses[static_cast<size_t>(lane)];
    if (!runs_.empty()) {
      Run& last = runs_.back();
      const uint64_t end = last.address + uint64_t{event.bytes} * static_cast<uint32_t>(last.count);
      if (last.lanes == 0 && last.first_lane + last.count == lane && address == end &&
          std::has_single_bit(event.bytes)) {
        ++last.count;
        continue;
      }
      if (address == last.address && last.count == 1) {
        if (last.lanes == 0) last.lanes = lane_bit(last.first_lane);
        last.lanes |= lane_bit(lane);
        continue;
      }
    }
    runs_.push_back({address, lane, 1, 0});
  }
  // Lanes of one instruction do not race with each other: all are checked before any is noted.
  int groups = 0;
  detector_.threads().for_groups(origin, [&](LaneMask, const LaneGroup&) { ++groups; });
  const bool in_one_pass =
      !accessor.writes || (runs_.size() == 1 && (runs_[0].lanes == 0 || groups == 1));
  const auto act_for = [&](LaneMask of_group, const LaneGroup& group) {
    touch.number = number_of(accessor, is_early(group.view));
    touch.accessor = &shadow_->accessors[touch.number];
    touch.view = &group.view;
    touch.lanes = of_group;
  };
  detector_.threads().for_groups(origin, [&](LaneMask of_group, const LaneGroup& group) {
    act_for(of_group, group);
    const auto on_conflict = [&](const Conflict& conflict) { found(conflict, touch, &group); };
    if (in_one_pass) {
      visit<true, true>(of_group, touch, event.bytes, on_conflict);
    } else {
      visit<true, false>(of_group, touch, event.bytes, on_conflict);
    }
  });
  if (in_one_pass) return;
  detector_.threads().for_groups(origin, [&](LaneMask of_group, const LaneGroup& group) {
    act_for(of_group, group);
    visit<false, true>(of_group, touch, event.bytes, [](const Conflict&) {});
  });
}

template <bool checks, bool adds, class Found>
void GlobalRaces::visit(LaneMask lanes, Touch& touch, uint32_t bytes, Found&& found) {
  ByteShadow& shadow = shadow_->bytes;
  const auto piece = [&](uint64_t address, LaneMask of_piece) {
    touch.lanes = of_piece;
    if constexpr (checks && adds)
      shadow.check_and_add(address, bytes, touch, found);
    else if constexpr (checks)
      shadow.check(address, bytes, touch, found);
    else
      shadow.add(address, bytes, touch);
    touch.lanes = lanes;
  };
  for (const Run& run : runs_) {
    if (run.lanes != 0 || run.count == 1) {
      const LaneMask of_run = run.lanes != 0 ? run.lanes : lane_bit(run.first_lane);
      if ((of_run & lanes) != 0) piece(run.address, of_run & lanes);
      continue;
    }
    const auto of_run = static_cast<LaneMask>(((uint64_t{1} << run.count) - 1) << run.first_lane);
    if ((of_run & ~lanes) == 0) {
      shadow.run<checks, adds>(run.address, bytes, run.first_lane, run.count, touch, found);
      continue;
    }
    for (const int lane : lanes_of(of_run & lanes))
      piece(run.address + uint64_t{bytes} * static_cast<uint32_t>(lane - run.first_lane),
            lane_bit(lane));
  }
}

void GlobalRaces::order(const AccessEvent& event, LaneMask lanes, const Strength& strength) {
  Threads& threads = detector_.threads();
  const bool reads = event.access != Access::write;
  const bool writes = event.access != Access::read;
  // red reads for itself alone.
  const InstructionForm& form = detector_.cluster().kernel().form(*event.origin.instruction);
  const bool learns = reads && (form.memory != Memory::update || form.destinations != 0);
  const ThreadPosition self = party(event.origin);
  std::vector<Released> released;
  for (const int lane : lanes_of(lanes)) {
    const Origin origin = with_lanes(event.origin, lane_bit(lane));
    const Location location = Location::global(event.addresses[static_cast<size_t>(lane)]);
    const LocationState* const state = learns ? shadow_->locations.read(location) : nullptr;
    if (state != nullptr) {
      for (const Released& one : state->released) {
        // Without a fence a later load could be early by the ISA's words; kernels that are proven
        // on hardware rely on the order of the last-block pattern.
        const bool acquires = strength.acquires || !detector_.cluster().at_isa_level();
        const bool meets = scopes_meet(self, strength.scope, one.from, one.scope);
        // A thread that polls finds the same again and again.
        ThreadOrder& own = thread(origin, lane);
        if (meets && acquires) {
          if (!own.has_acquired(location, one)) acquire(origin, one);
          continue;
        }
        if (!strength.acquires && !own.keep(location, one, state->stores, strength.scope)) continue;
        see(origin, one, meets ? &Unordered::relaxed : &Unordered::too_narrow);
      }
      if (const Unreleased& last = state->unreleased; last.lanes != 0)
        threads.change_groups(origin, [&](LaneGroup& group) {
          Unordered& seen = group.own_unordered();
          if (last.cluster == cluster_index_)
            seen.relaxed.generic.learn_lanes(last.warp, last.lanes, last.clock);
          else
            seen.unfenced.learn_foreign_lanes(last.cluster, last.warp, last.lanes, last.clock);
        });
    }
    if (!writes) continue;
    if (event.atomic && learns)
      own_atomics_[threads.warp_of(origin) * kWarpLanes + static_cast<uint32_t>(lane)].add(
          event.addresses[static_cast<size_t>(lane)]);
    released.clear();
    Unreleased writer;
    if (!strength.releases)
      writer = {cluster_index_, threads.warp_of(origin), lane_bit(lane), threads.now(origin)};
    if (strength.releases)
      released.push_back({self, strength.scope, threads.snapshot(origin)});
    else if (const auto found =
                 threads_.find(threads.warp_of(origin) * kWarpLanes + static_cast<uint32_t>(lane));
             found != threads_.end())
      found->second.collect_released(self, strength.scope, released);
    shadow_->locations.write(location, event.atomic, released, writer);
  }
}

void GlobalRaces::on_fence(const FenceEvent& event) {
  Threads& threads = detector_.threads();
  const Instruction& instruction = *event.origin.instruction;
  if (event.kind == FenceKind::proxy_tensormap && event.address != 0) {
    shadow_->fences.push_back({event.address, threads.warp_of(event.origin), cluster_index_,
                               event.origin.lanes, threads.now(event.origin),
                               threads.snapshot(event.origin)});
    return;
  }
  if (event.kind != FenceKind::thread) return;
  const ThreadPosition self = party(event.origin);
  // membar.gl is the fence of the GPU, membar.sys that of the system.
  const MemoryScope scope =
      instruction.scope == MemoryScope::unspecified ? MemoryScope::gpu : instruction.scope;
  if (instruction.order != MemoryOrder::release) {
    for (const int lane : lanes_of(event.origin.lanes)) {
      const Origin origin = with_lanes(event.origin, lane_bit(lane));
      const auto found =
          threads_.find(threads.warp_of(origin) * kWarpLanes + static_cast<uint32_t>(lane));
      if (found == threads_.end()) continue;
      found->second.acquire_fence(self, scope, [&](Location, const Released& one, bool meets) {
        if (meets)
          acquire(origin, one);
        else
          see(origin, one, &Unordered::too_narrow);
      });
    }
  }
  SharedView released;
  if (instruction.order == MemoryOrder::sc ||
      detector_.cluster().kernel().form(instruction).ordering == Ordering::full_fence)
    released = synchronise_fence_sc(event.origin, self, scope);
  if (instruction.order == MemoryOrder::acquire) return;
  for (const int lane : lanes_of(event.origin.lanes)) {
    const Origin origin = with_lanes(event.origin, lane_bit(lane));
    const bool is_of_lane = released != nullptr && event.origin.lanes == lane_bit(lane);
    thread(origin, lane).release_fence(scope, is_of_lane ? released : threads.snapshot(origin));
  }
}

SharedView GlobalRaces::synchronise_fence_sc(const Origin& origin, const ThreadPosition& self,
                                             MemoryScope scope) {
  // No memory has this address.
  constexpr Location kOrder = Location::global(0);
  Threads& threads = detector_.threads();
  if (const LocationState* const state = shadow_->locations.read(kOrder))
    for (const Released& one : state->released)
      if (scopes_meet(self, scope, one.from, one.scope)) acquire(origin, one);
  const Released handed_on{self, scope, threads.snapshot(origin)};
  shadow_->locations.write(kOrder, /*is_atomic=*/true, {&handed_on, 1}, {});
  return handed_on.view;
}

void GlobalRaces::on_order(const OrderEvent& event) {
  const uint32_t cta = 1u << event.origin.cta_rank;
  if (event.operation == OrderEvent::Operation::grid_wait) has_waited_ |= cta;
  if (event.operation != OrderEvent::Operation::grid_launch_dependents) return;
  detector_.threads().for_groups(event.origin, [&](LaneMask, const LaneGroup& group) {
    if (!group.view.generic.is_past_grid_wait()) triggers_early_ |= cta;
  });
}

}  // namespace bw::sim::races
