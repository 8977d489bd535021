#include "common/simulator/diagnosis/races/detector.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <deque>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "common/simulator/machine/address_space.hpp"
#include "common/simulator/machine/grid.hpp"
#include "common/simulator/machine/kernel.hpp"
#include "common/simulator/machine/limits.hpp"
#include "common/simulator/machine/opcode_table.hpp"

namespace bw::sim::races {
namespace {

constexpr uint32_t kMbarrierBytes = 8;
constexpr uint32_t kAddressWordBytes = 4;
constexpr uint32_t kResponseBytes = 16;
constexpr const char* kAllocUnit = "tcgen05.alloc";

uint64_t key_of(uint32_t high, uint64_t low) { return uint64_t{high} << 48 ^ low; }

Origin with_lanes(const Origin& origin, LaneMask lanes) {
  Origin changed = origin;
  changed.lanes = lanes;
  return changed;
}

/// The semantics of an instruction, with the default that its form has.
Semantics semantics_of(const Origin& origin, MemoryOrder order, MemoryScope scope) {
  Semantics found{origin.instruction->order, origin.instruction->scope};
  if (found.order == MemoryOrder::unspecified) found.order = order;
  if (found.scope == MemoryScope::unspecified) found.scope = scope;
  return found;
}

struct NamedBarrierState {
  Handover pending;
  std::vector<Origin> waiters;
};

/// Operations of a thread or warp that complete in order, in groups: a wait for a group is one for
/// all groups before it as well.
struct OrderedGroups {
  uint32_t chain = 0;
  uint32_t read_chain = 0;      ///< of bulk copies: of what they do to their sources
  Clock last = 0;               ///< the last operation
  std::deque<Clock> committed;  ///< the last operation of each group, as far as waits may ask

  void commit() {
    constexpr size_t kMostPending = 4096;
    committed.push_back(last);
    if (committed.size() > kMostPending) committed.pop_front();
  }
  /// What has completed when all but `allowed` groups have; 0 if nothing.
  [[nodiscard]] Clock completed(uint32_t allowed) const {
    return committed.size() <= allowed ? 0 : committed[committed.size() - 1 - allowed];
  }
};

/// A commit or a request that signals mbarriers, each of which brings it on its way.
struct Signalling {
  Agent agent;
  int signals = 0;  ///< that are still to come
};

}  // namespace

/// One mbarrier object.
struct Detector::Barrier {
  Handover pending;              ///< to the current phase
  std::array<Handover, 2> done;  ///< to the two phases before, by parity
  Touch init;                    ///< who has initialised it, and when
  std::vector<bool> ordered;     ///< warps that are known to come behind that, by their number
};

struct Detector::State {
  std::unordered_map<uint64_t, Barrier> barriers;  ///< by CTA and offset
  std::unordered_map<uint64_t, NamedBarrierState> named_barriers;
  Handover cluster_pending, cluster_done;
  std::unordered_map<uint64_t, Handover> sent;        ///< arrivals on their way
  std::unordered_map<uint64_t, Signalling> agents;    ///< commits and requests, by operation
  std::unordered_map<uint64_t, View> cp_async_views;  ///< of cp.async.mbarrier.arrive
  std::unordered_map<uint64_t, CopyAgents> copies;
  std::unordered_map<uint64_t, OrderedGroups> bulk;      ///< by thread
  std::unordered_map<uint64_t, OrderedGroups> cp_async;  ///< by thread
  std::unordered_map<uint64_t, OrderedGroups> wgmma;     ///< by warp
  std::unordered_map<uint64_t, Handover> variables;      ///< for strong accesses, by CTA and offset

  Barrier* barrier(uint16_t cta_rank, uint32_t offset_bytes) {
    const auto found = barriers.find(key_of(cta_rank, offset_bytes));
    return found == barriers.end() ? nullptr : &found->second;
  }
};

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

// ---- Accesses

Touch Detector::thread_touch(const Origin& origin, bool writes, const char* unit) {
  Accessor accessor;
  accessor.instruction = origin.instruction;
  accessor.agent = threads_.warp_of(origin);
  accessor.cta_rank = origin.cta_rank;
  accessor.warp = origin.warp;
  accessor.writes = writes;
  accessor.unit = unit;
  return touch_of(accessor, origin, threads_.now(origin));
}

Touch Detector::agent_touch(const Origin& origin, const Agent& agent, Proxy proxy, bool writes,
                            const char* unit) {
  Accessor accessor;
  accessor.instruction = origin.instruction;
  accessor.agent = agent.chain;
  accessor.cta_rank = origin.cta_rank;
  accessor.warp = origin.warp;
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

/// Calls body(first lane, count, stride in bytes: `bytes` or 0) for lanes that lie one after the
/// other in memory, or at one place; every lane is in one run.
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

void Detector::touch_lanes(uint32_t cta_rank, const Touch& touch,
                           const std::array<uint32_t, kWarpLanes>& offsets, uint32_t bytes) {
  ByteShadow& shadow = shared_[cta_rank];
  const auto found = [&](const Conflict& conflict) { report(conflict, touch, cta_rank); };
  const auto visit = [&]<bool checks, bool adds>(std::bool_constant<checks>,
                                                 std::bool_constant<adds>) {
    for_runs(touch.lanes, offsets, bytes, [&](int first, int count, uint32_t stride) {
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
  };
  constexpr std::true_type kYes;
  constexpr std::false_type kNo;
  int runs = 0;
  if (touch.accessor->writes)
    for_runs(touch.lanes, offsets, bytes, [&](int, int, uint32_t) { ++runs; });
  if (runs <= 1) return visit(kYes, kYes);
  // Lanes of one instruction that write one place do not race: one of them wins (this project's
  // reading), so all are checked before any is remembered.
  visit(kYes, kNo);
  visit(kNo, kYes);
}

void Detector::on_access(const AccessEvent& event) {
  tell_parts(EventKind::access, &Observer::on_access, event);
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
  const bool is_strong =
      event.atomic || (order != MemoryOrder::unspecified && order != MemoryOrder::weak);
  const bool writes = event.access != sim::Access::read;
  const char* const unit = event.atomic ? "atomic" : writes ? "store" : "load";
  for (const int rank : lanes_of(ranks)) {
    const Origin origin = with_lanes(event.origin, by_rank[static_cast<size_t>(rank)]);
    Accessor accessor;
    accessor.instruction = origin.instruction;
    accessor.agent = threads_.warp_of(origin);
    accessor.cta_rank = origin.cta_rank;
    accessor.warp = origin.warp;
    accessor.writes = writes;
    accessor.is_strong = is_strong;
    if (is_strong) accessor.scope = semantics_of(origin, order, MemoryScope::gpu).scope;
    accessor.is_volatile = order == MemoryOrder::is_volatile;
    accessor.is_poll =
        accessor.is_volatile && !writes && polls_.contains(cluster_.kernel(), *origin.instruction);
    accessor.unit = unit;
    Touch touch = touch_of(accessor, origin, threads_.now(origin));
    threads_.for_groups(origin, [&](LaneMask lanes, const LaneGroup& group) {
      touch.lanes = lanes;
      touch.view = &group.view;
      touch_lanes(static_cast<uint32_t>(rank), touch, offsets, event.bytes);
    });
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
      hands_on = hands_on || !group.fenced.empty();
    });
    // What a later store overwrites nobody can read any more.
    if (!reads && found != state_->variables.end()) found->second.clear();
    // A relaxed store of one thread may be a flag that should have been released: reports say so.
    if (!hands_on && !is_single) continue;
    semantics.order = releases ? MemoryOrder::release : MemoryOrder::relaxed;
    state_->variables[key].release(threads_, origin, semantics, tensor_order_);
  }
}

// ---- mbarriers

void Detector::use(Barrier& barrier, const Origin& origin, uint16_t cta_rank,
                   uint32_t offset_bytes) {
  const uint32_t warp = threads_.warp_of(origin);
  if (barrier.ordered.size() <= warp) barrier.ordered.resize(size_t{warp} + 1, false);
  if (barrier.ordered[warp]) return;
  bool all = origin.lanes == cluster_.cta(origin.cta_rank).warps[origin.warp].live;
  threads_.for_groups(origin, [&](LaneMask lanes, const LaneGroup& group) {
    const Touch& init = barrier.init;
    const LaneMask known = group.view.generic.lanes_known(init.warp, init.clock) |
                           group.view.inits.lanes_known(init.warp, init.clock);
    const LaneMask unknown = init.lanes & ~known;
    const bool is_own = init.warp == warp && unknown == lanes && std::has_single_bit(lanes);
    if (unknown == 0 || is_own) return;
    all = false;
    report(Missing::init_order, *init.accessor, init.lanes,
           *thread_touch(with_lanes(origin, lanes), true, "mbarrier operation").accessor, lanes,
           mbarrier_name(cta_rank, offset_bytes));
  });
  barrier.ordered[warp] = all;
}

void Detector::use(const CopySignal& signal, const Origin& origin, const View& start,
                   const char* unit) {
  const Barrier* const barrier = state_->barrier(signal.cta_rank, signal.offset_bytes);
  if (barrier == nullptr) return;
  const Touch& init = barrier->init;
  if (start.inits.knows_lanes(init.warp, init.lanes, init.clock)) return;
  const bool is_known = start.generic.knows_lanes(init.warp, init.lanes, init.clock);
  report(is_known ? Missing::init_fence : Missing::init_order, *init.accessor, init.lanes,
         *thread_touch(origin, true, unit).accessor, origin.lanes,
         mbarrier_name(signal.cta_rank, signal.offset_bytes));
}

void Detector::pass(const Origin& origin, uint16_t cta_rank, uint32_t offset_bytes, int64_t phase) {
  Barrier* const barrier = state_->barrier(cta_rank, offset_bytes);
  if (barrier == nullptr || phase < 0) return;
  const Semantics semantics = semantics_of(origin, MemoryOrder::acquire, MemoryScope::cta);
  barrier->done[static_cast<size_t>(phase & 1)].acquire(threads_, origin, semantics, tensor_order_);
}

void Detector::on_mbarrier(const MbarrierEvent& event) {
  using Operation = MbarrierEvent::Operation;
  const uint16_t rank = event.cta_rank;
  const uint64_t key = key_of(rank, event.offset_bytes);
  Barrier* const barrier = state_->barrier(rank, event.offset_bytes);
  switch (event.operation) {
    case Operation::init:
    case Operation::invalidate: {
      // To other accesses both are stores.
      Touch touch =
          thread_touch(event.origin, true,
                       event.operation == Operation::init ? "mbarrier.init" : "mbarrier.inval");
      threads_.for_groups(event.origin, [&](LaneMask lanes, const LaneGroup& group) {
        touch.lanes = lanes;
        touch.view = &group.view;
        shared_[rank].check_and_add(
            event.offset_bytes, kMbarrierBytes, touch,
            [&](const Conflict& conflict) { report(conflict, touch, rank); });
      });
      state_->barriers.erase(key);
      if (event.operation == Operation::init) {
        touch.lanes = event.origin.lanes;
        touch.view = nullptr;
        state_->barriers[key].init = touch;
      }
      break;
    }
    case Operation::arrive:
    case Operation::arrive_drop:
      if (barrier == nullptr) break;
      if (event.operation_id == kNoOperation) {
        use(*barrier, event.origin, rank, event.offset_bytes);
        barrier->pending.release(threads_, event.origin,
                                 semantics_of(event.origin, MemoryOrder::release, MemoryScope::cta),
                                 tensor_order_);
      } else if (const auto sent = state_->sent.find(event.operation_id);
                 sent != state_->sent.end()) {
        barrier->pending.bring(sent->second);
        state_->sent.erase(sent);
      } else if (const auto commit = state_->agents.find(event.operation_id);
                 commit != state_->agents.end()) {
        barrier->pending.complete(commit->second.agent);
        if (tensor_order_ != nullptr)
          barrier->pending.tensor().merge(tensor_order_->committed(event.operation_id));
        if (--commit->second.signals == 0) state_->agents.erase(commit);
      } else if (const auto arrival = state_->cp_async_views.find(event.operation_id);
                 arrival != state_->cp_async_views.end()) {
        barrier->pending.completed().join(arrival->second);
        state_->cp_async_views.erase(arrival);
      }
      break;
    case Operation::test:
      if (barrier == nullptr) break;
      use(*barrier, event.origin, rank, event.offset_bytes);
      if (event.done) pass(event.origin, rank, event.offset_bytes, event.waited_phase);
      break;
    case Operation::complete:
      if (barrier == nullptr) break;
      std::swap(barrier->done[event.phase & 1], barrier->pending);
      barrier->pending.clear();
      break;
    case Operation::expect_tx:
      if (barrier != nullptr && event.origin.cta_rank == rank)
        use(*barrier, event.origin, rank, event.offset_bytes);
      break;
    case Operation::complete_tx:
    case Operation::increment_pending:
      break;
  }
  tell_parts(EventKind::mbarrier, &Observer::on_mbarrier, event);
}

// ---- Barriers

void Detector::on_barrier(const BarrierEvent& event) {
  State& state = *state_;
  if (event.of_cluster) {
    if (event.completes) {
      std::swap(state.cluster_done, state.cluster_pending);
      state.cluster_pending.clear();
    } else {
      Semantics semantics = semantics_of(event.origin, MemoryOrder::release, MemoryScope::cluster);
      semantics.scope = MemoryScope::cluster;
      state.cluster_pending.release(threads_, event.origin, semantics, tensor_order_);
    }
  } else {
    NamedBarrierState& barrier = state.named_barriers[key_of(event.origin.cta_rank, event.id)];
    if (event.completes) {
      const View& all = barrier.pending.of_cta(event.origin.cta_rank);
      for (const Origin& waiter : barrier.waiters) {
        threads_.replace(waiter, all);
        if (tensor_order_ != nullptr) tensor_order_->acquired(waiter, barrier.pending.tensor());
      }
      barrier.pending.clear();
      barrier.waiters.clear();
    } else {
      barrier.pending.release(threads_, event.origin, {MemoryOrder::release, MemoryScope::cta},
                              tensor_order_);
      if (event.waits) barrier.waiters.push_back(event.origin);
    }
  }
  tell_parts(EventKind::barrier, &Observer::on_barrier, event);
}

// ---- Copies

namespace {

const char* unit_of(const CopyDescription& copy, const OpcodeRow& row) {
  if (row.base == "st.async" || row.base == "red.async") return row.base.data();
  switch (copy.unit) {
    case CopyUnit::tensor:
      return copy.direction == CopyDirection::load     ? "tensor copy"
             : copy.direction == CopyDirection::reduce ? "tensor reduction"
                                                       : "tensor store";
    case CopyUnit::bulk:
      return copy.direction == CopyDirection::store ? "bulk store" : "bulk copy";
    case CopyUnit::cp_async:
      return "cp.async";
  }
  return "copy";
}

}  // namespace

void Detector::cp_async_issued(const CopyEvent& event) {
  const Origin& origin = event.origin;
  const uint32_t warp = threads_.warp_of(origin);
  auto destination = event.copy.destinations.begin();
  for (const int lane : lanes_of(origin.lanes)) {
    const Threads::Ticket ticket = threads_.next_in_order(warp, lane, kCpAsyncQueue);
    OrderedGroups& groups = state_->cp_async[key_of(warp, static_cast<uint64_t>(lane))];
    groups.chain = ticket.chain;
    groups.last = ticket.clock;
    const Origin own = with_lanes(origin, lane_bit(lane));
    threads_.for_groups(own, [&](LaneMask, const LaneGroup& group) {
      Touch touch =
          agent_touch(own, {ticket.chain, ticket.clock, nullptr}, Proxy::generic, true, "cp.async");
      touch.view = &group.view;
      operate(touch, {&*destination, 1});
    });
    ++destination;
  }
}

void Detector::copy_issued(const CopyEvent& event) {
  const CopyDescription& copy = event.copy;
  if (copy.unit == CopyUnit::cp_async) return cp_async_issued(event);
  const Origin& origin = event.origin;
  const OpcodeRow& row = cluster_.kernel().row(*origin.instruction);
  const char* const unit = unit_of(copy, row);
  const bool by_thread = row.base == "st.async" || row.base == "red.async";
  const bool by_group = copy.signals.empty();
  const Proxy proxy = by_thread ? Proxy::generic : Proxy::async;
  CopyAgents agents;
  if (by_group) {
    const uint32_t warp = threads_.warp_of(origin);
    const int lane = lowest_lane(origin.lanes);
    agents.reads = threads_.begin_in_order(origin, kBulkReadQueue);
    const Threads::Ticket writes = threads_.next_in_order(warp, lane, kBulkQueue);
    agents.writes = {writes.chain, writes.clock, agents.reads.start};
    OrderedGroups& groups = state_->bulk[key_of(warp, static_cast<uint64_t>(lane))];
    groups.chain = writes.chain;
    groups.read_chain = agents.reads.chain;
    groups.last = writes.clock;
  } else {
    agents.writes = agents.reads = threads_.begin(origin);
  }
  operate(agent_touch(origin, agents.reads, proxy, false, unit), copy.sources);
  Touch writes = agent_touch(origin, agents.writes, proxy, true, unit);
  if (row.base == "red.async" || row.base.starts_with("cp.reduce")) {
    Accessor reduction = *writes.accessor;
    reduction.is_strong = true;
    reduction.scope = MemoryScope::gpu;
    const View* const view = writes.view;
    writes = touch_of(reduction, origin, agents.writes.clock);
    writes.view = view;
  }
  operate(writes, copy.destinations);
  for (const CopySignal& signal : copy.signals) use(signal, origin, *agents.reads.start, unit);
  state_->copies.emplace(copy.id, std::move(agents));
}

void Detector::on_copy(const CopyEvent& event) {
  if (event.stage == CopyEvent::Stage::issued) copy_issued(event);
  if (event.stage == CopyEvent::Stage::landed)
    if (const CopyAgents* const agents = copy(event.copy.id))
      for (const CopySignal& signal : event.copy.signals)
        if (Barrier* const barrier = state_->barrier(signal.cta_rank, signal.offset_bytes))
          barrier->pending.complete(agents->writes);
  tell_parts(EventKind::copy, &Observer::on_copy, event);
  if (event.stage == CopyEvent::Stage::landed) state_->copies.erase(event.copy.id);
}

// ---- Tensor cores

void Detector::on_tensor_core(const TensorCoreEvent& event) {
  // wgmma is told when the last of its warps has issued it; each warp's part is an OrderEvent.
  const bool is_wgmma = std::string_view(event.kind) == "wgmma";
  if (!event.completes && !is_wgmma) {
    const Agent agent = threads_.begin_in_order(event.origin, kTcgen05Queue);
    const char* const unit = event.operation == TensorCoreEvent::Operation::mma ? "tcgen05.mma"
                             : event.operation == TensorCoreEvent::Operation::copy
                                 ? "tcgen05.cp"
                                 : "tcgen05.shift";
    operate(agent_touch(event.origin, agent, Proxy::async, false, unit),
            event.read_rows.empty() ? event.reads : event.read_rows);
  }
  tell_parts(EventKind::tensor_core, &Observer::on_tensor_core, event);
}

void Detector::on_tensor_memory(const TensorMemoryEvent& event) {
  // At the level hardware the address is taken as known.
  if (event.operation == TensorMemoryEvent::Operation::alloc && cluster_.at_isa_level()) {
    Touch touch = thread_touch(event.origin, true, kAllocUnit);
    threads_.for_groups(event.origin, [&](LaneMask lanes, const LaneGroup& group) {
      touch.lanes = lanes;
      touch.view = &group.view;
      shared_[event.origin.cta_rank].check_and_add(
          event.shared_offset_bytes, kAddressWordBytes, touch,
          [&](const Conflict& conflict) { report(conflict, touch, event.origin.cta_rank); });
    });
    // The warp that allocates executes one instruction together: its own lanes may read the word.
    threads_.meet(event.origin);
  }
  tell_parts(EventKind::tensor_memory, &Observer::on_tensor_memory, event);
}

// ---- Groups, fences, order

void Detector::on_group(const GroupEvent& event) {
  State& state = *state_;
  const Origin& origin = event.origin;
  const uint32_t warp = threads_.warp_of(origin);
  const auto learn = [&](LaneMask lanes, uint32_t chain, Clock clock) {
    if (clock == 0) return;
    threads_.change_groups(with_lanes(origin, lanes),
                           [&](LaneGroup& group) { group.view.generic.learn_chain(chain, clock); });
  };
  switch (event.unit) {
    case GroupEvent::Unit::bulk:
    case GroupEvent::Unit::cp_async: {
      const bool is_bulk = event.unit == GroupEvent::Unit::bulk;
      auto& threads = is_bulk ? state.bulk : state.cp_async;
      const bool commits =
          !event.waits || cluster_.kernel().row(*origin.instruction).base == "cp.async.wait_all";
      for (const int lane : lanes_of(origin.lanes)) {
        const auto found = threads.find(key_of(warp, static_cast<uint64_t>(lane)));
        if (found == threads.end()) continue;
        OrderedGroups& groups = found->second;
        if (commits) groups.commit();
        if (!event.waits) continue;
        const Clock completed = groups.completed(event.allowed);
        if (is_bulk) learn(lane_bit(lane), groups.read_chain, completed);
        if (!event.read_only) learn(lane_bit(lane), groups.chain, completed);
      }
      break;
    }
    case GroupEvent::Unit::wgmma:
      if (!event.waits)
        state.wgmma[warp].commit();
      else
        learn(origin.lanes, state.wgmma[warp].chain, state.wgmma[warp].completed(event.allowed));
      break;
    case GroupEvent::Unit::tensor_core: {
      const Agent agent = threads_.begin_in_order(origin, kTcgen05Queue);
      for (const int rank : lanes_of(event.targets))
        use(CopySignal{static_cast<uint16_t>(rank), event.offset_bytes, 0}, origin, *agent.start,
            "tcgen05.commit");
      if (event.id != kNoOperation)
        state.agents.emplace(event.id, Signalling{agent, std::popcount(event.targets)});
      break;
    }
  }
  tell_parts(EventKind::group, &Observer::on_group, event);
}

void Detector::on_fence(const FenceEvent& event) {
  const Origin& origin = event.origin;
  switch (event.kind) {
    case FenceKind::thread: {
      const Semantics semantics = semantics_of(origin, MemoryOrder::acq_rel, MemoryScope::cta);
      threads_.fence(origin, semantics.order, semantics.scope);
      break;
    }
    case FenceKind::mbarrier_init:
      threads_.fence_mbarrier_init(origin);
      break;
    case FenceKind::proxy_async: {
      const ptx::Instruction& source = cluster_.kernel().source(*origin.instruction);
      const auto row = find_row(source.opcode);
      const std::string_view space = row ? row->modifiers.get("space") : std::string_view{};
      threads_.fence_proxy_async(origin, space.empty()       ? ProxyFence::all
                                         : space == "global" ? ProxyFence::global
                                                             : ProxyFence::shared);
      break;
    }
    case FenceKind::proxy_async_generic:
      threads_.fence_proxy_async(origin, ProxyFence::shared);
      break;
    case FenceKind::proxy_alias:
    case FenceKind::proxy_tensormap:
    case FenceKind::tcgen05_before_thread_sync:
    case FenceKind::tcgen05_after_thread_sync:
      break;
  }
  tell_parts(EventKind::fence, &Observer::on_fence, event);
}

void Detector::on_order(const OrderEvent& event) {
  using Operation = OrderEvent::Operation;
  State& state = *state_;
  const Origin& origin = event.origin;
  switch (event.operation) {
    case Operation::warp_sync:
      // elect.sync chooses a lane and promises nothing about memory; the others exchange values or
      // wait, and are taken to order what the lanes did before.
      if (cluster_.kernel().row(*origin.instruction).base != "elect") threads_.meet(origin);
      break;
    case Operation::mbarrier_send: {
      Barrier* const barrier = state.barrier(event.cta_rank, event.offset_bytes);
      if (barrier != nullptr) use(*barrier, origin, event.cta_rank, event.offset_bytes);
      state.sent[event.id].release(threads_, origin,
                                   semantics_of(origin, MemoryOrder::release, MemoryScope::cta),
                                   tensor_order_);
      break;
    }
    case Operation::mbarrier_pass:
      pass(origin, event.cta_rank, event.offset_bytes, static_cast<int64_t>(event.phase));
      break;
    case Operation::cluster_barrier_pass:
      state.cluster_done.acquire(threads_, origin, {MemoryOrder::acquire, MemoryScope::cluster},
                                 tensor_order_);
      break;
    case Operation::cp_async_arrive: {
      View& view = state.cp_async_views[event.id];
      threads_.release(origin, view);
      const auto found = state.cp_async.find(
          key_of(threads_.warp_of(origin), static_cast<uint64_t>(lowest_lane(origin.lanes))));
      if (found != state.cp_async.end())
        view.generic.learn_chain(found->second.chain, found->second.last);
      break;
    }
    case Operation::launch_control_request: {
      const Agent agent = threads_.begin(origin);
      constexpr const char* kUnit = "clusterlaunchcontrol.try_cancel";
      const Touch touch = agent_touch(origin, agent, Proxy::async, true, kUnit);
      for (const int rank : lanes_of(event.ranks)) {
        const auto target = static_cast<uint16_t>(rank);
        const MemoryRange response{AddressSpace::shared_cta, target, event.address, kResponseBytes};
        operate(touch, {&response, 1});
        use(CopySignal{target, event.offset_bytes, kResponseBytes}, origin, *agent.start, kUnit);
      }
      state.agents.emplace(event.id, Signalling{agent, std::popcount(event.ranks)});
      break;
    }
    case Operation::launch_control_response: {
      Barrier* const barrier = state.barrier(event.cta_rank, event.offset_bytes);
      const auto agent = state.agents.find(event.id);
      if (agent == state.agents.end()) break;
      if (barrier != nullptr) barrier->pending.complete(agent->second.agent);
      if (--agent->second.signals == 0) state.agents.erase(agent);
      break;
    }
    case Operation::wgmma_issue: {
      // An MMA is one operation of its warpgroup, whichever warp waits for it.
      constexpr uint32_t kWarpgroupWarps = 4;
      const uint32_t first = threads_.warp_of(origin) - origin.warp % kWarpgroupWarps;
      OrderedGroups& groups = state.wgmma[threads_.warp_of(origin)];
      groups.chain = threads_.queue_of(first, 0, kWgmmaQueue);
      const Agent agent{groups.chain, ++groups.last, threads_.snapshot(origin)};
      operate(agent_touch(origin, agent, Proxy::async, false, "wgmma.mma_async"), event.reads);
      break;
    }
    case Operation::grid_wait:
    case Operation::grid_launch_dependents:
    case Operation::wgmma_fence:
      break;
  }
  tell_parts(EventKind::order, &Observer::on_order, event);
}

void Detector::on_cta(const CtaEvent& event) {
  tell_parts(EventKind::cta, &Observer::on_cta, event);
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

// ---- Reports

std::string Detector::mbarrier_name(uint32_t cta_rank, uint32_t offset_bytes) const {
  return "the mbarrier " + shared_name(cta_rank, offset_bytes);
}

std::string Detector::shared_name(uint32_t cta_rank, uint64_t offset_bytes) const {
  std::string name = cluster_.kernel().describe_shared(static_cast<uint32_t>(offset_bytes));
  if (shared_.size() > 1) name += fmt::format(" of CTA rank {}", cta_rank);
  return name;
}

Missing Detector::missing_between(const Conflict& conflict, const Touch& touch) {
  const Accessor& earlier = accessors_[conflict.earlier.number()];
  const Accessor& later = *touch.accessor;
  const LaneMask earlier_lane = conflict.earlier_lane < 0 ? 0 : lane_bit(conflict.earlier_lane);
  const auto knows = [&](const VectorClock& clock) {
    return earlier.is_async
               ? clock.knows_chain(earlier.agent, conflict.earlier.clock)
               : clock.knows_lanes(earlier.agent, earlier_lane, conflict.earlier.clock);
  };
  const bool is_own = !earlier.is_async && earlier.agent == touch.warp &&
                      earlier_lane == touch.lanes && later.is_async;
  if (is_own || (touch.view != nullptr && knows(touch.view->generic))) return Missing::proxy_fence;
  bool too_narrow = false, relaxed = false;
  const Origin origin{later.instruction, later.cta_rank, later.warp,
                      conflict.lane < 0 ? touch.lanes : lane_bit(conflict.lane)};
  threads_.for_groups(origin, [&](LaneMask, const LaneGroup& group) {
    too_narrow = too_narrow || knows(group.too_narrow.generic);
    relaxed = relaxed || knows(group.relaxed.generic);
  });
  if (std::string_view(earlier.unit) == kAllocUnit || std::string_view(later.unit) == kAllocUnit)
    return Missing::address_word;
  if (too_narrow) return Missing::wider_scope;
  if (relaxed) return Missing::release_acquire;
  if (earlier.is_async) return earlier.writes ? Missing::completion : Missing::source_free;
  if (earlier.agent == touch.warp) return Missing::warp_order;
  // One lane has handed it on for its warp, or has waited for it: the warp did not meet.
  bool other_lanes = touch.view != nullptr &&
                     touch.view->generic.lanes_known(earlier.agent, conflict.earlier.clock) != 0;
  const Origin warp{later.instruction, later.cta_rank, later.warp, kAllLanes};
  threads_.for_groups(warp, [&](LaneMask, const LaneGroup& group) {
    other_lanes = other_lanes || knows(group.view.generic);
  });
  if (other_lanes) return Missing::warp_order;
  return earlier.cta_rank == later.cta_rank ? Missing::order : Missing::cluster_order;
}

bool Detector::sees(const Conflict& conflict, const Touch& touch) {
  const Accessor& earlier = accessors_[conflict.earlier.number()];
  const LaneMask earlier_lane = conflict.earlier_lane < 0 ? 0 : lane_bit(conflict.earlier_lane);
  const Origin origin{touch.accessor->instruction, touch.accessor->cta_rank, touch.accessor->warp,
                      conflict.lane < 0 ? touch.lanes : lane_bit(conflict.lane)};
  bool is_seen = false;
  threads_.for_groups(origin, [&](LaneMask, const LaneGroup& group) {
    is_seen = is_seen || group.relaxed.generic.knows_lanes(earlier.agent, earlier_lane,
                                                           conflict.earlier.clock);
  });
  return is_seen;
}

void Detector::report(const Conflict& conflict, const Touch& touch, uint32_t cta_rank) {
  const Accessor& earlier = accessors_[conflict.earlier.number()];
  const bool exchanges_volatile = earlier.is_volatile && touch.accessor->is_volatile;
  // What strong reads have seen comes before what the thread does behind them to volatile data.
  if (exchanges_volatile && sees(conflict, touch)) return;
  const Missing missing = missing_between(conflict, touch);
  std::string edge, fix;
  if (missing == Missing::address_word && std::string_view(touch.accessor->unit) == kAllocUnit)
    fix = "put a barrier (__syncthreads) behind {second} and before {first}";
  if (missing == Missing::warp_order && earlier.agent != touch.warp) {
    edge = kOneLaneEdge;
    fix = kOneLaneFix;
  }
  report(missing, earlier, conflict.earlier_lane < 0 ? 0 : lane_bit(conflict.earlier_lane),
         *touch.accessor, conflict.lane < 0 ? touch.lanes : lane_bit(conflict.lane),
         fmt::format("{} byte{} of shared memory at {}", conflict.bytes,
                     conflict.bytes == 1 ? "" : "s", shared_name(cta_rank, conflict.address)),
         missing == Missing::address_word || exchanges_volatile, std::move(edge), std::move(fix));
}

void Detector::report(Missing missing, const Accessor& earlier, LaneMask earlier_lanes,
                      const Accessor& later, LaneMask later_lanes, std::string memory,
                      bool hardware_accepts, std::string edge, std::string fix) {
  findings_.add(missing, earlier.instruction, later.instruction, [&] {
    Finding finding;
    finding.missing = missing;
    finding.earlier = describe_side(cluster_, earlier, earlier_lanes);
    finding.later = describe_side(cluster_, later, later_lanes);
    finding.memory = std::move(memory);
    finding.hardware_accepts = hardware_accepts;
    finding.edge = std::move(edge);
    finding.fix = std::move(fix);
    return finding;
  });
}

}  // namespace bw::sim::races
