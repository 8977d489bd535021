#include "common/simulator/clock/access_times.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "common/simulator/base/bits.hpp"
#include "common/simulator/base/device_address.hpp"
#include "common/simulator/clock/timing_table.hpp"

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
  std::array<uint8_t, kWarpLanes> groups;  ///< the group of banks of each unit

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

/// Whether every lane of a warp has a group of banks of its own in its part of `part_lanes` lanes:
/// mostly so, and found without looking at one lane after the other. `unit_log2`: of a group's
/// bytes.
bool have_own_groups(const std::byte* const* lanes, const std::byte* window, int unit_log2,
                     uint32_t groups, uint32_t part_lanes) {
  constexpr uint32_t kLeastPart = kWarpLanes / kMostParts;
  std::array<uint32_t, kMostParts> groups_of{};  // a bit each
  for (uint32_t part = 0; part < kMostParts; ++part)
    for (uint32_t lane = 0; lane < kLeastPart; ++lane) {
      const auto offset =
          static_cast<uint32_t>(reinterpret_cast<uintptr_t>(lanes[part * kLeastPart + lane]) -
                                reinterpret_cast<uintptr_t>(window));
      groups_of[part] |= 1u << ((offset >> unit_log2) & (groups - 1));
    }
  for (uint32_t part = 0; part < kMostParts; part += part_lanes / kLeastPart) {
    uint32_t all = 0;
    for (uint32_t i = 0; i < part_lanes / kLeastPart; ++i) all |= groups_of[part + i];
    if (static_cast<uint32_t>(std::popcount(all)) != part_lanes) return false;
  }
  return true;
}

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
  const uint32_t part_lanes = kWarpLanes / parts;
  if (lanes.base == nullptr && lanes.active == kAllLanes && is_shifted &&
      have_own_groups(lanes.own, window, shift, groups, part_lanes))
    return parts;
  BankUnits all;
  std::array<uint8_t, kMostGroups> depth{};
  uint32_t most = 0;
  bool ascends = true;  // from lane to lane, so that none ask for the same
  uint32_t next = 0;
  std::array<uint32_t, kMostParts> groups_of_part{};  // a bit each
  LaneMask meets = 0;  // lanes that share a group with another of their part
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

/// An access waits in the queue of the SM, a warp only for a place there; `stalls` counts that.
void wait_for_queue(const Accessor& by, Cycle begin, Cycle WarpTimes::*stalls) {
  const Cycle depth = by.sm.table->access_queue_cycles;
  if (begin <= by.time + depth) return;
  by.counted.*stalls += begin - depth - by.time;
  by.time = begin - depth;
}

/// Passes of an access from the accessor's time on: when the last of them is through.
Cycle pass(const Accessor& by, SmMemory& memory, uint32_t passes, Cycle WarpTimes::*stalls) {
  const Cycle through = memory.pass(by.time, passes);
  wait_for_queue(by, through - passes, stalls);
  return through;
}

/// Whether an access moves bytes into shared memory or out of it.
enum class Moves : uint8_t { in, out };

/// The same of lanes' accesses to shared memory, which are counted.
Cycle pass_shared(const Accessor& by, SmMemory& memory, uint32_t passes, const LanePlaces& lanes,
                  Moves moves) {
  const uint32_t bytes = static_cast<uint32_t>(std::popcount(lanes.active)) * lanes.bytes;
  memory.traffic.count_shared(moves == Moves::in, bytes, passes);
  return pass(by, memory, passes, &WarpTimes::shared_queue_stalls);
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
      add(device_address(lanes.base), span);
    } else {
      for (const int lane : lanes_of(lanes.active))
        add(device_address(lanes.own[lane]), lanes.bytes);
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

  bool is_run = false;  ///< whether the sectors are consecutive

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
Cycle touch_l2(const Accessor& by, const LineList& lines, uint32_t bytes, L2Path path,
               bool is_partial = false) {
  L2View& l2 = by.sm.l2;
  const auto first_byte = [](const Sectors& sectors) {
    return sectors.line * L1Cache::kLineBytes +
           static_cast<uint64_t>(std::countr_zero(sectors.mask)) * L1Cache::kSectorBytes;
  };
  if (lines.is_run && !is_partial)
    return l2.touch(first_byte(*lines.begin()), bytes, by.time, path).extra;
  Cycle extra = 0;
  for (const Sectors& sectors : lines)
    if (sectors.mask != 0)
      extra = std::max(
          extra, l2.touch(first_byte(sectors),
                          bytes_of(sectors.mask) - (is_partial ? kIncomplete : 0), by.time, path)
                     .extra);
  return extra;
}

/// Passes of the first-level cache for a load: those of its banks, as in shared memory, or one per
/// four lines that the lanes access (streams.first_level).
uint32_t near_passes(const LanePlaces& lanes, uint32_t lines) {
  constexpr uint32_t kLinesOfPass = 4;
  return std::max(passes_of<SamePlace::together>(lanes, nullptr), ceil_div(lines, kLinesOfPass));
}

}  // namespace

uint32_t bank_passes(const LanePlaces& lanes, const std::byte* window) {
  return passes_of<SamePlace::together>(lanes, window);
}

uint32_t load_passes(const LanePlaces& lanes, const std::byte* window) {
  return passes_of<SamePlace::paired>(lanes, window);
}

Cycle load_device(const Accessor& by, const LanePlaces& lanes, bool in_first_level) {
  const TimingTable& times = *by.sm.table;
  SmMemory& memory = by.sm.memory;
  LineList lines(lanes);
  const Cycle through =
      pass(by, memory, near_passes(lanes, lines.size()), &WarpTimes::global_queue_stalls);
  Cycle arrives = through - 1 + times.l1_load_latency;
  uint32_t hit_bytes = 0;
  if (in_first_level) {
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
  const Cycle extra = touch_l2(by, lines, bytes, L2Path::thread_load);
  const Cycle busy = ceil_div(bytes * SmTimes::kSchedulers, times.from_l2_bytes_per_cycle);
  const Cycle begin = memory.from_l2[by.warp % SmTimes::kSchedulers].take(through - 1, busy);
  const Cycle latency = busy - 1 + times.l2_load_latency;
  arrives = std::max({arrives, begin + latency + extra, memory.stored_at + latency});
  if (in_first_level)
    for (const Sectors& sectors : lines)
      if (sectors.mask != 0) memory.l1().use(sectors.line).ready = arrives;
  return arrives;
}

void load_parameters(const Accessor& by, uint64_t first, uint32_t bytes) {
  constexpr uint64_t kFirstParameter = 0x210;  // in the constant bank
  constexpr uint64_t kLineBytes = SmTimes::kConstantLineBytes;
  first += kFirstParameter;
  Cycle ready = by.time;
  for (uint64_t line = first / kLineBytes; line <= (first + bytes - 1) / kLineBytes; ++line)
    ready = std::max(ready, by.sm.constant_line(line, by.warp, by.time, *by.sm.table));
  by.time = ready;
}

Cycle load_shared(const Accessor& by, const SharedWindow& from, const LanePlaces& lanes,
                  uint32_t merged) {
  const TimingTable& times = *by.sm.table;
  LanePlaces all = lanes;
  all.bytes *= merged;
  const uint32_t passes = load_passes(all, from.begin);
  const Cycle through = pass_shared(by, from.sm.memory, passes, lanes, Moves::out);
  if (&from.sm == &by.sm) return through - 1 + times.shared_load_latency;
  const Cycle busy = remote_cycles(all, times.remote_bytes_per_cycle);
  const Cycle begin = by.sm.memory.remote.take(through - 1, busy);
  return begin + busy - 1 + times.remote_load_latency;
}

void store_shared(const Accessor& by, const SharedWindow& to, const LanePlaces& lanes) {
  const uint32_t passes = bank_passes(lanes, to.begin);
  pass_shared(by, to.sm.memory, passes, lanes, Moves::in);
  if (&to.sm == &by.sm) return;
  const Cycle busy = remote_cycles(lanes, by.sm.table->remote_bytes_per_cycle);
  wait_for_queue(by, by.sm.memory.remote.take(by.time, busy), &WarpTimes::shared_queue_stalls);
}

void store_device(const Accessor& by, const LanePlaces& lanes) {
  const TimingTable& times = *by.sm.table;
  SmMemory& memory = by.sm.memory;
  const LineList lines(lanes);
  uint32_t bytes = lines.bytes();
  const auto written = static_cast<uint32_t>(std::popcount(lanes.active)) * lanes.bytes;
  const bool is_partial = written < bytes;
  SmMemory::PartialStore* const before = is_partial && lines.size() <= times.store_merge_lines
                                             ? &memory.partial_store(by.warp)
                                             : nullptr;
  if (before != nullptr && before->first_line == lines.begin()->line &&
      before->lines == lines.size() && before->missing_bytes >= written &&
      by.time <= before->open_until) {
    before->missing_bytes -= written;
    before->open_until = by.time + times.store_merge_cycles;
    return;
  }
  const Cycle extra = touch_l2(by, lines, bytes, L2Path::thread_store, is_partial);
  if (is_partial) bytes += lines.size() * times.l2_partial_write_bytes;
  // What takes time where lanes write many lines are lookups and the way out, not passes of the
  // memory that the first-level cache shares with shared memory (contention.mmas).
  const Cycle busy = ceil_div(bytes, times.to_l2_bytes_per_cycle);
  const Cycle begin = memory.to_l2.take(by.time + extra, busy);
  memory.stored_at = begin + busy;
  wait_for_queue(by, begin, &WarpTimes::global_queue_stalls);
  if (before != nullptr)
    *before = {lines.begin()->line, lines.size(), lines.bytes() - written,
               by.time + times.store_merge_cycles};
}

Cycle load_matrix(const Accessor& by, const SharedWindow& own, const LanePlaces& rows) {
  const TimingTable& times = *by.sm.table;
  const uint32_t passes = bank_passes(rows, own.begin);
  const Cycle through = pass_shared(by, own.sm.memory, passes, rows, Moves::out);
  return through - 1 + times.shared_load_latency;
}

void store_matrix(const Accessor& by, const SharedWindow& own, const LanePlaces& rows) {
  pass_shared(by, own.sm.memory, bank_passes(rows, own.begin), rows, Moves::in);
}

Cycle atomic_shared(const Accessor& by, const SharedWindow& at, const LanePlaces& lanes) {
  const TimingTable& times = *by.sm.table;
  const uint32_t passes = passes_of<SamePlace::one_by_one>(lanes, at.begin);
  const Cycle through = pass_shared(by, at.sm.memory, passes, lanes, Moves::in);
  return through - 1 + (&at.sm == &by.sm ? times.shared_atomic_latency : times.remote_load_latency);
}

Cycle atomic_device(const Accessor& by, const LanePlaces& lanes) {
  const TimingTable& times = *by.sm.table;
  SmMemory& memory = by.sm.memory;
  const LineList lines(lanes);
  const Cycle through = pass(by, memory, lines.size(), &WarpTimes::global_queue_stalls);
  const uint32_t bytes = lines.bytes();
  const Cycle extra = touch_l2(by, lines, bytes, L2Path::thread_store);
  const Cycle busy = ceil_div(bytes, times.to_l2_bytes_per_cycle);
  const Cycle begin = memory.to_l2.take(through - 1, busy);
  wait_for_queue(by, begin, &WarpTimes::global_queue_stalls);
  return begin + busy - 1 + times.global_atomic_latency + extra;
}

Cycle copy(const Accessor& by, const SharedWindow& own, const LanePlaces& sources,
           const LanePlaces& destinations, bool in_first_level) {
  const uint32_t passes = bank_passes(destinations, own.begin);
  const Cycle arrives = sources.active == 0 ? by.time : load_device(by, sources, in_first_level);
  return by.sm.memory.pass(arrives, passes);
}

}  // namespace bw::sim::access_times
