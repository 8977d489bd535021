#include "common/simulator/units/tensor_core/instruction_descriptor.hpp"

#include <string>

#include <fmt/core.h>

namespace bw::sim {
namespace {

struct Field {
  unsigned first, count;
};
constexpr uint32_t get(uint32_t bits, Field field) {
  return bits >> field.first & ((1u << field.count) - 1);
}

// Tables "Instruction descriptor format for ..." of the PTX ISA. Fields that all kinds have:
constexpr Field kSelector{0, 2}, kSparse{2, 1}, kAFormat{7, 3}, kBFormat{10, 3}, kNegateA{13, 1},
    kNegateB{14, 1}, kAMajor{15, 1}, kBMajor{16, 1}, kN{17, 6}, kM{24, 5};
// Without block scaling:
constexpr Field kSaturate{3, 1}, kDFormat{4, 2}, kMaximumShift{30, 2};
// With block scaling (M's low bits are reserved there, so one field reads both layouts):
constexpr Field kBScaleId{4, 2}, kPairBFormat{10, 2}, kScaleFormat{23, 1}, kLowM{24, 3},
    kAScaleId{29, 2}, kKSize{31, 1};
constexpr uint32_t kNUnit = 8, kMUnit = 16, kLargestN = 256;

constexpr uint32_t mask_of(Field field) { return ((1u << field.count) - 1) << field.first; }
constexpr uint32_t kReservedPlain = 1u << 6 | 1u << 23 | 1u << 29;
constexpr uint32_t kReservedMxf8 =
    mask_of(kSelector) | 1u << 3 | 1u << 6 | mask_of(kLowM) | mask_of(kKSize);
constexpr uint32_t kReservedMxf4 =
    mask_of(kSelector) | 1u << 3 | 1u << 6 | 1u << 12 | mask_of(kLowM);

constexpr std::string_view kSection = "Instruction descriptor";
constexpr const char* kRule = "the fields of the descriptor hold what the kind allows";

std::optional<MmaFormat> operand_format(uint32_t code, MmaKind kind) {
  switch (kind) {
    case MmaKind::f16:
      if (code == 0) return MmaFormat::f16;
      if (code == 1) return MmaFormat::bf16;
      return std::nullopt;
    case MmaKind::tf32:
      if (code == 2) return MmaFormat::tf32;
      return std::nullopt;
    case MmaKind::f8f6f4:
    case MmaKind::mxf8f6f4:
      switch (code) {
        case 0:
          return MmaFormat::e4m3;
        case 1:
          return MmaFormat::e5m2;
        case 3:
          return MmaFormat::e2m3;
        case 4:
          return MmaFormat::e3m2;
        case 5:
          return MmaFormat::e2m1;
        default:
          return std::nullopt;
      }
    case MmaKind::i8:
      if (code == 0) return MmaFormat::u8;
      if (code == 1) return MmaFormat::s8;
      return std::nullopt;
    case MmaKind::mxf4:
    case MmaKind::mxf4nvf4:
      if (code == 1) return MmaFormat::e2m1;
      return std::nullopt;
  }
  return std::nullopt;
}

Field b_format_field(MmaKind kind) { return packs_pairs(kind) ? kPairBFormat : kBFormat; }

const char* allowed_formats(MmaKind kind) {
  switch (kind) {
    case MmaKind::f16:
      return "0 (f16) and 1 (bf16)";
    case MmaKind::tf32:
      return "2 (tf32)";
    case MmaKind::f8f6f4:
    case MmaKind::mxf8f6f4:
      return "0 (e4m3), 1 (e5m2), 3 (e2m3), 4 (e3m2) and 5 (e2m1)";
    case MmaKind::i8:
      return "0 (u8) and 1 (s8)";
    case MmaKind::mxf4:
    case MmaKind::mxf4nvf4:
      return "1 (e2m1)";
  }
  return "";
}

bool accumulator_allowed(uint32_t d, MmaKind kind, uint32_t a, uint32_t b) {
  switch (kind) {
    case MmaKind::f16:
      return d == 1 || (d == 0 && a == 0 && b == 0);
    case MmaKind::f8f6f4:
      return d <= 1;
    case MmaKind::i8:
      return d == 2;
    default:
      return d == 1;
  }
}

/// Shapes of the table "Various combinations of .kind and shapes", and which they are.
struct Shapes {
  bool allowed;
  const char* which;
};
Shapes shapes(uint32_t m, uint32_t n, const MmaForm& form) {
  const bool in_range = n != 0 && n <= kLargestN;
  if (form.weight_stationary) {
    const bool m_fits = m == 32 || m == 64 || m == 128;
    if (form.sparse)
      return {m_fits && (n == 64 || n == 128), "M = 32, 64 or 128 with N = 64 or 128"};
    return {m_fits && (n == 64 || n == 128 || n == 256),
            "M = 32, 64 or 128 with N = 64, 128 or 256"};
  }
  if (is_block_scaled(form.kind)) {
    if (form.group == 1)
      return {in_range && m == 128 && n % 8 == 0, "M = 128 with N a multiple of 8 up to 256"};
    if (form.sparse)
      return {in_range && m == 256 && n % 16 == 0, "M = 256 with N a multiple of 16 up to 256"};
    return {in_range && (m == 128 || m == 256) && n % 16 == 0,
            "M = 128 or 256 with N a multiple of 16 up to 256"};
  }
  const bool is_i8 = form.kind == MmaKind::i8;
  if (form.group == 1)
    return {in_range && ((m == 64 && n % 8 == 0 && (!is_i8 || n <= 24 || n % 16 == 0)) ||
                         (m == 128 && n % 16 == 0)),
            "M = 64 with N a multiple of 8 or M = 128 with N a multiple of 16, N up to 256"};
  return {in_range && (m == 128 || m == 256) && n % (is_i8 ? 32 : 16) == 0,
          "M = 128 or 256 with N a multiple of 16 (kind::i8: of 32) up to 256"};
}

/// Those with K = 96.
Shapes long_shapes(const MmaShape& shape, int group) {
  const bool in_range = shape.n != 0 && shape.n <= kLargestN && shape.n % 16 == 0;
  return {group == 2 && shape.m == 256 && in_range,
          "cta_group::2 and M = 256 with N a multiple of 16 up to 256"};
}

/// Faults of one descriptor, each with its fields' place.
class Check {
 public:
  Check(uint32_t bits, const MmaForm& form) : bits_(bits), form_(form) {}

  [[nodiscard]] std::optional<Fault> run() const {
    if (auto problem = sparsity()) return problem;
    if (auto problem = is_block_scaled(form_.kind) ? scaled_fields() : plain_fields())
      return problem;
    if (auto problem = formats()) return problem;
    if (auto problem = majors()) return problem;
    return shape();
  }

 private:
  [[nodiscard]] std::string name() const {
    return std::string("the instruction descriptor of kind::") + kind_name(form_.kind) + " has ";
  }
  [[nodiscard]] Fault fault(const std::string& what, std::string fix) const {
    return {.code = FaultCode::instruction_descriptor,
            .what = name() + what,
            .rule = kRule,
            .fix = std::move(fix),
            .section = kSection};
  }

  [[nodiscard]] std::optional<Fault> sparsity() const {
    const bool says_sparse = get(bits_, kSparse) != 0;
    if (says_sparse && !form_.sparse)
      return fault("sparsity bits set (bit 2: sparse), but the instruction is dense",
                   "clear bits 0 to 2, or use the .sp form with metadata");
    if (!says_sparse && form_.sparse)
      return fault("bit 2 (sparse) clear, but the instruction is sparse (.sp)", "set bit 2");
    if (!form_.sparse && get(bits_, kSelector) != 0)
      return fault("sparsity bits (0 and 1) set, but the instruction is dense",
                   "clear bits 0 and 1");
    const bool selects = form_.kind == MmaKind::f16 || form_.kind == MmaKind::tf32;
    const uint32_t selector = get(bits_, kSelector);
    // Two 32-bit sub-columns of metadata are side by side; a selector beyond them has no
    // published meaning.
    if (form_.sparse && !is_block_scaled(form_.kind) && selector > (selects ? 1u : 0u))
      return fault(fmt::format("the sparsity selector {} in bits 0 and 1, where {} is allowed",
                               selector, selects ? "0 or 1" : "0 alone"),
                   selects ? "select one of the two columns of the pair that the metadata address "
                             "names"
                           : "clear bits 0 and 1");
    return std::nullopt;
  }

  [[nodiscard]] std::optional<Fault> plain_fields() const {
    if ((bits_ & kReservedPlain) != 0)
      return fault("reserved bits set (6, 23 and 29 must be 0)", "clear bits 6, 23 and 29");
    if (get(bits_, kMaximumShift) != 0 && !form_.weight_stationary)
      return fault("a maximum shift in bits 30 and 31, which only .ws uses",
                   "clear bits 30 and 31");
    const bool is_i8 = form_.kind == MmaKind::i8;
    if (is_i8 && (get(bits_, kNegateA) != 0 || get(bits_, kNegateB) != 0))
      return fault("a negate bit (13, 14) set",
                   "clear bits 13 and 14: integer operands cannot be negated");
    if (!is_i8 && get(bits_, kSaturate) != 0)
      return fault("the saturate bit (3) set, which only kind::i8 has", "clear bit 3");
    return std::nullopt;
  }

  [[nodiscard]] std::optional<Fault> scaled_fields() const {
    const bool pairs = packs_pairs(form_.kind);
    const bool is_long = pairs && get(bits_, kKSize) != 0;
    if (is_long && !form_.may_be_long)
      return fault("bit 31 set (K = 96), a shape that sm_100a does not have: it needs sm_103a",
                   "clear bit 31 and use K = 64");
    if (is_long && form_.sparse)
      return fault("bit 31 set (K = 96), but the instruction is sparse",
                   "clear bit 31: a sparse product has K = 128");
    if ((bits_ & (pairs ? kReservedMxf4 : kReservedMxf8)) != 0)
      return fault(
          fmt::format("reserved bits set ({} must be 0)",
                      pairs ? "0, 1, 3, 6, 12 and 24 to 26" : "0, 1, 3, 6, 24 to 26 and 31"),
          "encode M as M >> 7 in bits 27 and 28 and clear the reserved bits");
    const auto scale = static_cast<ScaleFormat>(get(bits_, kScaleFormat));
    const bool takes_e4m3 = form_.kind == MmaKind::mxf4nvf4 && form_.scales == 4;
    if (scale == ScaleFormat::ue4m3 && !takes_e4m3)
      return fault(
          "bit 23 clear (scales of type ue4m3), which only kind::mxf4nvf4 with "
          ".scale_vec::4X or .block16 has",
          "set bit 23 (ue8m0)");
    if (is_long) return long_scale_ids();
    const uint32_t unit = form_.scales;  // scales are at multiples of their number
    for (const auto& [matrix, id] :
         {std::pair{"A", get(bits_, kAScaleId)}, std::pair{"B", get(bits_, kBScaleId)}})
      if (id % unit != 0 || id + form_.scales > 4)
        return fault(fmt::format("the scale factor id {} for {}, where .scale_vec::{}X allows {}",
                                 id, matrix, form_.scales,
                                 form_.scales == 1   ? "0 to 3"
                                 : form_.scales == 2 ? "0 and 2"
                                                     : "0 alone"),
                     "the id is the byte of the Tensor Memory word at which the scales start");
    return std::nullopt;
  }

  /// With K = 96 the scales of a row go on in the next word. Source: the figures of "Layout of the
  /// Scale Factor A Matrix for block32 with K=96" and those after it, by their ids.
  [[nodiscard]] std::optional<Fault> long_scale_ids() const {
    const bool any = form_.scales == 2;
    for (const auto& [matrix, id] :
         {std::pair{"A", get(bits_, kAScaleId)}, std::pair{"B", get(bits_, kBScaleId)}})
      if (!any && id % 2 != 0)
        return fault(fmt::format("the scale factor id {} for {}, where .block16 with K = 96 allows "
                                 "0 and 2",
                                 id, matrix),
                     "the id is the byte of the Tensor Memory word at which the scales start");
    return std::nullopt;
  }

  [[nodiscard]] std::optional<Fault> formats() const {
    const uint32_t a = get(bits_, kAFormat), b = get(bits_, b_format_field(form_.kind));
    if (!operand_format(a, form_.kind) || !operand_format(b, form_.kind))
      return fault(fmt::format("format {} for A and {} for B; allowed are {}", a, b,
                               allowed_formats(form_.kind)),
                   "encode the formats that the kind has");
    if (form_.kind == MmaKind::f16 && a != b)
      return fault("one f16 and one bf16 operand", "give A and B the same format");
    const uint32_t d = get(bits_, kDFormat);
    if (!is_block_scaled(form_.kind) && !accumulator_allowed(d, form_.kind, a, b))
      return fault(fmt::format("format {} for D, which does not go with the kind and the formats "
                               "of A and B",
                               d),
                   "use 1 (f32), 0 (f16) for f16 and f8f6f4 operands, 2 (s32) for i8");
    return std::nullopt;
  }

  [[nodiscard]] std::optional<Fault> majors() const {
    const MmaShape shape = decode_instruction_descriptor(bits_, form_.kind);
    const auto narrow = [](MmaFormat format) {
      return format == MmaFormat::e2m1 || format == MmaFormat::e2m3 || format == MmaFormat::e3m2;
    };
    struct Operand {
      const char* matrix;
      Major major;
      MmaFormat format;
    };
    for (const auto& [matrix, major, format] :
         {Operand{"A", shape.a_major, shape.a_format}, Operand{"B", shape.b_major, shape.b_format}})
      if (major == Major::mn && narrow(format))
        return Fault{
            .code = FaultCode::matrix_layout,
            .what = fmt::format("{}the transpose bit of {} set, whose elements have {} bits",
                                name(), matrix, format == MmaFormat::e2m1 ? 4 : 6),
            .rule = "only elements of 8, 16 and 32 bits can be transposed",
            .fix = "clear the transpose bit and lay the matrix out with K contiguous",
            .section = "Valid Combinations of Type-Size, Major-ness and Swizzling"};
    const uint32_t unit = form_.group == 1 ? 16 : 32;
    if (shape.b_major == Major::mn && container_bytes(shape.b_format) == 1 && shape.n % unit != 0)
      return Fault{.code = FaultCode::mma_shape,
                   .what = fmt::format("{}N = {} with an 8-bit transposed B", name(), shape.n),
                   .rule = "an 8-bit transposed B needs N in steps of 16 (cta_group::2: of 32)",
                   .fix = fmt::format("use an N that is a multiple of {}", unit),
                   .section = "Transpose and Negate operations"};
    return std::nullopt;
  }

  [[nodiscard]] std::optional<Fault> shape() const {
    const MmaShape shape = decode_instruction_descriptor(bits_, form_.kind);
    const Shapes known =
        shape.is_long ? long_shapes(shape, form_.group) : shapes(shape.m, shape.n, form_);
    if (known.allowed) return std::nullopt;
    // The ISA's table has steps of 16 for M = 128. Kernels that TensorRT-LLM ships for B200
    // multiply bf16 with M = 128 and N = 8 (their names have the instruction's shape: m128x8x16).
    // Its K = 96 is for pairs with M = 256 alone; CUTLASS 4.2 has it with M = 128 of one CTA.
    const bool is_in_use = form_.group == 1 && !form_.weight_stationary && !form_.sparse &&
                           form_.kind != MmaKind::i8 && shape.m == 128 && shape.n != 0 &&
                           shape.n % 8 == 0 && shape.n <= kLargestN;
    return Fault{
        .code = FaultCode::mma_shape,
        .what = fmt::format("{}M = {}, N = {}{}, a shape that {}{}cta_group::{} does not have",
                            name(), shape.m, shape.n, shape.is_long ? ", K = 96" : "",
                            form_.weight_stationary ? ".ws with " : "",
                            form_.sparse ? ".sp with " : "", form_.group),
        .rule = "the shape is one that the kind has",
        .fix = std::string("use ") + known.which,
        .section = "Matrix Shape",
        .hardware_accepts = is_in_use};
  }

  uint32_t bits_;
  const MmaForm& form_;
};

}  // namespace

const char* kind_name(MmaKind kind) {
  switch (kind) {
    case MmaKind::f16:
      return "f16";
    case MmaKind::tf32:
      return "tf32";
    case MmaKind::f8f6f4:
      return "f8f6f4";
    case MmaKind::i8:
      return "i8";
    case MmaKind::mxf8f6f4:
      return "mxf8f6f4";
    case MmaKind::mxf4:
      return "mxf4";
    case MmaKind::mxf4nvf4:
      return "mxf4nvf4";
  }
  return "";
}

MmaShape decode_instruction_descriptor(uint32_t bits, MmaKind kind) {
  MmaShape shape;
  shape.kind = kind;
  shape.a_format = operand_format(get(bits, kAFormat), kind).value_or(MmaFormat::f16);
  shape.b_format = operand_format(get(bits, b_format_field(kind)), kind).value_or(MmaFormat::f16);
  shape.a_major = get(bits, kAMajor) != 0 ? Major::mn : Major::k;
  shape.b_major = get(bits, kBMajor) != 0 ? Major::mn : Major::k;
  shape.negate = get(bits, kNegateA) != get(bits, kNegateB);
  shape.sparse = get(bits, kSparse) != 0;
  shape.n = get(bits, kN) * kNUnit;
  shape.m = get(bits, kM) * kMUnit;
  if (is_block_scaled(kind)) {
    shape.scale_format = static_cast<ScaleFormat>(get(bits, kScaleFormat));
    shape.is_long = packs_pairs(kind) && get(bits, kKSize) != 0;
    shape.a_scale_id = static_cast<uint8_t>(get(bits, kAScaleId));
    shape.b_scale_id = static_cast<uint8_t>(get(bits, kBScaleId));
  } else {
    constexpr uint32_t kShortestShift = 4;
    const uint32_t shift = get(bits, kMaximumShift);
    shape.d_format = static_cast<AccumulatorFormat>(get(bits, kDFormat));
    shape.saturate = get(bits, kSaturate) != 0;
    shape.sparsity_selector = static_cast<uint8_t>(get(bits, kSelector));
    shape.largest_shift = shift == 0 ? 0 : kShortestShift << shift;
  }
  return shape;
}

std::optional<Fault> check_instruction_descriptor(uint32_t bits, const MmaForm& form) {
  return Check(bits, form).run();
}

}  // namespace bw::sim
