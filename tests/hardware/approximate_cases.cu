/// \file
/// Approximate functions: their bits are each machine's own business, their error is bounded by the
/// ISA (PTX ISA, "Floating Point Instructions", the instruction's table of errors). A case counts
/// the results outside of the bound, and records those of special operands exactly.
#include <cmath>
#include <cstring>
#include <limits>

#include "tests/hardware/inputs.hpp"
#include "tests/hardware/instruction_case.cuh"
#include "tests/hardware/raw_memory.hpp"

namespace bw::conformance::approximate {

constexpr size_t kElements = 4096;

/// A function, where it is bounded, and its bound.
struct Bound {
  double (*exact)(double);
  double lowest;  ///< operands to check, lowest <= |x| <= highest
  double highest;
  bool negative;    ///< negative operands too
  double relative;  ///< the largest relative error …
  double absolute;  ///< … or absolute error, whichever allows more
};

/// Results that the ISA's tables give exactly: zeros, infinities, NaN; of the operands below.
constexpr uint32_t kSpecial[] = {0xff800000, 0x80000000, 0x00000000, 0x7f800000, 0x7fc00000};

float as_float(uint64_t bits) {
  const auto word = static_cast<uint32_t>(bits);
  float value;
  std::memcpy(&value, &word, sizeof(value));
  return value;
}

Result measure_bound(const void* kernel, const Bound& bound) {
  RandomBits random(17);
  std::vector<uint64_t> inputs(std::begin(kSpecial), std::end(kSpecial));
  while (inputs.size() < kElements) {
    // Exponents evenly between the ends, so that small and large operands are alike in number.
    const double low = std::log2(bound.lowest), high = std::log2(bound.highest);
    const double place = static_cast<double>(random.below(1u << 30)) / (1u << 30);
    float value = static_cast<float>(std::exp2(low + (high - low) * place));
    if (bound.negative && random.below(2) == 0) value = -value;
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    inputs.push_back(bits);
  }
  DeviceBuffer<uint8_t> operand = to_device(inputs, 4);
  DeviceBuffer<uint8_t> result(kElements * 4);
  launch(kernel, kElements / kThreads, kThreads, operand.data(), operand.data(), operand.data(),
         result.data());
  const std::vector<uint64_t> values = from_device(result, 4);
  std::vector<uint64_t> recorded(values.begin(), values.begin() + std::size(kSpecial));
  uint64_t outside = 0;
  std::string worst = "results outside of the ISA's bound";
  for (size_t i = std::size(kSpecial); i < kElements; ++i) {
    const double exact = bound.exact(as_float(inputs[i]));
    const double error = std::abs(as_float(values[i]) - exact);
    // A subnormal result may be flushed or rounded: half a unit of the least normal is allowed.
    const double allowed =
        std::max({bound.relative * std::abs(exact), bound.absolute,
                  static_cast<double>(std::numeric_limits<float>::denorm_min())});
    if (error <= allowed) continue;
    if (outside++ == 0)
      worst += ", the first of " + hexadecimal(inputs[i], 4) + ": " + hexadecimal(values[i], 4);
  }
  recorded.push_back(outside);
  return {recorded, [worst](size_t i) {
            return i < std::size(kSpecial) ? "of " + hexadecimal(kSpecial[i], 4) : worst;
          }};
}

#define BW_BOUND_AT(LINE, PTX, ...)                                                              \
  struct Form##LINE {                                                                            \
    using A = uint32_t;                                                                          \
    using B = A;                                                                                 \
    using C = A;                                                                                 \
    using R = A;                                                                                 \
    static __device__ R run(A a, B, C) {                                                         \
      R result;                                                                                  \
      asm volatile(PTX " %0, %1;" : "=r"(result) : "r"(a));                                      \
      return result;                                                                             \
    }                                                                                            \
  };                                                                                             \
  const Registration registration##LINE("approximate." PTX, [] {                                 \
    return measure_bound(reinterpret_cast<const void*>(&apply<Form##LINE>), Bound{__VA_ARGS__}); \
  });
#define BW_BOUND_LINE(LINE, ...) BW_BOUND_AT(LINE, __VA_ARGS__)
#define BW_BOUND(...) BW_BOUND_LINE(__LINE__, __VA_ARGS__)

constexpr double kUlp = 0x1p-23;  // at most this fraction of a value
constexpr double kPi = 3.14159265358979323846;

// rcp.approx: 1 ulp over the full range. (Subnormal results come from |x| > 2^126.)
BW_BOUND(
    "rcp.approx.f32", [](double x) { return 1 / x; }, 0x1p-126, 0x1p+126, true, kUlp, 0)
BW_BOUND(
    "rcp.approx.ftz.f32", [](double x) { return 1 / x; }, 0x1p-126, 0x1p+126, true, kUlp, 0)
// sqrt.approx: relative error 2^-23; rsqrt.approx: 2^-22.9.
BW_BOUND(
    "sqrt.approx.f32", [](double x) { return std::sqrt(x); }, 0x1p-126, 0x1p+127, false, 0x1p-23, 0)
BW_BOUND(
    "rsqrt.approx.f32", [](double x) { return 1 / std::sqrt(x); }, 0x1p-126, 0x1p+127, false,
    std::exp2(-22.9), 0)
// ex2.approx: 2 ulp of the result; the ISA's table gives 2^-22 as the relative error.
BW_BOUND(
    "ex2.approx.f32", [](double x) { return std::exp2(x); }, 0x1p-20, 125.0, true, 2 * kUlp, 0)
BW_BOUND(
    "ex2.approx.ftz.f32", [](double x) { return std::exp2(x); }, 0x1p-20, 125.0, true, 2 * kUlp, 0)
// lg2.approx: absolute error 2^-22 for x in (0.5, 2), relative error 2^-22 elsewhere.
BW_BOUND(
    "lg2.approx.f32", [](double x) { return std::log2(x); }, 0x1p-126, 0x1p+127, false, 0x1p-22,
    0x1p-22)
// sin.approx, cos.approx: absolute error 2^-20.5 in [-pi, pi].
BW_BOUND(
    "sin.approx.f32", [](double x) { return std::sin(x); }, 0x1p-10, kPi, true, 0, std::exp2(-20.5))
BW_BOUND(
    "cos.approx.f32", [](double x) { return std::cos(x); }, 0x1p-10, kPi, true, 0, std::exp2(-20.5))
// tanh.approx: relative error 2^-11.
BW_BOUND(
    "tanh.approx.f32", [](double x) { return std::tanh(x); }, 0x1p-20, 0x1p+20, true, 0x1p-11, 0)

}  // namespace bw::conformance::approximate
