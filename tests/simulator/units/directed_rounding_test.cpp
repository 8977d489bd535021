/// \file
/// The directed modes in software against the host's floating-point unit, bit by bit: random bit
/// patterns of every kind, and numbers whose exact results are near the results' neighbours.
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "common/simulator/units/alu/directed_rounding.hpp"

namespace bw::sim::test::directed_rounding_test {
namespace {

constexpr Rounding kModes[] = {Rounding::nearest_even, Rounding::toward_zero, Rounding::down,
                               Rounding::up};

template <class T>
using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;

template <class T>
class Numbers {
 public:
  T next() {
    switch (random_() % 4) {
      case 0:  // any bits: NaNs, infinities and subnormals too
        return std::bit_cast<T>(static_cast<Bits<T>>(random_()));
      case 1: {  // few bits: exact results and ties
        const auto few = static_cast<T>(static_cast<int64_t>(random_() % 33) - 16);
        return std::ldexp(few, static_cast<int>(random_() % 5) * 13 - 26);
      }
      case 2:
        return kSpecial[random_() % std::size(kSpecial)];
      default:  // close exponents
        return std::bit_cast<T>(static_cast<Bits<T>>((static_cast<Bits<T>>(random_()) & kFraction) |
                                                     kOne | (random_() % 2 << kSignShift)));
    }
  }

 private:
  static constexpr int kSignShift = sizeof(T) * 8 - 1;
  static constexpr Bits<T> kOne = std::bit_cast<Bits<T>>(T{1});
  static constexpr Bits<T> kFraction = (Bits<T>{1} << (std::numeric_limits<T>::digits - 1)) - 1;
  using Limits = std::numeric_limits<T>;
  static constexpr T kSpecial[] = {T{0},
                                   -T{0},
                                   T{1},
                                   Limits::max(),
                                   Limits::lowest(),
                                   Limits::min(),
                                   -Limits::min(),
                                   Limits::denorm_min(),
                                   -Limits::denorm_min(),
                                   Limits::infinity(),
                                   Limits::epsilon(),
                                   T{1} + Limits::epsilon(),
                                   T{1} - Limits::epsilon() / 2};
  std::mt19937_64 random_{42};
};

/// Hides a value from the compiler, which would fold arithmetic in the nearest mode.
template <class T>
T hidden(T value) {
  volatile T kept = value;
  return kept;
}

template <class T, class Native, class Software>
void compare(Native&& native, Software&& software) {
  Numbers<T> numbers;
  for (int i = 0; i < 100'000; ++i) {
    const T a = numbers.next(), b = numbers.next(), c = numbers.next();
    for (const Rounding mode : kModes) {
      T expected;
      {
        const RoundingScope scope(mode);
        expected = hidden(native(hidden(a), hidden(b), hidden(c)));
      }
      const T got = software(mode, a, b, c);
      if (std::isnan(expected)) {
        ASSERT_TRUE(std::isnan(got));
        continue;
      }
      ASSERT_EQ(std::bit_cast<Bits<T>>(got), std::bit_cast<Bits<T>>(expected))
          << std::hexfloat << a << ", " << b << ", " << c << ", mode " << static_cast<int>(mode)
          << ": " << got << ", and the host has " << expected;
    }
  }
}

template <class T>
void compare_all() {
  static_assert(kHostRounds, "this test compares with the host's own modes");
  compare<T>([](T a, T b, T) { return a + b; },
             [](Rounding mode, T a, T b, T) { return directed::add(mode, a, b); });
  compare<T>([](T a, T b, T) { return a * b; },
             [](Rounding mode, T a, T b, T) { return directed::multiply(mode, a, b); });
  compare<T>([](T a, T b, T c) { return std::fma(a, b, c); },
             [](Rounding mode, T a, T b, T c) { return directed::fma(mode, a, b, c); });
  compare<T>([](T a, T b, T) { return a / b; },
             [](Rounding mode, T a, T b, T) { return directed::divide(mode, a, b); });
  compare<T>([](T a, T, T) { return std::sqrt(a); },
             [](Rounding mode, T a, T, T) { return directed::root(mode, a); });
}

TEST(DirectedRounding, F32IsTheHosts) { compare_all<float>(); }
TEST(DirectedRounding, F64IsTheHosts) { compare_all<double>(); }

}  // namespace
}  // namespace bw::sim::test::directed_rounding_test
