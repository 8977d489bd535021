#include "common/simulator/diagnosis/races/detector.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "common/simulator/diagnosis/races/detector_state.hpp"
#include "common/simulator/isa/instruction_form.hpp"
#include "common/simulator/machine/address_space.hpp"
#include "common/simulator/machine/grid.hpp"
#include "common/simulator/machine/kernel.hpp"
#include "common/simulator/machine/limits.hpp"

namespace bw::sim::races {

Detector::Detector(Cluster& cluster, std::function<void(const Findings&, const ShadowUse&)> sink)
    : cluster_(cluster),
      threads_(static_cast<uint32_t>(cluster.grid().configuration().cluster.volume()),
               static_cast<uint32_t>((cluster.grid().configuration().block.volume() + 31) / 32)),
      sink_(std::move(sink)),
      state_(std::make_unique<State>()) {
  const auto ctas = cluster.grid().configuration().cluster.volume();
  for (uint64_t rank = 0; rank < ctas; ++rank) shared_.emplace_back(accessors_);
}

Detector::~Detector() = default;

void Detector::add(std::unique_ptr<Observer> part) { parts_.push_back(std::move(part)); }

EventKinds Detector::wants() const {
  EventKinds kinds =
      event_kinds(EventKind::cta, EventKind::mbarrier, EventKind::barrier, EventKind::copy,
                  EventKind::tensor_core, EventKind::tensor_memory, EventKind::group,
                  EventKind::fence, EventKind::access, EventKind::order, EventKind::footprint);
  for (const auto& part : parts_) kinds |= part->wants();
  return kinds;
}

const CopyAgents* Detector::copy(uint64_t id) const {
  const auto found = state_->copies.find(id);
  return found == state_->copies.end() ? nullptr : &found->second;
}

Touch Detector::thread_touch(const Origin& origin, bool writes, const char* unit) {
  Accessor accessor = accessor_of(origin, threads_.warp_of(origin));
  accessor.writes = writes;
  accessor.unit = unit;
  return touch_of(accessor, origin, threads_.now(origin));
}

Touch Detector::agent_touch(const Origin& origin, const Agent& agent, Proxy proxy, bool writes,
                            const char* unit) {
  Accessor accessor = accessor_of(origin, agent.chain);
  accessor.is_async = true;
  accessor.writes = writes;
  accessor.proxy = proxy;
  accessor.unit = unit;
  Touch touch = touch_of(accessor, origin, agent.clock);
  touch.view = agent.start.get();
  return touch;
}

Touch Detector::touch_of(const Accessor& accessor, const Origin& origin, Clock clock) {
  Touch touch;
  touch.number = accessors_.number(accessor);
  touch.accessor = &accessors_[touch.number];
  touch.clock = clock;
  touch.lanes = origin.lanes;
  touch.warp = threads_.warp_of(origin);
  return touch;
}

void Detector::operate(const Touch& touch, std::span<const MemoryRange> ranges) {
  for (const MemoryRange& range : ranges) {
    if (range.space == AddressSpace::global || range.size_bytes == 0) continue;
    shared_[range.cta_rank].check_and_add(
        range.address, range.size_bytes, touch,
        [&](const Conflict& conflict) { report(conflict, touch, range.cta_rank); });
  }
}

namespace {

/// Calls body(first lane, count, stride in bytes: `bytes` or 0) for lanes whose data is contiguous
/// in memory, or at one address; every lane is in one run.
template <class Body>
void for_runs(LaneMask lanes, const std::array<uint32_t, kWarpLanes>& offsets, uint32_t bytes,
              Body&& body) {
  while (lanes != 0) {
    const int first = lowest_lane(lanes);
    const auto offset = [&](int lane) { return offsets[static_cast<size_t>(lane)]; };
    const auto continues = [&](int lane, uint32_t stride) {
      return lane < kWarpLanes && (lanes >> lane & 1u) != 0 &&
             offset(lane) == offset(lane - 1) + stride;
    };
    uint32_t stride = continues(first + 1, bytes) ? bytes : 0;
    if (!std::has_single_bit(bytes)) stride = 0;
    int end = first + 1;
    while (continues(end, stride)) ++end;
    body(first, end - first, stride);
    lanes &= end == kWarpLanes ? 0 : ~LaneMask{0} << end;
  }
}

}  // namespace

void Detector::touch_lanes(const Origin& origin, uint32_t cta_rank, Touch& touch,
                           const std::array<uint32_t, kWarpLanes>& offsets, uint32_t bytes) {
  ByteShadow& shadow = shared_[cta_rank];
  const auto found = [&](const Conflict& conflict) { report(conflict, touch, cta_rank); };
  const auto visit = [&]<bool checks, bool adds>(std::bool_constant<checks>,
                                                 std::bool_constant<adds>) {
    threads_.for_groups(origin, [&](LaneMask lanes, const LaneGroup& group) {
      touch.lanes = lanes;
      touch.view = &group.view;
      for_runs(lanes, offsets, bytes, [&](int first, int count, uint32_t stride) {
        const uint64_t address = offsets[static_cast<size_t>(first)];
        if (stride != 0) {
          shadow.run<checks, adds>(address, stride, first, count, touch, found);
          return;
        }
        Touch same = touch;
        same.lanes = (count == kWarpLanes ? kAllLanes : (LaneMask{1} << count) - 1) << first;
        if constexpr (checks && adds)
          shadow.check_and_add(address, bytes, same, found);
        else if constexpr (checks)
          shadow.check(address, bytes, same, found);
        else
          shadow.add(address, bytes, same);
      });
    });
  };
  constexpr std::true_type kYes;
  constexpr std::false_type kNo;
  bool may_meet = false;  // two lanes at one place
  if (touch.accessor->writes) {
    int runs = 0, groups = 0;
    for_runs(origin.lanes, offsets, bytes, [&](int, int, uint32_t stride) {
      ++runs;
      may_meet = stride == 0;
    });
    threads_.for_groups(origin, [&](LaneMask, const LaneGroup&) { ++groups; });
    may_meet = runs > 1 || (may_meet && groups > 1);
  }
  if (!may_meet) return visit(kYes, kYes);
  // Lanes of one instruction that write one place do not race: one of them wins (this project's
  // reading), so all are checked before any is remembered.
  visit(kYes, kNo);
  visit(kNo, kYes);
}

void Detector::on_access(const AccessEvent& event) {
  notify_parts(EventKind::access, &Observer::on_access, event);
  if (event.space == AddressSpace::global || event.space == AddressSpace::local ||
      event.space == AddressSpace::param || event.space == AddressSpace::constant)
    return;
  std::array<uint32_t, kWarpLanes> offsets{};
  std::array<LaneMask, kMaxClusterNonPortable> by_rank{};
  uint32_t ranks = 0;
  for (const int lane : lanes_of(event.origin.lanes)) {
    const uint64_t address = event.addresses[static_cast<size_t>(lane)];
    if (event.space == AddressSpace::generic &&
        space_of_generic(address) != AddressSpace::shared_cluster)
      continue;
    const auto window = static_cast<uint32_t>(address);
    const uint32_t rank = event.space == AddressSpace::shared_cta ? event.origin.cta_rank
                                                                  : window >> kSharedRankShift;
    offsets[static_cast<size_t>(lane)] = window & kSharedOffsetMask;
    by_rank[rank % kMaxClusterNonPortable] |= lane_bit(lane);
    ranks |= 1u << rank % kMaxClusterNonPortable;
  }
  const MemoryOrder order = event.origin.instruction->order;
  const bool is_strong = event.atomic || sim::is_strong(order);
  const bool writes = event.access != sim::Access::read;
  const bool is_of_mbarrier =
      cluster_.kernel().form(*event.origin.instruction).unit == Unit::mbarrier;
  const char* const unit = is_of_mbarrier ? kMbarrierUnit
                           : event.atomic ? "atomic"
                           : writes       ? "store"
                                          : "load";
  for (const int rank : lanes_of(ranks)) {
    const Origin origin = with_lanes(event.origin, by_rank[static_cast<size_t>(rank)]);
    Accessor accessor = accessor_of(origin, threads_.warp_of(origin));
    accessor.writes = writes;
    accessor.is_strong = is_strong;
    if (is_strong) accessor.scope = semantics_of(origin, order, MemoryScope::gpu).scope;
    accessor.is_volatile = order == MemoryOrder::is_volatile;
    accessor.is_poll =
        accessor.is_volatile && !writes && polls_.contains(cluster_.kernel(), *origin.instruction);
    accessor.unit = unit;
    if (writes && !is_strong) stored_values_.set(cluster_, event, accessor);
    Touch touch = touch_of(accessor, origin, threads_.now(origin));
    touch_lanes(origin, static_cast<uint32_t>(rank), touch, offsets, event.bytes);
    if (is_strong) synchronise(event, static_cast<uint32_t>(rank), origin.lanes, offsets);
  }
}

void Detector::synchronise(const AccessEvent& event, uint32_t cta_rank, LaneMask lanes,
                           const std::array<uint32_t, kWarpLanes>& offsets) {
  Semantics semantics = semantics_of(event.origin, MemoryOrder::relaxed, MemoryScope::gpu);
  const bool reads = event.access != sim::Access::write;
  const bool writes = event.access != sim::Access::read;
  const bool acquires =
      semantics.order == MemoryOrder::acquire || semantics.order == MemoryOrder::acq_rel;
  const bool releases =
      semantics.order == MemoryOrder::release || semantics.order == MemoryOrder::acq_rel;
  const bool is_single = (lanes & (lanes - 1)) == 0;
  for (const int lane : lanes_of(lanes)) {
    const Origin origin = with_lanes(event.origin, lane_bit(lane));
    const uint64_t key = key_of(cta_rank, offsets[static_cast<size_t>(lane)]);
    const auto found = state_->variables.find(key);
    if (reads && found != state_->variables.end()) {
      semantics.order = acquires ? MemoryOrder::acquire : MemoryOrder::relaxed;
      found->second.acquire(threads_, origin, semantics, tensor_order_);
    }
    if (!writes) continue;
    bool hands_on = releases;
    threads_.for_groups(origin, [&](LaneMask, const LaneGroup& group) {
      hands_on = hands_on || !group.unordered().fenced.empty();
    });
    // What a later store overwrites can't be read any more.
    if (!reads && found != state_->variables.end()) found->second.clear();
    // A relaxed store of one thread may be a flag that should have been released: reports say so.
    if (!hands_on && !is_single) continue;
    semantics.order = releases ? MemoryOrder::release : MemoryOrder::relaxed;
    state_->variables[key].release(threads_, origin, semantics, tensor_order_);
  }
}

void Detector::on_cta(const CtaEvent& event) {
  if (!event.starts) check_end(event.cta);
  notify_parts(EventKind::cta, &Observer::on_cta, event);
}

void Detector::check_end(const Cta& cta) {
  // The CTA ends with its last thread, so what any of them was told of comes before that.
  VectorClock known;
  for (uint32_t warp = 0; warp < cta.warps.size(); ++warp) {
    const Origin origin{nullptr, static_cast<uint16_t>(cta.rank), static_cast<uint16_t>(warp),
                        kAllLanes};
    threads_.for_groups(origin, [&](LaneMask, const LaneGroup& group) {
      const Unordered& unordered = group.unordered();
      for (const View* const view : {&group.view, &unordered.too_narrow, &unordered.relaxed,
                                     &unordered.seen, &unordered.seen_wide}) {
        known.join(view->generic);
        known.join_chains(view->performed);
      }
    });
  }
  ShadowEntry passed;  // of an operation that comes before: neighbours are mostly its as well
  shared_[cta.rank].for_each([&](uint64_t address, uint32_t bytes, const ShadowEntry& entry) {
    if (entry.accessor == passed.accessor && entry.clock == passed.clock) return;
    const Accessor& accessor = accessors_[entry.number()];
    const bool is_own = accessor.cta_rank == cta.rank && accessor.proxy == Proxy::generic;
    if (is_own) return;
    LaneMask unknown = 0;
    if (accessor.is_async) {
      if (known.knows_chain(accessor.agent, entry.clock)) {
        passed = entry;
        return;
      }
    } else {
      const LaneMask lanes = known.lanes_known(accessor.agent, entry.clock);
      const LanePattern pattern = entry.pattern();
      for (uint32_t rest = bytes; rest != 0 && pattern.is_linear(); rest &= rest - 1)
        unknown |= lane_bit(pattern.lane_of(std::countr_zero(rest)));
      if (!pattern.is_linear()) unknown = entry.lanes;
      unknown &= ~lanes;
      if (unknown == 0) return;
    }
    report_end(cta, accessor, unknown, address + static_cast<uint32_t>(std::countr_zero(bytes)),
               static_cast<uint32_t>(std::popcount(bytes)));
  });
}

void Detector::on_end(RunStatus status) {
  for (const auto& part : parts_) part->on_end(status);
  ShadowUse use;
  for (const ByteShadow& shadow : shared_) {
    use.shadow_bytes += shadow.footprint_bytes();
    use.bytes += shadow.bytes_in_use();
  }
  sink_(findings_, use);
}

}  // namespace bw::sim::races
