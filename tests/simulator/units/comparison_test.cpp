/// \file
/// setp, set, selp, slct and predicate logic (PTX ISA, "Comparison and Selection Instructions").
#include <bit>
#include <map>

#include "tests/simulator/units/lane_evaluation.hpp"

namespace bw::sim::test::comparison_test {
namespace {

using U16 = uint16_t;
using U32 = uint32_t;
constexpr size_t kCount = 1000;

/// The ISA's table of comparisons, from the three ordered ones and "is unordered".
bool holds(const std::string& name, bool less, bool equal, bool unordered) {
  if (name == "num") return !unordered;
  if (name == "nan") return unordered;
  const bool accepts_nan = name.size() == 3;  // equ, neu, ltu, ...
  if (unordered) return accepts_nan;
  const std::string base = name.substr(0, 2);
  if (base == "eq") return equal;
  if (base == "ne") return !equal;
  if (base == "lt" || base == "lo") return less;
  if (base == "le" || base == "ls") return less || equal;
  if (base == "gt" || base == "hi") return !less && !equal;
  return !less;  // ge, hs
}

template <class T>
void check(const std::string& type, const std::vector<std::string>& names) {
  auto a = interesting<T>(kCount, 1), b = interesting<T>(kCount, 2);
  for (size_t i = 0; i < kCount; i += 3) b[i] = a[i];
  for (const std::string& name : names) {
    const auto plain =
        evaluate<U32>("setp." + name + "." + type + " %p, %a, %b; selp.u32 %d, 1, 0, %p;", a, b);
    const auto both = evaluate<U32>(
        "setp.ne.u32 %guard, %n, 0; setp.lt.u32 %guard, %i, 500;\n"
        "setp." +
            name + ".and." + type +
            " %p|%q, %a, %b, !%guard;\n"
            "selp.u32 %d, 1, 0, %p; selp.u32 %x0, 2, 0, %q; or.b32 %d, %d, %x0;",
        a, b);
    for (size_t i = 0; i < kCount; ++i) {
      const bool expected = holds(name, a[i] < b[i], a[i] == b[i], a[i] != a[i] || b[i] != b[i]);
      ASSERT_EQ(plain[i], expected ? 1u : 0u) << name << "." << type << " " << a[i] << ", " << b[i];
      ASSERT_EQ(both[i], i < 500 ? 0u : expected ? 1u : 2u) << name << "." << type;
    }
  }
}

TEST(Comparison, EveryOperatorOfEveryType) {
  const std::vector<std::string> ordered{"eq", "ne", "lt", "le", "gt", "ge"};
  std::vector<std::string> with_unsigned = ordered, floating = ordered;
  with_unsigned.insert(with_unsigned.end(), {"lo", "ls", "hi", "hs"});
  floating.insert(floating.end(), {"equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"});
  check<int16_t>("s16", ordered);
  check<U16>("u16", with_unsigned);
  check<int32_t>("s32", ordered);
  check<U32>("u32", with_unsigned);
  check<int64_t>("s64", ordered);
  check<uint64_t>("u64", with_unsigned);
  check<U32>("b32", {"eq", "ne"});
  check<float>("f32", floating);
  check<double>("f64", floating);
}

TEST(Comparison, HalfPrecisionAndPackedPairs) {
  const std::vector<U16> a{0x3c00, 0x7e00, 0x8000}, b{0x4000, 0x3c00, 0x0000};
  EXPECT_EQ(evaluate<U32>("setp.lt.f16 %p, %a, %b; selp.u32 %d, 1, 0, %p;", a, b),
            (std::vector<U32>{1, 0, 0}));
  EXPECT_EQ(evaluate<U32>("setp.equ.bf16 %p, %a, %b; selp.u32 %d, 1, 0, %p;", a, b),
            (std::vector<U32>{0, 0, 1}));
  const std::vector<U32> pair{0x3c004000}, other{0x40003c00};
  EXPECT_EQ(
      evaluate<U32>("setp.lt.f16x2 %p|%q, %a, %b; selp.u32 %d, 1, 0, %p; selp.u32 %x0, 2, 0, %q;\n"
                    "or.b32 %d, %d, %x0;",
                    pair, other)[0],
      2u);
  EXPECT_EQ(evaluate<U32>("set.lt.f16x2.f16x2 %d, %a, %b;", pair, other)[0], 0x3c000000u);
  EXPECT_EQ(evaluate<U32>("set.gt.u32.f16x2 %d, %a, %b;", pair, other)[0], 0x0000ffffu);
  expect_fault(FaultKind::unsupported, {"setp.lt.f16x2", "p|q"},
               [&] { (void)evaluate<U32>("setp.lt.f16x2 %p, %a, %b;", pair, other); });
}

TEST(Comparison, SetWritesMasksOrOne) {
  const std::vector<int32_t> a{1, -2}, b{2, -3};
  EXPECT_EQ(evaluate<U32>("set.lt.u32.s32 %d, %a, %b;", a, b), (std::vector<U32>{~0u, 0}));
  EXPECT_EQ(evaluate<float>("set.lt.f32.s32 %d, %a, %b;", a, b), (std::vector<float>{1, 0}));
  EXPECT_EQ(evaluate<U32>("setp.gt.s32 %p, %a, 0; set.lt.xor.s32.s32 %d, %a, %b, %p;", a, b),
            (std::vector<U32>{0, 0}));
}

TEST(Comparison, Selection) {
  const std::vector<float> c{1, -1, -0.0f, NAN, -0x1p-140f};
  const std::vector<uint64_t> a(5, 10), b(5, 20);
  EXPECT_EQ(evaluate<uint64_t>("slct.u64.f32 %d, %a, %b, %c;", a, b, c),
            (std::vector<uint64_t>{10, 20, 10, 20, 20}));
  EXPECT_EQ(evaluate<uint64_t>("slct.ftz.u64.f32 %d, %a, %b, %c;", a, b, c)[4], 10u);
  EXPECT_EQ(evaluate<U16>("slct.u16.s32 %d, 3, 4, %a;", std::vector<int32_t>{0, -1}),
            (std::vector<U16>{3, 4}));
  EXPECT_EQ(evaluate<uint64_t>("setp.lt.u32 %p, %i, 2; selp.b64 %d, %a, %b, !%p;", a, b),
            (std::vector<uint64_t>{20, 20, 10, 10, 10}));
}

TEST(Comparison, PredicateLogic) {
  const std::vector<U32> a{0, 0, 1, 1}, b{0, 1, 0, 1};
  const auto logic = [&](const std::string& text) {
    return evaluate<U32>(
        "setp.ne.u32 %p, %a, 0; setp.ne.u32 %q, %b, 0;\n" + text + " selp.u32 %d, 1, 0, %p;", a, b);
  };
  EXPECT_EQ(logic("and.pred %p, %p, %q;"), (std::vector<U32>{0, 0, 0, 1}));
  EXPECT_EQ(logic("or.pred %p, %p, !%q;"), (std::vector<U32>{1, 0, 1, 1}));
  EXPECT_EQ(logic("xor.pred %p, %p, %q;"), (std::vector<U32>{0, 1, 1, 0}));
  EXPECT_EQ(logic("not.pred %p, %q;"), (std::vector<U32>{1, 0, 1, 0}));
  EXPECT_EQ(logic("mov.pred %p, %q;"), (std::vector<U32>{0, 1, 0, 1}));
  EXPECT_EQ(logic("mov.pred %p, 1;"), (std::vector<U32>{1, 1, 1, 1}));
}

TEST(Comparison, IntegersHaveNoUnorderedComparisons) {
  expect_fault(FaultKind::unsupported, {"setp.equ.s32", "integers"},
               [] { (void)evaluate<U32>("setp.equ.s32 %p, %a, %a;", std::vector<U32>{1}); });
}

}  // namespace
}  // namespace bw::sim::test::comparison_test
