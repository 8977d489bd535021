/// \file
/// bf16 and e4m3 conversions against the CUDA Toolkit's host implementations.
#include "common/host/number_formats.hpp"

#include <cuda_bf16.h>
#include <cuda_fp8.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace bw {
namespace {

/// Floats of every sign and exponent, with mantissas around each rounding boundary.
template <class Visit>
void for_each_interesting_float(const Visit& visit) {
  for (uint32_t high = 0; high < 0x10000; ++high) {
    for (const uint32_t low : {0x0000u, 0x0001u, 0x7fffu, 0x8000u, 0x8001u, 0xffffu}) {
      const float value = std::bit_cast<float>(high << 16 | low);
      if (!std::isnan(value)) visit(value);
    }
  }
}

TEST(NumberFormats, Fp8RoundsAsTheToolkit) {
  int differences = 0;
  for_each_interesting_float([&](float value) {
    const __nv_fp8_storage_t expected = __nv_cvt_float_to_fp8(value, __NV_SATFINITE, __NV_E4M3);
    if (to_fp8_e4m3(value).bits != expected && ++differences < 10) {
      ADD_FAILURE() << value << " gives " << int{to_fp8_e4m3(value).bits} << ", the toolkit "
                    << int{expected};
    }
  });
  EXPECT_EQ(differences, 0);
}

TEST(NumberFormats, Bf16RoundsAsTheToolkit) {
  int differences = 0;
  for_each_interesting_float([&](float value) {
    const uint16_t expected = __nv_bfloat16_raw(__float2bfloat16_rn(value)).x;
    if (to_bf16(value).bits != expected && ++differences < 10) ADD_FAILURE() << value;
  });
  EXPECT_EQ(differences, 0);
}

TEST(NumberFormats, EveryFp8DecodesAsTheToolkit) {
  for (int code = 0; code < 256; ++code) {
    const uint8_t bits = static_cast<uint8_t>(code);
    const __half_raw half = __nv_cvt_fp8_to_halfraw(bits, __NV_E4M3);
    const float expected = __half2float(__half(half));
    const float got = to_float(Fp8E4m3{bits});
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(got)) << code;
    } else {
      EXPECT_EQ(got, expected) << code;
      EXPECT_EQ(std::signbit(got), std::signbit(expected)) << code;
      EXPECT_EQ(to_fp8_e4m3(got).bits, bits) << code;
    }
  }
}

TEST(NumberFormats, NanStaysNan) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(to_fp8_e4m3(nan).bits & 0x7f, 0x7f);
  EXPECT_TRUE(std::isnan(to_float(to_bf16(nan))));
}

TEST(NumberFormats, UlpIsTheDistanceOfNeighbouringBf16) {
  for (uint32_t bits = 1; bits < 0x7f7f; bits += 13) {
    const double value = to_float(Bf16{static_cast<uint16_t>(bits)});
    const double next = to_float(Bf16{static_cast<uint16_t>(bits + 1)});
    EXPECT_EQ(bf16_ulp(value), next - value) << bits;
    EXPECT_EQ(bf16_ulp(-value), next - value) << bits;
  }
  EXPECT_EQ(bf16_ulp(0.0), std::ldexp(1.0, -133));
}

}  // namespace
}  // namespace bw
