#include "common/simulator/trace/statistics.hpp"

#include <algorithm>

#include "common/simulator/units/units.hpp"

namespace bw::sim::trace {
namespace {

constexpr uint64_t kColumnBytes = 4;     // of a lane of tensor memory
constexpr uint64_t kMultiplyAndAdd = 2;  // operations

/// Waits within a warp: another part of it hides them.
bool is_within_warp(WaitKind kind) {
  return kind == WaitKind::warp_sync || kind == WaitKind::reconvergence;
}

/// Whether different objects of the kind are different things to wait for.
bool has_object(WaitKind kind) {
  return kind == WaitKind::mbarrier || kind == WaitKind::named_barrier;
}

void add(SmTraffic& to, const SmTraffic& from) {
  to.shared_read_bytes += from.shared_read_bytes;
  to.shared_written_bytes += from.shared_written_bytes;
  to.shared_passes += from.shared_passes;
  to.shared_conflict_passes += from.shared_conflict_passes;
  to.l1_hit_bytes += from.l1_hit_bytes;
  to.l1_miss_bytes += from.l1_miss_bytes;
}

/// Takes up to `excess` cycles away from a part.
void reduce(Cycle& part, Cycle& excess) {
  const Cycle taken = std::min(part, excess);
  part -= taken;
  excess -= taken;
}

}  // namespace

void WarpSums::add(const WarpSums& other) {
  warps += other.warps;
  cycles += other.cycles;
  instructions += other.instructions;
  issued += other.issued;
  pipe_stalls += other.pipe_stalls;
  issue_stalls += other.issue_stalls;
  shared_stalls += other.shared_stalls;
  global_stalls += other.global_stalls;
  shared_queue_stalls += other.shared_queue_stalls;
  global_queue_stalls += other.global_queue_stalls;
  fixed += other.fixed;
  for (const auto& [what, waited] : other.waits) {
    waits[what].times += waited.times;
    waits[what].cycles += waited.cycles;
  }
}

void Sums::add(const Sums& other) {
  ctas += other.ctas;
  cta_cycles += other.cta_cycles;
  for (const auto& [number, of_warp] : other.warps) warps[number].add(of_warp);
  barriers.insert(other.barriers.begin(), other.barriers.end());
  for (const auto& [what, copied] : other.copies) {
    CopySums& all = copies[what];
    all.copies += copied.copies;
    all.bytes += copied.bytes;
    all.written_bytes += copied.written_bytes;
  }
  trace::add(traffic, other.traffic);
  for (size_t resource = 0; resource < kResources; ++resource)
    used[resource] += other.used[resource];
  tensor_memory_read_bytes += other.tensor_memory_read_bytes;
  tensor_memory_written_bytes += other.tensor_memory_written_bytes;
  mmas += other.mmas;
  mma_operations += other.mma_operations;
}

EventKinds Statistics::wants() const {
  return event_kinds(EventKind::cta, EventKind::wait, EventKind::mbarrier, EventKind::copy,
                     EventKind::tensor_core, EventKind::tensor_memory);
}

Statistics::Running& Statistics::running(uint16_t rank, uint32_t warp) {
  if (rank >= running_.size()) running_.resize(size_t{rank} + 1);
  std::vector<Running>& warps = running_[rank];
  if (warp >= warps.size()) warps.resize(size_t{warp} + 1);
  return warps[warp];
}

void Statistics::on_cta(const CtaEvent& event) {
  std::vector<Cycle>& cycles = event.starts ? starts_ : ends_;
  if (cycles.size() <= event.cta.rank) cycles.resize(size_t{event.cta.rank} + 1);
  cycles[event.cta.rank] = event.cycle;
}

void Statistics::on_finish(const Cluster&) {
  for (const Cta& cta : cluster_.ctas()) {
    for (const Warp& warp : cta.warps) add_warp(cta, warp, starts_[cta.rank]);
    ++sums_.ctas;
    sums_.cta_cycles += ends_[cta.rank] - starts_[cta.rank];
    trace::add(sums_.traffic, cta.clock->memory.traffic);
    const std::array<double, kResources> totals = cluster_.demand().totals(cta.rank);
    for (size_t resource = 0; resource < kResources; ++resource)
      sums_.used[resource] += totals[resource];
  }
}

void Statistics::add_warp(const Cta& cta, const Warp& warp, Cycle start) {
  const auto rank = static_cast<uint16_t>(cta.rank);
  const WarpTimes& times = warp.times;
  WarpSums sums{.warps = 1,
                .cycles = times.ended - std::min(start, times.ended),
                .instructions = times.instructions,
                .issued = times.issued,
                .pipe_stalls = times.issue_slots - times.issued,
                .issue_stalls = times.issue_stalls,
                .shared_stalls = times.shared_stalls,
                .global_stalls = times.global_stalls,
                .shared_queue_stalls = times.shared_queue_stalls,
                .global_queue_stalls = times.global_queue_stalls,
                .waits = std::move(running(rank, warp.index).waits),
                .fixed = 0};
  Cycle* const stalls[] = {&sums.issue_stalls,        &sums.pipe_stalls,
                           &sums.global_queue_stalls, &sums.shared_queue_stalls,
                           &sums.global_stalls,       &sums.shared_stalls};
  Cycle counted = sums.issued;
  for (const Cycle* const stall : stalls) counted += *stall;
  Cycle waited = 0;
  for (const auto& [what, waits] : sums.waits) waited += waits.cycles;
  // Simultaneous work of a diverged warp counts once.
  Cycle excess = counted + waited - std::min(counted + waited, sums.cycles);
  if (excess != 0) {
    const Cycle left = waited - std::min(waited, excess);
    excess -= waited - left;
    for (auto& [what, waits] : sums.waits)
      waits.cycles = static_cast<Cycle>(static_cast<double>(waits.cycles) *
                                        static_cast<double>(left) / static_cast<double>(waited));
    for (Cycle* const stall : stalls) reduce(*stall, excess);
    sums.issued -= excess;
  }
  sums.fixed = sums.cycles - sums.issued;
  for (const Cycle* const stall : stalls) sums.fixed -= *stall;
  for (const auto& [what, waits] : sums.waits) sums.fixed -= waits.cycles;
  sums_.warps[{rank, static_cast<uint16_t>(warp.index)}].add(sums);
}

void Statistics::on_wait(const WaitEvent& event) {
  const Wait& wait = event.wait;
  if (!event.wakes || is_within_warp(wait.kind)) return;
  // While another part of a diverged warp runs, the warp does not wait.
  const auto runs = [&](const auto& strand) {
    return strand->alive && !strand->suspended && &strand->wait != &wait;
  };
  const auto& strands = cluster_.cta(event.origin.cta_rank).warps[event.origin.warp].strands;
  const bool another_runs = std::any_of(strands.begin(), strands.end(), runs);
  Running& warp = running(event.origin.cta_rank, event.origin.warp);
  Waits& waits = warp.waits[{wait.kind, has_object(wait.kind) ? wait.object : 0}];
  ++waits.times;
  const Cycle from = std::max(wait.since, warp.counted_until);
  if (another_runs || event.cycle <= from) return;
  waits.cycles += event.cycle - from;
  warp.counted_until = event.cycle;
}

void Statistics::on_mbarrier(const MbarrierEvent& event) {
  if (event.operation == MbarrierEvent::Operation::init)
    sums_.barriers[{event.cta_rank, event.offset_bytes}] = event.origin.instruction->source_index;
}

void Statistics::on_copy(const CopyEvent& event) {
  if (event.stage != CopyEvent::Stage::issued) return;
  const CopyDescription& copy = event.copy;
  CopySums& sums = sums_.copies[{copy.unit, copy.direction}];
  ++sums.copies;
  sums.bytes += copy.bytes;
  sums.written_bytes += copy.bytes * std::max<size_t>(1, copy.destinations.size());
}

void Statistics::on_tensor_core(const TensorCoreEvent& event) {
  if (event.completes || event.operation != TensorCoreEvent::Operation::mma) return;
  ++sums_.mmas;
  sums_.mma_operations += kMultiplyAndAdd * event.m * event.n * event.k;
}

void Statistics::on_tensor_memory(const TensorMemoryEvent& event) {
  const uint64_t bytes = uint64_t{event.columns} * event.lane_count * kColumnBytes;
  if (event.operation == TensorMemoryEvent::Operation::load)
    sums_.tensor_memory_read_bytes += bytes;
  if (event.operation == TensorMemoryEvent::Operation::store)
    sums_.tensor_memory_written_bytes += bytes;
}

void Statistics::on_end(RunStatus) { sink_(sums_); }

}  // namespace bw::sim::trace
