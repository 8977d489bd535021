/// \file
/// tcgen05.mma of a CTA pair (cta_group::2): each CTA supplies half of A and half of B.
#include "tests/simulator/units/tcgen05_harness.hpp"

namespace bw::sim::test::tcgen05_pair_test {
namespace {

struct PairPlace {
  uint32_t cta, column, lane;
};

/// Location of element (row, column) of D (PTX ISA, data path layouts of cta_group::2).
PairPlace place_of(uint32_t m, uint32_t n, uint32_t row, uint32_t column) {
  if (m == 256) return {row / 128, column, row % 128};
  const bool upper = column >= n / 2;
  return {row / 64, upper ? column - n / 2 : column, row % 64 + (upper ? 64 : 0)};
}

void check_pair(uint32_t m, uint32_t n, const NumberFormat& format, bool a_mn, bool b_mn,
                bool enable, bool a_in_tensor_memory = false) {
  SCOPED_TRACE("M " + std::to_string(m) + " N " + std::to_string(n) + (a_mn ? " A MN" : "") +
               (b_mn ? " B MN" : "") + (a_in_tensor_memory ? " A in TMEM" : ""));
  std::mt19937 random(m + n);
  const uint32_t k = 32 / (format.bits / 8), container = format.bits / 8;
  std::vector<SharedMatrix> a, b;
  std::vector<uint8_t> image;
  for (uint32_t cta = 0; cta < 2; ++cta) {
    a.push_back({format, a_mn, Pattern::b128, m / 2, k, 0, {}});
    a.back().randomise(random);
    b.push_back({format, b_mn, Pattern::b64, n / 2, k, 32768, {}});
    b.back().randomise(random);
    std::vector<uint8_t> half;
    if (!a_in_tensor_memory) a.back().place(half);
    b.back().place(half);
    half.resize(49152);
    image.insert(image.end(), half.begin(), half.end());
  }
  constexpr uint32_t kAColumn = 256;
  MmaProgram program;
  program.group = 2;
  program.columns = a_in_tensor_memory ? kAColumn + 8 : n;
  program.issue = "  add.u32 %r2, %tmem, 256;\n  tcgen05.mma.cta_group::2.kind::" + format.kind +
                  " [%tmem], " + (a_in_tensor_memory ? "[%r2]" : "%a") + ", %b, %idesc, %enable;\n";
  auto before = random_tensor_memory(2, program.columns, random);
  const auto at = [&](uint32_t cta, uint32_t column, uint32_t lane) {
    return (size_t{cta} * program.columns + column) * kTmemLanes + lane;
  };
  if (a_in_tensor_memory)
    for (uint32_t row = 0; row < m; ++row)
      for (uint32_t i = 0; i < k; ++i) {
        const uint32_t cta = row / (m / 2), lane = row % (m / 2), byte = i * container;
        // With M = 128 the 64 rows of a CTA appear twice: for each half of N.
        for (uint32_t copy = 0; copy < (m == 128 ? 2u : 1u); ++copy) {
          auto* const word =
              reinterpret_cast<uint8_t*>(&before[at(cta, kAColumn + byte / 4, lane + 64 * copy)]);
          std::memcpy(word + byte % 4, &a[cta].codes[lane * k + i], container);
        }
      }
  const auto after = run_mma(program, image, before, a[0].descriptor(), b[0].descriptor(),
                             instruction_descriptor(format, format, 1, m, n, a_mn, b_mn), enable);
  for (uint32_t row = 0; row < m; ++row)
    for (uint32_t column = 0; column < n; ++column) {
      const PairPlace place = place_of(m, n, row, column);
      const size_t index = at(place.cta, place.column, place.lane);
      double sum = enable ? std::bit_cast<float>(before[index]) : 0, magnitude = std::fabs(sum);
      for (uint32_t i = 0; i < k; ++i) {
        const double product = a[row / (m / 2)].value(row % (m / 2), i) *
                               b[column / (n / 2)].value(column % (n / 2), i);
        sum += product;
        magnitude += std::fabs(product);
      }
      ASSERT_NEAR(std::bit_cast<float>(after[index]), sum, chain_bound(magnitude, k))
          << "row " << row << " column " << column;
    }
}

TEST(Tcgen05Pair, ComputesBothShapesAndMajors) {
  for (const bool enable : {false, true}) {
    check_pair(256, 128, kE4m3, false, false, enable);
    check_pair(128, 128, kE4m3, false, false, enable);
  }
  check_pair(256, 256, kBf16, false, false, false);
  check_pair(256, 32, kBf16, true, false, true);
  check_pair(128, 64, kBf16, true, true, true);
  check_pair(128, 256, kE4m3, false, true, false);
}

TEST(Tcgen05Pair, TakesAFromTensorMemory) {
  check_pair(256, 64, kBf16, false, false, false, true);
  check_pair(128, 64, kE4m3, false, false, false, true);
}

TEST(Tcgen05Pair, LeavesDisabledLanesOfBothCtas) {
  std::mt19937 random(2);
  auto [a, b, half] = random_operands(random, {kE4m3, false, Pattern::b128, 128, 32, 0, {}},
                                      {kE4m3, false, Pattern::b128, 16, 32, 16384, {}});
  half.resize(20480);
  std::vector<uint8_t> image;
  for (int cta = 0; cta < 2; ++cta) image.insert(image.end(), half.begin(), half.end());
  MmaProgram program;
  program.group = 2;
  program.columns = 32;
  // Lanes 0-31 of the leader and 96-127 of the peer are disabled.
  program.issue =
      "  mov.b32 %r2, 0;\n  mov.b32 %r3, -1;\n"
      "  tcgen05.mma.cta_group::2.kind::f8f6f4 [%tmem], %a, %b, %idesc, "
      "{%r3, %r2, %r2, %r2, %r2, %r2, %r2, %r3}, %enable;\n";
  const auto before = random_tensor_memory(2, 32, random);
  const auto after = run_mma(program, image, before, a.descriptor(), b.descriptor(),
                             instruction_descriptor(kE4m3, kE4m3, 1, 256, 32), false);
  for (uint32_t cta = 0; cta < 2; ++cta)
    for (uint32_t lane = 0; lane < 128; ++lane)
      for (uint32_t column = 0; column < 32; ++column) {
        const size_t place = (size_t{cta} * 32 + column) * kTmemLanes + lane;
        const bool disabled = cta == 0 ? lane < 32 : lane >= 96;
        EXPECT_EQ(after[place] == before[place], disabled) << cta << " " << lane << " " << column;
      }
}

TEST(Tcgen05Pair, RefusesAnIssueByTheOddCta) {
  MmaProgram program;
  program.group = 2;
  program.columns = 32;
  program.issue = "  tcgen05.mma.cta_group::2.kind::f8f6f4 [%tmem], %a, %b, %idesc, %enable;\n";
  std::string text = mma_text(program);
  // The other CTA issues instead: rank 0 becomes "not the issuer".
  const std::string from = "add.u32 %r6, %t, %r7;";
  text.replace(text.find(from), from.size(), "xor.b32 %r7, %r7, 1;\n  add.u32 %r6, %t, %r7;");
  Runner runner;
  const auto memory = runner.buffer(std::vector<uint32_t>(2 * 32 * kTmemLanes, 0));
  LaunchConfiguration configuration = grid(2, 128, 2);
  configuration.dynamic_shared_bytes = 32768;
  expect_fault(FaultKind::contract, {"cta_group::2 issued by the CTA with the odd rank 1"}, [&] {
    runner.run(text, configuration, memory, uint32_t{0}, memory, memory, uint64_t{1} << 46,
               uint64_t{1} << 46, instruction_descriptor(kE4m3, kE4m3, 1, 256, 32), uint32_t{0});
  });
}

}  // namespace
}  // namespace bw::sim::test::tcgen05_pair_test
