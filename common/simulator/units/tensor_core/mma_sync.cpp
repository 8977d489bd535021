/// \file
/// mma.sync and mma.sp: a warp multiplies matrices that its registers hold.
///
/// Integers and bits are summed exactly, f64 by fused multiply-adds in ascending order of k. Other
/// floats are summed by the accumulation model of the run: Hopper's (hopper_sum.hpp), or a chain
/// of fp32 fused multiply-adds, of which an f16 D is rounded at its end.
///
/// ptxas makes of an FP8 form two half as large ones of f16, for sm_90 and for sm_100: of each four
/// elements along k (eight, where A is sparse) the first half, then the others. The first begins at
/// zero, and C is added to the result of the second. Of .m8n8k4 of .f16 it makes
/// scalar arithmetic.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>

#include <fmt/core.h>

#include "common/simulator/machine/execution.hpp"
#include "common/simulator/machine/opcode_table.hpp"
#include "common/simulator/units/alu/rounding.hpp"
#include "common/simulator/units/families.hpp"
#include "common/simulator/units/synchronisation/aligned.hpp"
#include "common/simulator/units/tensor_core/accumulation.hpp"
#include "common/simulator/units/tensor_core/hopper_sum.hpp"
#include "common/simulator/units/tensor_core/mma_fragment.hpp"
#include "common/simulator/units/tensor_core/operand_decode.hpp"

namespace bw::sim {
namespace {

using ptx::ScalarType;

constexpr int kMaxRows = 16;
constexpr int kMaxK = 256;
constexpr int kMaxRealK = 64;
constexpr int kQuads = 4;
constexpr int kQuadK = 4;
/// Issue cost: an estimate, no measurement; Hopper's tensor cores need about that for m16n8k16.
constexpr uint16_t kMmaSyncCycles = 16;

enum class MmaClass : uint8_t { real, quad, f64, integer, bit };

/// Element types of A and B by name.
struct ElementName {
  std::string_view name;
  MmaClass type_class;
  int bits;
  bool is_signed = false;
  MmaFormat format = MmaFormat::f16;
};
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

struct MmaForm {
  MmaClass type_class = MmaClass::real;
  int m = 16, k = 16;
  ElementName a, b;
  bool half_c = false, half_d = false;
  bool satfinite = false;
  bool xor_bits = false;  ///< of one-bit products; else and
  Rounding rounding = Rounding::nearest_even;
  bool a_along_k = true, b_along_k = true;  ///< .m8n8k4 of f16: A by rows, B by columns
  bool sparse = false;
  int selector = 0;
  int metadata = -1;  ///< operand of sparse forms
  // Where operands begin; D begins at 0.
  int first_a = 0, first_b = 0, first_c = 0;

  /// Elements in a register.
  [[nodiscard]] int per_register(const ElementName& element) const {
    return type_class == MmaClass::f64 ? 1 : kRegisterBits / element.bits;
  }
  [[nodiscard]] int stored_k() const { return sparse ? k / 2 : k; }
  /// Bits of metadata of a row of A, and whether they are those of .tf32.
  [[nodiscard]] bool keeps_singles() const {
    return type_class == MmaClass::real && a.format == MmaFormat::tf32;
  }
  [[nodiscard]] int kept_together() const { return a.bits == 4 ? 2 : 1; }
  [[nodiscard]] int metadata_bits() const { return keeps_singles() ? 2 * k : k / kept_together(); }
  /// Where element k of a sum stands: FP8 forms take the first half of each group first.
  [[nodiscard]] int place_of_k(int element) const {
    if (type_class != MmaClass::real || a.bits != 8) return element;
    const int group = sparse ? 8 : 4, half = group / 2;
    const int in_group = element % group;
    return (in_group < half ? 0 : k / 2) + element / group * half + in_group % half;
  }
};

/// Bits of metadata that a lane has for one row: its register serves two, g and g + 8.
constexpr int kMetadataBitsOfALane = kRegisterBits / 2;

/// The metadata of a row. 16 bits of it stand in a half of a register: the lower half for rows 0 to
/// 7, the upper one for rows 8 to 15, of the lanes of its group in order. Types of 8 bits and less
/// have whole registers instead: the lanes with even numbers (of two lanes the first) those of rows
/// 0 to 7, the others those of rows 8 to 15. (Where the ISA shows it in figures alone, an H100 was
/// asked.)
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

const MmaForm& form_of(const Instruction& instruction) {
  return *static_cast<const MmaForm*>(instruction.detail);
}

/// Calls visit(row, k, code) for each element of A (in its full width of k, where sparse) and B.
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

/// A matrix of codes as they stand in memory, to be decoded together.
class CodeMatrix {
 public:
  explicit CodeMatrix(MmaFormat format) : format_(format), bytes_(container_bytes(format)) {}
  void set(int index, uint32_t code) {
    std::memcpy(raw_.data() + static_cast<size_t>(index) * bytes_, &code, bytes_);
  }
  void decode(float* out, int count) const {
    decode_elements(format_, raw_.data(), out, static_cast<size_t>(count));
  }

 private:
  MmaFormat format_;
  size_t bytes_;
  std::array<std::byte, kMaxRows * kMaxRealK * sizeof(uint16_t)> raw_{};
};

/// Exponent of the smallest normal number of a format as the tensor core sees it (FP8 as f16).
int least_exponent(MmaFormat format) {
  constexpr int kOfF16 = -14, kOfF32 = -126;
  return format == MmaFormat::bf16 || format == MmaFormat::tf32 ? kOfF32 : kOfF16;
}

bool is_fp8(MmaFormat format) { return format == MmaFormat::e4m3 || format == MmaFormat::e5m2; }

/// D += A B of one pair of matrices, by the run's model. `a` is [k][16], `b` [8][k], `d` [8][16].
struct RealProduct {
  alignas(64) std::array<float, kMaxRows * kMaxRealK> a{};
  alignas(64) std::array<float, kMmaColumns * kMaxRealK> b{};
  alignas(64) std::array<float, kMmaColumns * kMaxRows> d{};
  /// Bit k of a row: A's element takes part; of a sparse A the kept ones.
  std::array<uint64_t, kMaxRows> used;

  RealProduct() { used.fill(~uint64_t{0}); }

  [[nodiscard]] float& at(FragmentPlace place) {
    return d[static_cast<size_t>(place.column * kMaxRows + place.row)];
  }
  /// All of k, in the steps of the form.
  void multiply(const Strand& strand, const MmaForm& form);

 private:
  void step(SummationModel model, const MmaForm& form, int first, int count);
  void step_as_on_hopper(const MmaForm& form, int first, int count);
  void step_in_chains(const MmaForm& form, int first, int count);
};

void RealProduct::multiply(const Strand& strand, const MmaForm& form) {
  const SummationModel model = strand.cluster->settings().resolved_summation();
  if (!is_fp8(form.a.format)) return step(model, form, 0, form.k);
  const std::array<float, kMmaColumns* kMaxRows> c = d;
  d.fill(0.0f);
  step(model, form, 0, form.k / 2);
  step(model, form, form.k / 2, form.k / 2);
  for (size_t i = 0; i < d.size(); ++i) {
    d[i] += c[i];
    if (form.half_d) d[i] = float_from_half(half_from_float(d[i]));
  }
}

void RealProduct::step(SummationModel model, const MmaForm& form, int first, int count) {
  if (model == SummationModel::hopper)
    step_as_on_hopper(form, first, count);
  else
    step_in_chains(form, first, count);
}

void RealProduct::step_as_on_hopper(const MmaForm& form, int first, int count) {
  HopperStep sum;
  sum.a_stride = kMaxRows;
  sum.k = static_cast<size_t>(count);
  sum.least_a = sum.least_b = least_exponent(form.a.format);
  sum.half_result = form.half_d;
  for (int column = 0; column < kMmaColumns; ++column)
    for (int row = 0; row < kMaxRows; ++row) {
      sum.a = a.data() + first * kMaxRows + row;
      sum.b = b.data() + column * form.k + first;
      sum.used = used[static_cast<size_t>(row)] >> first;
      float& value = at({row, column});
      value = hopper_sum(sum, value);
    }
}

void RealProduct::step_in_chains(const MmaForm& form, int first, int count) {
  RowTile tile;
  tile.a = a.data() + first * kMaxRows;
  tile.b = b.data() + first;
  tile.b_stride = static_cast<size_t>(form.k);
  tile.d = d.data();
  tile.d_stride = kMaxRows;
  tile.n = kMmaColumns;
  tile.k = static_cast<size_t>(count);
  tile.accumulate = true;
  const TileFormats formats{form.a.format, form.b.format, static_cast<uint32_t>(count)};
  const Accumulation& model = accumulation(SummationModel::sequential);
  const bool all_finite =
      std::all_of(b.begin(), b.end(), [](float value) { return std::isfinite(value); });
  if (!form.sparse || all_finite) {
    model.multiply(tile, formats);
  } else {
    // An infinity that a row of A does not meet must not reach its sum as 0 x infinity.
    const auto before = d;
    for (size_t row = 0; row < kMaxRows; ++row) {
      auto met = b;
      for (size_t i = 0; i < met.size(); ++i)
        if ((used[row] >> (i % static_cast<size_t>(form.k)) & 1) == 0) met[i] = 0.0f;
      auto sums = before;
      tile.b = met.data() + first;
      tile.d = sums.data();
      model.multiply(tile, formats);
      for (size_t column = 0; column < kMmaColumns; ++column)
        d[column * kMaxRows + row] = sums[column * kMaxRows + row];
    }
  }
  if (form.half_d && form.type_class == MmaClass::real)
    for (float& value : d) value = float_from_half(half_from_float(value));
}

/// The values of C or D of a lane: f32, or f16 two in a register. `place(lane, i)` is a float.
template <class Place>
void read_c(const Strand& strand, const Instruction& instruction, const MmaForm& form, int values,
            Place&& place) {
  for (int i = 0; i < values; ++i) {
    const int r = form.first_c + (form.half_c ? i / 2 : i);
    const uint32_t* const words = strand.lanes<uint32_t>(instruction.operands[r]);
    for (int lane = 0; lane < kWarpLanes; ++lane) {
      const uint32_t word = words[lane];
      place(lane, i) = form.half_c ? float_from_half(static_cast<uint16_t>(word >> (i % 2 * 16)))
                                   : std::bit_cast<float>(word);
    }
  }
}

template <class Place>
void write_d(const Strand& strand, const Instruction& instruction, const MmaForm& form,
             LaneMask active, int values, Place&& place) {
  constexpr uint32_t kCanonicalNan = 0x7fffffff, kCanonicalHalfNan = 0x7fff;
  for (int i = 0; i < values; i += form.half_d ? 2 : 1) {
    uint32_t* const words = strand.lanes<uint32_t>(instruction.operands[form.half_d ? i / 2 : i]);
    for_lanes(active, [&](int lane) {
      if (form.half_d) {
        const auto half = [](float value) {
          return std::isnan(value) ? kCanonicalHalfNan : uint32_t{half_from_float(value)};
        };
        words[lane] = half(place(lane, i)) | half(place(lane, i + 1)) << 16;
      } else {
        const float value = place(lane, i);
        words[lane] = std::isnan(value) ? kCanonicalNan : std::bit_cast<uint32_t>(value);
      }
    });
  }
}

Flow multiply_reals(Strand& strand, const Instruction& instruction, LaneMask active) {
  require_converged(strand, instruction, active);
  const MmaForm& form = form_of(instruction);
  RealProduct product;
  CodeMatrix a(form.a.format), b(form.b.format);
  if (form.sparse) product.used.fill(0);
  visit_a(strand, instruction, form, [&](int row, int k, uint32_t code) {
    const int at = form.place_of_k(k);
    a.set(at * kMaxRows + row, code);
    if (form.sparse) product.used[static_cast<size_t>(row)] |= uint64_t{1} << at;
  });
  visit_b(strand, instruction, form, [&](int column, int k, uint32_t code) {
    b.set(column * form.k + form.place_of_k(k), code);
  });
  a.decode(product.a.data(), form.k * kMaxRows);
  b.decode(product.b.data(), form.k * kMmaColumns);
  const auto place = [&](int lane, int i) -> float& { return product.at(place_in_c(lane, i)); };
  constexpr int kValues = 4;
  read_c(strand, instruction, form, kValues, place);
  product.multiply(strand, form);
  write_d(strand, instruction, form, active, kValues, place);
  return Flow::next;
}

/// One element of .m8n8k4 of .f16, in fp32: the order in which ptxas' substitute for the
/// instruction adds the (exact) products.
float quad_sum(const RealProduct& product, int row, int column, float c, bool half_d) {
  const auto term = [&](int k) {
    return product.a[static_cast<size_t>(k * kMaxRows + row)] *
           product.b[static_cast<size_t>(column * kQuadK + k)];
  };
  if (half_d) return (c + (term(0) + term(1))) + (term(2) + term(3));
  return c + (((term(0) + term(1)) + term(2)) + term(3));
}

/// .m8n8k4 of .f16: four products of 8 x 8 x 4.
Flow multiply_quads(Strand& strand, const Instruction& instruction, LaneMask active) {
  require_converged(strand, instruction, active);
  const MmaForm& form = form_of(instruction);
  std::array<RealProduct, kQuads> products;
  constexpr int kPerLane = 4;
  for (int i = 0; i < kPerLane; ++i) {
    const uint32_t* const a = strand.lanes<uint32_t>(instruction.operands[form.first_a + i / 2]);
    const uint32_t* const b = strand.lanes<uint32_t>(instruction.operands[form.first_b + i / 2]);
    for (int lane = 0; lane < kWarpLanes; ++lane) {
      const auto value = [&](uint32_t word) {
        return float_from_half(static_cast<uint16_t>(word >> (i % 2 * 16)));
      };
      const QuadPlace of_a = quad_place_in_ab(form.a_along_k, lane, i);
      RealProduct& product = products[static_cast<size_t>(of_a.product)];
      product.a[static_cast<size_t>(of_a.place.column * kMaxRows + of_a.place.row)] =
          value(a[lane]);
      const QuadPlace of_b = quad_place_in_ab(form.b_along_k, lane, i);
      product.b[static_cast<size_t>(of_b.place.row * form.k + of_b.place.column)] = value(b[lane]);
    }
  }
  const auto placed = [&](bool is_f32) {
    return [&products, is_f32](int lane, int i) -> float& {
      const QuadPlace at = quad_place_in_c(is_f32, lane, i);
      return products[static_cast<size_t>(at.product)].at(at.place);
    };
  };
  constexpr int kValues = 8;
  read_c(strand, instruction, form, kValues, placed(!form.half_c));
  for (RealProduct& product : products)
    for (int row = 0; row < kMmaRowsPerRegister; ++row)
      for (int column = 0; column < kMmaColumns; ++column) {
        float& value = product.at({row, column});
        value = quad_sum(product, row, column, value, form.half_d);
      }
  write_d(strand, instruction, form, active, kValues, placed(!form.half_d));
  return Flow::next;
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
        sum = std::fma(a[static_cast<size_t>(place.row)][static_cast<size_t>(k)],
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

constexpr OpcodeRow row(std::string_view base, std::string_view modifiers, BindFunction bind) {
  return {.base = base,
          .modifiers = modifiers,
          .bind = bind,
          .effect = Effect::warp,
          .cycles = kMmaSyncCycles,
          .section = base == "mma" ? "mma" : "mma.sp"};
}

// In a grammar the types of A and B ("ab") stand between those of D and C.

constexpr std::string_view kSparseForms[] = {
    "sync aligned shape=m16n8k16|m16n8k32 row col d=f16|f32 ab*2=f16 c=f16|f32",
    "sync aligned shape=m16n8k16|m16n8k32 row col d=f32 ab*2=bf16 c=f32",
    "sync aligned shape=m16n8k8|m16n8k16 row col d=f32 ab*2=tf32 c=f32",
    "sync aligned shape=m16n8k64 row col d=f32 ab*2=e4m3|e5m2 c=f32",
    "sync aligned shape=m16n8k32|m16n8k64 row col [satfinite] d=s32 ab*2=s8|u8 c=s32",
    "sync aligned shape=m16n8k64|m16n8k128 row col [satfinite] d=s32 ab*2=s4|u4 c=s32",
};

/// Metadata in ascending order are metadata: both bases do the same.
constexpr OpcodeRow sparse_row(size_t form) {
  return row("mma.sp", kSparseForms[form], bind_mma<true>);
}
constexpr OpcodeRow ordered_row(size_t form) {
  return row("mma.sp::ordered_metadata", kSparseForms[form], bind_mma<true>);
}

constexpr OpcodeRow kRows[] = {
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

Rows mma_sync_rows() { return kRows; }

}  // namespace bw::sim
