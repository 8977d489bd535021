#include "common/simulator/trace/cluster_log.hpp"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include <fmt/core.h>

#include "common/simulator/machine/kernel.hpp"

namespace bw::sim::trace {
namespace {

const char* wait_name(WaitKind kind) {
  switch (kind) {
    case WaitKind::none:
      return "none";
    case WaitKind::mbarrier:
      return "mbarrier";
    case WaitKind::named_barrier:
      return "named_barrier";
    case WaitKind::cluster_barrier:
      return "cluster_barrier";
    case WaitKind::warp_sync:
      return "warp_sync";
    case WaitKind::reconvergence:
      return "reconvergence";
    case WaitKind::bulk_group:
      return "bulk_group";
    case WaitKind::cp_async_group:
      return "cp_async_group";
    case WaitKind::wgmma_group:
      return "wgmma_group";
    case WaitKind::tcgen05_alloc:
      return "tcgen05_alloc";
    case WaitKind::tcgen05_wait:
      return "tcgen05_wait";
    case WaitKind::global_order:
      return "global_order";
    case WaitKind::sleep:
      return "sleep";
  }
  return "";
}

const char* space_name(AddressSpace space) {
  switch (space) {
    case AddressSpace::generic:
      return "generic";
    case AddressSpace::global:
      return "global";
    case AddressSpace::constant:
      return "const";
    case AddressSpace::param:
      return "param";
    case AddressSpace::local:
      return "local";
    case AddressSpace::shared_cta:
    case AddressSpace::shared_cluster:
      return "shared";
  }
  return "";
}

const char* name_of(MbarrierEvent::Operation operation) {
  switch (operation) {
    case MbarrierEvent::Operation::init:
      return "mbarrier_init";
    case MbarrierEvent::Operation::invalidate:
      return "mbarrier_inval";
    case MbarrierEvent::Operation::arrive:
    case MbarrierEvent::Operation::arrive_drop:
      return "mbarrier_arrive";
    case MbarrierEvent::Operation::expect_tx:
      return "mbarrier_expect_tx";
    case MbarrierEvent::Operation::complete_tx:
      return "mbarrier_complete_tx";
    case MbarrierEvent::Operation::increment_pending:
      return "mbarrier_increment";
    case MbarrierEvent::Operation::complete:
      return "mbarrier_complete";
    case MbarrierEvent::Operation::test:
      return "mbarrier_wait";
  }
  return "";
}

const char* name_of(TensorMemoryEvent::Operation operation) {
  switch (operation) {
    case TensorMemoryEvent::Operation::alloc:
      return "tmem_alloc";
    case TensorMemoryEvent::Operation::dealloc:
      return "tmem_dealloc";
    case TensorMemoryEvent::Operation::relinquish:
      return "tmem_relinquish";
    case TensorMemoryEvent::Operation::load:
      return "tmem_load";
    case TensorMemoryEvent::Operation::store:
      return "tmem_store";
    case TensorMemoryEvent::Operation::wait_load:
    case TensorMemoryEvent::Operation::wait_store:
      return "tmem_wait";
  }
  return "";
}

const char* name_of(GroupEvent::Unit unit) {
  switch (unit) {
    case GroupEvent::Unit::bulk:
      return "bulk";
    case GroupEvent::Unit::cp_async:
      return "cp_async";
    case GroupEvent::Unit::wgmma:
      return "wgmma";
    case GroupEvent::Unit::tensor_core:
      break;
  }
  return "tensor_core";
}

const char* name_of(CopyUnit unit) {
  switch (unit) {
    case CopyUnit::tensor:
      return "tensor";
    case CopyUnit::bulk:
      return "bulk";
    case CopyUnit::cp_async:
      return "cp_async";
  }
  return "";
}

const char* name_of(CopyDirection direction) {
  switch (direction) {
    case CopyDirection::load:
      return "load";
    case CopyDirection::store:
      return "store";
    case CopyDirection::reduce:
      return "reduce";
    case CopyDirection::shared_to_shared:
      return "shared";
  }
  return "";
}

const char* name_of(TensorCoreEvent::Operation operation) {
  switch (operation) {
    case TensorCoreEvent::Operation::mma:
      return "mma";
    case TensorCoreEvent::Operation::copy:
      return "tmem_copy";
    case TensorCoreEvent::Operation::shift:
      return "tmem_shift";
  }
  return "";
}

const char* name_of(Access access) {
  switch (access) {
    case Access::read:
      return "read";
    case Access::write:
      return "write";
    case Access::read_write:
      return "read_write";
  }
  return "";
}

std::string place_text(const ptx::Module& module, const ptx::SourceLocation& location) {
  return fmt::format("{}:{}", module.file_name(location), location.line);
}

}  // namespace

ClusterLog::ClusterLog(EventLog& log, const EventSelection& selection, Cluster& cluster)
    : log_(log), selection_(selection), kernel_(cluster.kernel()), cluster_(cluster.index()) {}

EventKinds ClusterLog::wants() const {
  EventKinds kinds = kAllEvents & ~event_kinds(EventKind::run, EventKind::access);
  if (selection_.has("run")) kinds |= event_kinds(EventKind::run);
  if (selection_.has("access")) kinds |= event_kinds(EventKind::access);
  return kinds;
}

const std::string& ClusterLog::place_of(const Instruction& instruction) {
  const auto [found, is_new] = places_.try_emplace(&instruction);
  if (!is_new) return found->second;
  const ptx::Module& module = kernel_.module().ptx();
  const ptx::Instruction& source = kernel_.source(instruction);
  const std::vector<const ptx::SourceLocation*> chain = module.call_chain(source);
  Fields fields;
  if (chain.empty()) {
    fields.add("file", module.name).add("line", source.line);
  } else {
    const ptx::SourceLocation& place = module.place_in(chain);
    fields.add("file", module.file_name(place)).add("line", place.line);
    if (!place.function.empty()) fields.add("function", ptx::Module::function_name(place));
    if (chain.size() > 1) {
      List stack;
      for (const ptx::SourceLocation* const location : chain)
        stack.add(json_string(place_text(module, *location)));
      fields.add_raw("stack", stack.json());
    }
  }
  fields.add("opcode", source.opcode);
  return found->second = fields.text();
}

void ClusterLog::add(std::string_view name, Cycle cycle, const Origin& origin, const Fields& fields,
                     size_t barrier) {
  if (!selection_.has(name)) return;
  Fields line;
  line.add("event", name).add("cycle", cycle).add("cluster", cluster_);
  const Dim3 cta = ctas_[origin.cta_rank];
  List index;
  for (const uint32_t coordinate : {cta.x, cta.y, cta.z}) index.add(std::to_string(coordinate));
  line.add_raw("cta", index.json()).add("rank", origin.cta_rank);
  if (origin.instruction != nullptr)
    line.add("warp", origin.warp).add("lanes", origin.lanes).add_all(place_of(*origin.instruction));
  line.add_all(fields.text());
  lines_.push_back({cycle, line.text(), barrier});
}

size_t ClusterLog::barrier_at(uint16_t cta_rank, uint32_t offset_bytes) const {
  const auto found = barrier_at_.find({cta_rank, offset_bytes});
  return found == barrier_at_.end() ? kNone : found->second;
}

std::string ClusterLog::describe(const std::vector<MemoryRange>& ranges) const {
  List list;
  for (const MemoryRange& range : ranges) {
    const bool shared = range.space == AddressSpace::shared_cta;
    Fields fields;
    fields.add("space", space_name(range.space));
    if (shared) fields.add("rank", range.cta_rank);
    fields.add(shared ? "offset" : "address", range.address).add("bytes", range.size_bytes);
    list.add(fields.object());
  }
  return list.json();
}

void ClusterLog::on_cta(const CtaEvent& event) {
  const Cta& cta = event.cta;
  if (ctas_.size() <= cta.rank) ctas_.resize(size_t{cta.rank} + 1);
  ctas_[cta.rank] = cta.index;
  Fields fields;
  if (event.starts) fields.add("threads", cta.live_threads).add("sm", cta.sm);
  add(event.starts ? "cta_start" : "cta_end", event.cycle,
      {nullptr, static_cast<uint16_t>(cta.rank), 0, 0}, fields);
}

void ClusterLog::on_run(const RunEvent& event) {
  Fields fields;
  fields.add("until", event.to).add("instructions", event.instructions);
  add("run", event.from, event.origin, fields);
}

void ClusterLog::on_wait(const WaitEvent& event) {
  Fields fields;
  fields.add("kind", wait_name(event.wait.kind));
  size_t barrier = kNone;
  if (event.wait.kind == WaitKind::mbarrier) {
    barrier = barrier_at(event.origin.cta_rank, static_cast<uint32_t>(event.wait.object));
    if (barrier != kNone) {
      // It waits for the phase that was current when it began; a completion wakes it at once.
      const uint64_t phase = barriers_[barrier].phase;
      fields.add("phase", event.wakes && event.wake == Wake::event ? phase - 1 : phase);
    }
    fields.add("parity", event.wait.detail);
  } else {
    fields.add("object", event.wait.object);
  }
  if (event.wakes)
    fields.add("why", event.wake == Wake::timeout ? "timeout" : "event")
        .add("waited", event.cycle - event.wait.since);
  add(event.wakes ? "resume" : "wait", event.cycle, event.origin, fields, barrier);
  if (barrier == kNone || !event.wakes || event.wake != Wake::event) return;
  // Woken by the completion, the try_wait returns true: its second execution.
  const uint64_t phase = barriers_[barrier].phase;
  Fields passes;
  passes.add("waited_phase", phase - 1)
      .add("done", true)
      .add("try", true)
      .add("phase", phase)
      .add("parity", event.wait.detail);
  add("mbarrier_wait", event.cycle, event.origin, passes, barrier);
}

void ClusterLog::on_mbarrier(const MbarrierEvent& event) {
  using Operation = MbarrierEvent::Operation;
  if (event.operation == Operation::init) {
    const ptx::Module& module = kernel_.module().ptx();
    const ptx::Instruction& source = kernel_.source(*event.origin.instruction);
    const auto chain = module.call_chain(source);
    barrier_at_[{event.cta_rank, event.offset_bytes}] = barriers_.size();
    barriers_.push_back({event.cta_rank, event.offset_bytes,
                         chain.empty() ? fmt::format("{}:{}", module.name, source.line)
                                       : place_text(module, module.place_in(chain)),
                         0});
  }
  const size_t barrier = barrier_at(event.cta_rank, event.offset_bytes);
  Fields fields;
  switch (event.operation) {
    case Operation::init:
    case Operation::increment_pending:
      fields.add("count", event.amount);
      break;
    case Operation::arrive:
    case Operation::arrive_drop:
      fields.add("count", event.amount).add("drop", event.operation == Operation::arrive_drop);
      break;
    case Operation::expect_tx:
    case Operation::complete_tx:
      fields.add("bytes", event.amount);
      break;
    case Operation::test:
      fields.add("waited_phase", event.waited_phase)
          .add("done", event.done)
          .add("try", event.may_suspend);
      break;
    case Operation::invalidate:
    case Operation::complete:
      break;
  }
  // The parity of a test is the one that it asks for.
  const bool is_test = event.operation == Operation::test;
  fields.add("phase", event.phase)
      .add("parity", is_test ? static_cast<uint64_t>(event.waited_phase & 1) : event.phase & 1)
      .add("pending", event.pending)
      .add("expected", event.expected)
      .add("tx", event.tx_bytes);
  add(name_of(event.operation), event.cycle, event.origin, fields, barrier);
  if (event.operation == Operation::complete && barrier != kNone)
    barriers_[barrier].phase = event.phase + 1;
}

void ClusterLog::on_barrier(const BarrierEvent& event) {
  Fields fields;
  fields.add("kind", event.of_cluster ? "cluster_barrier" : "named_barrier").add("id", event.id);
  fields.add("threads", event.threads).add("phase", event.phase);
  if (!event.completes) fields.add("waits", event.waits);
  add(event.completes ? "barrier_complete" : "barrier_arrive", event.cycle, event.origin, fields);
}

void ClusterLog::on_copy(const CopyEvent& event) {
  const CopyDescription& copy = event.copy;
  Fields fields;
  fields.add("id", copy.id)
      .add("unit", name_of(copy.unit))
      .add("direction", name_of(copy.direction))
      .add("bytes", copy.bytes)
      .add_raw("source", describe(copy.sources))
      .add_raw("destination", describe(copy.destinations));
  size_t barrier = kNone;
  if (copy.signals.size() == 1) {
    barrier = barrier_at(copy.signals[0].cta_rank, copy.signals[0].offset_bytes);
  } else if (!copy.signals.empty()) {
    List signals;
    for (const CopySignal& signal : copy.signals) {
      Fields one;
      one.add("rank", signal.cta_rank)
          .add("offset", signal.offset_bytes)
          .add("bytes", signal.bytes);
      signals.add(one.object());
    }
    fields.add_raw("signals", signals.json());
  }
  const char* const name = event.stage == CopyEvent::Stage::issued ? "copy_issue"
                           : event.stage == CopyEvent::Stage::read ? "copy_read"
                                                                   : "copy_land";
  add(name, event.cycle, event.origin, fields, barrier);
}

void ClusterLog::on_tensor_core(const TensorCoreEvent& event) {
  Fields fields;
  fields.add("id", event.id).add("group", event.group);
  if (event.operation == TensorCoreEvent::Operation::mma)
    fields.add("kind", event.kind)
        .add("m", event.m)
        .add("n", event.n)
        .add("k", event.k)
        .add("accumulate", event.accumulate);
  fields.add("column", event.column).add("columns", event.columns);
  if (!event.completes) {
    fields.add("completes", event.completion);
    fields.add_raw("reads", describe({event.reads.begin(), event.reads.end()}));
  }
  add(std::string(name_of(event.operation)) + (event.completes ? "_complete" : "_issue"),
      event.cycle, event.origin, fields);
}

void ClusterLog::on_tensor_memory(const TensorMemoryEvent& event) {
  using Operation = TensorMemoryEvent::Operation;
  Fields fields;
  switch (event.operation) {
    case Operation::wait_load:
      fields.add("of", "load");
      break;
    case Operation::wait_store:
      fields.add("of", "store");
      break;
    case Operation::relinquish:
      break;
    default:
      fields.add("column", event.column).add("columns", event.columns);
  }
  if (event.operation == Operation::load || event.operation == Operation::store)
    fields.add("lane", event.lane).add("lane_count", event.lane_count).add("done", event.done);
  add(name_of(event.operation), event.cycle, event.origin, fields);
}

void ClusterLog::on_group(const GroupEvent& event) {
  Fields fields;
  if (event.unit == GroupEvent::Unit::tensor_core) {
    fields.add("targets", event.targets).add("completes", event.completion);
    const auto first = static_cast<uint16_t>(lowest_lane(event.targets));
    add("tmem_commit", event.cycle, event.origin, fields, barrier_at(first, event.offset_bytes));
    return;
  }
  fields.add("unit", name_of(event.unit));
  if (event.waits) fields.add("allowed", event.allowed).add("read", event.read_only);
  add(event.waits ? "group_wait" : "group_commit", event.cycle, event.origin, fields);
}

void ClusterLog::on_fence(const FenceEvent& event) {
  add("fence", event.cycle, event.origin, Fields{});
}

void ClusterLog::on_access(const AccessEvent& event) {
  List addresses;
  for (const int lane : lanes_of(event.origin.lanes))
    addresses.add(std::to_string(event.addresses[static_cast<size_t>(lane)]));
  Fields fields;
  fields.add("space", space_name(event.space))
      .add("access", event.atomic ? "atomic" : name_of(event.access))
      .add("bytes", event.bytes)
      .add_raw("addresses", addresses.json());
  add("access", event.cycle, event.origin, fields);
}

std::vector<std::string> ClusterLog::barrier_fields() const {
  // Barriers that one source line initialises are the stages of a pipeline, in order of address.
  std::map<std::pair<uint16_t, std::string>, std::set<uint32_t>> offsets;
  for (const Barrier& barrier : barriers_)
    offsets[{barrier.cta_rank, barrier.initialised_at}].insert(barrier.offset_bytes);
  std::vector<std::string> all;
  for (const Barrier& barrier : barriers_) {
    const std::set<uint32_t>& stages = offsets[{barrier.cta_rank, barrier.initialised_at}];
    const auto stage = std::distance(stages.begin(), stages.find(barrier.offset_bytes));
    Fields fields;
    fields.add("barrier_rank", barrier.cta_rank)
        .add("barrier_offset", barrier.offset_bytes)
        .add("barrier", kernel_.describe_shared(barrier.offset_bytes))
        .add("barrier_init", barrier.initialised_at)
        .add("stage", stage)
        .add("stages", stages.size());
    all.push_back(fields.text());
  }
  return all;
}

void ClusterLog::on_end(RunStatus) {
  std::stable_sort(lines_.begin(), lines_.end(),
                   [](const Line& a, const Line& b) { return a.cycle < b.cycle; });
  const std::vector<std::string> barriers = barrier_fields();
  for (const Line& line : lines_)
    log_.write(line.barrier == kNone ? line.fields : line.fields + "," + barriers[line.barrier]);
  lines_.clear();
}

}  // namespace bw::sim::trace
