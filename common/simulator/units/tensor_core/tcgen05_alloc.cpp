/// \file
/// tcgen05.alloc, tcgen05.dealloc, tcgen05.relinquish_alloc_permit.
#include "common/simulator/base/text.hpp"
#include "common/simulator/clock/costs.hpp"
#include "common/simulator/machine/address_space.hpp"
#include "common/simulator/machine/kernel_builder.hpp"
#include "common/simulator/units/families.hpp"
#include "common/simulator/units/synchronisation/aligned.hpp"
#include "common/simulator/units/tensor_core/tcgen05_forms.hpp"
#include "common/simulator/units/tensor_core/tensor_core.hpp"
#include "common/simulator/units/tensor_core/tensor_memory.hpp"
#include "common/simulator/units/units.hpp"

namespace bw::sim::tcgen05 {
namespace {

constexpr uint8_t kGroupFlags = 3;     // low bits: cta_group
constexpr uint8_t kSharedCtaFlag = 4;  // alloc: the address is written as .shared::cta
constexpr size_t kAddressBytes = 4;

/// The permit and the columns belong to a warp of 32 threads.
void require_whole_warp(const Strand& strand, const Instruction& i, LaneMask active) {
  require_converged(strand, i, active);
  if (strand.warp->live == kAllLanes) return;
  Site{strand, i, active}.fault_at_isa(FaultCode::warp_exited_early, [&] {
    return Fault{.code = FaultCode::warp_exited_early,
                 .what = "only the lanes " + hex_mask(strand.warp->live) +
                         " of the warp are live: the others have ended, or never existed",
                 .rule = "all threads of the warp execute it",
                 .fix = "let the whole warp reach it before any of its threads returns",
                 .hardware_accepts = true};
  });
}

Flow execute_alloc(Strand& strand, const Instruction& i, LaneMask active) {
  if (strand.resumed()) return Flow::next;  // whoever granted the columns has written the address
  require_whole_warp(strand, i, active);
  TensorMemory& memory = units_of(strand).tensor_memory;
  const int group = i.flags & kGroupFlags;
  memory.require_group(strand, i, active, group);
  const int lane = lowest_lane(active);
  const auto columns =
      static_cast<uint32_t>(uniform_value(strand, i, i.operands[1], active, "nCols"));
  const AddressSpace space =
      (i.flags & kSharedCtaFlag) != 0 ? AddressSpace::shared_cta : AddressSpace::generic;
  const uint64_t address = lane_address(strand, i.operands[0], i.immediate, lane);
  const SharedPlace place =
      resolve_shared({strand, i, lane_bit(lane)}, space, address, kAddressBytes, kAddressBytes);
  if (place.cta != strand.cta)
    Site{strand, i, active}.fault({.code = FaultCode::other_cta_memory,
                                   .what = "writes its address into another CTA's shared memory",
                                   .rule = "the destination is in the CTA's own shared memory",
                                   .fix = "pass an address in this CTA"});
  if (memory.allocate(strand, i, active, group, columns, place.offset_bytes)) return Flow::next;
  return strand.block(WaitKind::tcgen05_alloc, columns, static_cast<uint64_t>(group));
}

Flow execute_dealloc(Strand& strand, const Instruction& i, LaneMask active) {
  require_whole_warp(strand, i, active);
  TensorMemory& memory = units_of(strand).tensor_memory;
  memory.require_group(strand, i, active, i.flags & kGroupFlags);
  const auto address = static_cast<uint32_t>(
      uniform_value(strand, i, i.operands[0], active, "the Tensor Memory address"));
  const auto columns =
      static_cast<uint32_t>(uniform_value(strand, i, i.operands[1], active, "nCols"));
  complete_tensor_work(*strand.cta, strand.time);
  memory.deallocate(strand, i, active, address, columns);
  return Flow::next;
}

Flow execute_relinquish(Strand& strand, const Instruction& i, LaneMask active) {
  require_whole_warp(strand, i, active);
  TensorMemory& memory = units_of(strand).tensor_memory;
  memory.require_group(strand, i, active, i.flags & kGroupFlags);
  memory.relinquish(strand, i, active);
  return Flow::next;
}

void bind_alloc(Binder& binder) {
  binder.expect_count(2, 2);
  binder.address(binder.ptx_operand(0));
  binder.source_value(binder.ptx_operand(1), ptx::ScalarType::b32);
  binder.out.flags = static_cast<uint8_t>(cta_group_of(binder));
  if (binder.modifiers.has("shared::cta")) binder.out.flags |= kSharedCtaFlag;
  binder.builder().note_shared_sm();
  binder.out.execute = execute_alloc;
}

void bind_dealloc(Binder& binder) {
  binder.expect_count(2, 2);
  binder.source_value(binder.ptx_operand(0), ptx::ScalarType::b32);
  binder.source_value(binder.ptx_operand(1), ptx::ScalarType::b32);
  binder.out.flags = static_cast<uint8_t>(cta_group_of(binder));
  binder.out.execute = execute_dealloc;
}

void bind_relinquish(Binder& binder) {
  binder.expect_count(0, 0);
  binder.out.flags = static_cast<uint8_t>(cta_group_of(binder));
  binder.out.execute = execute_relinquish;
}

constexpr InstructionForm row(std::string_view base, std::string_view modifiers, BindFunction bind,
                              Lifetime lifetime = Lifetime::none) {
  return {.base = base,
          .modifiers = modifiers,
          .bind = bind,
          .effect = Effect::cluster,
          .cycles = costs::kFence,
          .section = "tcgen05.alloc, tcgen05.dealloc, tcgen05.relinquish_alloc_permit",
          .destinations = 0,
          .unit = Unit::tensor_core,
          .lifetime = lifetime,
          .crossing = Crossing::closed,
          .machines = kOnBlackwell};
}

constexpr InstructionForm kAllocRows[] = {
    row("tcgen05.alloc", "group=cta_group::1|cta_group::2 sync aligned [shared::cta] b32",
        bind_alloc, Lifetime::begins),
    row("tcgen05.dealloc", "group=cta_group::1|cta_group::2 sync aligned b32", bind_dealloc,
        Lifetime::ends),
    row("tcgen05.relinquish_alloc_permit", "group=cta_group::1|cta_group::2 sync aligned",
        bind_relinquish),
};

}  // namespace

Rows alloc_rows() { return kAllocRows; }

}  // namespace bw::sim::tcgen05
