/// \file
/// tcgen05.cp: from shared memory to Tensor Memory, in the tensor core's queue.
#include <algorithm>
#include <array>
#include <string>

#include <fmt/core.h>

#include "common/simulator/clock/costs.hpp"
#include "common/simulator/machine/address_space.hpp"
#include "common/simulator/units/families.hpp"
#include "common/simulator/units/tensor_core/operand_contents.hpp"
#include "common/simulator/units/tensor_core/tcgen05_forms.hpp"
#include "common/simulator/units/tensor_core/tensor_core.hpp"
#include "common/simulator/units/tensor_core/tensor_memory.hpp"
#include "common/simulator/units/units.hpp"

namespace bw::sim::tcgen05 {
namespace {

/// Shapes of tcgen05.cp and where each block of 32 rows goes (bit q: lanes 32 q ... 32 q + 31).
struct ShapeInfo {
  std::string_view shape, multicast;
  uint32_t rows, row_bytes;
  std::array<uint8_t, 4> quarters;
  bool one_row_a_quarter;
};
constexpr std::array kShapes = {
    ShapeInfo{"128x256b", "", 128, 32, {1, 2, 4, 8}, false},
    ShapeInfo{"128x128b", "", 128, 16, {1, 2, 4, 8}, false},
    ShapeInfo{"4x256b", "", 4, 32, {}, true},
    ShapeInfo{"64x128b", "warpx2::02_13", 64, 16, {0b0101, 0b1010, 0, 0}, false},
    ShapeInfo{"64x128b", "warpx2::01_23", 64, 16, {0b0011, 0b1100, 0, 0}, false},
    ShapeInfo{"32x128b", "warpx4", 32, 16, {0b1111, 0, 0, 0}, false},
};

/// A decoded copy: what of the operation is fixed. Operands: address, descriptor.
struct Form {
  CopyOperation operation;
};

Flow execute_copy(Strand& strand, const Instruction& i, LaneMask active) {
  const Form& form = *static_cast<const Form*>(i.detail);
  Cta& cta = *strand.cta;
  const int group = form.operation.group;
  require_issuer(strand, i, active, group);
  for (const int lane : lanes_of(active)) {
    const LaneMask thread = lane_bit(lane);
    CopyOperation copy = form.operation;
    copy.destination = TensorAddress::decode(static_cast<uint32_t>(
        strand.value(i.operands[0], lane) + static_cast<uint64_t>(i.immediate)));
    const uint32_t lanes_to_start_at = copy.one_row_a_quarter ? uint32_t{kWarpLanes} : 1u;
    const uint32_t on_hardware = copy.destination.lane % TensorMemory::kLanes;
    if (!strand.cluster->at_isa_level()) copy.destination.lane = on_hardware;
    if (copy.destination.lane >= lanes_to_start_at)
      Site{strand, i, thread}.fault(
          {.code = FaultCode::tmem_lane_alignment,
           .what =
               fmt::format("invalid datapath (lane) alignment: the destination starts at lane {}",
                           copy.destination.lane),
           .rule = "the copy fills the lanes that its shape names",
           .fix = copy.one_row_a_quarter ? "start at one of lanes 0 to 31" : "start at lane 0",
           .hardware_accepts = on_hardware < lanes_to_start_at});
    const uint64_t bits = strand.value(i.operands[1], lane);
    if (const auto problem = check_matrix_descriptor(bits)) Site{strand, i, thread}.fault(*problem);
    copy.source = decode_matrix_descriptor(bits);
    // Bytes count as elements here: the copy moves whole rows of 16 or 32 bytes.
    if (!matrix_in_bounds(copy.source, Major::k, std::max(copy.rows, 8u), copy.row_bytes, 1,
                          cta.shared.size(), kReservedSharedBytes))
      Site{strand, i, thread}.fault(
          {.code = FaultCode::matrix_out_of_bounds,
           .what = fmt::format("out of bounds: the source matrix of {} rows from shared address {} "
                               "reaches outside of the CTA's shared memory",
                               copy.rows, copy.source.start_bytes),
           .rule = "the matrix is in the CTA's shared memory",
           .fix = "check start address and offsets (in bytes >> 4)",
           .section = "Shared memory descriptor"});
    const uint32_t columns = copy.row_bytes / sizeof(uint32_t);
    for (uint32_t member = 0; member < static_cast<uint32_t>(group); ++member) {
      TensorMemory& memory = units_of(strand.cluster->cta(cta.rank + member)).tensor_memory;
      memory.require_allocated(strand, i, thread, copy.destination.column, columns);
      memory.mark_written(0, TensorMemory::kLanes, copy.destination.column, columns);
    }
    require_rows_written({strand, i, thread}, cta.rank, static_cast<uint32_t>(group),
                         {"a matrix", copy.source, Major::k, copy.rows, 1, copy.row_bytes},
                         "this copies");
    units_of(cta).tensor_core.enqueue(strand.time, strand.origin(i, lane_bit(lane)), copy);
  }
  return Flow::next;
}

void bind_copy(Binder& binder) {
  binder.expect_count(2, 2);
  const std::string_view shape = binder.modifiers.get("shape");
  const std::string_view multicast = binder.modifiers.get("multicast");
  const auto info = std::find_if(kShapes.begin(), kShapes.end(), [&](const ShapeInfo& candidate) {
    return candidate.shape == shape && candidate.multicast == multicast;
  });
  if (info == kShapes.end())
    binder.refuse("combines a shape with a multicast that it does not have",
                  "64x128b takes .warpx2::02_13 or .warpx2::01_23, 32x128b takes .warpx4, the "
                  "others none");
  const bool to_bytes = binder.modifiers.has("b8x16");
  const std::string_view format = binder.modifiers.get("format");
  if (to_bytes != !format.empty())
    binder.refuse("needs both .b8x16 and a source format, or neither", "");
  Form form;
  form.operation.group = cta_group_of(binder);
  form.operation.rows = info->rows;
  form.operation.row_bytes = info->row_bytes;
  form.operation.quarters = info->quarters;
  form.operation.one_row_a_quarter = info->one_row_a_quarter;
  form.operation.element_bits = format == "b6x16_p32" ? 6 : format == "b4x16_p64" ? 4 : 8;
  binder.address(binder.ptx_operand(0));
  binder.source_value(binder.ptx_operand(1), ptx::ScalarType::b64);
  binder.detail(form);
  binder.out.execute = execute_copy;
}

constexpr InstructionForm kCopyRows[] = {
    {.base = "tcgen05.cp",
     .modifiers =
         "group=cta_group::1|cta_group::2 shape=128x256b|4x256b|128x128b|64x128b|32x128b "
         "[multicast=warpx2::02_13|warpx2::01_23|warpx4] [b8x16] [format=b6x16_p32|b4x16_p64]",
     .bind = bind_copy,
     .effect = Effect::cluster,
     .cycles = costs::kMmaIssue,
     .section = "tcgen05.cp",
     .destinations = 0,
     .unit = Unit::tensor_core,
     .machines = kOnBlackwell},
};

}  // namespace

Rows copy_rows() { return kCopyRows; }

}  // namespace bw::sim::tcgen05
