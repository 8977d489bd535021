#include "common/simulator/units/tensor_core/instruction_descriptor.hpp"

#include <string>

#include <fmt/core.h>

namespace bw::sim {
namespace {

constexpr uint32_t field(uint32_t bits, unsigned first, unsigned count) {
  return bits >> first & ((1u << count) - 1);
}

// Positions of the fields.
constexpr unsigned kSparsitySelector = 0, kSparse = 2, kSaturate = 3, kDFormat = 4, kReserved6 = 6,
                   kAFormat = 7, kBFormat = 10, kNegateA = 13, kNegateB = 14, kAMajor = 15,
                   kBMajor = 16, kN = 17, kReserved23 = 23, kM = 24, kReserved29 = 29,
                   kMaximumShift = 30;
constexpr uint32_t kNUnit = 8, kMUnit = 16;
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
  }
  return std::nullopt;
}

const char* allowed_formats(MmaKind kind) {
  switch (kind) {
    case MmaKind::f16:
      return "0 (f16) and 1 (bf16)";
    case MmaKind::tf32:
      return "2 (tf32)";
    case MmaKind::f8f6f4:
      return "0 (e4m3), 1 (e5m2), 3 (e2m3), 4 (e3m2) and 5 (e2m1)";
    case MmaKind::i8:
      return "0 (u8) and 1 (s8)";
  }
  return "";
}

bool accumulator_allowed(uint32_t d, MmaKind kind, uint32_t a, uint32_t b) {
  switch (kind) {
    case MmaKind::f16:
      return d == 1 || (d == 0 && a == 0 && b == 0);
    case MmaKind::tf32:
      return d == 1;
    case MmaKind::f8f6f4:
      return d <= 1;
    case MmaKind::i8:
      return d == 2;
  }
  return false;
}

bool shape_allowed(uint32_t m, uint32_t n, MmaKind kind, int cta_group) {
  constexpr uint32_t kLargestN = 256;
  if (n == 0 || n > kLargestN) return false;
  if (cta_group == 1) {
    if (m == 64) return n % 8 == 0 && (kind != MmaKind::i8 || n <= 24 || n % 16 == 0);
    return m == 128 && n % 16 == 0;
  }
  return (m == 128 || m == 256) && n % (kind == MmaKind::i8 ? 32 : 16) == 0;
}

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
  }
  return "";
}

MmaShape decode_instruction_descriptor(uint32_t bits, MmaKind kind) {
  MmaShape shape;
  shape.kind = kind;
  shape.a_format = operand_format(field(bits, kAFormat, 3), kind).value_or(MmaFormat::f16);
  shape.b_format = operand_format(field(bits, kBFormat, 3), kind).value_or(MmaFormat::f16);
  shape.d_format = static_cast<AccumulatorFormat>(field(bits, kDFormat, 2));
  shape.a_major = field(bits, kAMajor, 1) != 0 ? Major::mn : Major::k;
  shape.b_major = field(bits, kBMajor, 1) != 0 ? Major::mn : Major::k;
  shape.negate = field(bits, kNegateA, 1) != field(bits, kNegateB, 1);
  shape.saturate = field(bits, kSaturate, 1) != 0;
  shape.n = field(bits, kN, 6) * kNUnit;
  shape.m = field(bits, kM, 5) * kMUnit;
  return shape;
}

std::optional<Fault> check_instruction_descriptor(uint32_t bits, MmaKind kind, int cta_group) {
  const std::string name =
      std::string("the instruction descriptor of kind::") + kind_name(kind) + " has ";
  const auto value = [&](unsigned first, unsigned count) {
    return std::to_string(field(bits, first, count));
  };
  if (field(bits, kSparse, 1) != 0 || field(bits, kSparsitySelector, 2) != 0)
    return Fault{.what = name + "sparsity bits (0 to 2) set, but the instruction is dense",
                 .rule = kRule,
                 .fix = "clear bits 0 to 2",
                 .section = kSection};
  if (field(bits, kReserved6, 1) != 0 || field(bits, kReserved23, 1) != 0 ||
      field(bits, kReserved29, 1) != 0)
    return Fault{.what = name + "reserved bits set (6, 23 and 29 must be 0)",
                 .rule = kRule,
                 .fix = "clear bits 6, 23 and 29",
                 .section = kSection};
  if (field(bits, kMaximumShift, 2) != 0)
    return Fault{.what = name + "a maximum shift in bits 30 and 31, which only .ws uses",
                 .rule = kRule,
                 .fix = "clear bits 30 and 31",
                 .section = kSection};
  const bool is_i8 = kind == MmaKind::i8;
  if (is_i8 && (field(bits, kNegateA, 1) != 0 || field(bits, kNegateB, 1) != 0))
    return Fault{.what = name + "a negate bit (13, 14) set",
                 .rule = kRule,
                 .fix = "clear bits 13 and 14: integer operands cannot be negated",
                 .section = kSection};
  if (!is_i8 && field(bits, kSaturate, 1) != 0)
    return Fault{.what = name + "the saturate bit (3) set, which only kind::i8 has",
                 .rule = kRule,
                 .fix = "clear bit 3",
                 .section = kSection};
  if (!operand_format(field(bits, kAFormat, 3), kind) ||
      !operand_format(field(bits, kBFormat, 3), kind))
    return Fault{.what = name + "format " + value(kAFormat, 3) + " for A and " +
                         value(kBFormat, 3) + " for B; allowed are " + allowed_formats(kind),
                 .rule = kRule,
                 .fix = "encode the formats that the kind has",
                 .section = kSection};
  if (kind == MmaKind::f16 && field(bits, kAFormat, 3) != field(bits, kBFormat, 3))
    return Fault{.what = name + "one f16 and one bf16 operand",
                 .rule = kRule,
                 .fix = "give A and B the same format",
                 .section = kSection};
  if (!accumulator_allowed(field(bits, kDFormat, 2), kind, field(bits, kAFormat, 3),
                           field(bits, kBFormat, 3)))
    return Fault{.what = name + "format " + value(kDFormat, 2) +
                         " for D, which does not go with the kind and the formats of A and B",
                 .rule = kRule,
                 .fix = "use 1 (f32), 0 (f16) for f16 and f8f6f4 operands, 2 (s32) for i8",
                 .section = kSection};
  const MmaShape shape = decode_instruction_descriptor(bits, kind);
  if (!shape_allowed(shape.m, shape.n, kind, cta_group))
    return Fault{.what = fmt::format("{}M = {}, N = {}, a shape that cta_group::{} does not have",
                                     name, shape.m, shape.n, cta_group),
                 .rule = "the shape is one that the kind has",
                 .fix = cta_group == 1
                            ? "use M = 64 with N a multiple of 8 or M = 128 with N a multiple "
                              "of 16, N up to 256"
                            : "use M = 128 or 256 with N a multiple of 16 (kind::i8: of 32) "
                              "up to 256",
                 .section = "Matrix Shape"};
  return std::nullopt;
}

}  // namespace bw::sim
