/// \file
/// Copies in global memory: their sources, destinations and tensor maps.
#include "common/simulator/diagnosis/races/global_memory.hpp"
#include "common/simulator/machine/device_memory.hpp"

namespace bw::sim::races {
namespace {

constexpr uint64_t kTensorMapBytes = 128;

}  // namespace

void GlobalRaces::on_copy(const CopyEvent& event) {
  if (event.stage != CopyEvent::Stage::issued) return;
  const CopyDescription& copy = event.copy;
  if (copy.unit == CopyUnit::cp_async) return read_by_threads(event);
  const CopyAgents* const agents = detector_.copy(copy.id);
  if (agents == nullptr) return;
  const auto operate = [&](const Agent& agent, const std::vector<MemoryRange>& ranges,
                           bool writes) {
    Accessor accessor = accessor_of(event.origin);
    const uint32_t warp = accessor.agent;
    accessor.is_early = is_early(*agent.start);
    accessor.agent = agent.chain;
    accessor.is_async = true;
    accessor.writes = writes;
    accessor.proxy = Proxy::async;
    if (writes && copy.direction == CopyDirection::reduce) {
      // Each of its operations is relaxed, with the scope of the GPU (PTX ISA,
      // "cp.reduce.async.bulk").
      accessor.is_strong = true;
      accessor.scope = MemoryScope::gpu;
    }
    if (copy.unit == CopyUnit::bulk && event.origin.instruction->order == MemoryOrder::relaxed) {
      accessor.is_strong = true;
      accessor.scope = event.origin.instruction->scope;
    }
    accessor.unit = copy.unit == CopyUnit::tensor ? "tensor copy" : "bulk copy";
    Touch touch;
    touch.number = shadow_->accessors.number(accessor);
    touch.accessor = &shadow_->accessors[touch.number];
    touch.clock = agent.clock;
    touch.view = agent.start.get();
    touch.fenced = &View::async_global;
    touch.lanes = event.origin.lanes;
    touch.warp = warp;
    for (const MemoryRange& range : ranges) {
      if (range.space != AddressSpace::global || range.size_bytes == 0) continue;
      shadow_->bytes.check_and_add(
          range.address, range.size_bytes, touch,
          [&](const Conflict& conflict) { found(conflict, touch, nullptr); });
    }
  };
  operate(agents->reads, copy.source_rows.empty() ? copy.sources : copy.source_rows, false);
  operate(agents->writes, copy.destination_rows.empty() ? copy.destinations : copy.destination_rows,
          true);
  if (copy.tensor_map != 0) check_map(event, agents->reads);
}

void GlobalRaces::read_by_threads(const CopyEvent& event) {
  // cp.async of a warp: a source for each lane, read like a load at some time until it is waited
  // for. The waits of a thread order its own later accesses alone, so the issue represents the
  // read.
  auto source = event.copy.sources.begin();
  for (const int lane : lanes_of(event.origin.lanes)) {
    if (source == event.copy.sources.end()) return;
    const MemoryRange& range = *source++;
    if (range.size_bytes == 0) continue;
    const Origin origin = with_lanes(event.origin, lane_bit(lane));
    Accessor accessor = accessor_of(origin);
    accessor.unit = detector_.cluster().kernel().form(*origin.instruction).operation_name();
    detector_.threads().for_groups(origin, [&](LaneMask, const LaneGroup& group) {
      accessor.is_early = is_early(group.view);
      Touch touch = touch_of(shadow_->accessors, shadow_->accessors.number(accessor),
                             detector_.threads().now(origin), group.view);
      touch.lanes = origin.lanes;
      touch.warp = accessor.agent;
      shadow_->bytes.check_and_add(
          range.address, range.size_bytes, touch,
          [&](const Conflict& conflict) { found(conflict, touch, &group); });
    });
  }
}

void GlobalRaces::check_map(const CopyEvent& event, const Agent& agent) {
  const Allocation* const allocation = detector_.cluster().memory().find(event.copy.tensor_map);
  if (allocation == nullptr || !allocation->writable) return;  // a parameter never changes
  Accessor accessor = accessor_of(event.origin);
  const uint32_t warp = accessor.agent;
  accessor.is_early = is_early(*agent.start);
  accessor.agent = agent.chain;
  accessor.is_async = true;
  accessor.proxy = Proxy::tensormap;
  accessor.unit = "tensor copy";
  Touch touch;
  touch.number = shadow_->accessors.number(accessor);
  touch.accessor = &shadow_->accessors[touch.number];
  touch.clock = agent.clock;
  touch.warp = warp;
  touch.fenced = &View::generic;
  // Writes to the map must precede a fence that acquires it, and that must precede the copy.
  const uint64_t address = event.copy.tensor_map;
  const auto count_conflicts = [&](const View& view) {
    size_t count = 0;
    touch.view = &view;
    shadow_->bytes.check(address, kTensorMapBytes, touch, [&](const Conflict&) { ++count; });
    return count;
  };
  const View nothing;
  bool is_fenced = count_conflicts(nothing) == 0;
  for (const TensorMapFence& fence : shadow_->fences) {
    if (is_fenced) break;
    if (fence.address != address || fence.cluster != cluster_index_) continue;
    const bool is_own = fence.warp == warp && (fence.lanes & event.origin.lanes) != 0;
    if (is_own || agent.start->generic.knows_lanes(fence.warp, fence.lanes, fence.clock))
      is_fenced = count_conflicts(*fence.view) == 0;
  }
  touch.view = is_fenced ? agent.start.get() : &nothing;
  if (is_fenced) {
    shadow_->bytes.add(address, kTensorMapBytes, touch);
    return;
  }
  shadow_->bytes.check_and_add(address, kTensorMapBytes, touch,
                               [&](const Conflict& conflict) { found(conflict, touch, nullptr); });
}

}  // namespace bw::sim::races
