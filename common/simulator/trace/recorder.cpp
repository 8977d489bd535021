#include "common/simulator/trace/recorder.hpp"

#include <algorithm>
#include <iterator>

namespace bw::sim::trace {
namespace {

RowKind row_kind(MbarrierEvent::Operation operation) {
  switch (operation) {
    case MbarrierEvent::Operation::init:
      return RowKind::mbarrier_init;
    case MbarrierEvent::Operation::invalidate:
      return RowKind::mbarrier_inval;
    case MbarrierEvent::Operation::arrive:
    case MbarrierEvent::Operation::arrive_drop:
      return RowKind::mbarrier_arrive;
    case MbarrierEvent::Operation::expect_tx:
      return RowKind::mbarrier_expect_tx;
    case MbarrierEvent::Operation::complete_tx:
      return RowKind::mbarrier_complete_tx;
    case MbarrierEvent::Operation::increment_pending:
      return RowKind::mbarrier_increment;
    case MbarrierEvent::Operation::complete:
      return RowKind::mbarrier_complete;
    case MbarrierEvent::Operation::test:
      break;
  }
  return RowKind::mbarrier_wait;
}

RowKind row_kind(const TensorCoreEvent& event) {
  switch (event.operation) {
    case TensorCoreEvent::Operation::mma:
      return event.completes ? RowKind::mma_complete : RowKind::mma_issue;
    case TensorCoreEvent::Operation::copy:
      return event.completes ? RowKind::tmem_copy_complete : RowKind::tmem_copy_issue;
    case TensorCoreEvent::Operation::shift:
      break;
  }
  return event.completes ? RowKind::tmem_shift_complete : RowKind::tmem_shift_issue;
}

uint64_t key_of(uint16_t cta_rank, uint32_t offset_bytes) {
  return uint64_t{cta_rank} << 32 | offset_bytes;
}

/// An instruction whose place was not looked up yet.
const ptx::SourceLocation kUnknown{};

/// Room that costs nothing until used: growing would copy the contents.
constexpr size_t kReservedRows = size_t{1} << 18;
constexpr size_t kReservedValues = size_t{1} << 20;

int64_t number(auto value) { return static_cast<int64_t>(value); }

}  // namespace

Recorder::Recorder(const Cluster& cluster, const RowKinds& kinds, const RecordingWindow& window,
                   Sink sink)
    : cluster_(cluster),
      kinds_(kinds),
      window_(window),
      sink_(std::move(sink)),
      places_(cluster.kernel()) {
  recording_.cluster = cluster.index();
  recording_.rows.reserve(std::min(kReservedRows, window.most_rows));
  recording_.values.reserve(kReservedValues);
  details_.assign(cluster.kernel().function().instructions.size(), &kUnknown);
}

EventKinds Recorder::wants() const {
  EventKinds kinds = kAllEvents & ~event_kinds(EventKind::run, EventKind::access, EventKind::order,
                                               EventKind::footprint);
  if (kinds_[static_cast<size_t>(RowKind::run)]) kinds |= event_kinds(EventKind::run);
  if (kinds_[static_cast<size_t>(RowKind::access)]) kinds |= event_kinds(EventKind::access);
  return kinds;
}

bool Recorder::add(RowKind kind, Cycle cycle, const Origin& origin,
                   std::initializer_list<int64_t> values, uint32_t barrier) {
  if (!kinds_[static_cast<size_t>(kind)] || cycle < window_.first_cycle ||
      cycle > window_.last_cycle)
    return false;
  if (recording_.rows.size() + late_.size() >= window_.most_rows) {
    recording_.full_at = std::min(recording_.full_at.value_or(cycle), cycle);
    return false;
  }
  const bool is_late = !recording_.rows.empty() && cycle < recording_.rows.back().cycle;
  Row& row = (is_late ? late_ : recording_.rows).emplace_back();
  row.cycle = cycle;
  row.kind = kind;
  row.cta_rank = origin.cta_rank;
  row.barrier = barrier;
  if (numbers_rows_) put(cluster_.event().event);
  row.first_value = static_cast<uint32_t>(recording_.values.size());
  if (origin.instruction != nullptr) {
    row.instruction = origin.instruction->source_index;
    row.warp = origin.warp;
    row.lanes = origin.lanes;
  }
  recording_.values.insert(recording_.values.end(), values);
  return true;
}

template <class Ranges>
void Recorder::put_ranges(const Ranges& ranges) {
  put(std::size(ranges));
  for (const MemoryRange& range : ranges) {
    put(range.space);
    put(range.cta_rank);
    put(range.address);
    put(range.size_bytes);
  }
}

int64_t Recorder::index_of(std::string_view text) {
  std::vector<std::string>& texts = recording_.texts;
  const auto found = std::find(texts.begin(), texts.end(), text);
  if (found != texts.end()) return std::distance(texts.begin(), found);
  texts.emplace_back(text);
  return number(texts.size() - 1);
}

uint32_t Recorder::barrier_at(uint16_t cta_rank, uint32_t offset_bytes) const {
  const auto found = barrier_at_.find(key_of(cta_rank, offset_bytes));
  return found == barrier_at_.end() ? Row::kNone : found->second;
}

void Recorder::on_cta(const CtaEvent& event) {
  const Cta& cta = event.cta;
  if (recording_.ctas.size() <= cta.rank) recording_.ctas.resize(size_t{cta.rank} + 1);
  recording_.ctas[cta.rank] = cta.index;
  const Origin origin{nullptr, static_cast<uint16_t>(cta.rank), 0, 0};
  if (event.starts)
    add(RowKind::cta_start, event.cycle, origin, {number(cta.live_threads), number(cta.sm)});
  else
    add(RowKind::cta_end, event.cycle, origin, {});
}

Recorder::Run& Recorder::last_run_of(const Origin& origin) {
  constexpr size_t kMostWarps = 1024 / kWarpLanes;  // of a CTA
  const size_t index = origin.cta_rank * kMostWarps + origin.warp;
  if (index >= last_runs_.size()) last_runs_.resize(index + 1);
  return last_runs_[index];
}

bool Recorder::continues_last_run(const RunEvent& event) {
  const uint32_t instruction = event.origin.instruction->source_index;
  const ptx::SourceLocation*& place = details_[instruction];
  if (place == &kUnknown) place = places_.detail_of(instruction);
  Run& last = last_run_of(event.origin);
  const bool continues = last.first_value < recording_.values.size() &&
                         last.lanes == event.origin.lanes && last.place == place &&
                         place != nullptr &&
                         recording_.values[last.first_value] == number(event.from);
  if (continues) {
    recording_.values[last.first_value] = number(event.to);
    recording_.values[last.first_value + 1] += event.instructions;
  } else {
    last = {recording_.values.size(), event.origin.lanes, place};
  }
  return continues;
}

void Recorder::on_run(const RunEvent& event) {
  if (continues_last_run(event)) return;
  if (!add(RowKind::run, event.from, event.origin, {number(event.to), number(event.instructions)}))
    last_run_of(event.origin) = {};
}

void Recorder::on_wait(const WaitEvent& event) {
  const bool of_mbarrier = event.wait.kind == WaitKind::mbarrier;
  const bool woken = event.wakes && event.wake == Wake::event;
  uint32_t barrier = Row::kNone;
  int64_t phase = kAbsent;
  if (of_mbarrier) {
    barrier = barrier_at(event.origin.cta_rank, static_cast<uint32_t>(event.wait.object));
    // It waits for the phase that was current when it began; a completion wakes it at once.
    if (barrier != Row::kNone) phase = phases_[barrier] - (woken ? 1 : 0);
  }
  const int64_t parity = of_mbarrier ? number(event.wait.detail) : kAbsent;
  const int64_t object = of_mbarrier ? kAbsent : number(event.wait.object);
  if (event.wakes)
    add(RowKind::resume, event.cycle, event.origin,
        {number(event.wait.kind), phase, parity, object, number(event.wake),
         number(event.cycle - event.wait.since)},
        barrier);
  else
    add(RowKind::wait, event.cycle, event.origin, {number(event.wait.kind), phase, parity, object},
        barrier);
  if (barrier == Row::kNone || !woken) return;
  // Woken by the completion, the try_wait returns true: its second execution.
  add(RowKind::mbarrier_wait, event.cycle, event.origin,
      {phase, true, true, phase + 1, parity, kAbsent, kAbsent, kAbsent}, barrier);
}

void Recorder::on_mbarrier(const MbarrierEvent& event) {
  using Operation = MbarrierEvent::Operation;
  if (event.operation == Operation::init) {
    barrier_at_[key_of(event.cta_rank, event.offset_bytes)] =
        static_cast<uint32_t>(recording_.barriers.size());
    recording_.barriers.push_back(
        {event.cta_rank, event.offset_bytes, event.origin.instruction->source_index});
    phases_.push_back(0);
  }
  const uint32_t barrier = barrier_at(event.cta_rank, event.offset_bytes);
  const RowKind kind = row_kind(event.operation);
  const int64_t phase = number(event.phase);
  const bool is_test = event.operation == Operation::test;
  // The parity of a test is the requested one.
  const int64_t parity = (is_test ? event.waited_phase : phase) & 1;
  const int64_t pending = event.pending, expected = event.expected, tx = event.tx_bytes;
  const auto add_with = [&](std::initializer_list<int64_t> first) {
    if (!add(kind, event.cycle, event.origin, first, barrier)) return;
    for (const int64_t value : {phase, parity, pending, expected, tx}) put(value);
  };
  switch (event.operation) {
    case Operation::init:
    case Operation::increment_pending:
    case Operation::expect_tx:
    case Operation::complete_tx:
      add_with({number(event.amount)});
      break;
    case Operation::arrive:
    case Operation::arrive_drop:
      add_with({number(event.amount), event.operation == Operation::arrive_drop});
      break;
    case Operation::test:
      add_with({event.waited_phase, event.done, event.may_suspend});
      break;
    case Operation::invalidate:
    case Operation::complete:
      add_with({});
      break;
  }
  if (event.operation == Operation::complete && barrier != Row::kNone) phases_[barrier] = phase + 1;
}

void Recorder::on_barrier(const BarrierEvent& event) {
  const RowKind kind = event.completes ? RowKind::barrier_complete : RowKind::barrier_arrive;
  if (add(kind, event.cycle, event.origin,
          {event.of_cluster, event.id, event.threads, number(event.phase)}) &&
      !event.completes)
    put(event.waits);
}

void Recorder::on_copy(const CopyEvent& event) {
  const CopyDescription& copy = event.copy;
  const RowKind kind = event.stage == CopyEvent::Stage::issued ? RowKind::copy_issue
                       : event.stage == CopyEvent::Stage::read ? RowKind::copy_read
                                                               : RowKind::copy_land;
  const uint32_t barrier = copy.signals.size() == 1
                               ? barrier_at(copy.signals[0].cta_rank, copy.signals[0].offset_bytes)
                               : Row::kNone;
  if (!add(kind, event.cycle, event.origin,
           {number(copy.id), number(copy.unit), number(copy.direction), number(copy.bytes)},
           barrier))
    return;
  put_ranges(copy.sources);
  put_ranges(copy.destinations);
  if (copy.signals.size() < 2) return put(kAbsent);  // the row's barrier has it
  put(copy.signals.size());
  for (const CopySignal& signal : copy.signals) {
    put(signal.cta_rank);
    put(signal.offset_bytes);
    put(signal.bytes);
  }
}

void Recorder::on_tensor_core(const TensorCoreEvent& event) {
  if (!add(row_kind(event), event.cycle, event.origin, {number(event.id), event.group})) return;
  if (event.operation == TensorCoreEvent::Operation::mma) {
    put(index_of(event.kind));
    put(event.m);
    put(event.n);
    put(event.k);
    put(event.accumulate);
  }
  put(event.column);
  put(event.columns);
  if (event.completes) return;
  put(event.completion);
  put_ranges(event.reads);
}

void Recorder::on_tensor_memory(const TensorMemoryEvent& event) {
  using Operation = TensorMemoryEvent::Operation;
  const auto transfer = [&](RowKind kind) {
    add(kind, event.cycle, event.origin,
        {event.column, event.columns, event.lane, event.lane_count, number(event.done)});
  };
  switch (event.operation) {
    case Operation::load:
      return transfer(RowKind::tmem_load);
    case Operation::store:
      return transfer(RowKind::tmem_store);
    case Operation::alloc:
      add(RowKind::tmem_alloc, event.cycle, event.origin, {event.column, event.columns});
      return;
    case Operation::dealloc:
      add(RowKind::tmem_dealloc, event.cycle, event.origin, {event.column, event.columns});
      return;
    case Operation::relinquish:
      add(RowKind::tmem_relinquish, event.cycle, event.origin, {});
      return;
    case Operation::wait_load:
    case Operation::wait_store:
      add(RowKind::tmem_wait, event.cycle, event.origin,
          {event.operation == Operation::wait_store});
      return;
  }
}

void Recorder::on_group(const GroupEvent& event) {
  if (event.unit == GroupEvent::Unit::tensor_core) {
    const auto first = static_cast<uint16_t>(lowest_lane(event.targets));
    add(RowKind::tmem_commit, event.cycle, event.origin, {event.targets, number(event.completion)},
        barrier_at(first, event.offset_bytes));
    return;
  }
  const int64_t unit = number(event.unit);
  if (event.waits)
    add(RowKind::group_wait, event.cycle, event.origin, {unit, event.allowed, event.read_only});
  else
    add(RowKind::group_commit, event.cycle, event.origin, {unit});
}

void Recorder::on_fence(const FenceEvent& event) {
  add(RowKind::fence, event.cycle, event.origin, {});
}

void Recorder::on_access(const AccessEvent& event) {
  constexpr int64_t kAtomic = 3;  // after the values of Access
  if (!add(RowKind::access, event.cycle, event.origin,
           {number(event.space), event.atomic ? kAtomic : number(event.access), event.bytes}))
    return;
  put(std::popcount(event.origin.lanes));
  for (const int lane : lanes_of(event.origin.lanes))
    put(event.addresses[static_cast<size_t>(lane)]);
}

void Recorder::merge_late_rows() {
  const auto earlier = [](const Row& a, const Row& b) { return a.cycle < b.cycle; };
  std::stable_sort(late_.begin(), late_.end(), earlier);
  // From the back, in place. A late row comes after its cycle's rows that are not late.
  std::vector<Row>& rows = recording_.rows;
  size_t in_time = rows.size();
  rows.resize(rows.size() + late_.size());
  size_t to = rows.size();
  for (size_t late = late_.size(); late > 0;)
    if (in_time > 0 && earlier(late_[late - 1], rows[in_time - 1]))
      rows[--to] = rows[--in_time];
    else
      rows[--to] = late_[--late];
}

void Recorder::on_end(RunStatus status) {
  recording_.status = status;
  merge_late_rows();
  sink_(std::move(recording_));
}

}  // namespace bw::sim::trace
