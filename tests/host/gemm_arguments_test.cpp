/// \file
/// Every refusal of the GEMM's host interface, and that it says what is allowed.
#include "solutions/05_blockwise_fp8_gemm/gemm_arguments.hpp"
#include "common/host/error.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <string>

namespace bw {
namespace {

/// Arguments of a 100 × 64 × 256 problem that are fine; addresses are never read.
BlockwiseFp8GemmArguments good_arguments() {
  static char memory[64];
  const auto address = reinterpret_cast<uintptr_t>(memory) / 16 * 16 + 16;
  return {
      .m = 100,
      .n = 64,
      .k = 256,
      .a = reinterpret_cast<const Fp8E4m3*>(address),
      .lda = 256,
      .b = reinterpret_cast<const Fp8E4m3*>(address),
      .ldb = 272,
      .a_scales = reinterpret_cast<const float*>(address),
      .lda_scales = 100,
      .b_scales = reinterpret_cast<const float*>(address),
      .ldb_scales = 2,
      .c = reinterpret_cast<const Bf16*>(address),
      .ldc = 72,
      .d = reinterpret_cast<Bf16*>(address + 16),
      .ldd = 64,
      .beta = 1.0f,
  };
}

void expect_refused(const std::string& part,
                    const std::function<void(BlockwiseFp8GemmArguments&)>& change) {
  BlockwiseFp8GemmArguments arguments = good_arguments();
  change(arguments);
  try {
    validate_gemm_arguments(arguments);
    ADD_FAILURE() << "was accepted: " << part;
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

TEST(GemmArguments, GoodOnesPass) {
  EXPECT_NO_THROW(validate_gemm_arguments(good_arguments()));
  BlockwiseFp8GemmArguments without_c = good_arguments();
  without_c.c = nullptr;
  without_c.ldc = 0;
  without_c.beta = 0;
  EXPECT_NO_THROW(validate_gemm_arguments(without_c));
}

TEST(GemmArguments, SizesMustBeAddressable) {
  expect_refused("M is 0", [](auto& g) { g.m = 0; });
  expect_refused("N is -8", [](auto& g) { g.n = -8; });
  expect_refused("K is 4294967296", [](auto& g) { g.k = int64_t{1} << 32; });
  expect_refused("tiles", [](auto& g) {
    g.m = (int64_t{1} << 31) - 1024;
    g.n = (int64_t{1} << 31) - 1024;
  });
}

TEST(GemmArguments, RowsMustBeAlignedAndLongEnough) {
  expect_refused("A has rows 264", [](auto& g) { g.lda = 264; });
  expect_refused("a multiple of 16: pad", [](auto& g) { g.ldb = 257; });
  expect_refused("only 240", [](auto& g) { g.lda = 240; });
  expect_refused("a multiple of 4: pad", [](auto& g) { g.lda_scales = 102; });
  expect_refused("A-scales has 100 columns", [](auto& g) { g.lda_scales = 96; });
  expect_refused("B has 256 columns", [](auto& g) { g.ldb = 0; });
  expect_refused("C has 64 columns", [](auto& g) { g.ldc = 56; });
  expect_refused("D has 64 columns", [](auto& g) { g.ldd = 56; });
  expect_refused("B-scales have rows 1", [](auto& g) { g.ldb_scales = 1; });
  expect_refused("C has rows 66", [](auto& g) { g.ldc = 66; });
  expect_refused("D has rows 68", [](auto& g) { g.ldd = 68; });
  expect_refused("below 2^40", [](auto& g) { g.lda = int64_t{1} << 40; });
  expect_refused("below 2^40", [](auto& g) { g.ldd = int64_t{1} << 62; });
}

TEST(GemmArguments, RowsOfFp32OutputAreMultiplesOf16Bytes) {
  expect_refused("a multiple of 4: pad", [](auto& g) {
    g.output = OutputType::kFp32;
    g.ldd = 66;
  });
  BlockwiseFp8GemmArguments arguments = good_arguments();
  arguments.c = nullptr;
  arguments.beta = 0;
  arguments.output = OutputType::kFp32;
  arguments.ldd = 68;
  EXPECT_NO_THROW(validate_gemm_arguments(arguments));
}

TEST(GemmArguments, OutputMayBeResidualOnlyWithTheSameLayout) {
  const auto in_place = [](auto& g) {
    g.d = const_cast<Bf16*>(g.c);
    g.ldc = g.ldd = 64;
  };
  BlockwiseFp8GemmArguments arguments = good_arguments();
  in_place(arguments);
  EXPECT_NO_THROW(validate_gemm_arguments(arguments));
  expect_refused("D is C itself", [&](auto& g) {
    in_place(g);
    g.ldc = 72;
  });
  expect_refused("D is C itself", [&](auto& g) {
    in_place(g);
    g.output = OutputType::kFp32;
  });
}

TEST(GemmArguments, AddressesMustBeAlignedAndGiven) {
  expect_refused("A is a null pointer", [](auto& g) { g.a = nullptr; });
  expect_refused("B is a null pointer", [](auto& g) { g.b = nullptr; });
  expect_refused("matrix of A-scales is a null pointer", [](auto& g) { g.a_scales = nullptr; });
  expect_refused("D is a null pointer", [](auto& g) { g.d = nullptr; });
  expect_refused("B-scales are a null pointer", [](auto& g) { g.b_scales = nullptr; });
  expect_refused("C is a null pointer", [](auto& g) { g.c = nullptr; });
  // TMA's alignment is 16 bytes, whatever the element.
  expect_refused("A starts at", [](auto& g) { ++g.a; });
  expect_refused("B starts at", [](auto& g) { ++g.b; });
  expect_refused("matrix of A-scales starts at", [](auto& g) { ++g.a_scales; });
  expect_refused("C starts at", [](auto& g) { ++g.c; });
  expect_refused("D starts at", [](auto& g) { g.d = static_cast<char*>(g.d) + 8; });
  expect_refused("a multiple of 4.", [](auto& g) {
    g.b_scales = reinterpret_cast<const float*>(reinterpret_cast<uintptr_t>(g.b_scales) + 2);
  });
}

}  // namespace
}  // namespace bw
