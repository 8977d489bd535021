/// \file
/// tcgen05.mma, dense, without block scaling: checks the operands and hands them to the tensor
/// core.
#include <string>

#include <fmt/core.h>

#include "common/simulator/machine/address_space.hpp"
#include "common/simulator/machine/costs.hpp"
#include "common/simulator/units/families.hpp"
#include "common/simulator/units/tensor_core/tcgen05_forms.hpp"
#include "common/simulator/units/tensor_core/tensor_core.hpp"
#include "common/simulator/units/tensor_core/tensor_memory.hpp"
#include "common/simulator/units/units.hpp"

namespace bw::sim::tcgen05 {
namespace {

constexpr uint32_t kTensorMemoryAColumns = kMmaKBytes / sizeof(uint32_t);
constexpr uint32_t kLargestScaleExponent = 15;

/// A decoded tcgen05.mma. Operands: D address, A (descriptor or address), B descriptor, instruction
/// descriptor, enable-input-d, then the words of disable-output-lane.
struct Form {
  MmaKind kind = MmaKind::f16;
  int group = 1;
  bool a_in_tensor_memory = false;
  uint32_t disable_words = 0;
  uint32_t scale_exponent = 0;
  int64_t d_displacement = 0, a_displacement = 0;
};
constexpr int kD = 0, kA = 1, kB = 2, kDescriptor = 3, kEnable = 4, kDisable = 5;

/// A lane that D or A may start at: 0, and 16 too for M = 64.
uint32_t checked_lane(const Strand& strand, const Instruction& i, int lane, uint32_t matrix_lane,
                      const MmaOperation& mma, const char* matrix) {
  const bool may_be_16 = mma.group == 1 && mma.shape.m == 64;
  const auto is_valid = [=](uint32_t first) { return first == 0 || (may_be_16 && first == 16); };
  const uint32_t on_hardware = matrix_lane % TensorMemory::kLanes;
  if (!strand.cluster->at_isa_level()) matrix_lane = on_hardware;
  if (is_valid(matrix_lane)) return matrix_lane;
  Site{strand, i, lane_bit(lane)}.fault(
      {.what = fmt::format("invalid datapath (lane) alignment: {} starts at lane {} with M = {}",
                           matrix, matrix_lane, mma.shape.m),
       .rule = "the layout says in which lanes A and D lie",
       .fix = std::string("start at lane 0") + (may_be_16 ? " or 16" : ""),
       .section = "Data Path Layout Organization",
       .hardware_accepts = is_valid(on_hardware)});
}

void check_shared_operand(Strand& strand, const Instruction& i, int lane, uint64_t bits,
                          const MatrixDescriptor& descriptor, Major major, MmaFormat format,
                          uint32_t rows, const char* matrix) {
  if (auto problem = check_matrix_descriptor(bits)) {
    problem->what = std::string(matrix) + ": " + problem->what;
    Site{strand, i, lane_bit(lane)}.fault(*problem);
  }
  const uint32_t bytes = container_bytes(format);
  if (matrix_in_bounds(descriptor, major, rows, kMmaKBytes / bytes, bytes,
                       strand.cta->shared.size(), kReservedSharedBytes))
    return;
  Site{strand, i, lane_bit(lane)}.fault(
      {.what =
           fmt::format("out of bounds: {} of {} rows from shared address {} with leading offset {} "
                       "and stride offset {} reaches outside of the CTA's {} bytes of shared "
                       "memory (the first {} are reserved)",
                       matrix, rows, descriptor.start_bytes, descriptor.leading_bytes,
                       descriptor.stride_bytes, strand.cta->shared.size(), kReservedSharedBytes),
       .rule = "the matrix lies in the CTA's shared memory",
       .fix = "check start address, offsets (in bytes >> 4) and the size of the tile",
       .section = "Shared memory descriptor"});
}

/// One thread's MMA, checked.
MmaOperation operation_of(Strand& strand, const Instruction& i, const Form& form, int lane) {
  MmaOperation mma;
  const auto idesc = static_cast<uint32_t>(strand.value(i.operands[kDescriptor], lane));
  if (const auto problem = check_instruction_descriptor(idesc, form.kind, form.group))
    Site{strand, i, lane_bit(lane)}.fault(*problem);
  mma.shape = decode_instruction_descriptor(idesc, form.kind);
  mma.group = form.group;
  mma.accumulate = (strand.predicate(i.operands[kEnable]) >> lane & 1u) != 0;
  mma.scale_d_exponent = form.scale_exponent;
  for (uint32_t word = 0; word < form.disable_words; ++word) {
    mma.disabled_lanes[word] =
        static_cast<uint32_t>(strand.value(i.operands[kDisable + word], lane));
    mma.any_disabled |= mma.disabled_lanes[word] != 0;
  }
  const auto group = static_cast<uint32_t>(form.group);
  const uint32_t a_rows = mma.shape.m / group, b_rows = mma.shape.n / group;

  const auto d_bits = static_cast<uint32_t>(strand.value(i.operands[kD], lane) +
                                            static_cast<uint64_t>(form.d_displacement));
  mma.d = TensorAddress::decode(d_bits);
  mma.d.lane = checked_lane(strand, i, lane, mma.d.lane, mma, "D");
  const uint64_t a_bits = strand.value(i.operands[kA], lane);
  if (form.a_in_tensor_memory) {
    mma.a_in_tensor_memory = true;
    mma.a_address = TensorAddress::decode(
        static_cast<uint32_t>(a_bits + static_cast<uint64_t>(form.a_displacement)));
    mma.a_address.lane = checked_lane(strand, i, lane, mma.a_address.lane, mma, "A");
    if (mma.shape.a_major != Major::k)
      Site{strand, i, lane_bit(lane)}.fault(
          {.what =
               "the instruction descriptor says that A is MN-major, but A lies in Tensor Memory",
           .rule = "A in Tensor Memory is K-major",
           .fix = "clear bit 15"});
  } else {
    mma.a = decode_matrix_descriptor(a_bits);
    check_shared_operand(strand, i, lane, a_bits, mma.a, mma.shape.a_major, mma.shape.a_format,
                         a_rows, "A");
  }
  const uint64_t b_bits = strand.value(i.operands[kB], lane);
  mma.b = decode_matrix_descriptor(b_bits);
  check_shared_operand(strand, i, lane, b_bits, mma.b, mma.shape.b_major, mma.shape.b_format,
                       b_rows, "B");
  return mma;
}

Flow execute_mma(Strand& strand, const Instruction& i, LaneMask active) {
  const Form& form = *static_cast<const Form*>(i.detail);
  Cta& cta = *strand.cta;
  require_issuer(strand, i, active, form.group);
  for (const int lane : lanes_of(active)) {
    const MmaOperation mma = operation_of(strand, i, form, lane);
    const bool halves = mma.group == 2 && mma.shape.m == 128;
    const uint32_t columns = halves ? mma.shape.n / 2 : mma.shape.n;
    for (uint32_t member = 0; member < static_cast<uint32_t>(form.group); ++member) {
      TensorMemory& memory = units_of(strand.cluster->cta(cta.rank + member)).tensor_memory;
      const LaneMask thread = lane_bit(lane);
      memory.require_allocated(strand, i, thread, mma.d.column, columns);
      if (mma.accumulate)
        memory.require_written(strand, i, thread, 0, TensorMemory::kLanes, mma.d.column, columns);
      if (mma.a_in_tensor_memory) {
        memory.require_allocated(strand, i, thread, mma.a_address.column, kTensorMemoryAColumns);
        memory.require_written(strand, i, thread, 0, TensorMemory::kLanes, mma.a_address.column,
                               kTensorMemoryAColumns);
      }
      memory.mark_written(0, TensorMemory::kLanes, mma.d.column, columns);
    }
    units_of(cta).tensor_core.enqueue(strand.time, strand.origin(i, lane_bit(lane)), mma);
  }
  return Flow::next;
}

MmaKind kind_of(std::string_view modifier) {
  if (modifier == "kind::tf32") return MmaKind::tf32;
  if (modifier == "kind::f8f6f4") return MmaKind::f8f6f4;
  if (modifier == "kind::i8") return MmaKind::i8;
  return MmaKind::f16;
}

void bind_mma(Binder& binder) {
  constexpr size_t kFewest = 5, kMost = 7;
  binder.expect_count(kFewest, kMost);
  Form form;
  form.kind = kind_of(binder.modifiers.get("kind"));
  form.group = cta_group_of(binder);
  binder.address(binder.ptx_operand(0));
  form.d_displacement = binder.out.immediate;
  const ptx::Operand& a = binder.ptx_operand(1);
  form.a_in_tensor_memory = a.kind == ptx::Operand::Kind::address;
  if (form.a_in_tensor_memory) {
    binder.address(a);
    form.a_displacement = binder.out.immediate - form.d_displacement;
  } else {
    binder.source_value(a, ptx::ScalarType::b64);
  }
  binder.source_value(binder.ptx_operand(2), ptx::ScalarType::b64);
  binder.source_value(binder.ptx_operand(3), ptx::ScalarType::b32);
  size_t next = 4;
  const bool disables = binder.ptx_operand(next).kind == ptx::Operand::Kind::vector;
  if (disables) ++next;
  binder.source_predicate(binder.ptx_operand(next++));
  if (disables) {
    form.disable_words =
        static_cast<uint32_t>(binder.source_vector(binder.ptx_operand(4), ptx::ScalarType::b32));
    const uint32_t expected = form.group == 1 ? 4 : 8;
    if (form.disable_words != expected)
      binder.refuse(fmt::format("has {} words of disable-output-lane; cta_group::{} takes {}",
                                form.disable_words, form.group, expected),
                    "give one bit for each lane of Tensor Memory");
  }
  if (next < binder.count()) {
    if (form.kind != MmaKind::f16 && form.kind != MmaKind::tf32)
      binder.refuse("has scale-input-d, which only kind::f16 and kind::tf32 take", "leave it out");
    const int64_t exponent = binder.immediate(binder.ptx_operand(next++));
    if (exponent < 0 || exponent > kLargestScaleExponent)
      binder.refuse(fmt::format("has scale-input-d {}; allowed are 0 to 15", exponent), "");
    form.scale_exponent = static_cast<uint32_t>(exponent);
  }
  if (next != binder.count()) binder.refuse("has operands that its form does not take", "");
  binder.detail(form);
  binder.out.execute = execute_mma;
}

constexpr OpcodeRow kRows[] = {
    {.base = "tcgen05.mma",
     .modifiers = "group=cta_group::1|cta_group::2 "
                  "kind=kind::f16|kind::tf32|kind::f8f6f4|kind::i8 "
                  "[collector=collector::a::fill|collector::a::use|collector::a::lastuse|"
                  "collector::a::discard]",
     .bind = bind_mma,
     .effect = Effect::cluster,
     .cycles = costs::kMmaIssue,
     .section = "tcgen05.mma"},
};

}  // namespace

Rows mma_rows() { return kRows; }

}  // namespace bw::sim::tcgen05
