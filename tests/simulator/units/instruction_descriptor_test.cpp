/// \file
/// Which instruction descriptors of tcgen05.mma are legal, against the PTX ISA's tables
/// ("Instruction descriptor", "Matrix Shape", "Transpose and Negate operations") written down once
/// more, bit by bit.
#include "common/simulator/units/tensor_core/instruction_descriptor.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace bw::sim::instruction_descriptor_test {
namespace {

uint32_t bits_of(uint32_t descriptor, uint32_t first, uint32_t last) {
  uint32_t value = 0;
  for (uint32_t bit = last + 1; bit-- > first;) value = 2 * value + (descriptor >> bit & 1);
  return value;
}

bool is_any(uint32_t value, const std::set<uint32_t>& values) { return values.contains(value); }

/// Elements of 8, 6 and 4 bits as the formats of kind::f8f6f4 are numbered.
const std::set<uint32_t> kF8F6F4 = {0, 1, 3, 4, 5};

bool shape_is_legal(uint32_t m, uint32_t n, const MmaForm& form) {
  if (n < 8 || n > 256) return false;
  if (form.weight_stationary)
    return is_any(m, {32, 64, 128}) &&
           (form.sparse ? is_any(n, {64, 128}) : is_any(n, {64, 128, 256}));
  const bool pair = form.group == 2;
  if (is_block_scaled(form.kind)) {
    if (!pair) return m == 128;
    return n % 16 == 0 && (m == 256 || (m == 128 && !form.sparse));
  }
  if (form.kind == MmaKind::i8) {
    if (pair) return is_any(m, {128, 256}) && n % 32 == 0;
    return m == 64 ? is_any(n, {8, 16, 24}) || n % 16 == 0 : m == 128 && n % 16 == 0;
  }
  if (pair) return is_any(m, {128, 256}) && n % 16 == 0;
  return m == 64 || (m == 128 && n % 16 == 0);
}

bool is_legal(uint32_t d, const MmaForm& form) {
  const bool scaled = is_block_scaled(form.kind), pairs = packs_pairs(form.kind);
  const uint32_t a = bits_of(d, 7, 9), b = bits_of(d, 10, pairs ? 11 : 12);
  const uint32_t selector = bits_of(d, 0, 1), accumulator = bits_of(d, 4, 5);
  const uint32_t n = 8 * bits_of(d, 17, 22);
  const uint32_t m = scaled ? 128 * bits_of(d, 27, 28) : 16 * bits_of(d, 24, 28);
  if (bits_of(d, 2, 2) != (form.sparse ? 1u : 0u)) return false;
  if (bits_of(d, 6, 6) != 0) return false;
  if (scaled) {
    if (selector != 0 || bits_of(d, 3, 3) != 0 || bits_of(d, 24, 26) != 0 ||
        bits_of(d, 31, 31) != 0)
      return false;
    if (pairs && bits_of(d, 12, 12) != 0) return false;
    if (bits_of(d, 23, 23) == 0 && !(form.kind == MmaKind::mxf4nvf4 && form.scales == 4))
      return false;
    const std::set<uint32_t> ids = form.scales == 1   ? std::set<uint32_t>{0, 1, 2, 3}
                                   : form.scales == 2 ? std::set<uint32_t>{0, 2}
                                                      : std::set<uint32_t>{0};
    if (!is_any(bits_of(d, 29, 30), ids) || !is_any(accumulator, ids))
      return false;  // B's: bits 4, 5
  } else {
    if (bits_of(d, 23, 23) != 0 || bits_of(d, 29, 29) != 0) return false;
    if (bits_of(d, 30, 31) != 0 && !form.weight_stationary) return false;
    const bool selects = form.kind == MmaKind::f16 || form.kind == MmaKind::tf32;
    if (selector > (form.sparse && selects ? 1u : 0u)) return false;
    if (form.kind == MmaKind::i8 ? bits_of(d, 13, 14) != 0 : bits_of(d, 3, 3) != 0) return false;
  }
  bool narrow_a = pairs, narrow_b = pairs, b_is_byte = true;
  switch (form.kind) {
    case MmaKind::f16:
      b_is_byte = false;
      if (a > 1 || a != b || !(accumulator == 1 || (accumulator == 0 && a == 0))) return false;
      break;
    case MmaKind::tf32:
      b_is_byte = false;
      if (a != 2 || b != 2 || accumulator != 1) return false;
      break;
    case MmaKind::f8f6f4:
      if (accumulator > 1) return false;
      [[fallthrough]];
    case MmaKind::mxf8f6f4:
      if (!is_any(a, kF8F6F4) || !is_any(b, kF8F6F4)) return false;
      narrow_a = a > 1;
      narrow_b = b > 1;
      break;
    case MmaKind::i8:
      if (a > 1 || b > 1 || accumulator != 2) return false;
      break;
    default:
      if (a != 1 || b != 1) return false;
  }
  const bool a_transposed = bits_of(d, 15, 15) != 0, b_transposed = bits_of(d, 16, 16) != 0;
  if ((a_transposed && narrow_a) || (b_transposed && narrow_b)) return false;
  if (b_transposed && b_is_byte && n % (form.group == 1 ? 16 : 32) != 0) return false;
  return shape_is_legal(m, n, form);
}

std::vector<MmaForm> forms() {
  std::vector<MmaForm> all;
  for (const MmaKind kind : {MmaKind::f16, MmaKind::tf32, MmaKind::f8f6f4, MmaKind::i8,
                             MmaKind::mxf8f6f4, MmaKind::mxf4, MmaKind::mxf4nvf4})
    for (const int group : {1, 2})
      for (const bool sparse : {false, true})
        for (const bool stationary : {false, true}) {
          if (stationary && (group == 2 || is_block_scaled(kind))) continue;
          if (!is_block_scaled(kind)) {
            all.push_back({kind, group, sparse, stationary, 0});
            continue;
          }
          if (kind == MmaKind::mxf8f6f4) all.push_back({kind, group, sparse, false, 1});
          if (kind == MmaKind::mxf4) all.push_back({kind, group, sparse, false, 2});
          if (kind == MmaKind::mxf4nvf4)
            for (const uint32_t scales : {2u, 4u})
              all.push_back({kind, group, sparse, false, scales});
        }
  return all;
}

std::string describe(uint32_t descriptor, const MmaForm& form) {
  return "kind " + std::to_string(static_cast<int>(form.kind)) + ", group " +
         std::to_string(form.group) + (form.sparse ? ", sparse" : "") +
         (form.weight_stationary ? ", ws" : "") + ", scales " + std::to_string(form.scales) +
         ", descriptor " + std::to_string(descriptor);
}

void compare(uint32_t descriptor, const MmaForm& form, uint32_t& legal) {
  const auto problem = check_instruction_descriptor(descriptor, form);
  const bool expected = is_legal(descriptor, form);
  legal += expected ? 1 : 0;
  EXPECT_EQ(!problem.has_value(), expected)
      << describe(descriptor, form) << (problem ? ": " + problem->what : "");
}

TEST(InstructionDescriptor, LegalOnesAreThoseOfTheTables) {
  std::mt19937 random(5);
  for (const MmaForm& form : forms()) {
    // A legal one of this form, found at random among descriptors with few random bits.
    std::vector<uint32_t> bases;
    for (uint32_t m = 0; m < 32; ++m)
      for (const uint32_t n : {8u, 16u, 32u})
        for (const uint32_t format : {0u, 1u, 2u, 5u})
          for (const uint32_t low : {0u, 1u << 4, 2u << 4}) {
            const uint32_t scale = is_block_scaled(form.kind) ? 1u << 23 : 0;
            const uint32_t one = (form.sparse ? 4u : 0u) | low | format << 7 | format << 10 |
                                 scale | n << 17 | m << 24;
            if (is_legal(one, form)) bases.push_back(one);
          }
    ASSERT_FALSE(bases.empty()) << describe(0, form);
    uint32_t legal = 0;
    for (const uint32_t base : bases) {
      compare(base, form, legal);
      for (uint32_t bit = 0; bit < 32; ++bit) compare(base ^ 1u << bit, form, legal);
      // All values of each field, and random pairs of bits.
      for (uint32_t n = 0; n < 64; ++n) compare((base & ~(63u << 17)) | n << 17, form, legal);
      for (uint32_t m = 0; m < 32; ++m) compare((base & ~(31u << 24)) | m << 24, form, legal);
      for (uint32_t code = 0; code < 64; ++code)
        compare((base & ~(63u << 7)) | code << 7, form, legal);
      for (int i = 0; i < 40; ++i)
        compare(base ^ 1u << random() % 32 ^ 1u << random() % 32, form, legal);
      if (HasFailure()) return;
    }
    EXPECT_GT(legal, bases.size());
  }
}

TEST(InstructionDescriptor, NOf8WithMOf128IsInUse) {
  const auto problem_of = [](uint32_t m, uint32_t n, MmaKind kind) {
    const uint32_t d_format = kind == MmaKind::i8 ? 2 : 1;
    return check_instruction_descriptor(d_format << 4 | n / 8 << 17 | m / 16 << 24,
                                        {kind, 1, false, false, 0});
  };
  for (const uint32_t n : {8u, 24u, 248u}) {
    ASSERT_TRUE(problem_of(128, n, MmaKind::f16)) << n;
    EXPECT_EQ(problem_of(128, n, MmaKind::f16)->code, FaultCode::mma_shape);
    EXPECT_TRUE(problem_of(128, n, MmaKind::f16)->hardware_accepts) << n;
    EXPECT_FALSE(problem_of(128, n, MmaKind::i8)->hardware_accepts) << n;
    EXPECT_FALSE(problem_of(64, n, MmaKind::f16)) << n;
  }
}

}  // namespace
}  // namespace bw::sim::instruction_descriptor_test
