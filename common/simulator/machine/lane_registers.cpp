#include "common/simulator/machine/lane_registers.hpp"

namespace bw::sim {

namespace {

/// Whether all of a full warp's values are the same: one vector loop.
template <class T>
bool all_equal(const T* values) {
  T difference = 0;
  for (int lane = 0; lane < kWarpLanes; ++lane)
    difference = static_cast<T>(difference | (values[lane] ^ values[0]));
  return difference == 0;
}

}  // namespace

LaneMask LaneRegisters::lanes_that_differ(const Operand& operand, LaneMask active) const {
  if (operand.base == 1) return 0;  // a constant, the same in all lanes
  if (active == kAllLanes) {
    if (operand.bytes == sizeof(uint32_t) && all_equal(lanes<uint32_t>(operand))) return 0;
    if (operand.bytes == sizeof(uint64_t) && all_equal(lanes<uint64_t>(operand))) return 0;
  }
  const uint64_t first = value(operand, lowest_lane(active));
  LaneMask result = 0;
  for (const int lane : lanes_of(active))
    if (value(operand, lane) != first) result |= lane_bit(lane);
  return result;
}

uint64_t LaneRegisters::value(const Operand& operand, int lane) const {
  switch (operand.bytes) {
    case 0:
      return predicate(operand) >> lane & 1u;
    case 2:
      return lanes<uint16_t>(operand)[lane];
    case 4:
      return lanes<uint32_t>(operand)[lane];
    case 16:
      return lanes<uint64_t>(operand)[2 * lane];
    default:
      return lanes<uint64_t>(operand)[lane];
  }
}

void LaneRegisters::set_value(const Operand& operand, int lane, uint64_t value) const {
  switch (operand.bytes) {
    case 0:
      set_predicate(operand, lane_bit(lane), value != 0 ? kAllLanes : 0);
      break;
    case 2:
      lanes<uint16_t>(operand)[lane] = static_cast<uint16_t>(value);
      break;
    case 4:
      lanes<uint32_t>(operand)[lane] = static_cast<uint32_t>(value);
      break;
    case 16:
      lanes<uint64_t>(operand)[2 * lane] = value;
      lanes<uint64_t>(operand)[2 * lane + 1] = 0;
      break;
    default:
      lanes<uint64_t>(operand)[lane] = value;
      break;
  }
}

}  // namespace bw::sim
