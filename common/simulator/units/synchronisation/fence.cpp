/// \file
/// fence and membar (PTX ISA 9.0, "membar, fence").
///
/// Threads and units of this machine see one memory in the order of simulated time, so a fence
/// moves no data and only costs time. The forms are decoded strictly: which proxy and scope a fence
/// orders is what a race checker looks at.
#include <array>

#include "common/simulator/machine/address_space.hpp"
#include "common/simulator/machine/costs.hpp"
#include "common/simulator/machine/execution.hpp"
#include "common/simulator/machine/opcode_table.hpp"

namespace bw::sim {
namespace {

constexpr size_t kTensorMapBytes = 128;

Flow fence(Strand&, const Instruction&, LaneMask) { return Flow::next; }

void bind_fence(Binder& binder) {
  binder.expect_count(0, 0);
  binder.out.execute = fence;
}

Flow tensormap_acquire(Strand& strand, const Instruction& instruction, LaneMask active) {
  for (LaneMask rest = active; rest != 0; rest &= rest - 1) {
    const int lane = lowest_lane(rest);
    const uint64_t address =
        lane_address(strand, instruction.operands[0], instruction.immediate, lane);
    if (space_of_generic(address) != AddressSpace::global) {
      strand.fault(instruction, FaultKind::contract, 1u << lane,
                   "the fenced range does not lie in global memory",
                   "the address is generic and must fall within the .global state space (PTX ISA, "
                   "\"membar, fence\")",
                   "copy the tensor map to global memory and fence it there");
    }
    static_cast<void>(resolve_global(strand, instruction, address, kTensorMapBytes, Access::read));
  }
  return Flow::next;
}

void bind_tensormap_acquire(Binder& binder) {
  binder.expect_count(2, 2);
  binder.address(binder.ptx_operand(0));
  if (binder.immediate(binder.ptx_operand(1)) != static_cast<int64_t>(kTensorMapBytes))
    binder.refuse("has a size other than 128", "128 is the only size that PTX allows");
  binder.out.execute = tensormap_acquire;
}

constexpr std::string_view kSection = "membar, fence";
constexpr auto kCost = costs::kFence;

constexpr std::array kRows = {
    OpcodeRow{"fence", "[sem=sc|acq_rel|acquire|release] scope=cta|cluster|gpu|sys", bind_fence,
              false, kCost, kSection},
    OpcodeRow{"fence", "acquire sync_restrict::shared::cluster cluster", bind_fence, false, kCost,
              kSection},
    OpcodeRow{"fence", "release sync_restrict::shared::cta cluster", bind_fence, false, kCost,
              kSection},
    OpcodeRow{"fence.mbarrier_init", "release cluster", bind_fence, false, kCost, kSection},
    OpcodeRow{"fence.proxy", "alias", bind_fence, false, kCost, kSection},
    OpcodeRow{"fence.proxy", "async [space=global|shared::cta|shared::cluster]", bind_fence, false,
              kCost, kSection},
    OpcodeRow{"fence.proxy", "tensormap::generic release scope=cta|cluster|gpu|sys", bind_fence,
              false, kCost, kSection},
    OpcodeRow{"fence.proxy", "tensormap::generic acquire scope=cta|cluster|gpu|sys",
              bind_tensormap_acquire, false, kCost, kSection},
    OpcodeRow{"fence.proxy", "async::generic acquire sync_restrict::shared::cluster cluster",
              bind_fence, false, kCost, kSection},
    OpcodeRow{"fence.proxy", "async::generic release sync_restrict::shared::cta cluster",
              bind_fence, false, kCost, kSection},
    OpcodeRow{"membar", "level=cta|gl|sys", bind_fence, false, kCost, kSection},
    OpcodeRow{"membar.proxy", "alias", bind_fence, false, kCost, kSection},
    OpcodeRow{"membar.proxy", "async [space=global|shared::cta|shared::cluster]", bind_fence, false,
              kCost, kSection},
};

}  // namespace

std::span<const OpcodeRow> fence_rows() { return kRows; }

}  // namespace bw::sim
