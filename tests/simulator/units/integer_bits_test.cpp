/// \file
/// Logic, shifts, bit fields and permutation, bit by bit (PTX ISA, "Logic and Shift Instructions",
/// "Integer Arithmetic Instructions").
#include <bit>

#include "tests/simulator/units/lane_evaluation.hpp"

namespace bw::sim::test::integer_bits_test {
namespace {

using U32 = uint32_t;
using U64 = uint64_t;
constexpr size_t kCount = 2000;

bool bit(U64 value, int64_t position) { return (value >> position & 1) != 0; }

template <class T, class Reference>
void check_shift(const std::string& opcode, Reference reference) {
  const auto a = interesting<T>(kCount, 1);
  const auto b = interesting<U32>(kCount, 2);
  const auto d = evaluate<T>(opcode + " %d, %a, %b;", a, b);
  for (size_t i = 0; i < kCount; ++i)
    ASSERT_EQ(d[i], reference(a[i], b[i])) << opcode << " " << a[i] << ", " << b[i];
}

template <class T>
void check_shifts(const std::string& bits) {
  constexpr int kWidth = 8 * sizeof(T);
  check_shift<T>("shl.b" + bits, [](T a, U32 n) {
    T result = a;
    for (U32 k = 0; k < std::min<U32>(n, 100); ++k) result = static_cast<T>(result * 2u);
    return result;
  });
  check_shift<T>("shr.u" + bits, [](T a, U32 n) {
    T result = a;
    for (U32 k = 0; k < std::min<U32>(n, 100); ++k) result = static_cast<T>(result / 2u);
    return result;
  });
  check_shift<T>("shr.s" + bits, [](T a, U32 n) {
    T result = a;
    const T top = static_cast<T>(a & static_cast<T>(T{1} << (kWidth - 1)));
    for (U32 k = 0; k < std::min<U32>(n, 100); ++k) result = static_cast<T>(result / 2u | top);
    return result;
  });
}

TEST(Bits, ShiftAmountsClampAtTheWidth) {
  check_shifts<uint16_t>("16");
  check_shifts<U32>("32");
  check_shifts<U64>("64");
}

TEST(Bits, LogicOfEveryWidth) {
  const auto a = interesting<U64>(kCount, 3), b = interesting<U64>(kCount, 4);
  EXPECT_EQ(evaluate<U64>("and.b64 %d, %a, %b;", a, b)[20], a[20] & b[20]);
  const auto exclusive = evaluate<U64>("xor.b64 %d, %a, %b; not.b64 %d, %d;", a, b);
  const auto counts = evaluate<U64>("cnot.b64 %d, %a; or.b64 %d, %d, %b;", a, b);
  for (size_t i = 0; i < kCount; ++i) {
    ASSERT_EQ(exclusive[i], ~(a[i] ^ b[i]));
    ASSERT_EQ(counts[i], (a[i] == 0 ? 1u : 0u) | b[i]);
  }
}

TEST(Bits, Lop3IsItsTruthTable) {
  const auto a = interesting<U32>(200, 5), b = interesting<U32>(200, 6),
             c = interesting<U32>(200, 7);
  for (const U32 table : {0x00u, 0x80u, 0xfeu, 0x96u, 0xe8u, 0xcau, 0x1fu, 0xffu}) {
    const auto d =
        evaluate<U32>("lop3.b32 %d, %a, %b, %c, " + std::to_string(table) + ";", a, b, c);
    for (size_t i = 0; i < d.size(); ++i)
      for (int k = 0; k < 32; ++k)
        ASSERT_EQ(bit(d[i], k), bit(table, 4 * bit(a[i], k) + 2 * bit(b[i], k) + bit(c[i], k)));
  }
  const auto p = evaluate<U32>(
      "setp.ne.u32 %q, %b, 0;\n"
      "lop3.and.b32 %x0|%p, %a, %b, %c, 0x96, %q;\nselp.u32 %d, 1, 0, %p;",
      a, b, c);
  for (size_t i = 0; i < p.size(); ++i)
    ASSERT_EQ(p[i], (a[i] ^ b[i] ^ c[i]) != 0 && b[i] != 0 ? 1u : 0u);
}

TEST(Bits, FunnelShift) {
  const auto a = interesting<U32>(kCount, 8), b = interesting<U32>(kCount, 9),
             c = interesting<U32>(kCount, 10);
  const auto left_wrap = evaluate<U32>("shf.l.wrap.b32 %d, %a, %b, %c;", a, b, c);
  const auto left_clamp = evaluate<U32>("shf.l.clamp.b32 %d, %a, %b, %c;", a, b, c);
  const auto right_wrap = evaluate<U32>("shf.r.wrap.b32 %d, %a, %b, %c;", a, b, c);
  const auto right_clamp = evaluate<U32>("shf.r.clamp.b32 %d, %a, %b, %c;", a, b, c);
  for (size_t i = 0; i < kCount; ++i) {
    const auto left = [&](U32 n) {
      return n == 0 ? b[i] : n == 32 ? a[i] : b[i] << n | a[i] >> (32 - n);
    };
    const auto right = [&](U32 n) {
      return n == 0 ? a[i] : n == 32 ? b[i] : b[i] << (32 - n) | a[i] >> n;
    };
    ASSERT_EQ(left_wrap[i], left(c[i] % 32));
    ASSERT_EQ(left_clamp[i], left(std::min(c[i], 32u)));
    ASSERT_EQ(right_wrap[i], right(c[i] % 32));
    ASSERT_EQ(right_clamp[i], right(std::min(c[i], 32u)));
  }
}

template <class T>
void check_fields(const std::string& bits) {
  constexpr int kTop = 8 * sizeof(T) - 1;
  const auto a = interesting<T>(kCount, 11), b = interesting<T>(kCount, 12);
  auto c = interesting<U32>(kCount, 13), e = interesting<U32>(kCount, 14);
  const auto extracted = evaluate<T>("bfe.u" + bits + " %d, %a, %b, %c;", a, c, e);
  const auto extended = evaluate<T>("bfe.s" + bits + " %d, %a, %b, %c;", a, c, e);
  const auto inserted = evaluate<T>("bfi.b" + bits + " %d, %a, %b, %c, %e;", a, b, c, e);
  for (size_t i = 0; i < kCount; ++i) {
    const int position = c[i] & 0xff, length = e[i] & 0xff;
    const bool sign = length != 0 && bit(a[i], std::min(position + length - 1, kTop));
    T unsigned_field = 0, signed_field = 0, merged = b[i];
    for (int k = 0; k <= kTop; ++k) {
      const bool inside = k < length && position + k <= kTop;
      if (inside && bit(a[i], position + k)) unsigned_field |= T{1} << k;
      if (inside ? bit(a[i], position + k) : sign) signed_field |= T{1} << k;
    }
    for (int k = 0; k < length && position + k <= kTop; ++k)
      merged = (merged & ~(T{1} << (position + k))) | static_cast<T>(bit(a[i], k))
                                                          << (position + k);
    ASSERT_EQ(extracted[i], unsigned_field) << a[i] << " at " << position << ", " << length;
    ASSERT_EQ(extended[i], signed_field) << a[i] << " at " << position << ", " << length;
    ASSERT_EQ(inserted[i], merged) << position << ", " << length;
  }
}

TEST(Bits, FieldsAreExtractedAndInserted) {
  check_fields<U32>("32");
  check_fields<U64>("64");
}

TEST(Bits, CountsAndPositions) {
  const auto a = interesting<U64>(kCount, 15);
  const auto b = interesting<U32>(kCount, 16);
  const auto zeros = evaluate<U32>("clz.b64 %d, %a;", a),
             ones = evaluate<U32>("popc.b64 %d, %a;", a);
  const auto last = evaluate<U32>("bfind.u64 %d, %a;", a);
  const auto last_signed = evaluate<U32>("bfind.s32 %d, %a;", b);
  const auto shift = evaluate<U32>("bfind.shiftamt.u32 %d, %a;", b);
  const auto reversed = evaluate<U64>("brev.b64 %d, %a;", a);
  for (size_t i = 0; i < kCount; ++i) {
    U32 count = 0, highest = ~0u, highest_signed = ~0u, highest32 = ~0u;
    U64 mirror = 0;
    for (int k = 0; k < 64; ++k) {
      count += bit(a[i], k);
      if (bit(a[i], k)) highest = static_cast<U32>(k), mirror |= 1ull << (63 - k);
    }
    for (int k = 0; k < 32; ++k) {
      if (bit(b[i], k)) highest32 = static_cast<U32>(k);
      if (bit(b[i], k) != bit(b[i], 31)) highest_signed = static_cast<U32>(k);
    }
    ASSERT_EQ(ones[i], count);
    ASSERT_EQ(last[i], highest);
    ASSERT_EQ(zeros[i], highest == ~0u ? 64 : 63 - highest);
    ASSERT_EQ(last_signed[i], highest_signed) << b[i];
    ASSERT_EQ(shift[i], highest32 == ~0u ? ~0u : 31 - highest32);
    ASSERT_EQ(reversed[i], mirror);
  }
}

TEST(Bits, NthSetBit) {
  // mask 0b1011'0100: set bits 2, 4, 5, 7
  const std::vector<U32> mask(8, 0xb4);
  const std::vector<U32> base{2, 3, 0, 0, 7, 7, 5, 40};
  const std::vector<int32_t> offset{0, 0, 1, 3, -1, -4, 2, 1};
  EXPECT_EQ(evaluate<U32>("fns.b32 %d, %a, %b, %c;", mask, base, offset),
            (std::vector<U32>{2, ~0u, 2, 5, 7, 2, 7, ~0u}));
}

TEST(Bits, PermuteModes) {
  const std::vector<U32> a(8, 0x33221100u), b(8, 0x77665584u);
  const std::vector<U32> c{0x7531, 0xcdef, 0, 1, 2, 3, 0x8888, 0x4cc4};
  EXPECT_EQ(evaluate<U32>("prmt.b32 %d, %a, %b, %c;", a, b, c)[0], 0x77553311u);
  EXPECT_EQ(evaluate<U32>("prmt.b32 %d, %a, %b, %c;", a, b, c)[1], 0xff000000u);
  EXPECT_EQ(evaluate<U32>("prmt.b32 %d, %a, %b, %c;", a, b, c)[7], 0x84ffff84u);
  const auto mode = [&](const std::string& name, size_t i) {
    return evaluate<U32>("prmt.b32." + name + " %d, %a, %b, %c;", a, b, c)[i];
  };
  EXPECT_EQ(mode("f4e", 3), 0x84332211u);
  EXPECT_EQ(mode("f4e", 5), 0x66558433u);
  EXPECT_EQ(mode("b4e", 2), 0x55667700u);
  EXPECT_EQ(mode("b4e", 5), 0x00112233u);
  EXPECT_EQ(mode("rc8", 4), 0x22222222u);
  EXPECT_EQ(mode("ecl", 3), 0x33221111u);
  EXPECT_EQ(mode("ecr", 4), 0x22221100u);
  EXPECT_EQ(mode("rc16", 3), 0x33223322u);
}

TEST(Bits, ExtensionAndMasks) {
  const auto a = interesting<U32>(kCount, 17), b = interesting<U32>(kCount, 18);
  const auto clamp = evaluate<U32>("szext.clamp.s32 %d, %a, %b;", a, b);
  const auto wrap = evaluate<U32>("szext.wrap.u32 %d, %a, %b;", a, b);
  const auto mask_clamp = evaluate<U32>("bmsk.clamp.b32 %d, %a, %b;", a, b);
  const auto mask_wrap = evaluate<U32>("bmsk.wrap.b32 %d, %a, %b;", a, b);
  for (size_t i = 0; i < kCount; ++i) {
    U32 extended = 0, zero_extended = 0, ones_clamp = 0, ones_wrap = 0;
    for (U32 k = 0; k < 32; ++k) {
      const U32 n = std::min(b[i], 32u);
      if (n != 0 && bit(a[i], std::min(k, n - 1))) extended |= 1u << k;
      if (k < b[i] % 32 && bit(a[i], k)) zero_extended |= 1u << k;
      if (k >= a[i] && k < uint64_t{a[i]} + b[i]) ones_clamp |= 1u << k;
      if (k >= a[i] % 32 && k < a[i] % 32 + b[i] % 32) ones_wrap |= 1u << k;
    }
    ASSERT_EQ(clamp[i], extended) << a[i] << ", " << b[i];
    ASSERT_EQ(wrap[i], zero_extended) << a[i] << ", " << b[i];
    ASSERT_EQ(mask_clamp[i], ones_clamp) << a[i] << ", " << b[i];
    ASSERT_EQ(mask_wrap[i], ones_wrap) << a[i] << ", " << b[i];
  }
}

TEST(Bits, LookupTableMustBeAnImmediateOfEightBits) {
  expect_fault(FaultKind::unsupported, {"lop3", "256"},
               [] { (void)evaluate<U32>("lop3.b32 %d, %a, %a, %a, 256;", std::vector<U32>{1}); });
}

}  // namespace
}  // namespace bw::sim::test::integer_bits_test
