/// \file
/// fence and membar (PTX ISA 9.0, "membar, fence").
///
/// Threads and units of this machine see one memory in the order of simulated time, so a fence
/// moves no data and only costs time (with a timing model: by its scope). The forms are decoded
/// strictly: which proxy and scope a fence orders is what a race checker looks at.
#include "common/simulator/units/synchronisation/fence.hpp"
#include "common/simulator/clock/costs.hpp"
#include "common/simulator/machine/address_space.hpp"
#include "common/simulator/machine/binder.hpp"
#include "common/simulator/machine/execution.hpp"
#include "common/simulator/units/families.hpp"
#include "common/simulator/units/units.hpp"

namespace bw::sim {
namespace {

constexpr size_t kTensorMapBytes = 128;

/// Tells observers. The kind is in Instruction::flags.
void notify(const Strand& strand, const Instruction& instruction, uint64_t address = 0) {
  if (!strand.cluster->observed(EventKind::fence)) return;
  strand.cluster->notify(&Observer::on_fence,
                         FenceEvent{static_cast<FenceKind>(instruction.flags),
                                    strand.origin(instruction), strand.time, address});
}

/// What a fence takes beyond its issue.
Cycle fence_cycles(const Strand& strand, const Instruction& instruction) {
  const Costs& costs = strand.cluster->costs();
  switch (static_cast<FenceKind>(instruction.flags)) {
    case FenceKind::mbarrier_init:
      return 0;
    case FenceKind::thread:
    case FenceKind::proxy_tensormap:
      return costs.fence(instruction.scope);
    default:
      return costs.proxy_fence();
  }
}

Flow fence(Strand& strand, const Instruction& instruction, LaneMask) {
  notify(strand, instruction);
  strand.time += fence_cycles(strand, instruction);
  return Flow::next;
}

/// What a form orders; the forms of `fence` and `membar` differ in their modifiers alone.
FenceKind kind_of(const Modifiers& modifiers) {
  if (modifiers.has("alias")) return FenceKind::proxy_alias;
  if (modifiers.has("async")) return FenceKind::proxy_async;
  if (modifiers.has("tensormap::generic")) return FenceKind::proxy_tensormap;
  if (modifiers.has("async::generic")) return FenceKind::proxy_async_generic;
  const bool restricted = modifiers.has("sync_restrict::shared::cta");
  return modifiers.has("release") && !restricted ? FenceKind::mbarrier_init : FenceKind::thread;
}

void bind_fence(Binder& binder) {
  binder.expect_count(0, 0);
  binder.out.flags = static_cast<uint8_t>(kind_of(binder.modifiers));
  // See fences_reads_alone().
  binder.out.immediate = binder.modifiers.has("sync_restrict::shared::cluster::read") ? 1 : 0;
  binder.out.execute = fence;
}

Flow tensormap_acquire(Strand& strand, const Instruction& instruction, LaneMask active) {
  uint64_t first = 0;
  for (const int lane : lanes_of(active)) {
    const uint64_t address =
        lane_address(strand, instruction.operands[0], instruction.immediate, lane);
    if (space_of_generic(address) != AddressSpace::global) {
      Site{strand, instruction, lane_bit(lane)}.fault(
          {.code = FaultCode::not_global_address,
           .what = "the fenced range is not in global memory",
           .rule = "the address is generic and must fall within the .global state space",
           .fix = "copy the tensor map to global memory and fence it there"});
    }
    static_cast<void>(
        resolve_global({strand, instruction, kAllLanes}, address, kTensorMapBytes, Access::read));
    units_of(*strand.cluster).tensor_maps.fence(address);
    if (lane == lowest_lane(active)) first = address;
  }
  notify(strand, instruction, first);
  strand.time += fence_cycles(strand, instruction);
  return Flow::next;
}

void bind_tensormap_acquire(Binder& binder) {
  binder.expect_count(2, 2);
  binder.address(binder.ptx_operand(0));
  if (binder.immediate(binder.ptx_operand(1)) != static_cast<int64_t>(kTensorMapBytes))
    binder.refuse("has a size other than 128", "128 is the only size that PTX allows");
  binder.out.flags = static_cast<uint8_t>(FenceKind::proxy_tensormap);
  binder.out.execute = tensormap_acquire;
}

constexpr InstructionForm row(std::string_view base, std::string_view modifiers,
                              BindFunction bind = bind_fence, Ordering ordering = Ordering::fence,
                              Crossing crossing = Crossing::arithmetic) {
  return {.base = base,
          .modifiers = modifiers,
          .bind = bind,
          .effect = Effect::warp,
          .cycles = costs::kFence,
          .section = "membar, fence",
          .destinations = 0,
          .ordering = ordering,
          .crossing = crossing};
}

constexpr InstructionForm membar(std::string_view base, std::string_view modifiers,
                                 Ordering ordering) {
  return row(base, modifiers, bind_fence, ordering, Crossing::closed);
}

constexpr InstructionForm kFenceRows[] = {
    row("fence", "[sem=sc|acq_rel|acquire|release] scope=cta|cluster|gpu|sys"),
    row("fence", "acquire sync_restrict::shared::cluster cluster"),
    row("fence", "release sync_restrict::shared::cta cluster"),
    row("fence", "alias sync_restrict::read release sys"),
    row("fence.mbarrier_init", "release cluster"),
    row("fence.proxy", "alias"),
    row("fence.proxy", "alias sem=acquire|release sys"),
    row("fence.proxy", "async [space=global|shared::cta|shared::cluster]"),
    row("fence.proxy", "tensormap::generic release scope=cta|cluster|gpu|sys"),
    row("fence.proxy", "tensormap::generic acquire scope=cta|cluster|gpu|sys",
        bind_tensormap_acquire),
    row("fence.proxy", "async::generic acquire sync_restrict::shared::cluster cluster"),
    row("fence.proxy", "async::generic release sync_restrict::shared::cta cluster"),
    row("fence.proxy",
        "async::generic release sync_restrict::shared::cluster::read scope=cta|cluster"),
    membar("membar", "level=cta|gl|sys", Ordering::full_fence),
    membar("membar.proxy", "alias", Ordering::fence),
    membar("membar.proxy", "async [space=global|shared::cta|shared::cluster]", Ordering::fence),
};

}  // namespace

Rows fence_rows() { return kFenceRows; }

}  // namespace bw::sim
