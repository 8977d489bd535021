/// \file
/// tcgen05.shift: moves rows of Tensor Memory, in the tensor core's queue.
#include <string>

#include <fmt/core.h>

#include "common/simulator/clock/costs.hpp"
#include "common/simulator/units/families.hpp"
#include "common/simulator/units/tensor_core/tcgen05_forms.hpp"
#include "common/simulator/units/tensor_core/tensor_core.hpp"
#include "common/simulator/units/tensor_core/tensor_memory.hpp"
#include "common/simulator/units/units.hpp"

namespace bw::sim::tcgen05 {
namespace {

// Operand: address. Instruction::flags: the cta_group.
Flow execute_shift(Strand& strand, const Instruction& i, LaneMask active) {
  Cta& cta = *strand.cta;
  const int group = i.flags;
  require_issuer(strand, i, active, group);
  for (const int lane : lanes_of(active)) {
    const LaneMask thread = lane_bit(lane);
    const auto address = static_cast<uint32_t>(strand.value(i.operands[0], lane) +
                                               static_cast<uint64_t>(i.immediate));
    const ShiftOperation shift{group, TensorAddress::decode(address)};
    if (shift.matrix.lane % ShiftOperation::kRows != 0 || shift.matrix.lane >= TensorMemory::kLanes)
      Site{strand, i, thread}.fault(
          {.code = FaultCode::tmem_lane_alignment,
           .what = fmt::format("invalid datapath (lane) alignment: the matrix starts at lane {}",
                               shift.matrix.lane),
           .rule = "the lane of taddr must be aligned to 32",
           .fix = "start at lane 0, 32, 64 or 96"});
    for (uint32_t member = 0; member < static_cast<uint32_t>(group); ++member) {
      const TensorMemory& memory = units_of(strand.cluster->cta(cta.rank + member)).tensor_memory;
      memory.require_allocated(strand, i, thread, shift.matrix.column, ShiftOperation::kColumns);
    }
    units_of(cta).tensor_core.enqueue(strand.time, strand.origin(i, lane_bit(lane)), shift);
  }
  return Flow::next;
}

void bind_shift(Binder& binder) {
  binder.expect_count(1, 1);
  binder.address(binder.ptx_operand(0));
  binder.out.flags = static_cast<uint8_t>(cta_group_of(binder));
  binder.out.execute = execute_shift;
}

constexpr InstructionForm kRows[] = {
    {.base = "tcgen05.shift",
     .modifiers = "group=cta_group::1|cta_group::2 down",
     .bind = bind_shift,
     .effect = Effect::cluster,
     .cycles = costs::kMmaIssue,
     .section = "tcgen05.shift",
     .destinations = 0,
     .unit = Unit::tensor_core,
     .machines = kOnBlackwell},
};

}  // namespace

Rows shift_rows() { return kRows; }

}  // namespace bw::sim::tcgen05
