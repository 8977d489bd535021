#include "common/simulator/units/memory/access_times.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "common/simulator/base/bits.hpp"
#include "common/simulator/machine/grid.hpp"
#include "common/simulator/machine/kernel.hpp"
#include "common/simulator/units/memory/sm_memory.hpp"
#include "common/simulator/units/units.hpp"

namespace bw::sim::access_times {
namespace {

constexpr uint32_t kWordBytes = 4;
constexpr uint32_t kMostGroups = kSharedPassBytes / kWordBytes;
constexpr uint32_t kMostParts = 4;  // of a warp, whose accesses take turns

/// What lanes that ask for the same bytes have of it.
enum class SamePlace : uint8_t {
  one_by_one,  ///< nothing: they take turns
  together,    ///< they are served together
  paired,      ///< as `together`; two parts of a warp are, where neighbours in it ask for the same
};

/// The lanes of a warp by the words of the banks that they ask for.
struct BankUnits {
  std::array<uint32_t, kWarpLanes> units;
  std::array<uint8_t, kWarpLanes> groups;  ///< of banks, on which those units lie

  /// Passes of some of the lanes: the most different units that fall on one group of banks.
  [[nodiscard]] uint32_t passes(LaneMask lanes) const {
    std::array<int, kMostGroups> last_of_group;
    std::array<int, kWarpLanes> before;
    last_of_group.fill(-1);
    std::array<uint8_t, kMostGroups> depth{};
    uint32_t most = 0;
    for (const int lane : lanes_of(lanes)) {
      const auto index = static_cast<size_t>(lane);
      const uint32_t group = groups[index];
      int other = last_of_group[group];
      while (other >= 0 && units[static_cast<size_t>(other)] != units[index])
        other = before[static_cast<size_t>(other)];
      if (other >= 0) continue;
      before[index] = last_of_group[group];
      last_of_group[group] = lane;
      most = std::max(most, uint32_t{++depth[group]});
    }
    return most;
  }

  /// The same where lanes that ask for the same unit take turns.
  [[nodiscard]] uint32_t passes_in_turn(LaneMask lanes) const {
    std::array<uint8_t, kMostGroups> depth{};
    uint32_t most = 0;
    for (const int lane : lanes_of(lanes))
      most = std::max(most, uint32_t{++depth[groups[static_cast<size_t>(lane)]]});
    return most;
  }

  /// Whether all lanes that have a neighbour `distance` (1 or 2) away ask for what it asks for.
  [[nodiscard]] bool neighbours_agree(LaneMask lanes, uint32_t distance) const {
    for (const int lane : lanes_of(lanes)) {
      const auto index = static_cast<size_t>(lane);
      const size_t other = index ^ distance;
      if ((lanes >> other & 1) != 0 && units[index] != units[other]) return false;
    }
    return true;
  }
};

/// An access of 8 bytes a lane is two of 16 lanes, one of 16 bytes four of 8. On an H100 two of
/// these are one where all their lanes ask for the same as a neighbour, or all for the same as the
/// next but one (shared_memory.load16_same, load16_in_turn).
template <SamePlace same_place>
uint32_t passes_of(const LanePlaces& lanes, const std::byte* window) {
  const uint32_t unit = std::max(lanes.bytes, kWordBytes);
  const uint32_t parts = std::has_single_bit(unit) ? std::min(unit / kWordBytes, kMostParts) : 1;
  if (lanes.base != nullptr && lanes.stride_bytes != 0)
    return std::max(lanes.bytes * kWarpLanes / kSharedPassBytes, 1u);
  if (lanes.base != nullptr && same_place == SamePlace::together) return parts;
  if (lanes.base != nullptr && same_place == SamePlace::paired) return std::max(parts / 2, 1u);
  const uint32_t groups = std::max(kSharedPassBytes / unit, 1u);
  // Mostly it is a power of two, as the number of groups then is.
  const bool is_shifted = std::has_single_bit(unit);
  const int shift = std::countr_zero(unit);
  BankUnits all;
  std::array<uint8_t, kMostGroups> depth{};
  uint32_t most = 0;
  bool ascends = true;  // from lane to lane, so that none ask for the same
  uint32_t next = 0;
  const uint32_t part_lanes = kWarpLanes / parts;
  std::array<uint32_t, kMostParts> groups_of_part{};  // a bit each
  LaneMask meets = 0;  // lanes on whose group another of its part lies
  for (const int lane : lanes_of(lanes.active)) {
    const auto index = static_cast<size_t>(lane);
    const auto offset = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(lanes.at(lane)) -
                                              reinterpret_cast<uintptr_t>(window));
    const uint32_t number = is_shifted ? offset >> shift : offset / unit;
    const uint32_t group = is_shifted ? number & (groups - 1) : number % groups;
    all.units[index] = number;
    all.groups[index] = static_cast<uint8_t>(group);
    if (parts != 1) {
      uint32_t& of_part = groups_of_part[index / part_lanes];
      meets |= (of_part >> group & 1) << index;
      of_part |= 1u << group;
      continue;
    }
    ascends &= number >= next;
    next = number + 1;
    most = std::max(most, uint32_t{++depth[group]});
  }
  if (parts == 1 && (same_place == SamePlace::one_by_one || ascends || most <= 1)) return most;
  if (parts == 1) return all.passes(lanes.active);
  const auto passes_of_part = [&](LaneMask part) {
    if ((meets & part) == 0) return part != 0 ? 1u : 0u;
    return same_place == SamePlace::one_by_one ? all.passes_in_turn(part) : all.passes(part);
  };
  const auto lanes_from = [&](uint32_t first, uint32_t count) {
    return lanes.active & static_cast<LaneMask>(((uint64_t{1} << count) - 1) << first);
  };
  uint32_t passes = 0;
  for (uint32_t first = 0; first < kWarpLanes; first += 2 * part_lanes) {
    const LaneMask both = lanes_from(first, 2 * part_lanes);
    if (same_place == SamePlace::paired &&
        (all.neighbours_agree(both, 1) || all.neighbours_agree(both, 2))) {
      passes += all.passes(both);
      continue;
    }
    for (const uint32_t from : {first, first + part_lanes})
      passes += passes_of_part(lanes_from(from, part_lanes));
  }
  return passes;
}

/// What the instruction at hand loads is there at `at`.
void value_arrives(Strand& strand, LoadedFrom from, Cycle at) {
  const Instruction& instruction = strand.cluster->kernel().code()[strand.pc];
  strand.value_arrives(from, instruction.scoreboard, at);
}

/// The CTA in whose shared memory a place lies: mostly the own one.
const Cta& cta_of(const Strand& strand, const std::byte* place) {
  const auto holds = [&](const Cta& cta) {
    return place >= cta.shared.data() && place < cta.shared.data() + cta.shared.size();
  };
  if (!holds(*strand.cta))
    for (const Cta& cta : strand.cluster->ctas())
      if (holds(cta)) return cta;
  return *strand.cta;
}

/// An access waits in the queue of the SM, a warp only for a place there; `stalls` counts that.
void wait_for_queue(Strand& strand, Cycle begin, Cycle WarpTimes::*stalls) {
  const Cycle depth = strand.cluster->times()->access_queue_cycles;
  if (begin <= strand.time + depth) return;
  strand.warp->times.*stalls += begin - depth - strand.time;
  strand.time = begin - depth;
}

/// Passes of an access from the strand's time on: when the last of them is through.
Cycle pass(Strand& strand, SmMemory& memory, uint32_t passes, Cycle WarpTimes::*stalls) {
  const Cycle through = memory.pass(strand.time, passes);
  wait_for_queue(strand, through - passes, stalls);
  return through;
}

/// The same of lanes' accesses to shared memory, which are counted.
Cycle pass_shared(Strand& strand, SmMemory& memory, uint32_t passes, const LanePlaces& lanes,
                  Access access) {
  const uint32_t bytes = static_cast<uint32_t>(std::popcount(lanes.active)) * lanes.bytes;
  memory.traffic.count_shared(access, bytes, passes);
  return pass(strand, memory, passes, &WarpTimes::shared_queue_stalls);
}

/// What lanes' accesses to another CTA's shared memory take on the way there.
Cycle remote_cycles(const LanePlaces& lanes, double bytes_per_cycle) {
  const auto bytes = static_cast<double>(std::popcount(lanes.active)) * lanes.bytes;
  return static_cast<Cycle>(std::ceil(bytes / bytes_per_cycle));
}

/// A line of device memory and which of its sectors are meant.
struct Sectors {
  uint64_t line = 0;
  uint8_t mask = 0;
};

uint32_t bytes_of(uint8_t mask) {
  return static_cast<uint32_t>(std::popcount(mask)) * L1Cache::kSectorBytes;
}

/// The lines that lanes touch, as they come.
class LineList {
 public:
  explicit LineList(const LanePlaces& lanes) {
    if (lanes.base != nullptr) {
      const size_t span = lanes.stride_bytes != 0 ? size_t{lanes.bytes} * kWarpLanes : lanes.bytes;
      is_run = true;
      add(reinterpret_cast<uint64_t>(lanes.base), span);
    } else {
      for (const int lane : lanes_of(lanes.active))
        add(reinterpret_cast<uint64_t>(lanes.own[lane]), lanes.bytes);
    }
  }
  [[nodiscard]] Sectors* begin() { return lines_.data(); }
  [[nodiscard]] Sectors* end() { return lines_.data() + count_; }
  [[nodiscard]] const Sectors* begin() const { return lines_.data(); }
  [[nodiscard]] const Sectors* end() const { return lines_.data() + count_; }
  [[nodiscard]] uint32_t size() const { return count_; }
  /// Of all their sectors.
  [[nodiscard]] uint32_t bytes() const {
    uint32_t sum = 0;
    for (const Sectors& sectors : *this) sum += bytes_of(sectors.mask);
    return sum;
  }

  bool is_run = false;  ///< whether the sectors are one behind the other

 private:
  void add(uint64_t address, uint64_t bytes) {
    const uint64_t last = address + bytes - 1;
    for (uint64_t line = address / L1Cache::kLineBytes; line <= last / L1Cache::kLineBytes;
         ++line) {
      const uint64_t start = line * L1Cache::kLineBytes;
      const uint64_t from = std::max(address, start) - start;
      const uint64_t to = std::min(last, start + L1Cache::kLineBytes - 1) - start;
      add_sectors(line, static_cast<uint32_t>(from) / L1Cache::kSectorBytes,
                  static_cast<uint32_t>(to) / L1Cache::kSectorBytes);
    }
  }
  void add_sectors(uint64_t line, uint32_t first, uint32_t last) {
    const auto mask = static_cast<uint8_t>(((2u << last) - 1) & ~((1u << first) - 1));
    // Mostly the lane before has touched the same line.
    for (uint32_t i = count_; i != 0; --i)
      if (lines_[i - 1].line == line) {
        lines_[i - 1].mask |= mask;
        return;
      }
    lines_[count_++] = {line, mask};
  }

  static constexpr size_t kMostLines = 2 * kWarpLanes;
  std::array<Sectors, kMostLines> lines_;
  uint32_t count_ = 0;
};

/// Bytes that a store which leaves sectors incomplete lacks of them: the L2 cache asks for no more.
constexpr uint32_t kIncomplete = 1;

/// Asks the L2 cache for the sectors of all lines: what comes on top of its latency. `is_partial`:
/// a store that leaves sectors incomplete.
Cycle touch_l2(Strand& strand, const LineList& lines, uint32_t bytes, L2Path path,
               bool is_partial = false) {
  L2View& l2 = strand.cluster->l2();
  const auto first_byte = [](const Sectors& sectors) {
    return sectors.line * L1Cache::kLineBytes +
           static_cast<uint64_t>(std::countr_zero(sectors.mask)) * L1Cache::kSectorBytes;
  };
  if (lines.is_run && !is_partial)
    return l2.touch(first_byte(*lines.begin()), bytes, strand.time, path).extra;
  Cycle extra = 0;
  for (const Sectors& sectors : lines)
    if (sectors.mask != 0)
      extra = std::max(extra, l2.touch(first_byte(sectors),
                                       bytes_of(sectors.mask) - (is_partial ? kIncomplete : 0),
                                       strand.time, path)
                                  .extra);
  return extra;
}

/// Passes of the first-level cache for a load: those of its banks, as in shared memory, or one for
/// four lines in which lanes lie (streams.first_level).
uint32_t near_passes(const LanePlaces& lanes, uint32_t lines) {
  constexpr uint32_t kLinesOfPass = 4;
  return std::max(passes_of<SamePlace::together>(lanes, nullptr), ceil_div(lines, kLinesOfPass));
}

/// Device memory that lanes load: when the last byte is there.
Cycle fetch(Strand& strand, Place place, const LanePlaces& lanes) {
  const TimingTable& times = *strand.cluster->times();
  SmMemory& memory = units_of(strand).sm_memory;
  LineList lines(lanes);
  const Cycle through =
      pass(strand, memory, near_passes(lanes, lines.size()), &WarpTimes::global_queue_stalls);
  Cycle arrives = through - 1 + times.l1_load_latency;
  uint32_t hit_bytes = 0;
  if (place == Place::global) {
    for (Sectors& sectors : lines) {
      L1Cache::Line& line = memory.l1().use(sectors.line);
      const auto misses = static_cast<uint8_t>(sectors.mask & ~line.sectors);
      // What is on its way already is waited for.
      if (misses != sectors.mask) {
        hit_bytes += bytes_of(static_cast<uint8_t>(sectors.mask & ~misses));
        arrives = std::max(arrives, line.ready);
        lines.is_run = false;
      }
      line.sectors |= misses;
      sectors.mask = misses;
    }
  }
  const uint32_t bytes = lines.bytes();
  memory.traffic.l1_hit_bytes += hit_bytes;
  memory.traffic.l1_miss_bytes += bytes;
  if (bytes == 0) return arrives;
  const Cycle extra = touch_l2(strand, lines, bytes, L2Path::thread_load);
  const Cycle busy = ceil_div(bytes * SmTimes::kSchedulers, times.from_l2_bytes_per_cycle);
  const Cycle begin =
      memory.from_l2[strand.warp->index % SmTimes::kSchedulers].take(through - 1, busy);
  const Cycle latency = busy - 1 + times.l2_load_latency;
  arrives = std::max({arrives, begin + latency + extra, memory.stored_at + latency});
  if (place == Place::global)
    for (const Sectors& sectors : lines)
      if (sectors.mask != 0) memory.l1().use(sectors.line).ready = arrives;
  return arrives;
}

}  // namespace

uint32_t bank_passes(const LanePlaces& lanes, const std::byte* window) {
  return passes_of<SamePlace::together>(lanes, window);
}

uint32_t load_passes(const LanePlaces& lanes, const std::byte* window) {
  return passes_of<SamePlace::paired>(lanes, window);
}

namespace {

/// An SM's first CTA of a launch fetches what it reads of the constant bank.
void read_parameters(Strand& strand, const LanePlaces& lanes) {
  constexpr uint64_t kFirstParameter = 0x210;  // in the bank
  constexpr uint64_t kLineBytes = SmTimes::kConstantLineBytes;
  SmTimes& sm = *strand.cta->sm_times;
  const uint64_t first = reinterpret_cast<uintptr_t>(lanes.at(lowest_lane(lanes.active))) -
                         strand.cluster->grid().parameters_address() + kFirstParameter;
  Cycle ready = strand.time;
  for (uint64_t line = first / kLineBytes; line <= (first + lanes.bytes - 1) / kLineBytes; ++line)
    ready = std::max(
        ready, sm.constant_line(line, strand.warp->index, strand.time, *strand.cluster->times()));
  strand.time = ready;
}

}  // namespace

void load(Strand& strand, Place place, const LanePlaces& lanes) {
  const TimingTable& times = *strand.cluster->times();
  switch (place) {
    case Place::shared: {
      const uint8_t merged = strand.cluster->kernel().code()[strand.pc].merged;
      if (merged == 0) return;
      const Cta& cta = cta_of(strand, lanes.at(lowest_lane(lanes.active)));
      LanePlaces all = lanes;
      all.bytes *= merged;
      const uint32_t passes = load_passes(all, cta.shared.data());
      const Cycle through =
          pass_shared(strand, units_of(cta).sm_memory, passes, lanes, Access::read);
      if (&cta == strand.cta) {
        value_arrives(strand, LoadedFrom::shared_memory, through - 1 + times.shared_load_latency);
        return;
      }
      const Cycle busy = remote_cycles(all, times.remote_load_bytes_per_cycle);
      const Cycle begin = units_of(strand).sm_memory.remote.take(through - 1, busy);
      value_arrives(strand, LoadedFrom::shared_memory,
                    begin + busy - 1 + times.remote_load_latency);
      return;
    }
    case Place::global:
    case Place::global_l2:
      value_arrives(strand, LoadedFrom::device_memory, fetch(strand, place, lanes));
      return;
    case Place::parameters:
      return read_parameters(strand, lanes);
    case Place::thread_own:
      return;
  }
}

void store(Strand& strand, Place place, const LanePlaces& lanes) {
  const TimingTable& times = *strand.cluster->times();
  if (place == Place::shared) {
    const Cta& cta = cta_of(strand, lanes.at(lowest_lane(lanes.active)));
    const uint32_t passes = bank_passes(lanes, cta.shared.data());
    pass_shared(strand, units_of(cta).sm_memory, passes, lanes, Access::write);
    if (&cta == strand.cta) return;
    const Cycle busy = remote_cycles(lanes, times.remote_store_bytes_per_cycle);
    wait_for_queue(strand, units_of(strand).sm_memory.remote.take(strand.time, busy),
                   &WarpTimes::shared_queue_stalls);
  } else if (place == Place::global || place == Place::global_l2) {
    SmMemory& memory = units_of(strand).sm_memory;
    const LineList lines(lanes);
    uint32_t bytes = lines.bytes();
    const auto written = static_cast<uint32_t>(std::popcount(lanes.active)) * lanes.bytes;
    const bool is_partial = written < bytes;
    SmMemory::PartialStore* const before = is_partial && lines.size() <= times.store_merge_lines
                                               ? &memory.partial_store(strand.warp->index)
                                               : nullptr;
    if (before != nullptr && before->first_line == lines.begin()->line &&
        before->lines == lines.size() && before->missing_bytes >= written &&
        strand.time <= before->open_until) {
      before->missing_bytes -= written;
      before->open_until = strand.time + times.store_merge_cycles;
      return;
    }
    const Cycle extra = touch_l2(strand, lines, bytes, L2Path::thread_store, is_partial);
    if (is_partial) bytes = std::max(bytes, lines.size() * times.l2_least_partial_write);
    // What takes time where lanes write many lines are lookups and the way out, not passes of the
    // memory that the first-level cache shares with shared memory (contention.mmas).
    const Cycle busy = ceil_div(bytes, times.to_l2_bytes_per_cycle);
    const Cycle begin = memory.to_l2.take(strand.time + extra, busy);
    memory.stored_at = begin + busy;
    wait_for_queue(strand, begin, &WarpTimes::global_queue_stalls);
    if (before != nullptr)
      *before = {lines.begin()->line, lines.size(), lines.bytes() - written,
                 strand.time + times.store_merge_cycles};
  }
}

void load_matrix(Strand& strand, const LanePlaces& rows) {
  const TimingTable& times = *strand.cluster->times();
  const uint32_t passes = bank_passes(rows, strand.cta->shared.data());
  const Cycle through = pass_shared(strand, units_of(strand).sm_memory, passes, rows, Access::read);
  const Cycle arrives = through - 1 + times.shared_load_latency + times.matrix_load_extra;
  value_arrives(strand, LoadedFrom::shared_memory, arrives);
}

void store_matrix(Strand& strand, const LanePlaces& rows) {
  const uint32_t passes = bank_passes(rows, strand.cta->shared.data());
  pass_shared(strand, units_of(strand).sm_memory, passes, rows, Access::write);
}

void atomic(Strand& strand, Place place, const LanePlaces& lanes, bool has_result) {
  const TimingTable& times = *strand.cluster->times();
  if (place == Place::shared) {
    const Cta& cta = cta_of(strand, lanes.at(lowest_lane(lanes.active)));
    const uint32_t passes = passes_of<SamePlace::one_by_one>(lanes, cta.shared.data());
    const Cycle through =
        pass_shared(strand, units_of(cta).sm_memory, passes, lanes, Access::write);
    const Cycle latency =
        &cta == strand.cta ? times.shared_atomic_latency : times.remote_load_latency;
    if (has_result) value_arrives(strand, LoadedFrom::shared_memory, through - 1 + latency);
    return;
  }
  SmMemory& memory = units_of(strand).sm_memory;
  const LineList lines(lanes);
  const Cycle through = pass(strand, memory, lines.size(), &WarpTimes::global_queue_stalls);
  const uint32_t bytes = lines.bytes();
  const Cycle extra = touch_l2(strand, lines, bytes, L2Path::thread_store);
  const Cycle busy = ceil_div(bytes, times.to_l2_bytes_per_cycle);
  const Cycle begin = memory.to_l2.take(through - 1, busy);
  wait_for_queue(strand, begin, &WarpTimes::global_queue_stalls);
  if (has_result)
    value_arrives(strand, LoadedFrom::device_memory,
                  begin + busy - 1 + times.global_atomic_latency + extra);
}

Cycle copy(Strand& strand, Place place, const LanePlaces& sources, const LanePlaces& destinations) {
  SmMemory& memory = units_of(strand).sm_memory;
  const uint32_t passes = bank_passes(destinations, strand.cta->shared.data());
  if (sources.active == 0) return memory.pass(strand.time, passes);
  const Cycle arrives = fetch(strand, place, sources);
  return memory.pass(arrives, passes);
}

}  // namespace bw::sim::access_times
