/// \file
/// mma.sync and mma.sp: a warp multiplies matrices that its registers hold.
///
/// Integers and bits are summed exactly, f64 by fused multiply-adds in ascending order of k. Other
/// floats: mma_sync_reals.cpp.
#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>

#include <fmt/core.h>

#include "common/simulator/machine/binder.hpp"
#include "common/simulator/machine/execution.hpp"
#include "common/simulator/units/alu/directed_rounding.hpp"
#include "common/simulator/units/alu/rounding.hpp"
#include "common/simulator/units/families.hpp"
#include "common/simulator/units/synchronisation/aligned.hpp"
#include "common/simulator/units/tensor_core/mma_sync_form.hpp"

namespace bw::sim {
namespace mma_sync {

uint64_t metadata_of_row(const uint32_t* words, const MmaForm& form, int row) {
  const int lanes = form.metadata_bits() / kMetadataBitsOfALane;
  const int first = row % kMmaRowsPerRegister * kLanesOfARow + form.selector * lanes;
  const int half = row / kMmaRowsPerRegister;
  uint64_t bits = 0;
  if (form.a.bits > 8) {
    for (int part = 0; part < lanes; ++part)
      bits |= uint64_t{words[first + part] >> (16 * half) & 0xffff} << (16 * part);
  } else {
    for (int part = 0; part < lanes / 2; ++part)
      bits |= uint64_t{words[first + 2 * part + half]} << (32 * part);
  }
  return bits;
}

namespace {

using ptx::ScalarType;

constexpr int kMaxK = 256;
/// Issue cost: an estimate, no measurement; Hopper's tensor cores need about that for m16n8k16.
constexpr uint16_t kMmaSyncCycles = 16;

/// Element types of A and B by name.
constexpr ElementName kElements[] = {
    {"f16", MmaClass::real, 16, true, MmaFormat::f16},
    {"bf16", MmaClass::real, 16, true, MmaFormat::bf16},
    {"tf32", MmaClass::real, 32, true, MmaFormat::tf32},
    {"e4m3", MmaClass::real, 8, true, MmaFormat::e4m3},
    {"e5m2", MmaClass::real, 8, true, MmaFormat::e5m2},
    {"f64", MmaClass::f64, 64, true},
    {"s8", MmaClass::integer, 8, true},
    {"u8", MmaClass::integer, 8, false},
    {"s4", MmaClass::integer, 4, true},
    {"u4", MmaClass::integer, 4, false},
    {"b1", MmaClass::bit, 1, false},
};

/// In the mode of the RoundingScope.
double fma_in_scope(double a, double b, double c) {
  const Rounding rounding = kHostRounds ? Rounding::nearest_even : RoundingScope::current();
  return rounding == Rounding::nearest_even ? std::fma(a, b, c) : directed::fma(rounding, a, b, c);
}

Flow multiply_doubles(Strand& strand, const Instruction& instruction, LaneMask active) {
  require_converged(strand, instruction, active);
  const MmaForm& form = form_of(instruction);
  std::array<std::array<double, kMaxRows>, kMaxRows> a{};
  std::array<std::array<double, kMaxRows>, kMmaColumns> b{};
  const int row_groups = form.m / kMmaRowsPerRegister;
  const auto values = [&](int operand) {
    return strand.lanes<double>(instruction.operands[operand]);
  };
  for (int r = 0; r < row_groups * form.k / kLanesOfARow; ++r)
    for (int lane = 0; lane < kWarpLanes; ++lane) {
      const FragmentPlace place = place_in_a(form.m, 1, r, lane, 0);
      a[static_cast<size_t>(place.row)][static_cast<size_t>(place.column)] =
          values(form.first_a + r)[lane];
    }
  for (int r = 0; r < form.k / kLanesOfARow; ++r)
    for (int lane = 0; lane < kWarpLanes; ++lane) {
      const FragmentPlace place = place_in_b(1, r, lane, 0);
      b[static_cast<size_t>(place.row)][static_cast<size_t>(place.column)] =
          values(form.first_b + r)[lane];
    }
  const RoundingScope scope(form.rounding);
  for (int i = 0; i < 2 * row_groups; ++i) {
    double* const d = values(i);
    const double* const c = values(form.first_c + i);
    for_lanes(active, [&](int lane) {
      const FragmentPlace place = place_in_c(lane, i);
      double sum = c[lane];
      for (int k = 0; k < form.k; ++k)
        sum = fma_in_scope(a[static_cast<size_t>(place.row)][static_cast<size_t>(k)],
                           b[static_cast<size_t>(place.column)][static_cast<size_t>(k)], sum);
      d[lane] = sum;
    });
  }
  return Flow::next;
}

int32_t signed_code(uint32_t code, const ElementName& element) {
  if (!element.is_signed) return static_cast<int32_t>(code);
  const int shift = kRegisterBits - element.bits;
  return static_cast<int32_t>(code << shift) >> shift;
}

/// Integers and bits.
Flow multiply_integers(Strand& strand, const Instruction& instruction, LaneMask active) {
  require_converged(strand, instruction, active);
  const MmaForm& form = form_of(instruction);
  std::array<std::array<int32_t, kMaxK>, kMaxRows> a{};
  std::array<std::array<int32_t, kMaxK>, kMmaColumns> b{};
  visit_a(strand, instruction, form, [&](int row, int k, uint32_t code) {
    a[static_cast<size_t>(row)][static_cast<size_t>(k)] = signed_code(code, form.a);
  });
  visit_b(strand, instruction, form, [&](int column, int k, uint32_t code) {
    b[static_cast<size_t>(column)][static_cast<size_t>(k)] = signed_code(code, form.b);
  });
  const bool is_bit = form.type_class == MmaClass::bit;
  for (int i = 0; i < 2 * form.m / kMmaRowsPerRegister; ++i) {
    int32_t* const d = strand.lanes<int32_t>(instruction.operands[i]);
    const int32_t* const c = strand.lanes<int32_t>(instruction.operands[form.first_c + i]);
    for_lanes(active, [&](int lane) {
      const FragmentPlace place = place_in_c(lane, i);
      const auto& row = a[static_cast<size_t>(place.row)];
      const auto& column = b[static_cast<size_t>(place.column)];
      int64_t sum = c[lane];
      for (size_t k = 0; k < static_cast<size_t>(form.k); ++k)
        sum += is_bit && form.xor_bits ? row[k] ^ column[k] : row[k] * column[k];
      if (form.satfinite)
        sum = std::clamp<int64_t>(sum, std::numeric_limits<int32_t>::min(),
                                  std::numeric_limits<int32_t>::max());
      d[lane] = static_cast<int32_t>(sum);  // wraps
    });
  }
  return Flow::next;
}

// ---- Binding ----

const ElementName& element_of(const Modifiers& modifiers, size_t nth) {
  const std::string_view name = modifiers.get("ab", nth);
  return *std::find_if(std::begin(kElements), std::end(kElements),
                       [&](const ElementName& element) { return element.name == name; });
}

/// "m16n8k32": M and K.
void set_shape(MmaForm& form, std::string_view shape) {
  const auto number = [&](char letter) {
    int value = 0;
    for (size_t i = shape.find(letter) + 1; i < shape.size() && shape[i] >= '0' && shape[i] <= '9';
         ++i)
      value = 10 * value + (shape[i] - '0');
    return value;
  };
  form.m = number('m');
  form.k = number('k');
}

void expect_registers(const Binder& binder, const char* matrix, size_t given, int needed) {
  if (given == static_cast<size_t>(needed)) return;
  binder.refuse(fmt::format("gives {} registers for {}, which takes {}", given, matrix, needed),
                "give each matrix the registers that the shape's figure shows");
}

/// Registers of a C or D of `values` values a lane.
int registers_of(int values, bool half) { return half ? values / 2 : values; }

void bind_operands(Binder& binder, MmaForm& form) {
  const bool quad = form.type_class == MmaClass::quad;
  const bool wide = form.type_class == MmaClass::f64;
  const ScalarType type = wide ? ScalarType::b64 : ScalarType::b32;
  const int values = quad ? 8 : 2 * form.m / kMmaRowsPerRegister;
  const int a_registers = quad ? 2
                               : form.m / kMmaRowsPerRegister * form.stored_k() /
                                     (kLanesOfARow * form.per_register(form.a));
  const int b_registers = quad ? 2 : form.k / (kLanesOfARow * form.per_register(form.b));
  const size_t d = binder.destination_vector(binder.ptx_operand(0), ptx::size_bytes(type));
  expect_registers(binder, "D", d, registers_of(values, form.half_d));
  const size_t a = binder.source_vector(binder.ptx_operand(1), type);
  expect_registers(binder, "A", a, a_registers);
  const size_t b = binder.source_vector(binder.ptx_operand(2), type);
  expect_registers(binder, "B", b, b_registers);
  const size_t c = binder.source_vector(binder.ptx_operand(3), type);
  expect_registers(binder, "C", c, registers_of(values, form.half_c));
  form.first_a = static_cast<int>(d);
  form.first_b = static_cast<int>(d + a);
  form.first_c = static_cast<int>(d + a + b);
  form.metadata = static_cast<int>(d + a + b + c);
}

/// The metadata and, an immediate, which lanes of each four give it.
void bind_metadata(Binder& binder, MmaForm& form) {
  binder.source_value(binder.ptx_operand(4), ScalarType::b32);
  const int64_t selector = binder.immediate(binder.ptx_operand(5));
  const int selectors = kLanesOfARow / (form.metadata_bits() / kMetadataBitsOfALane);
  if (selector < 0 || selector >= selectors)
    binder.refuse(fmt::format("has the sparsity selector {}; its form takes {}", selector,
                              selectors == 1 ? "0" : fmt::format("0 to {}", selectors - 1)),
                  "name the lanes of each four that hold the metadata");
  form.selector = static_cast<int>(selector);
}

template <bool is_sparse>
void bind_mma(Binder& binder) {
  const Modifiers& modifiers = binder.modifiers;
  binder.expect_count(is_sparse ? 6 : 4, is_sparse ? 6 : 4);
  MmaForm form;
  form.sparse = is_sparse;
  form.a = element_of(modifiers, 0);
  form.b = element_of(modifiers, 1);
  form.type_class = form.a.type_class;
  set_shape(form, modifiers.get("shape"));
  form.half_d = modifiers.get("d") == "f16";
  form.half_c = modifiers.get("c") == "f16";
  form.satfinite = modifiers.has("satfinite");
  form.xor_bits = modifiers.has("xor");
  form.rounding = rounding_from_modifier(modifiers.get("round"));
  if (form.type_class == MmaClass::real && form.m == 8) {
    form.type_class = MmaClass::quad;
    form.a_along_k = modifiers.get("layout", 0) == "row";
    form.b_along_k = modifiers.get("layout", 1) == "col";
  }
  if (form.half_c != form.half_d && form.type_class != MmaClass::quad)
    binder.refuse("has a C of another type than D", "both are .f16, or both .f32");
  bind_operands(binder, form);
  if (is_sparse) bind_metadata(binder, form);
  binder.detail(form);
  switch (form.type_class) {
    case MmaClass::real:
      binder.out.execute = multiply_reals;
      break;
    case MmaClass::quad:
      binder.out.execute = multiply_quads;
      break;
    case MmaClass::f64:
      binder.out.execute = multiply_doubles;
      break;
    default:
      binder.out.execute = multiply_integers;
      break;
  }
}

constexpr InstructionForm row(std::string_view base, std::string_view modifiers,
                              BindFunction bind) {
  return {.base = base,
          .modifiers = modifiers,
          .bind = bind,
          .effect = Effect::warp,
          .cycles = kMmaSyncCycles,
          .cost = Cost{.pipe = Pipe::tensor},
          .section = base == "mma" ? "mma" : "mma.sp"};
}

// In a grammar the types of A and B ("ab") are between those of D and C.

constexpr std::string_view kSparseForms[] = {
    "sync aligned shape=m16n8k16|m16n8k32 row col d=f16|f32 ab*2=f16 c=f16|f32",
    "sync aligned shape=m16n8k16|m16n8k32 row col d=f32 ab*2=bf16 c=f32",
    "sync aligned shape=m16n8k8|m16n8k16 row col d=f32 ab*2=tf32 c=f32",
    "sync aligned shape=m16n8k64 row col d=f32 ab*2=e4m3|e5m2 c=f32",
    "sync aligned shape=m16n8k32|m16n8k64 row col [satfinite] d=s32 ab*2=s8|u8 c=s32",
    "sync aligned shape=m16n8k64|m16n8k128 row col [satfinite] d=s32 ab*2=s4|u4 c=s32",
};

/// Metadata in ascending order are metadata: both bases do the same.
constexpr InstructionForm sparse_row(size_t form) {
  return row("mma.sp", kSparseForms[form], bind_mma<true>);
}
constexpr InstructionForm ordered_row(size_t form) {
  return row("mma.sp::ordered_metadata", kSparseForms[form], bind_mma<true>);
}

constexpr InstructionForm kRows[] = {
    row("mma", "sync aligned shape=m16n8k8|m16n8k16 row col d=f16|f32 ab*2=f16 c=f16|f32",
        bind_mma<false>),
    row("mma", "sync aligned shape=m8n8k4 layout*2=row|col d=f16|f32 ab*2=f16 c=f16|f32",
        bind_mma<false>),
    row("mma", "sync aligned shape=m16n8k8|m16n8k16 row col d=f32 ab*2=bf16 c=f32",
        bind_mma<false>),
    row("mma", "sync aligned shape=m16n8k4|m16n8k8 row col d=f32 ab*2=tf32 c=f32", bind_mma<false>),
    row("mma", "sync aligned shape=m16n8k16|m16n8k32 row col d=f16|f32 ab*2=e4m3|e5m2 c=f16|f32",
        bind_mma<false>),
    row("mma",
        "sync aligned shape=m8n8k4|m16n8k4|m16n8k8|m16n8k16 row col d=f64 ab*2=f64 c=f64 "
        "[round=rn|rz|rm|rp]",
        bind_mma<false>),
    row("mma",
        "sync aligned shape=m8n8k16|m16n8k16|m16n8k32 row col [satfinite] d=s32 ab*2=s8|u8 c=s32",
        bind_mma<false>),
    row("mma",
        "sync aligned shape=m8n8k32|m16n8k32|m16n8k64 row col [satfinite] d=s32 ab*2=s4|u4 c=s32",
        bind_mma<false>),
    row("mma",
        "sync aligned shape=m8n8k128|m16n8k128|m16n8k256 row col d=s32 ab*2=b1 c=s32 popc xor",
        bind_mma<false>),
    row("mma",
        "sync aligned shape=m8n8k128|m16n8k128|m16n8k256 row col d=s32 ab*2=b1 c=s32 popc and",
        bind_mma<false>),
    sparse_row(0),
    sparse_row(1),
    sparse_row(2),
    sparse_row(3),
    sparse_row(4),
    sparse_row(5),
    ordered_row(0),
    ordered_row(1),
    ordered_row(2),
    ordered_row(3),
    ordered_row(4),
    ordered_row(5),
};
static_assert(std::size(kSparseForms) == 6, "each sparse form has a row for both of its names");

}  // namespace
}  // namespace mma_sync

Rows mma_sync_rows() { return mma_sync::kRows; }

}  // namespace bw::sim
