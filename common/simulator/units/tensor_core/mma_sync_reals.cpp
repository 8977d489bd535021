/// \file
/// mma.sync and mma.sp of floats but doubles.
///
/// They are summed by the accumulation model of the run: Hopper's (hopper_sum.hpp), or a chain of
/// fp32 fused multiply-adds, of which an f16 D is rounded at its end.
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

#include "common/simulator/units/synchronisation/aligned.hpp"
#include "common/simulator/units/tensor_core/accumulation.hpp"
#include "common/simulator/units/tensor_core/hopper_sum.hpp"
#include "common/simulator/units/tensor_core/mma_sync_form.hpp"
#include "common/simulator/units/tensor_core/operand_decode.hpp"

namespace bw::sim::mma_sync {
namespace {

constexpr int kMaxRealK = 64;
constexpr int kQuads = 4;
constexpr int kQuadK = 4;

/// A matrix of codes as memory holds them, to be decoded together.
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
  if (model == SummationModel::hopper || model == SummationModel::blackwell)
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

}  // namespace

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

}  // namespace bw::sim::mma_sync
