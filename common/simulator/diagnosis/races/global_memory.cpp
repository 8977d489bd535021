#include "common/simulator/diagnosis/races/global_memory.hpp"

#include <algorithm>
#include <bit>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "common/simulator/base/text.hpp"
#include "common/simulator/machine/address_space.hpp"
#include "common/simulator/machine/cluster_links.hpp"
#include "common/simulator/machine/device.hpp"
#include "common/simulator/machine/grid.hpp"
#include "common/simulator/machine/kernel.hpp"
#include "common/simulator/machine/opcode_table.hpp"

namespace bw::sim::races {
namespace {

constexpr uint64_t kTensorMapBytes = 128;

Origin with_lanes(const Origin& origin, LaneMask lanes) {
  Origin changed = origin;
  changed.lanes = lanes;
  return changed;
}

bool is_written_strong(MemoryOrder order) {
  return order != MemoryOrder::unspecified && order != MemoryOrder::weak;
}

/// "16 bytes at 0x7f..., 32 bytes into cudaMalloc of 4096 bytes".
std::string memory_text(DeviceMemory& memory, uint64_t address, uint32_t bytes) {
  const Allocation* const allocation = memory.find(address);
  std::string text =
      fmt::format("global memory, {} byte{} at {:#x}", bytes, bytes == 1 ? "" : "s", address);
  if (allocation != nullptr)
    text += fmt::format(" (byte {} of {})", address - allocation->address, allocation->description);
  return text;
}

}  // namespace

// ---- Operations

namespace {

/// One side of a race, where the cluster is gone.
RaceSide describe_side(const OperationShape& shape, const Accessor& accessor, uint64_t cluster,
                       LaneMask lanes = 0) {
  RaceSide side;
  side.accessor = accessor;
  // A thread, although its cluster or launch was taken for one agent.
  side.accessor.is_async = accessor.proxy != Proxy::generic;
  side.unit = accessor.unit;
  side.lanes = lanes;
  if (shape.kernel == nullptr) {
    side.place = side.line = shape.name;
    return side;
  }
  const Kernel& kernel = *shape.kernel;
  const ptx::Instruction& source = kernel.source(*accessor.instruction);
  const Dim3 clusters{shape.grid.x / shape.cluster.x, shape.grid.y / shape.cluster.y,
                      shape.grid.z / shape.cluster.z};
  const Dim3 first = delinearize(cluster, clusters);
  const Dim3 offset = delinearize(accessor.cta_rank, shape.cluster);
  const Dim3 cta{first.x * shape.cluster.x + offset.x, first.y * shape.cluster.y + offset.y,
                 first.z * shape.cluster.z + offset.z};
  side.line = kernel.module().ptx().describe_place(source);
  side.place =
      fmt::format("{}: `{}` in {}, CTA ({},{},{})", kernel.module().ptx().describe_location(source),
                  source.opcode, kernel.name(), cta.x, cta.y, cta.z);
  if (shape.cluster.volume() > 1) side.place += fmt::format(" rank {}", accessor.cta_rank);
  side.place += fmt::format(", warp {}", accessor.warp);
  if (std::has_single_bit(lanes)) side.place += fmt::format(", lane {}", lowest_lane(lanes));
  side.source = kernel.module().ptx().report_place(source);
  side.source.kernel = kernel.name();
  side.source.cta = {cta.x, cta.y, cta.z};
  if (shape.cluster.volume() > 1) side.source.cta_rank = accessor.cta_rank;
  side.source.warp = accessor.warp;
  side.source.lanes = lanes;
  return side;
}

/// An operation as an agent that stands for all its threads.
Touch touch_of(const AccessorTable& accessors, uint32_t number, Clock clock, const View& view) {
  Touch touch;
  touch.number = number;
  touch.accessor = &accessors[number];
  touch.clock = clock;
  touch.view = &view;
  touch.fenced = &View::generic;  // ends of clusters and launches are fences for all proxies
  return touch;
}

}  // namespace

LaunchRaces::LaunchRaces(Grid& grid, StreamOperation operation, bool is_programmatic)
    : memory_(grid.device().memory()),
      shape_{&grid.kernel(), grid.configuration().grid, grid.configuration().cluster, {}},
      operation_(std::move(operation)),
      is_programmatic_(is_programmatic),
      clusters_(grid.clusters().volume()) {
  if (are_clusters_linked(grid)) linked_ = std::make_shared<GlobalShadow>();
}

std::shared_ptr<GlobalShadow> LaunchRaces::shadow_of_cluster() {
  return linked_ != nullptr ? linked_ : std::make_shared<GlobalShadow>();
}

void LaunchRaces::take(uint64_t cluster, const std::shared_ptr<GlobalShadow>& shadow) {
  ++taken_;
  if (shadow == linked_) return;
  // Nothing is known of the clusters before; what the cluster did itself is in order.
  View own;
  const auto chain = static_cast<uint32_t>(cluster);
  own.generic.learn_chain(chain, 1);
  std::vector<uint32_t> numbers;  // of the cluster's accessors, in the launch's table, and 1
  shadow->bytes.for_each([&](uint64_t address, uint32_t bytes, const ShadowEntry& entry) {
    const uint32_t in_cluster = entry.number();
    const bool writes = shadow->accessors[in_cluster].writes;
    // Most of what is read, is read by many clusters.
    if (!writes && all_.bytes.are_read_by_two(address, bytes)) return;
    if (in_cluster >= numbers.size()) numbers.resize(size_t{in_cluster} + 1, 0);
    if (numbers[in_cluster] == 0) {
      Accessor accessor = shadow->accessors[in_cluster];
      accessor.agent = chain;
      accessor.is_async = true;
      numbers[in_cluster] = all_.accessors.number(accessor) + 1;
    }
    const Touch touch = touch_of(all_.accessors, numbers[in_cluster] - 1, 1, own);
    const Accessor& accessor = *touch.accessor;
    all_.bytes.check_and_add_block(address, bytes, touch, [&](const Conflict& conflict) {
      const Accessor& earlier = all_.accessors[conflict.earlier.number()];
      const Missing missing =
          earlier.is_strong && accessor.is_strong ? Missing::wider_scope : Missing::global_order;
      findings_.add(missing, earlier.instruction, accessor.instruction, [&] {
        Finding finding;
        finding.missing = missing;
        finding.earlier = describe_side(shape_, earlier, earlier.cluster);
        finding.later = describe_side(shape_, accessor, accessor.cluster);
        finding.memory = memory_text(memory_, conflict.address, conflict.bytes);
        return finding;
      });
    });
  });
}

RaceSide LaunchRaces::side_of(const Accessor& accessor, LaneMask lanes) const {
  return describe_side(shape_, accessor, accessor.cluster, lanes);
}

std::shared_ptr<LaunchRaces> DeviceRaces::begin(Grid& grid) {
  forget_what_is_over();
  // Launched by other means than a stream: behind everything.
  if (!next_) next_ = order_.begin({});
  return std::make_shared<LaunchRaces>(grid, *std::exchange(next_, std::nullopt),
                                       std::exchange(next_is_programmatic_, false));
}

void DeviceRaces::forget_what_is_over() {
  if (order_.host_knows_all()) {
    waiting_.clear();
    if (!sources_.empty()) all_ = std::make_unique<GlobalShadow>();
    sources_.clear();
    laid_.clear();
  }
  while (!waiting_.empty() && order_.host_knows(waiting_.front().operation)) waiting_.pop_front();
}

void DeviceRaces::forget(uint64_t address, uint64_t size_bytes) {
  Findings none;
  while (!waiting_.empty()) {
    lay(waiting_.front(), none);
    waiting_.pop_front();
  }
  all_->bytes.forget(address, size_bytes);
}

RaceSide DeviceRaces::side_of(const Accessor& accessor) const {
  const auto& [shape, cluster] = sources_[accessor.source];
  return describe_side(shape, accessor, cluster);
}

void DeviceRaces::end(std::shared_ptr<const LaunchRaces> launch, Findings& findings) {
  Ended ended;
  ended.operation = launch->operation_;
  ended.launch = std::move(launch);
  end(std::move(ended), findings);
}

void DeviceRaces::host_operation(const StreamOperation& operation, std::string name,
                                 std::vector<MemoryRange> reads, std::vector<MemoryRange> writes,
                                 Findings& findings) {
  forget_what_is_over();
  end({operation, nullptr, std::move(name), std::move(reads), std::move(writes)}, findings);
}

void DeviceRaces::end(Ended ended, Findings& findings) {
  constexpr size_t kMostWaiting = 16;
  const bool is_programmatic = ended.launch != nullptr && ended.launch->is_programmatic();
  const VectorClock& before =
      is_programmatic ? ended.operation.before_early : ended.operation.before;
  bool comes_last = waiting_.size() < kMostWaiting;
  for (const Ended& other : waiting_)
    comes_last = comes_last && before.knows_chain(other.operation.chain, other.operation.clock);
  for (uint32_t chain = 0; chain < laid_.size(); ++chain)
    comes_last = comes_last && before.knows_chain(chain, laid_[chain]);
  if (comes_last) {
    waiting_.push_back(std::move(ended));
    return;
  }
  for (; !waiting_.empty(); waiting_.pop_front()) lay(waiting_.front(), findings);
  lay(ended, findings);
}

void DeviceRaces::lay(const Ended& ended, Findings& findings) {
  const StreamOperation& operation = ended.operation;
  if (operation.chain >= laid_.size()) laid_.resize(size_t{operation.chain} + 1, 0);
  laid_[operation.chain] = std::max(laid_[operation.chain], operation.clock);
  if (ended.launch != nullptr)
    lay_kernel(ended, findings);
  else
    lay_host(ended, findings);
}

void DeviceRaces::lay_kernel(const Ended& ended, Findings& findings) {
  const StreamOperation& operation = ended.operation;
  const LaunchRaces& launch = *ended.launch;
  View before, early;
  before.generic = operation.before;
  before.generic.learn_chain(operation.chain, operation.clock);
  early.generic = operation.before_early;
  const GlobalShadow& shadow = launch.linked_ != nullptr ? *launch.linked_ : launch.all_;
  std::unordered_map<uint64_t, uint32_t> sources;  // of this launch's clusters
  std::vector<uint32_t> numbers;  // of the launch's accessors, in the device's table, and 1
  shadow.bytes.for_each([&](uint64_t address, uint32_t bytes, const ShadowEntry& entry) {
    const uint32_t in_launch = entry.number();
    const bool is_early = shadow.accessors[in_launch].is_early;
    if (in_launch >= numbers.size()) numbers.resize(size_t{in_launch} + 1, 0);
    if (numbers[in_launch] == 0) {
      Accessor accessor = shadow.accessors[in_launch];
      const auto [source, is_new] =
          sources.try_emplace(accessor.cluster, static_cast<uint32_t>(sources_.size()));
      if (is_new) sources_.emplace_back(launch.shape_, accessor.cluster);
      accessor.source = source->second;
      accessor.cluster = 0;
      accessor.agent = operation.chain;
      accessor.is_async = true;
      accessor.is_early = false;
      numbers[in_launch] = all_->accessors.number(accessor) + 1;
    }
    const Touch touch = touch_of(all_->accessors, numbers[in_launch] - 1, operation.clock,
                                 is_early ? early : before);
    const Accessor& accessor = *touch.accessor;
    all_->bytes.check_and_add_block(address, bytes, touch, [&](const Conflict& conflict) {
      const Accessor& earlier = all_->accessors[conflict.earlier.number()];
      const bool is_own =
          earlier.agent == operation.chain && conflict.earlier.clock == operation.clock;
      if (is_own) return;  // compared before
      const bool would_wait =
          is_early && before.generic.knows_chain(earlier.agent, conflict.earlier.clock);
      const Missing missing = would_wait ? Missing::previous_grid : Missing::launch_order;
      findings.add(missing, earlier.instruction, accessor.instruction, [&] {
        Finding finding;
        finding.missing = missing;
        finding.earlier = side_of(earlier);
        finding.later = side_of(accessor);
        finding.memory = memory_text(memory_, conflict.address, conflict.bytes);
        return finding;
      });
    });
  });
}

void DeviceRaces::lay_host(const Ended& ended, Findings& findings) {
  const StreamOperation& operation = ended.operation;
  View before;
  before.generic = operation.before;
  before.generic.learn_chain(operation.chain, operation.clock);
  Accessor accessor;
  accessor.agent = operation.chain;
  accessor.is_async = true;
  accessor.unit = "copy of the host";
  accessor.source = static_cast<uint32_t>(sources_.size());
  sources_.push_back({OperationShape{nullptr, {}, {}, ended.name}, 0});
  for (const bool is_write : {false, true}) {
    accessor.writes = is_write;
    const Touch touch =
        touch_of(all_->accessors, all_->accessors.number(accessor), operation.clock, before);
    for (const MemoryRange& range : is_write ? ended.writes : ended.reads)
      all_->bytes.check_and_add(
          range.address, range.size_bytes, touch, [&](const Conflict& conflict) {
            const Accessor& earlier = all_->accessors[conflict.earlier.number()];
            findings.add(Missing::launch_order, earlier.instruction, nullptr, [&] {
              Finding finding;
              finding.missing = Missing::launch_order;
              finding.earlier = side_of(earlier);
              finding.later = side_of(accessor);
              finding.memory = memory_text(memory_, conflict.address, conflict.bytes);
              return finding;
            });
          });
  }
}

// ---- A cluster

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
  if (launch_->is_programmatic()) {
    const auto found = past_grid_wait_.find(accessor.agent);
    const LaneMask past = found == past_grid_wait_.end() ? 0 : found->second;
    accessor.is_early = (origin.lanes & ~past) != 0;
  }
  return accessor;
}

ThreadOrder& GlobalRaces::thread(const Origin& origin, int lane) {
  return threads_[detector_.threads().warp_of(origin) * kWarpLanes + static_cast<uint32_t>(lane)];
}

const View& GlobalRaces::at_home(const Released& released) {
  if (released.from.cluster == cluster_index_) return *released.view;
  constexpr size_t kMostKept = 64;
  if (translated_.size() > kMostKept) translated_.clear();
  Translated& known = translated_[released.view.get()];
  if (known.original == nullptr) {
    known.original = released.view;
    known.view = released.view->as_foreign(released.from.cluster);
    known.view.take_home(cluster_index_);
  }
  return known.view;
}

GlobalRaces::Strength GlobalRaces::strength_of(const AccessEvent& event) const {
  const Instruction& instruction = *event.origin.instruction;
  const MemoryOrder order = instruction.order;
  Strength strength;
  strength.is_strong = event.atomic || is_written_strong(order);
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
  Numbered& numbered =
      numbered_[(reinterpret_cast<uintptr_t>(origin.instruction) / sizeof(Instruction) +
                 accessor.agent) %
                numbered_.size()];
  if (numbered.instruction != origin.instruction || numbered.agent != accessor.agent ||
      numbered.is_early != accessor.is_early)
    numbered = {origin.instruction, accessor.agent, accessor.is_early,
                shadow_->accessors.number(accessor)};
  Touch touch;
  touch.number = numbered.number;
  touch.accessor = &shadow_->accessors[touch.number];
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
  const bool in_one_pass = !accessor.writes || runs_.size() == 1;
  detector_.threads().for_groups(origin, [&](LaneMask of_group, const LaneGroup& group) {
    touch.view = &group.view;
    touch.lanes = of_group;
    const auto on_conflict = [&](const Conflict& conflict) { found(conflict, touch, &group); };
    if (in_one_pass) {
      visit<true, true>(of_group, touch, event.bytes, on_conflict);
    } else {
      visit<true, false>(of_group, touch, event.bytes, on_conflict);
    }
  });
  if (in_one_pass) return;
  detector_.threads().for_groups(origin, [&](LaneMask of_group, const LaneGroup& group) {
    touch.view = &group.view;
    touch.lanes = of_group;
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
  const bool learns =
      reads && !detector_.cluster().kernel().row(*event.origin.instruction).base.starts_with("red");
  const Party self = party(event.origin);
  std::vector<Released> released;
  for (const int lane : lanes_of(lanes)) {
    const Origin origin = with_lanes(event.origin, lane_bit(lane));
    const Location location = Location::global(event.addresses[static_cast<size_t>(lane)]);
    const LocationState* const state = learns ? shadow_->locations.read(location) : nullptr;
    if (state != nullptr) {
      for (const Released& one : state->released) {
        const View& view = at_home(one);
        const bool meets = scopes_meet(self, strength.scope, one.from, one.scope);
        if (meets && strength.acquires) {
          threads.acquire(origin, view);
          continue;
        }
        if (!strength.acquires) thread(origin, lane).keep(location, one, strength.scope);
        threads.change_groups(origin, [&](LaneGroup& group) {
          (meets ? group.relaxed : group.too_narrow).join(view);
        });
      }
      if (const Unreleased& last = state->unreleased; last.lanes != 0)
        threads.change_groups(origin, [&](LaneGroup& group) {
          if (last.cluster == cluster_index_)
            group.relaxed.generic.learn_lanes(last.warp, last.lanes, last.clock);
          else
            group.relaxed.generic.learn_foreign_lanes(last.cluster, last.warp, last.lanes,
                                                      last.clock);
        });
    }
    if (!writes) continue;
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
  const Party self = party(event.origin);
  // membar.gl is the fence of the GPU, membar.sys that of the system.
  const MemoryScope scope =
      instruction.scope == MemoryScope::unspecified ? MemoryScope::gpu : instruction.scope;
  if (instruction.order == MemoryOrder::sc ||
      detector_.cluster().kernel().row(instruction).base == "membar")
    synchronise_fence_sc(event.origin, self, scope);
  for (const int lane : lanes_of(event.origin.lanes)) {
    const Origin origin = with_lanes(event.origin, lane_bit(lane));
    if (instruction.order != MemoryOrder::release) {
      if (const auto found =
              threads_.find(threads.warp_of(origin) * kWarpLanes + static_cast<uint32_t>(lane));
          found != threads_.end()) {
        found->second.acquire_fence(self, scope, [&](const Released& one, bool meets) {
          if (meets)
            threads.acquire(origin, at_home(one));
          else
            threads.change_groups(origin,
                                  [&](LaneGroup& group) { group.too_narrow.join(at_home(one)); });
        });
      }
    }
    if (instruction.order != MemoryOrder::acquire)
      thread(origin, lane).release_fence(scope, threads.snapshot(origin));
  }
}

void GlobalRaces::synchronise_fence_sc(const Origin& origin, const Party& self, MemoryScope scope) {
  // No memory has this address.
  constexpr Location kOrder = Location::global(0);
  Threads& threads = detector_.threads();
  if (const LocationState* const state = shadow_->locations.read(kOrder))
    for (const Released& one : state->released)
      if (scopes_meet(self, scope, one.from, one.scope)) threads.acquire(origin, at_home(one));
  const Released handed_on{self, scope, threads.snapshot(origin)};
  shadow_->locations.write(kOrder, /*is_atomic=*/true, {&handed_on, 1}, {});
}

void GlobalRaces::on_order(const OrderEvent& event) {
  if (event.operation != OrderEvent::Operation::grid_wait) return;
  past_grid_wait_[detector_.threads().warp_of(event.origin)] |= event.origin.lanes;
}

// ---- Copies

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
  // for. The waits of a thread order its own later accesses alone, so the issue stands for the
  // read.
  auto source = event.copy.sources.begin();
  for (const int lane : lanes_of(event.origin.lanes)) {
    if (source == event.copy.sources.end()) return;
    const MemoryRange& range = *source++;
    if (range.size_bytes == 0) continue;
    const Origin origin = with_lanes(event.origin, lane_bit(lane));
    Accessor accessor = accessor_of(origin);
    accessor.unit = "cp.async";
    detector_.threads().for_groups(origin, [&](LaneMask, const LaneGroup& group) {
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
  // Writes to the map must lie before a fence that acquires it, and that before the copy.
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

// ---- Reports

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
  const auto knows = [&](const View& view) {
    const LaneMask lanes = conflict.earlier_lane < 0 ? kAllLanes : lane_bit(conflict.earlier_lane);
    return (lanes & ~view.generic.known(earlier.cluster != cluster_index_, earlier.cluster,
                                        earlier.is_async, earlier.agent, conflict.earlier.clock)) ==
           0;
  };
  const bool both_strong = earlier.is_strong && later.is_strong;
  if (both_strong && group != nullptr && conflict.lane >= 0) {
    // Strong accesses of one location have one order. What a strong read has seen comes before what
    // the thread does to the location afterwards, with or without a fence.
    const auto order =
        threads_.find(later.agent * kWarpLanes + static_cast<uint32_t>(conflict.lane));
    View loose;
    if (order != threads_.end())
      order->second.acquire_fence({cluster_index_, later.cta_rank}, MemoryScope::sys,
                                  [&](const Released& one, bool meets) {
                                    if (meets) loose.join(at_home(one));
                                  });
    const bool reads_only = !later.writes;
    const bool is_atomic = later.writes && !later.is_volatile;
    if ((reads_only || is_atomic) && knows(loose)) return;
    if (later.writes &&
        shadow_->bytes.any(
            conflict.address, conflict.bytes, [&](const ShadowEntry& entry, uint32_t bytes) {
              const Accessor& own = shadow_->accessors[entry.number()];
              return !own.is_async && !own.writes && own.cluster == later.cluster &&
                     own.agent == later.agent && lanes_at(entry, bytes) == lane_bit(conflict.lane);
            }))
      return;
  }
  Missing missing = Missing::global_order;
  const bool same_warp = !earlier.is_async && !later.is_async && earlier.agent == later.agent &&
                         earlier.cluster == later.cluster;
  if (later.proxy == Proxy::tensormap || earlier.proxy == Proxy::tensormap)
    missing = Missing::tensor_map;
  else if (earlier.proxy == Proxy::generic && later.proxy != Proxy::generic && knows(*touch.view))
    missing = Missing::proxy_fence;
  else if (earlier.is_async && earlier.cluster == later.cluster)
    missing = earlier.writes ? Missing::completion : Missing::source_free;
  else if (same_warp)
    missing = Missing::warp_order;
  else if (both_strong && !later.is_volatile && !earlier.is_volatile)
    missing = Missing::wider_scope;
  else if (group != nullptr && knows(group->too_narrow))
    missing = Missing::wider_scope;
  else if (group != nullptr && knows(group->relaxed))
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
        "atomicAdd "
        "for atomicAdd_block, .gpu for .cta";
  else if (missing == Missing::release_acquire)
    fix =
        "put __threadfence() behind {first} and before its thread writes the flag, and another one "
        "behind the wait for the flag and before {second}; or write the flag with .release and "
        "read "
        "it with .acquire";
  const bool by_one_lane = missing == Missing::warp_order && !same_warp;
  if (by_one_lane) fix = kOneLaneFix;
  detector_.add_finding(missing, earlier.instruction, later.instruction, [&] {
    Finding finding;
    finding.missing = missing;
    if (by_one_lane) finding.edge = kOneLaneEdge;
    finding.earlier = launch_->side_of(earlier, earlier_lanes);
    finding.later = launch_->side_of(later, lanes);
    finding.memory = memory_text(detector_.cluster().memory(), conflict.address, conflict.bytes);
    finding.hardware_accepts = both_strong && (earlier.is_volatile || later.is_volatile);
    finding.fix = fix;
    return finding;
  });
}

void GlobalRaces::on_end(RunStatus) { launch_->take(cluster_index_, shadow_); }

}  // namespace bw::sim::races
