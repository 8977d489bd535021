#pragma once
/// \file
/// A form of mma.sync or mma.sp: its types and shape, and the layout of A and B in the registers of
/// a warp.

#include <array>
#include <cstdint>
#include <string_view>

#include "common/simulator/machine/execution.hpp"
#include "common/simulator/units/alu/rounding.hpp"
#include "common/simulator/units/tensor_core/instruction_descriptor.hpp"
#include "common/simulator/units/tensor_core/mma_fragment.hpp"

namespace bw::sim::mma_sync {

inline constexpr int kMaxRows = 16;  ///< of A

/// How a form is executed.
enum class MmaClass : uint8_t {
  real,     ///< floats on the tensor cores
  quad,     ///< .m8n8k4 of .f16
  f64,      ///< doubles
  integer,  ///< of 4 or 8 bits
  bit,      ///< single bits
};

/// A type of elements of A and B.
struct ElementName {
  std::string_view name;              ///< in the opcode
  MmaClass type_class;                ///< how it is multiplied
  int bits;                           ///< of an element
  bool is_signed = false;             ///< of integers
  MmaFormat format = MmaFormat::f16;  ///< of floats
};

/// What an instruction's modifiers and operands say.
struct MmaForm {
  MmaClass type_class = MmaClass::real;        ///< how it is executed
  int m = 16;                                  ///< rows of A
  int k = 16;                                  ///< depth
  ElementName a;                               ///< of A
  ElementName b;                               ///< of B
  bool half_c = false;                         ///< C is f16
  bool half_d = false;                         ///< D is
  bool satfinite = false;                      ///< integers stop at the ends of the range
  bool xor_bits = false;                       ///< of one-bit products; else and
  Rounding rounding = Rounding::nearest_even;  ///< of doubles
  bool a_along_k = true;                       ///< .m8n8k4 of f16: A by rows
  bool b_along_k = true;                       ///< and B by columns
  bool sparse = false;                         ///< mma.sp
  int selector = 0;                            ///< which lanes hold the metadata
  int metadata = -1;                           ///< operand of sparse forms
  // Where operands begin; D begins at 0.
  int first_a = 0;  ///< of A
  int first_b = 0;  ///< of B
  int first_c = 0;  ///< of C

  /// Elements in a register.
  [[nodiscard]] int per_register(const ElementName& element) const {
    return type_class == MmaClass::f64 ? 1 : kRegisterBits / element.bits;
  }
  /// Of A, of which a sparse one has half.
  [[nodiscard]] int stored_k() const { return sparse ? k / 2 : k; }
  /// Whether metadata are those of .tf32.
  [[nodiscard]] bool keeps_singles() const {
    return type_class == MmaClass::real && a.format == MmaFormat::tf32;
  }
  /// Elements that one index of the metadata names.
  [[nodiscard]] int kept_together() const { return a.bits == 4 ? 2 : 1; }
  /// Bits of metadata of a row of A.
  [[nodiscard]] int metadata_bits() const { return keeps_singles() ? 2 * k : k / kept_together(); }
  /// Position of element k of a sum: FP8 forms take the first half of each group first.
  [[nodiscard]] int place_of_k(int element) const {
    if (type_class != MmaClass::real || a.bits != 8) return element;
    const int group = sparse ? 8 : 4, half = group / 2;
    const int in_group = element % group;
    return (in_group < half ? 0 : k / 2) + element / group * half + in_group % half;
  }
};

/// Bits of metadata that a lane has for one row: its register serves two, g and g + 8.
inline constexpr int kMetadataBitsOfALane = kRegisterBits / 2;

/// The metadata of a row. 16 bits of it are in a half of a register: the lower half for rows 0 to
/// 7, the upper one for rows 8 to 15, of the lanes of its group in order. Types of 8 bits and less
/// have whole registers instead: the lanes with even numbers (of two lanes the first) those of rows
/// 0 to 7, the others those of rows 8 to 15. (Where the ISA shows it in figures alone, we checked
/// an H100.)
[[nodiscard]] uint64_t metadata_of_row(const uint32_t* words, const MmaForm& form, int row);

/// The form of an instruction.
[[nodiscard]] inline const MmaForm& form_of(const Instruction& instruction) {
  return *static_cast<const MmaForm*>(instruction.detail);
}

/// Calls visit(row, k, code) for each element of A (in its full width of k, where sparse).
template <class Visit>
void visit_a(const Strand& strand, const Instruction& instruction, const MmaForm& form,
             Visit&& visit) {
  const int e = form.per_register(form.a),
            registers = form.m / kMmaRowsPerRegister * form.stored_k() / (kLanesOfARow * e);
  const uint32_t mask = form.a.bits == kRegisterBits ? ~0u : (1u << form.a.bits) - 1;
  std::array<SparseRow, kMaxRows> rows;
  if (form.sparse) {
    const uint32_t* const words = strand.lanes<uint32_t>(instruction.operands[form.metadata]);
    for (int row = 0; row < kMaxRows; ++row)
      rows[static_cast<size_t>(row)] = {metadata_of_row(words, form, row), form.keeps_singles(),
                                        form.kept_together()};
  }
  for (int r = 0; r < registers; ++r) {
    const uint32_t* const words = strand.lanes<uint32_t>(instruction.operands[form.first_a + r]);
    for (int lane = 0; lane < kWarpLanes; ++lane)
      for (int i = 0; i < e; ++i) {
        const FragmentPlace place = place_in_a(form.m, e, r, lane, i);
        const int k =
            form.sparse ? rows[static_cast<size_t>(place.row)].column(place.column) : place.column;
        visit(place.row, k, words[lane] >> (i * form.a.bits) & mask);
      }
  }
}

/// Calls visit(column, k, code) for each element of B.
template <class Visit>
void visit_b(const Strand& strand, const Instruction& instruction, const MmaForm& form,
             Visit&& visit) {
  const int e = form.per_register(form.b), registers = form.k / (kLanesOfARow * e);
  const uint32_t mask = form.b.bits == kRegisterBits ? ~0u : (1u << form.b.bits) - 1;
  for (int r = 0; r < registers; ++r) {
    const uint32_t* const words = strand.lanes<uint32_t>(instruction.operands[form.first_b + r]);
    for (int lane = 0; lane < kWarpLanes; ++lane)
      for (int i = 0; i < e; ++i) {
        const FragmentPlace place = place_in_b(e, r, lane, i);
        visit(place.row, place.column, words[lane] >> (i * form.b.bits) & mask);
      }
  }
}

/// .real and .quad, floats but doubles: mma_sync_reals.cpp.
Flow multiply_reals(Strand& strand, const Instruction& instruction, LaneMask active);
/// See multiply_reals.
Flow multiply_quads(Strand& strand, const Instruction& instruction, LaneMask active);

}  // namespace bw::sim::mma_sync
