/// \file
/// Storage of registers: a scan over live segments, first fit into slots of one size class.
#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>

#include "common/simulator/ptx/control_flow.hpp"
#include "common/simulator/ptx/liveness.hpp"
#include "common/simulator/ptx/pair_arithmetic.hpp"
#include "common/simulator/ptx/register_usage.hpp"

namespace bw::sim::ptx {
namespace {

constexpr uint32_t kLanes = 32;
constexpr uint32_t kPredicateBytes = 4;  // one bit per lane
constexpr uint32_t kLeastLaneBytes = 2;  // 8-bit registers use 16 bits

/// Slots of one size: widest first, so that every slot is aligned to its own size in the file.
constexpr std::array<uint32_t, 5> kClassBytes = {16 * kLanes, 8 * kLanes, 4 * kLanes, 2 * kLanes,
                                                 kPredicateBytes};

/// 32-bit registers of a thread that a value takes. Predicates have registers of their own.
uint32_t registers_of(ScalarType type) noexcept {
  const size_t bytes = size_bytes(type);
  return static_cast<uint32_t>((bytes + 3) / 4);
}

/// Registers that share one piece of storage, as the times at which it is in use.
class Slot {
 public:
  [[nodiscard]] bool is_free(const std::vector<LiveSegment>& segments) const {
    if (taken_.empty() || taken_.back().last <= segments.front().first) return true;
    auto other = taken_.begin();
    for (const LiveSegment& segment : segments) {
      other = std::upper_bound(
          other, taken_.end(), segment.first,
          [](uint32_t time, const LiveSegment& taken) { return time < taken.last; });
      if (other == taken_.end()) return true;
      if (other->first < segment.last) return false;
    }
    return true;
  }

  void take(const std::vector<LiveSegment>& segments) {
    const auto middle = static_cast<std::ptrdiff_t>(taken_.size());
    taken_.insert(taken_.end(), segments.begin(), segments.end());
    std::inplace_merge(
        taken_.begin(), taken_.begin() + middle, taken_.end(),
        [](const LiveSegment& a, const LiveSegment& b) { return a.first < b.first; });
  }

 private:
  std::vector<LiveSegment> taken_;  // ascending, disjoint
};

/// The greatest number of 32-bit registers that hold a value after one instruction.
uint32_t greatest_pressure(const Function& function,
                           const std::vector<std::vector<LiveSegment>>& segments) {
  std::vector<int64_t> change(function.instructions.size() + 2, 0);
  for (size_t reg = 0; reg < segments.size(); ++reg) {
    const uint32_t weight = registers_of(function.registers[reg].type);
    for (const LiveSegment& segment : segments[reg]) {
      // A source that is read for the last time can pass its register to the destination.
      const uint32_t end = std::max(segment.last - 1, segment.first + 1);
      change[segment.first] += weight;
      change[end] -= weight;
    }
  }
  int64_t pressure = 0, greatest = 0;
  for (const int64_t step : change) {
    pressure += step;
    greatest = std::max(greatest, pressure);
  }
  return static_cast<uint32_t>(greatest);
}

/// Halves of pairs keep their storage until the arithmetic on the pairs, which may read them.
void keep_halves(const Function& function, std::vector<std::vector<LiveSegment>>& segments) {
  for (const PairArithmetic& pair : pair_arithmetic(function))
    for (const uint32_t pack : pair.packs)
      visit_read_registers(function.instructions[pack], [&](uint32_t half) {
        std::vector<LiveSegment>& list = segments[half];
        const auto after = std::find_if(list.begin(), list.end(), [&](const LiveSegment& segment) {
          return segment.first > pack;
        });
        if (after == list.begin()) return;
        LiveSegment& read = *std::prev(after);
        read.last = std::max(read.last, pair.index + 1);
        if (after != list.end() && after->first <= read.last) {
          read.last = std::max(read.last, after->last);
          list.erase(after);
        }
      });
}

}  // namespace

uint32_t register_storage_bytes(ScalarType type) noexcept {
  if (type == ScalarType::pred || type == ScalarType::none) return kPredicateBytes;
  const auto lane_bytes = static_cast<uint32_t>(size_bytes(type));
  return std::max(lane_bytes, kLeastLaneBytes) * kLanes;
}

RegisterLayout allocate_registers(const Function& function) {
  RegisterLayout layout;
  layout.offset_bytes.assign(function.registers.size(), 0);
  std::vector<std::vector<LiveSegment>> segments = live_segments(function);
  layout.live_32bit_registers = greatest_pressure(function, segments);
  keep_halves(function, segments);

  std::vector<uint32_t> in_order;
  bool has_unused = false;
  for (uint32_t reg = 0; reg < segments.size(); ++reg) {
    if (!segments[reg].empty()) {
      in_order.push_back(reg);
    } else {
      has_unused = true;
    }
  }
  std::stable_sort(in_order.begin(), in_order.end(), [&](uint32_t a, uint32_t b) {
    return segments[a].front().first < segments[b].front().first;
  });

  for (const uint32_t class_bytes : kClassBytes) {
    std::vector<Slot> slots;
    const uint32_t base = layout.total_bytes;
    for (const uint32_t reg : in_order) {
      if (register_storage_bytes(function.registers[reg].type) != class_bytes) continue;
      const auto free = std::find_if(slots.begin(), slots.end(),
                                     [&](const Slot& slot) { return slot.is_free(segments[reg]); });
      const auto index = static_cast<uint32_t>(free - slots.begin());
      if (free == slots.end()) slots.emplace_back();
      slots[index].take(segments[reg]);
      layout.offset_bytes[reg] = base + index * class_bytes;
    }
    layout.total_bytes = base + static_cast<uint32_t>(slots.size()) * class_bytes;
  }
  // A register that is never written is at offset 0 and may still be read: the file must reach it.
  if (has_unused) {
    for (uint32_t reg = 0; reg < segments.size(); ++reg) {
      if (!segments[reg].empty()) continue;
      layout.total_bytes =
          std::max(layout.total_bytes, register_storage_bytes(function.registers[reg].type));
    }
  }
  return layout;
}

}  // namespace bw::sim::ptx
