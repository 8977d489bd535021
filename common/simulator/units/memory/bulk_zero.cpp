/// \file
/// st.bulk: a thread fills a region of shared memory with zeros.
#include <algorithm>
#include <cstdint>
#include <cstring>

#include <fmt/core.h>

#include "common/simulator/base/bits.hpp"
#include "common/simulator/clock/costs.hpp"
#include "common/simulator/machine/address_space.hpp"
#include "common/simulator/machine/binder.hpp"
#include "common/simulator/machine/execution.hpp"
#include "common/simulator/units/families.hpp"
#include "common/simulator/units/memory/access_events.hpp"

namespace bw::sim {
namespace {

constexpr uint64_t kGranuleBytes = 8;

/// Operands: address, size.
Flow fill(Strand& strand, const Instruction& instruction, LaneMask active) {
  const auto space = static_cast<AddressSpace>(instruction.flags);
  for (const int lane : lanes_of(active)) {
    const Site site{strand, instruction, lane_bit(lane)};
    const uint64_t address =
        lane_address(strand, instruction.operands[0], instruction.immediate, lane);
    // (More than any memory has is too much, however much it is.)
    const auto bytes = static_cast<size_t>(
        std::min<uint64_t>(strand.value(instruction.operands[1], lane), SIZE_MAX / 16 * 8));
    if (!is_aligned(bytes, kGranuleBytes))
      site.fault({.code = FaultCode::bulk_size,
                  .what = fmt::format("a region of {} bytes", bytes),
                  .rule = "the size is a multiple of 8",
                  .fix = "round the size up and pad the region"});
    if (space == AddressSpace::generic && space_of_generic(address) != AddressSpace::shared_cluster)
      site.fault({.code = FaultCode::not_shared_address,
                  .what = "the generic address is not in shared memory",
                  .rule = "the address falls within the .shared::cta window",
                  .fix = "pass an address of shared memory"});
    if (bytes == 0) continue;
    std::memset(resolve(site, space, address, bytes, kGranuleBytes, Access::write), 0, bytes);
    LaneAddresses addresses{};
    addresses[static_cast<size_t>(lane)] = address;
    notify_access(strand, instruction, lane_bit(lane), space, Access::write, false, bytes,
                  addresses);
  }
  strand.cluster->note_progress();
  return Flow::next;
}

void bind_fill(Binder& binder) {
  binder.expect_count(3, 3);
  binder.address(binder.ptx_operand(0));
  binder.source_value(binder.ptx_operand(1), ptx::ScalarType::u64);
  if (binder.immediate(binder.ptx_operand(2)) != 0)
    binder.refuse("fills with another value than 0", "0 is the only value that PTX allows");
  binder.out.flags = static_cast<uint8_t>(
      binder.modifiers.has("shared::cta") ? AddressSpace::shared_cta : AddressSpace::generic);
  binder.out.execute = fill;
}

constexpr InstructionForm kBulkZeroRows[] = {
    {.base = "st.bulk",
     .modifiers = "[weak] [shared::cta]",
     .bind = bind_fill,
     .effect = Effect::cluster,
     .cycles = costs::kSharedAccess,
     .section = "st.bulk",
     .destinations = 0,
     .unit = Unit::bulk_fill,
     .memory = Memory::fill},
};

}  // namespace

Rows bulk_zero_rows() { return kBulkZeroRows; }

}  // namespace bw::sim
