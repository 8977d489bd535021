#include "common/simulator/diagnosis/races/tensor_memory.hpp"

#include <algorithm>
#include <bit>
#include <string_view>
#include <type_traits>

#include <fmt/core.h>

#include "common/simulator/diagnosis/races/detector.hpp"
#include "common/simulator/machine/kernel.hpp"

namespace bw::sim::races {
namespace {

constexpr uint32_t kColumns = 512;
constexpr std::string_view kPairGroup = "cta_group::2";
constexpr uint32_t kLanesOfCell = 16;
constexpr uint32_t kCellsOfColumn = 8;

constexpr bool of_tensor_core(auto kind) {
  using AccessKind = decltype(kind);
  return kind == AccessKind::mma || kind == AccessKind::copy || kind == AccessKind::shift;
}

/// FNV-1a, to hold texts of MMA kinds against each other.
uint32_t hash_of(std::string_view text) {
  uint32_t hash = 2166136261u;
  for (const char c : text) hash = (hash ^ static_cast<uint8_t>(c)) * 16777619u;
  return hash;
}

constexpr uint32_t key_of(const Origin& origin) {
  constexpr uint32_t kMostWarpsOfCta = 32;
  return origin.cta_rank * kMostWarpsOfCta + origin.warp;
}

/// Calls body(column, block) for the cells of a range.
template <class Body>
void for_cells(const TensorRange& range, Body&& body) {
  const uint32_t first = range.lane / kLanesOfCell;
  const uint32_t last =
      std::min((uint32_t{range.lane} + range.lanes - 1) / kLanesOfCell, kCellsOfColumn - 1);
  const uint32_t end = std::min(uint32_t{range.column} + range.columns, kColumns);
  for (uint32_t column = range.column; column < end; ++column)
    for (uint32_t block = first; block <= last; ++block) body(column, block);
}

bool is_same_place(const TensorRange& a, const TensorRange& b) {
  return a.lane == b.lane && a.lanes == b.lanes && a.column == b.column && a.columns == b.columns;
}
bool overlaps(const TensorRange& a, const TensorRange& b) {
  return a.column < b.column + b.columns && b.column < a.column + a.columns &&
         a.lane < b.lane + b.lanes && b.lane < a.lane + a.lanes;
}

}  // namespace

TensorMemoryRaces::Warp& TensorMemoryRaces::warp_of(const Origin& origin) {
  const size_t key = key_of(origin);
  if (warps_.size() <= key) warps_.resize(key + 1);
  if (warps_[key] == nullptr) warps_[key] = std::make_unique<Warp>();
  return *warps_[key];
}

uint32_t TensorMemoryRaces::begin(const Origin& origin, Kind kind, int lane) {
  Warp& warp = warp_of(origin);
  uint32_t& stream =
      of_tensor_core(kind) ? warp.threads[lane] : warp.streams[static_cast<size_t>(kind)];
  if (stream == 0) {  // number 0 stays unused: 0 means "no stream"
    if (streams_.empty()) streams_.emplace_back();
    stream = static_cast<uint32_t>(streams_.size());
    streams_.emplace_back();
  }
  uint32_t index = 0;
  if (free_operations_.empty()) {
    index = static_cast<uint32_t>(operations_.size());
    operations_.emplace_back();
  } else {
    index = free_operations_.back();
    free_operations_.pop_back();
    operations_[index] = {};
  }
  Operation& operation = operations_[index];
  operation.origin = origin;
  operation.stream = stream;
  operation.epoch = ++streams_[stream].last;
  operation.kind = kind;
  operation.uses = 1;  // the caller's
  ++present_;
  return index;
}

void TensorMemoryRaces::drop(uint32_t& entry) {
  const uint32_t index = entry >> kFlagBits;
  entry = 0;
  if (index != 0 && --operations_[index].uses == 0) free_operations_.push_back(index);
}

// ---- Events

void TensorMemoryRaces::on_tensor_core(const TensorCoreEvent& event) {
  if (event.completes || event.tensor_ranges.empty()) return;
  const Kind kind = event.operation == TensorCoreEvent::Operation::mma    ? Kind::mma
                    : event.operation == TensorCoreEvent::Operation::copy ? Kind::copy
                                                                          : Kind::shift;
  const uint32_t index = begin(event.origin, kind, std::countr_zero(event.origin.lanes));
  {
    Operation& operation = operations_[index];
    operation.group = static_cast<uint8_t>(event.group);
    if (kind == Kind::mma)
      operation.shape = {event.m << 16 | event.n, event.column, event.tensor_ranges[0].lane,
                         hash_of(event.kind)};
  }
  for (const TensorRange& range : event.tensor_ranges) touch(index, range);
  Warp& warp = warp_of(event.origin);
  warp.out.issued.advance(operations_[index].stream, operations_[index].epoch);
  warp.issued_fenced.advance(operations_[index].stream, operations_[index].epoch);
  uint32_t own = index << kFlagBits;
  drop(own);
}

void TensorMemoryRaces::on_tensor_memory(const TensorMemoryEvent& event) {
  using What = TensorMemoryEvent::Operation;
  switch (event.operation) {
    case What::load:
    case What::store: {
      const bool is_store = event.operation == What::store;
      const uint32_t index = begin(event.origin, is_store ? Kind::store : Kind::load);
      touch(index, {event.origin.cta_rank, static_cast<uint16_t>(event.lane),
                    static_cast<uint16_t>(event.lane_count), static_cast<uint16_t>(event.column),
                    static_cast<uint16_t>(event.columns), !is_store, is_store, "registers"});
      warp_of(event.origin).out.issued.advance(operations_[index].stream, operations_[index].epoch);
      uint32_t own = index << kFlagBits;
      drop(own);
      return;
    }
    case What::wait_load:
    case What::wait_store: {
      Warp& warp = warp_of(event.origin);
      const uint32_t stream = warp.streams[event.operation == What::wait_store ? 1 : 0];
      if (stream == 0) return;
      streams_[stream].complete = streams_[stream].last;
      warp.fenced.advance(stream, streams_[stream].last);
      warp.out.plain.advance(stream, streams_[stream].last);
      return;
    }
    case What::alloc:
      return allocate(event);
    case What::dealloc:
      return deallocate(event);
    case What::relinquish:
      return;
  }
}

void TensorMemoryRaces::allocate(const TensorMemoryEvent& event) {
  const uint32_t index = begin(event.origin, Kind::allocation);
  const uint16_t rank = event.origin.cta_rank;
  const uint32_t first = event.column * kCellsOfColumn;
  if (const size_t peer = rank ^ 1u; peer < memories_.size() && !memories_[peer].cells.empty()) {
    // The CTAs of a pair allocate together: who knows of one allocation may use both. (Production
    // kernels do; the ISA does not say when the second half is there.)
    const uint32_t entry = memories_[peer].cells[first].entries[0];
    Operation& other = operations_[entry >> kFlagBits];
    Operation& own = operations_[index];
    if (entry != 0 && other.kind == Kind::allocation && other.twin_stream == 0) {
      own.twin_stream = other.stream;
      own.twin_epoch = other.epoch;
      other.twin_stream = own.stream;
      other.twin_epoch = own.epoch;
    }
  }
  Memory& memory = memory_of(rank);
  memory.allocation = operations_[index];
  for (uint32_t i = first; i < first + event.columns * kCellsOfColumn; ++i)
    enter(memory.cells[i], index, kWrites);
  Warp& warp = warp_of(event.origin);
  warp.fenced.advance(operations_[index].stream, operations_[index].epoch);
  warp.out.plain.advance(operations_[index].stream, operations_[index].epoch);
  uint32_t own = index << kFlagBits;
  drop(own);
}

void TensorMemoryRaces::deallocate(const TensorMemoryEvent& event) {
  const uint32_t index = begin(event.origin, Kind::allocation);
  const TensorRange range{event.origin.cta_rank,
                          0,
                          kCellsOfColumn * kLanesOfCell,
                          static_cast<uint16_t>(event.column),
                          static_cast<uint16_t>(event.columns),
                          false,
                          true,
                          "the allocation"};
  Memory& memory = memory_of(event.origin.cta_rank);
  settle(memory, range);
  check_peer(index, range);
  for_cells(range, [&](uint32_t column, uint32_t block) {
    Cell& cell = memory.cells[column * kCellsOfColumn + block];
    check(cell, index, range, column);
    for (uint32_t& entry : cell.entries)
      if (entry != 0) drop(entry);
  });
  uint32_t own = index << kFlagBits;
  drop(own);
}

void TensorMemoryRaces::check_peer(uint32_t index, const TensorRange& range) {
  const Operation& own = operations_[index];
  const auto of_pair = [&](const Operation& operation) {
    return kernel_.source(*operation.origin.instruction).match->modifiers.get("group") ==
           kPairGroup;
  };
  const size_t peer = own.origin.cta_rank ^ 1u;
  if (!of_pair(own) || peer >= memories_.size()) return;
  // The simulator grants both halves at once; on hardware one CTA's allocation does not wait for
  // the other's.
  const Operation& other = memories_[peer].allocation;
  if (other.origin.instruction == nullptr || !of_pair(other) || is_ordered(other, own, strict_))
    return;
  TensorRange place = range;
  place.cta_rank = static_cast<uint16_t>(peer);
  report(other, true, own, place);
}

void TensorMemoryRaces::on_group(const GroupEvent& event) {
  if (event.unit != GroupEvent::Unit::tensor_core || event.waits) return;
  Warp& warp = warp_of(event.origin);
  // It implies a tcgen05.fence::before_thread_sync.
  warp.out.fenced.merge(warp.fenced);
  warp.out.issued_fenced.merge(warp.issued_fenced);
  Commit& commit = commits_[event.id];
  commit.view = warp.out;
  commit.arrivals = std::popcount(event.targets);
  const auto thread = warp.threads.find(std::countr_zero(event.origin.lanes));
  if (thread == warp.threads.end()) return;
  Stream& stream = streams_[thread->second];
  if (stream.complete != stream.last) stream.commit = event.origin.instruction;
  stream.complete = stream.last;
  commit.view.plain.advance(thread->second, stream.last);
  commit.view.fenced.advance(thread->second, stream.last);
}

void TensorMemoryRaces::on_fence(const FenceEvent& event) {
  Warp& warp = warp_of(event.origin);
  if (event.kind == FenceKind::tcgen05_before_thread_sync) {
    warp.out.fenced.merge(warp.fenced);
    warp.out.issued_fenced.merge(warp.issued_fenced);
  } else if (event.kind == FenceKind::tcgen05_after_thread_sync) {
    warp.fenced.merge(warp.pending);
    warp.issued_fenced.merge(warp.pending_issued);
  }
}

const TensorView& TensorMemoryRaces::released(const Origin& origin) {
  Warp& warp = warp_of(origin);
  warp.release = origin.instruction;
  return warp.out;
}

const TensorView& TensorMemoryRaces::committed(uint64_t operation_id) {
  const auto found = commits_.find(operation_id);
  if (found == commits_.end()) {
    last_commit_ = {};
  } else if (--found->second.arrivals > 0) {
    return found->second.view;
  } else {
    last_commit_ = std::move(found->second.view);
    commits_.erase(found);
  }
  return last_commit_;
}

void TensorMemoryRaces::acquired(const Origin& origin, const TensorView& view) {
  Warp& warp = warp_of(origin);
  warp.out.merge(view);
  warp.pending.merge(view.fenced);
  warp.pending_issued.merge(view.issued_fenced);
  warp.acquire = origin.instruction;
}

// ---- The shadow

void TensorMemoryRaces::enter(Cell& cell, uint32_t index, uint32_t flags) {
  const uint32_t value = index << kFlagBits | flags;
  const bool replaces = (flags & kWrites) != 0 && (flags & kPartly) == 0;
  if (replaces) {
    for (uint32_t& entry : cell.entries)
      if (entry != 0) drop(entry);
    cell.entries[0] = value;
    ++operations_[index].uses;
    return;
  }
  uint32_t* place = nullptr;
  for (uint32_t& entry : cell.entries) {
    if (entry == 0) {
      if (place == nullptr) place = &entry;
      continue;
    }
    // Whatever is ordered after this one is ordered after a read that precedes it, too.
    const Operation& other = operations_[entry >> kFlagBits];
    const bool is_read = (entry & kWrites) == 0;
    if (entry >> kFlagBits == index || (is_read && (flags & kWrites) == 0 &&
                                        (other.stream == operations_[index].stream ||
                                         is_ordered(other, operations_[index], strict_)))) {
      place = &entry;
      break;
    }
  }
  // More readers than fit: the oldest is forgotten.
  if (place == nullptr) place = &cell.entries[1];
  if (*place >> kFlagBits == index) {
    *place |= flags & kWrites;
    return;
  }
  drop(*place);
  *place = value;
  ++operations_[index].uses;
}

TensorMemoryRaces::Memory& TensorMemoryRaces::memory_of(uint16_t cta_rank) {
  if (memories_.size() <= cta_rank) memories_.resize(size_t{cta_rank} + 1);
  Memory& memory = memories_[cta_rank];
  if (memory.cells.empty()) memory.cells.resize(size_t{kColumns} * kCellsOfColumn);
  return memory;
}

void TensorMemoryRaces::settle(Memory& memory, const TensorRange& range) {
  std::erase_if(memory.written, [&](const LastWrite& write) {
    if (!overlaps(write.range, range)) return false;
    for_cells(write.range, [&](uint32_t column, uint32_t block) {
      enter(memory.cells[column * kCellsOfColumn + block], write.index, kWrites);
    });
    uint32_t own = write.index << kFlagBits;
    drop(own);
    return true;
  });
}

void TensorMemoryRaces::touch(uint32_t index, const TensorRange& range) {
  Memory& memory = memory_of(range.cta_rank);
  operations_[index].lane = range.lane % kWarpLanes;
  const bool partly = range.lanes < kLanesOfCell;
  const bool as_a_whole = range.writes && range.lanes % kLanesOfCell == 0;
  if (as_a_whole) {
    const auto same =
        std::find_if(memory.written.begin(), memory.written.end(),
                     [&](const LastWrite& write) { return is_same_place(write.range, range); });
    if (same != memory.written.end()) {
      judge(same->index, true, index, range);
      uint32_t earlier = same->index << kFlagBits;
      drop(earlier);
      same->index = index;
      ++operations_[index].uses;
      return;
    }
  }
  settle(memory, range);
  const uint32_t flags = (range.writes ? kWrites : 0) | (partly ? kPartly : 0);
  // Most cells hold what their neighbours hold: one write that was found to come before.
  uint32_t before = 0;
  for_cells(range, [&](uint32_t column, uint32_t block) {
    Cell& cell = memory.cells[column * kCellsOfColumn + block];
    const uint32_t only = cell.entries[1] == 0 ? cell.entries[0] >> kFlagBits : 0;
    if (only == 0 || only != before) check(cell, index, range, column);
    before = only;
    if (!as_a_whole) enter(cell, index, flags);
  });
  if (!as_a_whole) return;
  memory.written.push_back({range, index});
  ++operations_[index].uses;
}

void TensorMemoryRaces::check(const Cell& cell, uint32_t index, const TensorRange& range,
                              uint32_t column) {
  const bool partly = range.lanes < kLanesOfCell;
  for (const uint32_t entry : cell.entries) {
    const uint32_t other = entry >> kFlagBits;
    const bool writes = (entry & kWrites) != 0;
    if (other == 0 || other == index || (!writes && !range.writes)) continue;
    if (partly && (entry & kPartly) != 0 && operations_[other].lane != range.lane % kWarpLanes)
      continue;
    TensorRange place = range;
    place.column = static_cast<uint16_t>(column);
    place.columns = static_cast<uint16_t>(range.column + range.columns - column);
    judge(other, writes, index, place);
  }
}

void TensorMemoryRaces::judge(uint32_t other, bool other_writes, uint32_t index,
                              const TensorRange& range) {
  if (other == index || operations_[other].judged_in == present_) return;
  operations_[other].judged_in = present_;
  if (!is_ordered(operations_[other], operations_[index], strict_))
    report(operations_[other], other_writes, operations_[index], range);
}

// ---- The rules

namespace {

/// Whether two operations of the tensor core stay in order without being complete (PTX ISA,
/// "tcgen05 Memory Consistency Model": pipelined instructions). On hardware all of them do.
bool is_pipeline(const auto& first, const auto& second, bool strict) {
  if (!of_tensor_core(first.kind) || !of_tensor_core(second.kind)) return false;
  if (first.group != second.group) return false;
  if (!strict) return true;
  using AccessKind = std::remove_cvref_t<decltype(first.kind)>;
  switch (first.kind) {
    case AccessKind::mma:
      return second.kind == AccessKind::shift ||
             (second.kind == AccessKind::mma && first.shape == second.shape);
    case AccessKind::copy:
      return second.kind == AccessKind::mma;
    case AccessKind::shift:
      return second.kind == AccessKind::mma || second.kind == AccessKind::copy;
    default:
      return false;
  }
}

}  // namespace

bool TensorMemoryRaces::is_ordered(const Operation& first, const Operation& second, bool strict) {
  const Warp& warp = warp_of(second.origin);
  const auto covers = [&](const TensorClock& clock) {
    return clock.covers(first.stream, first.epoch);
  };
  if (second.kind == Kind::allocation)
    // A deallocation overwrites nothing. On hardware a load that was issued before has its data.
    return covers(warp.out.plain) ||
           (!strict && first.kind == Kind::load && covers(warp.out.issued));
  if (first.kind == Kind::allocation)
    return !strict || covers(warp.out.plain) ||
           (first.twin_stream != 0 && warp.out.plain.covers(first.twin_stream, first.twin_epoch));
  const bool same_thread = first.stream == second.stream;
  if (is_pipeline(first, second, strict) &&
      (same_thread || covers(strict ? warp.issued_fenced : warp.out.issued)))
    return true;
  if (strict) return covers(warp.fenced);
  const bool same_warp = key_of(first.origin) == key_of(second.origin);
  return covers(warp.out.plain) ||
         (same_warp && !of_tensor_core(first.kind) && !of_tensor_core(second.kind));
}

// ---- Reports

const char* TensorMemoryRaces::name_of(const Operation& operation) const {
  return kernel_.form(*operation.origin.instruction).operation_name();
}

std::string TensorMemoryRaces::place_of(const Instruction& instruction) const {
  return kernel_.module().ptx().describe_place(kernel_.source(instruction));
}

std::string TensorMemoryRaces::who(const Operation& operation) const {
  return fmt::format("{} in CTA rank {}, warp {}, at {}", name_of(operation),
                     operation.origin.cta_rank, operation.origin.warp,
                     place_of(*operation.origin.instruction));
}

void TensorMemoryRaces::report(const Operation& first, bool first_writes, const Operation& second,
                               const TensorRange& range) {
  TensorRace race;
  race.first = first.origin;
  race.second = second.origin;
  race.place = range;
  race.first_writes = first_writes;
  race.second_writes = range.writes;
  race.hardware_accepts = strict_ && is_ordered(first, second, false);
  explain(first, second, race);
  report_(race);
}

void TensorMemoryRaces::explain(const Operation& first, const Operation& second, TensorRace& race) {
  const Warp& warp = warp_of(second.origin);
  const Warp& earlier = warp_of(first.origin);
  const Stream& stream = streams_[first.stream];
  const auto at = [&](const Instruction* instruction) {
    return instruction == nullptr ? std::string("?") : place_of(*instruction);
  };
  const auto warp_name = [](const Operation& operation) {
    return fmt::format("warp {} of CTA rank {}", operation.origin.warp, operation.origin.cta_rank);
  };
  if (first.kind == Kind::allocation && second.kind == Kind::allocation) {
    race.edge = fmt::format("the {} is not ordered before it", who(first));
    race.fix = fmt::format(
        "put a cluster barrier after the allocations of both CTAs of the pair and before {}",
        place_of(*second.origin.instruction));
    return;
  }
  if (first.kind == Kind::allocation) {
    race.missing = TensorRace::Missing::address;
    race.edge = fmt::format("the {} is not ordered before the use", who(first));
    race.fix = fmt::format(
        "let {} read the address only after a barrier that the allocating warp reaches as well "
        "(__syncthreads, or a cluster barrier for a pair)",
        warp_name(second));
    return;
  }
  // A pipeline of two threads lacks only the fences, complete or not.
  const bool lacks_fences =
      is_pipeline(first, second, strict_) && warp.out.issued.covers(first.stream, first.epoch);
  const bool is_complete = stream.complete >= first.epoch || lacks_fences;
  if (!is_complete) {
    if (of_tensor_core(first.kind)) {
      race.edge = "no tcgen05.commit covers the earlier operation";
      race.fix = fmt::format(
          "execute tcgen05.commit in the thread that issued it ({}), and wait for its mbarrier "
          "in {} before {}",
          warp_name(first), warp_name(second), name_of(second));
    } else {
      const bool is_load = first.kind == Kind::load;
      race.edge = is_load ? "no tcgen05.wait::ld follows the earlier operation"
                          : "no tcgen05.wait::st follows the earlier operation";
      race.fix = fmt::format(
          "{} {} before it {}",
          is_load ? "execute tcgen05.wait::ld in" : "execute tcgen05.wait::st in", warp_name(first),
          earlier.release == nullptr ? std::string("goes on")
                                     : "arrives for the others at " + at(earlier.release));
    }
    return;
  }
  if (!warp.out.plain.covers(first.stream, first.epoch) && !lacks_fences) {
    if (of_tensor_core(first.kind)) {
      race.edge = fmt::format("{} has not waited for the mbarrier of the tcgen05.commit at {}",
                              warp_name(second), at(stream.commit));
      race.fix = fmt::format(
          "wait for it there (mbarrier.try_wait until true), then execute "
          "tcgen05.fence::after_thread_sync, before {}",
          place_of(*second.origin.instruction));
    } else if (warp.out.issued.covers(first.stream, first.epoch)) {
      const bool is_load = first.kind == Kind::load;
      race.edge = fmt::format("{} {} the arrival at {}", warp_name(first),
                              is_load ? "waits for it by tcgen05.wait::ld only after"
                                      : "waits for it by tcgen05.wait::st only after",
                              at(earlier.release));
      race.fix =
          fmt::format("{} {} after {} and before the arrival that releases {}",
                      is_load ? "execute tcgen05.wait::ld in" : "execute tcgen05.wait::st in",
                      warp_name(first), place_of(*first.origin.instruction), warp_name(second));
    } else {
      race.edge = fmt::format("nothing orders {} after the completion of {}", warp_name(second),
                              who(first));
      const bool fences = strict_ && second.kind != Kind::allocation;
      race.fix = fmt::format(
          "let {} arrive on an mbarrier or a barrier after it{}, and {} wait for that before {}",
          warp_name(first), fences ? " (after tcgen05.fence::before_thread_sync)" : "",
          warp_name(second), place_of(*second.origin.instruction));
    }
    return;
  }
  race.missing = TensorRace::Missing::fence;
  if ((lacks_fences ? warp.pending_issued : warp.pending).covers(first.stream, first.epoch)) {
    race.edge = fmt::format(
        "no tcgen05.fence::after_thread_sync separates the wait at {} from this", at(warp.acquire));
    race.fix = fmt::format("execute tcgen05.fence::after_thread_sync in {} after the wait at {}",
                           warp_name(second), at(warp.acquire));
  } else {
    race.edge = fmt::format(
        "no tcgen05.fence::before_thread_sync separates the earlier operation from the arrive at "
        "{}",
        at(earlier.release));
    race.fix =
        fmt::format("execute tcgen05.fence::before_thread_sync in {} before its arrive at {}",
                    warp_name(first), at(earlier.release));
  }
}

std::unique_ptr<TensorMemoryRaces> make_tensor_memory_races(Detector& detector) {
  const Cluster& cluster = detector.cluster();
  const auto report = [&detector](const TensorRace& race) {
    const auto side = [&](const Origin& origin, bool writes) {
      Accessor accessor;
      accessor.instruction = origin.instruction;
      accessor.agent = detector.threads().warp_of(origin);
      accessor.cta_rank = origin.cta_rank;
      accessor.warp = origin.warp;
      accessor.writes = writes;
      accessor.proxy = Proxy::tensor;
      accessor.unit = detector.cluster().kernel().form(*origin.instruction).operation_name();
      return accessor;
    };
    constexpr std::array kMissing = {Missing::tcgen05_fence, Missing::tensor_order,
                                     Missing::address_word};
    detector.report(
        kMissing[static_cast<size_t>(race.missing)], side(race.first, race.first_writes),
        race.first.lanes, side(race.second, race.second_writes), race.second.lanes,
        fmt::format("Tensor Memory of CTA rank {}, lanes {}-{}, columns {}-{}", race.place.cta_rank,
                    race.place.lane, race.place.lane + race.place.lanes - 1, race.place.column,
                    race.place.column + race.place.columns - 1),
        race.hardware_accepts ? Weight::isa_only : Weight::fault, race.edge, race.fix);
  };
  return std::make_unique<TensorMemoryRaces>(cluster.at_isa_level(), cluster.kernel(), report);
}

}  // namespace bw::sim::races
