#include "common/simulator/units/memory/lane_pointers.hpp"

#include <algorithm>
#include <cstdint>

#include "common/simulator/machine/address_space.hpp"
#include "common/simulator/machine/device_memory.hpp"
#include "common/simulator/machine/execution.hpp"
#include "common/simulator/machine/grid.hpp"
#include "common/simulator/units/memory/access_events.hpp"

namespace bw::sim {

void check_contents(Strand& strand, const Instruction& instruction, LaneMask active, size_t bytes,
                    Access access, const Span& span, LanePointers& out) {
  Cta* cta = strand.cta;
  const auto holds = [&](const Cta& candidate) {
    return span.first >= candidate.shared.data() &&
           span.first < candidate.shared.data() + candidate.shared.size();
  };
  for (uint32_t rank = 0; !holds(*cta) && rank < strand.cluster->size(); ++rank)
    cta = &strand.cluster->cta(rank);
  if (!cta->contents.is_tracked() || !holds(*cta)) return;
  const auto offset = static_cast<uint32_t>(span.first - cta->shared.data());
  const auto offset_of = [&](int lane) {
    return static_cast<uint32_t>(out.at(lane) - cta->shared.data());
  };
  if (access == Access::write) {
    const SharedContents::Writer writer = writer_at({strand, instruction, active});
    if (out.base != nullptr) return cta->contents.write(offset, span.bytes, writer);
    for (const int lane : lanes_of(active)) cta->contents.write(offset_of(lane), bytes, writer);
    return;
  }
  // Mostly the lanes read a small piece of what was written as a whole.
  constexpr size_t kSmallBytes = 8192;
  if (span.bytes <= kSmallBytes && cta->contents.is_written(offset, span.bytes)) return;
  for (const int lane : lanes_of(active)) {
    const uint32_t place = offset_of(lane);
    if (place >= kReservedSharedBytes && !cta->contents.is_written(place, bytes))
      out.unwritten |= lane_bit(lane);
  }
  if (out.unwritten != 0) out.cta = cta;
}

namespace {

/// Tells the tensor maps of the cluster's copies of a write.
void check_maps(const Strand& strand, const Instruction& instruction, LaneMask active, size_t bytes,
                const LaneAddresses& addresses) {
  TensorMapWatch& maps = units_of(*strand.cluster).tensor_maps;
  if (maps.is_empty()) return;
  for (const int lane : lanes_of(active))
    maps.write({strand, instruction, lane_bit(lane)}, addresses[static_cast<size_t>(lane)], bytes);
}

}  // namespace

AddressSpace resolve_lanes(Strand& strand, const Instruction& instruction, LaneMask active,
                           AddressSpace written, size_t bytes, Access access, LanePointers& out) {
  const Operand& base = instruction.operands[kAddressOperand];
  LaneAddresses addresses;
  const auto offset = static_cast<uint64_t>(instruction.immediate);
  if (base.bytes ==
      sizeof(uint64_t)) {  // loops of their own: the compiler makes vector code of them
    const uint64_t* const values = strand.lanes<uint64_t>(base);
    for (size_t lane = 0; lane < kWarpLanes; ++lane) addresses[lane] = values[lane] + offset;
  } else {
    const uint32_t* const values = strand.lanes<uint32_t>(base);
    for (size_t lane = 0; lane < kWarpLanes; ++lane)  // wrap at 32 bits
      addresses[lane] = static_cast<uint32_t>(values[lane] + offset);
  }
  uint64_t least = ~0ull, greatest = 0, low_bits = 0;
  const auto include = [&](uint64_t address) {
    least = std::min(least, address);
    greatest = std::max(greatest, address);
    low_bits |= address;
  };
  if (active == kAllLanes) {
    for (const uint64_t address : addresses) include(address);
  } else {
    for (const int lane : lanes_of(active)) include(addresses[static_cast<size_t>(lane)]);
  }
  AddressSpace space = written;
  if (space == AddressSpace::generic) {
    space = space_of_generic(least);
    if (space != space_of_generic(greatest)) space = AddressSpace::generic;
  }
  const bool one_range =
      greatest - least < (1ull << kSharedRankShift) && (low_bits & (bytes - 1)) == 0;
  std::byte* first = nullptr;
  const auto span = static_cast<size_t>(greatest - least) + bytes;
  if (one_range && space != AddressSpace::generic && space != AddressSpace::local) {
    // Lanes may be far apart in different allocations; then only the lane-by-lane check is right.
    const bool global = space != AddressSpace::shared_cta && space != AddressSpace::shared_cluster;
    const Allocation* allocation = global ? strand.cluster->memory().find(least) : nullptr;
    if (!global ||
        (allocation != nullptr && least - allocation->address + span <= allocation->size_bytes))
      first = resolve({strand, instruction, lane_bit(lowest_lane(active))}, written, least,
                      global ? span : bytes, bytes, access);
    // All CTAs of a cluster have the same size.
    if (!global && (least & kSharedOffsetMask) + span > strand.cta->shared.size()) first = nullptr;
  }
  out.base = nullptr;
  if (first != nullptr && active == kAllLanes) {
    uint64_t difference = 0;  // from addresses one after the other
    for (size_t lane = 0; lane < kWarpLanes; ++lane)
      difference |= addresses[lane] - (least + lane * bytes);
    if (difference == 0 || least == greatest) {
      out.base = first;
      out.stride_bytes = difference == 0 ? bytes : 0;
    }
  }
  if (out.base == nullptr && first != nullptr) {
    // For the other lanes as well, whose results are unused: so it is a vector loop.
    const auto origin = static_cast<uintptr_t>(reinterpret_cast<uintptr_t>(first) - least);
    for (size_t lane = 0; lane < kWarpLanes; ++lane)
      out.own[lane] =
          reinterpret_cast<std::byte*>(static_cast<uintptr_t>(origin + addresses[lane]));
  } else if (out.base == nullptr) {
    for (const int lane : lanes_of(active))
      out.own[lane] = resolve({strand, instruction, lane_bit(lane)}, written,
                              addresses[static_cast<size_t>(lane)], bytes, bytes, access);
  }
  if (first != nullptr && space != AddressSpace::global && space != AddressSpace::constant &&
      space != AddressSpace::param)
    check_contents(strand, instruction, active, bytes, access, {first, span}, out);
  if (access == Access::write && (space == AddressSpace::global || space == AddressSpace::generic))
    check_maps(strand, instruction, active, bytes, addresses);
  notify_access(strand, instruction, active, written, access, false, bytes, addresses);
  return space;
}

}  // namespace bw::sim
