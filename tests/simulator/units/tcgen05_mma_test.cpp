/// \file
/// tcgen05.mma of one CTA against a float64 reference: kinds, formats, shapes, majors, swizzles.
#include <algorithm>

#include "tests/simulator/units/tcgen05_harness.hpp"

namespace bw::sim::test::tcgen05_mma_test {
namespace {

constexpr char kPlainIssue[] =
    "  tcgen05.mma.cta_group::1.kind::%K [%tmem], %a, %b, %idesc, %enable;\n";

std::string issue_of(const std::string& kind, std::string text = kPlainIssue) {
  return text.replace(text.find("%K"), 2, kind);
}

/// Lane of a row of D and A (PTX ISA, data path layouts of cta_group::1).
uint32_t lane_of_row(uint32_t m, uint32_t row) { return m == 64 ? row / 16 * 32 + row % 16 : row; }

struct Case {
  NumberFormat a = kE4m3, b = kE4m3;
  uint32_t m = 128, n = 64;
  bool a_mn = false, b_mn = false;
  Pattern pattern = Pattern::b128;
  bool enable = true;
};

/// Runs one MMA with an fp32 D and compares every element and everything that must stay as it was.
void check(const Case& c, uint32_t seed = 1) {
  std::mt19937 random(seed);
  const uint32_t k = 32 / (c.a.bits < 8 ? 1 : c.a.bits / 8);
  SharedMatrix a{c.a, c.a_mn, c.pattern, c.m, k, 0, {}};
  a.randomise(random);
  SharedMatrix b{c.b, c.b_mn, c.pattern, c.n, k, (a.size_bytes() + 1023) / 1024 * 1024, {}};
  b.randomise(random);
  std::vector<uint8_t> image;
  a.place(image);
  b.place(image);
  image.resize((image.size() + 1023) / 1024 * 1024);
  MmaProgram program;
  program.issue = issue_of(c.a.kind);
  program.columns = c.n + 8;
  const std::vector<uint32_t> before = random_tensor_memory(1, program.columns, random);
  const std::vector<uint32_t> after =
      run_mma(program, image, before, a.descriptor(), b.descriptor(),
              instruction_descriptor(c.a, c.b, 1, c.m, c.n, c.a_mn, c.b_mn), c.enable);
  std::vector<bool> written(after.size(), false);
  int wrong = 0;
  for (uint32_t row = 0; row < c.m; ++row)
    for (uint32_t column = 0; column < c.n; ++column) {
      const size_t place = column * kTmemLanes + lane_of_row(c.m, row);
      written[place] = true;
      double sum = c.enable ? std::bit_cast<float>(before[place]) : 0, magnitude = std::fabs(sum);
      for (uint32_t i = 0; i < k; ++i) {
        const double product = a.value(row, i) * b.value(column, i);
        sum += product;
        magnitude += std::fabs(product);
      }
      const double got = std::bit_cast<float>(after[place]);
      if (!(std::fabs(got - sum) <= chain_bound(magnitude, k)) && ++wrong <= 3)
        ADD_FAILURE() << "row " << row << " column " << column << ": " << got << ", expected "
                      << sum;
    }
  EXPECT_EQ(wrong, 0);
  for (size_t place = 0; place < after.size(); ++place) {
    if (written[place]) continue;
    ASSERT_EQ(after[place], before[place])
        << "column " << place / kTmemLanes << " lane " << place % kTmemLanes << " must not change";
  }
}

TEST(Tcgen05Mma, ComputesEveryFormatOfF8f6f4InAnyCombination) {
  const NumberFormat* const formats[] = {&kE4m3, &kE5m2, &kE2m3, &kE3m2, &kE2m1};
  for (const NumberFormat* a : formats)
    for (const NumberFormat* b : formats) {
      SCOPED_TRACE(std::to_string(a->code) + " x " + std::to_string(b->code));
      check({.a = *a, .b = *b, .n = 32});
    }
}

TEST(Tcgen05Mma, ComputesF16Bf16AndTf32) {
  for (const NumberFormat* format : {&kF16, &kBf16, &kTf32}) {
    SCOPED_TRACE(format->kind + std::to_string(format->code));
    check({.a = *format, .b = *format});
    check({.a = *format, .b = *format, .enable = false});
  }
}

TEST(Tcgen05Mma, ReadsEveryCanonicalLayout) {
  for (const Pattern pattern :
       {Pattern::none, Pattern::b32, Pattern::b64, Pattern::b128, Pattern::b128_atom32})
    for (const NumberFormat* format : {&kE4m3, &kBf16, &kTf32})
      for (const bool a_mn : {false, true})
        for (const bool b_mn : {false, true}) {
          // Transposed 32-bit elements take the pattern with 32-byte atoms, others do not.
          const bool atom32 = pattern == Pattern::b128_atom32;
          if ((a_mn || b_mn) && atom32 != (format->bits == 32)) continue;
          SCOPED_TRACE("pattern " + std::to_string(static_cast<int>(pattern)) + " bits " +
                       std::to_string(format->bits) + (a_mn ? " A MN" : " A K") +
                       (b_mn ? " B MN" : " B K"));
          check({.a = *format,
                 .b = *format,
                 .n = 128,
                 .a_mn = a_mn,
                 .b_mn = b_mn,
                 .pattern = pattern});
        }
}

TEST(Tcgen05Mma, PutsEveryShapeWhereTheIsaSays) {
  for (uint32_t n = 8; n <= 256; n += n < 32 ? 8 : 56) {
    SCOPED_TRACE("M = 64, N = " + std::to_string(n));
    check({.m = 64, .n = n});
  }
  for (uint32_t n = 16; n <= 256; n += 48) {
    SCOPED_TRACE("M = 128, N = " + std::to_string(n));
    check({.a = kBf16, .b = kBf16, .m = 128, .n = n});
  }
  check({.m = 128, .n = 256, .enable = false});
}

/// Several MMAs on one accumulator: K of `steps` instructions in one tile, in a row or far apart in
/// time.
std::vector<uint32_t> run_chain(uint32_t steps, bool apart, uint64_t seed = 0) {
  std::mt19937 random(7);
  constexpr uint32_t kM = 128, kN = 96;
  const auto [a, b, image] = random_operands(random, {kE4m3, false, Pattern::b128, kM, 128, 0, {}},
                                             {kE4m3, false, Pattern::b128, kN, 128, 16384, {}});
  MmaProgram program;
  program.columns = kN;
  for (uint32_t step = 0; step < steps; ++step) {
    program.issue +=
        "  tcgen05.mma.cta_group::1.kind::f8f6f4 [%tmem], %a, %b, %idesc, %enable;\n"
        "  setp.eq.u32 %enable, %t, %t;\n"
        "  add.s64 %a, %a, 2;\n  add.s64 %b, %b, 2;\n";
    // The queue runs dry, so each instruction is executed on its own.
    if (apart) program.issue += "  nanosleep.u32 2000;\n";
  }
  const auto before = random_tensor_memory(1, kN, random);
  auto after = run_mma(program, image, before, a.descriptor(), b.descriptor(),
                       instruction_descriptor(kE4m3, kE4m3, 1, kM, kN), false, test_settings(seed));
  for (uint32_t row = 0; row < kM; ++row)
    for (uint32_t column = 0; column < kN; ++column) {
      // The documented order: one chain of fused multiply-adds, ascending k.
      float sum = 0;
      for (uint32_t i = 0; i < steps * 32; ++i)
        sum = std::fma(static_cast<float>(a.value(row, i)), static_cast<float>(b.value(column, i)),
                       sum);
      EXPECT_EQ(std::bit_cast<float>(after[column * kTmemLanes + row]), sum)
          << row << " " << column;
    }
  return after;
}

TEST(Tcgen05Mma, AddsConsecutiveMmasInAscendingOrderOfK) {
  const auto together = run_chain(4, false);
  EXPECT_EQ(run_chain(4, true), together);
  EXPECT_EQ(run_chain(4, false, 3), together);
  run_chain(1, false);
  run_chain(3, false);
}

TEST(Tcgen05Mma, TakesAFromTensorMemory) {
  struct Kind {
    NumberFormat format;
    uint32_t m;
  };
  for (const Kind& c : {Kind{kBf16, 128}, Kind{kE4m3, 128}, Kind{kTf32, 128}, Kind{kF16, 64},
                        Kind{kE2m1, 128}, Kind{kE3m2, 64}}) {
    SCOPED_TRACE(c.format.kind + " M " + std::to_string(c.m));
    std::mt19937 random(3);
    constexpr uint32_t kN = 32, kAColumn = 32;
    const uint32_t container = c.format.bits < 8 ? 1 : c.format.bits / 8, k = 32 / container;
    SharedMatrix a{c.format, false, Pattern::b128, c.m, k, 0, {}};  // only its values are used
    a.randomise(random);
    SharedMatrix b{c.format, false, Pattern::b128, kN, k, 0, {}};
    b.randomise(random);
    std::vector<uint8_t> image;
    b.place(image);
    auto before = random_tensor_memory(1, kAColumn + 8, random);
    for (uint32_t row = 0; row < c.m; ++row)
      for (uint32_t i = 0; i < k; ++i) {
        const uint32_t code = a.codes[row * k + i] << (c.format.bits == 4 ? 2 : 0);
        const uint32_t byte = i * container;
        auto* const word = reinterpret_cast<uint8_t*>(
            &before[(kAColumn + byte / 4) * kTmemLanes + lane_of_row(c.m, row)]);
        std::memcpy(word + byte % 4, &code, container);
      }
    MmaProgram program;
    program.columns = kAColumn + 8;
    program.issue = issue_of(c.format.kind,
                             "  add.u32 %r2, %tmem, 32;\n"
                             "  tcgen05.mma.cta_group::1.kind::%K [%tmem], [%r2], %b, %idesc, "
                             "%enable;\n");
    const auto after = run_mma(program, image, before, 0, b.descriptor(),
                               instruction_descriptor(c.format, c.format, 1, c.m, kN), false);
    for (uint32_t row = 0; row < c.m; ++row)
      for (uint32_t column = 0; column < kN; ++column) {
        double sum = 0, magnitude = 0;
        for (uint32_t i = 0; i < k; ++i) {
          sum += a.value(row, i) * b.value(column, i);
          magnitude += std::fabs(a.value(row, i) * b.value(column, i));
        }
        ASSERT_NEAR(std::bit_cast<float>(after[column * kTmemLanes + lane_of_row(c.m, row)]), sum,
                    chain_bound(magnitude, k))
            << row << " " << column;
      }
  }
}

TEST(Tcgen05Mma, LeavesDisabledLanesAsTheyAre) {
  std::mt19937 random(5);
  constexpr uint32_t kN = 32;
  const auto [a, b, image] = random_operands(random, {kE4m3, false, Pattern::b128, 128, 32, 0, {}},
                                             {kE4m3, false, Pattern::b128, kN, 32, 16384, {}});
  const uint32_t disabled[4] = {0x00000001, 0xffff0000, 0, 0x80000001};
  MmaProgram program;
  program.columns = kN;
  for (int word = 0; word < 4; ++word)
    program.issue +=
        "  mov.b32 %r" + std::to_string(2 + word) + ", " + std::to_string(disabled[word]) + ";\n";
  program.issue +=
      "  tcgen05.mma.cta_group::1.kind::f8f6f4 [%tmem], %a, %b, %idesc, "
      "{%r2, %r3, %r4, %r5}, %enable;\n";
  const auto before = random_tensor_memory(1, kN, random);
  const auto after = run_mma(program, image, before, a.descriptor(), b.descriptor(),
                             instruction_descriptor(kE4m3, kE4m3, 1, 128, kN), false);
  for (uint32_t row = 0; row < 128; ++row)
    for (uint32_t column = 0; column < kN; ++column) {
      const size_t place = column * kTmemLanes + row;
      double sum = 0;
      for (uint32_t i = 0; i < 32; ++i) sum += a.value(row, i) * b.value(column, i);
      if ((disabled[row / 32] >> row % 32 & 1u) != 0)
        EXPECT_EQ(after[place], before[place]) << row;
      else
        EXPECT_NEAR(std::bit_cast<float>(after[place]), sum, 1e-3) << row;
    }
}

/// One MMA of a sequence: D's first column, whether it adds to what is there, the lanes that stay
/// as they are, by which power of two D is divided before.
struct Link {
  uint32_t column = 0;
  bool adds = true;
  bool leaves_lanes = false;
  uint32_t shift = 0;
};

TEST(Tcgen05Mma, EachMmaOfASequenceDoesItsOwn) {
  constexpr uint32_t kN = 16, kColumns = 2 * kN, kDisabled = 0x80ff0001;
  const std::vector<Link> sequences[] = {
      {{0}, {kN}},
      {{0}, {0}, {kN}, {0}},
      {{0, true, true}, {0}},
      {{0}, {0, true, true}, {0}},
      {{0, true, true}, {0, true, true}, {kN}},
      {{0}, {0, false}, {0}},
      {{0, false}, {0, false, true}, {0}},
      {{0}, {0, true, false, 2}, {0}},
      {{0, true, false, 1}, {0}, {kN, true, false, 3}, {kN}},
      {{0}, {8}, {0}},  // D of the second overlaps that of the first
  };
  std::mt19937 random(9);
  const auto [a, b, image] = random_operands(random, {kBf16, false, Pattern::b32, 128, 16, 0, {}},
                                             {kBf16, false, Pattern::b32, kN, 16, 8192, {}});
  for (size_t s = 0; s < std::size(sequences); ++s) {
    MmaProgram program;
    program.columns = kColumns;
    program.issue = "  mov.b32 %r2, " + std::to_string(kDisabled) +
                    ";\n  setp.ne.u32 %p5, 0, 0;\n  setp.eq.u32 %p6, 0, 0;\n";
    for (const Link& link : sequences[s])
      program.issue += "  add.u32 %r3, %tmem, " + std::to_string(link.column) +
                       ";\n  tcgen05.mma.cta_group::1.kind::f16 [%r3], %a, %b, %idesc, " +
                       (link.leaves_lanes ? "{%r2, %r2, %r2, %r2}, " : "") +
                       (link.adds ? "%p6" : "%p5") +
                       (link.shift != 0 ? ", " + std::to_string(link.shift) : "") + ";\n";
    const auto before = random_tensor_memory(1, kColumns, random);
    const auto after = run_mma(program, image, before, a.descriptor(), b.descriptor(),
                               instruction_descriptor(kBf16, kBf16, 1, 128, kN), true);
    for (uint32_t row = 0; row < 128; ++row) {
      std::vector<double> expected(kColumns);
      for (uint32_t column = 0; column < kColumns; ++column)
        expected[column] = std::bit_cast<float>(before[column * kTmemLanes + row]);
      for (const Link& link : sequences[s]) {
        if (link.leaves_lanes && (kDisabled >> row % 32 & 1u) != 0) continue;
        for (uint32_t column = 0; column < kN; ++column) {
          double sum =
              link.adds ? std::ldexp(expected[link.column + column], -static_cast<int>(link.shift))
                        : 0;
          for (uint32_t i = 0; i < 16; ++i) sum += a.value(row, i) * b.value(column, i);
          expected[link.column + column] = sum;
        }
      }
      for (uint32_t column = 0; column < kColumns; ++column)
        ASSERT_NEAR(std::bit_cast<float>(after[column * kTmemLanes + row]), expected[column], 2e-3)
            << "sequence " << s << ", row " << row << ", column " << column;
    }
  }
}

TEST(Tcgen05Mma, ScalesInputDByAPowerOfTwoAndNegatesProducts) {
  std::mt19937 random(6);
  constexpr uint32_t kN = 16;
  const auto [a, b, image] = random_operands(random, {kBf16, false, Pattern::b32, 128, 16, 0, {}},
                                             {kBf16, false, Pattern::b32, kN, 16, 8192, {}});
  MmaProgram program;
  program.columns = kN;
  program.issue = "  tcgen05.mma.cta_group::1.kind::f16 [%tmem], %a, %b, %idesc, %enable, 3;\n";
  const auto before = random_tensor_memory(1, kN, random);
  for (const uint32_t negate : {0u, 1u << 13, 1u << 14, 3u << 13}) {
    const double sign = negate == 1u << 13 || negate == 1u << 14 ? -1 : 1;
    const auto after = run_mma(program, image, before, a.descriptor(), b.descriptor(),
                               instruction_descriptor(kBf16, kBf16, 1, 128, kN) | negate, true);
    for (uint32_t row = 0; row < 128; ++row)
      for (uint32_t column = 0; column < kN; ++column) {
        const size_t place = column * kTmemLanes + row;
        double sum = std::bit_cast<float>(before[place]) / 8.0;
        for (uint32_t i = 0; i < 16; ++i) sum += sign * a.value(row, i) * b.value(column, i);
        ASSERT_NEAR(std::bit_cast<float>(after[place]), sum, 1e-3);
      }
  }
}

TEST(Tcgen05Mma, RoundsAnF16AccumulatorOnce) {
  std::mt19937 random(8);
  constexpr uint32_t kN = 16;
  SharedMatrix a{kF16, false, Pattern::b128, 128, 16, 0, {}};
  SharedMatrix b{kF16, false, Pattern::b128, kN, 16, 16384, {}};
  // Small integers: sums are exact in fp32, so the only rounding is that of the result.
  const auto small_integer = [&random]() -> uint32_t {
    constexpr uint32_t kCodes[] = {0x3c00, 0x4000, 0x4200, 0x4400, 0xbc00, 0xc000, 0xc200, 0};
    return kCodes[random() % 8];
  };
  a.codes.resize(128 * 16);
  b.codes.resize(kN * 16);
  for (auto& code : a.codes) code = small_integer();
  for (auto& code : b.codes) code = small_integer();
  std::vector<uint8_t> image;
  a.place(image);
  b.place(image);
  MmaProgram program;
  program.columns = kN;
  program.issue = issue_of("f16");
  std::vector<uint32_t> before(kN * kTmemLanes);
  for (auto& word : before) word = 0x6800 + random() % 3;  // 2048, 2050, 2052: the step is 2
  const auto after = run_mma(program, image, before, a.descriptor(), b.descriptor(),
                             instruction_descriptor(kF16, kF16, 0, 128, kN), true);
  for (uint32_t row = 0; row < 128; ++row)
    for (uint32_t column = 0; column < kN; ++column) {
      const size_t place = column * kTmemLanes + row;
      double sum = value_of_code(kF16, before[place]);
      for (uint32_t i = 0; i < 16; ++i) sum += a.value(row, i) * b.value(column, i);
      // Nearest multiple of the step, ties to even; the step of f16 below 2048 is 1, above it 2.
      const double step = sum >= 2048 ? 2 : 1;
      const double expected = std::nearbyint(sum / step) * step;
      ASSERT_EQ(value_of_code(kF16, after[place]), expected) << "sum " << sum;
      ASSERT_EQ(after[place] >> 16, 0u);
    }
}

TEST(Tcgen05Mma, SumsIntegersExactlyWrapsAndSaturates) {
  for (const bool is_signed : {false, true})
    for (const bool saturate : {false, true}) {
      std::mt19937 random(9);
      const NumberFormat format = is_signed ? kS8 : kU8;
      constexpr uint32_t kN = 48;
      const auto [a, b, image] =
          random_operands(random, {format, false, Pattern::b64, 128, 32, 0, {}},
                          {format, false, Pattern::b64, kN, 32, 16384, {}});
      MmaProgram program;
      program.columns = kN;
      program.issue = issue_of("i8");
      std::vector<uint32_t> before(kN * kTmemLanes);
      for (size_t i = 0; i < before.size(); ++i)
        before[i] = i % 3 == 0 ? 0x7fffff00u : i % 3 == 1 ? 0x80000100u : static_cast<uint32_t>(i);
      const auto after =
          run_mma(program, image, before, a.descriptor(), b.descriptor(),
                  instruction_descriptor(format, format, 2, 128, kN) | (saturate ? 8u : 0u), true);
      for (uint32_t row = 0; row < 128; ++row)
        for (uint32_t column = 0; column < kN; ++column) {
          const size_t place = column * kTmemLanes + row;
          int64_t sum = static_cast<int32_t>(before[place]);
          for (uint32_t i = 0; i < 32; ++i)
            sum += static_cast<int64_t>(a.value(row, i)) * static_cast<int64_t>(b.value(column, i));
          if (saturate) sum = std::clamp<int64_t>(sum, INT32_MIN, INT32_MAX);
          ASSERT_EQ(after[place], static_cast<uint32_t>(sum));
        }
    }
}

TEST(Tcgen05Mma, TakesAPatternThatStartsOffItsBoundaryByTheBaseOffset) {
  // The swizzle pattern of A starts 3 * 128 bytes after a 1024-byte boundary.
  constexpr uint32_t kLines = 3, kN = 16;
  std::mt19937 random(10);
  const auto [a, b, image] =
      random_operands(random, {kE4m3, false, Pattern::b128, 128, 32, 1024 + kLines * 128, {}},
                      {kE4m3, false, Pattern::b128, kN, 32, 32768, {}});
  MmaProgram program;
  program.columns = kN;
  program.issue = issue_of("f8f6f4");
  const auto before = random_tensor_memory(1, kN, random);
  const auto after =
      run_mma(program, image, before, a.descriptor() | uint64_t{kLines} << 49, b.descriptor(),
              instruction_descriptor(kE4m3, kE4m3, 1, 128, kN), false);
  for (uint32_t row = 0; row < 128; ++row)
    for (uint32_t column = 0; column < kN; ++column) {
      double sum = 0;
      for (uint32_t i = 0; i < 32; ++i) sum += a.value(row, i) * b.value(column, i);
      ASSERT_NEAR(std::bit_cast<float>(after[column * kTmemLanes + row]), sum, 1e-3);
    }
}

TEST(Tcgen05Mma, CompletesWhenTheTimingModelSays) {
  // One thread issues, commits, waits, and traps unless the wait took `least` to `most` cycles.
  const auto run_timed = [](uint32_t mmas, uint32_t least, uint32_t most) {
    MmaProgram program;
    program.columns = 64;
    program.issue = "  .reg .b64 %c<3>;\n  .reg .b32 %cycles;\n  mov.u64 %c0, %clock64;\n";
    for (uint32_t i = 0; i < mmas; ++i) program.issue += issue_of("f8f6f4");
    program.issue +=
        "  tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [second];\n"
        "WAIT:\n  mbarrier.try_wait.parity.shared::cta.b64 %p5, [second], 0;\n"
        "  @!%p5 bra WAIT;\n  mov.u64 %c1, %clock64;\n  sub.s64 %c2, %c1, %c0;\n"
        "  cvt.u32.u64 %cycles, %c2;\n  setp.lt.u32 %p5, %cycles, " +
        std::to_string(least) + ";\n  @%p5 trap;\n  setp.gt.u32 %p5, %cycles, " +
        std::to_string(most) + ";\n  @%p5 trap;\n";
    std::string text = mma_text(program);
    text.insert(text.find(".shared .align 8 .b64 barrier;"), ".shared .align 8 .b64 second;\n");
    const std::string init = "mbarrier.init.shared::cta.b64 [%bar], 1;";
    text.insert(text.find(init), "mbarrier.init.shared::cta.b64 [second], 1;\n  ");
    Runner runner;
    const auto image = runner.buffer(std::vector<uint8_t>(32768, 0x38));
    const auto memory = runner.buffer(std::vector<uint32_t>(64 * kTmemLanes, 0));
    LaunchConfiguration configuration = grid(1, 128, 1);
    configuration.dynamic_shared_bytes = 32768;
    const uint64_t descriptor = uint64_t{1} << 46 | uint64_t{64} << 32 | uint64_t{2} << 61;
    runner.run(text, configuration, image, uint32_t{32768}, memory, memory, descriptor, descriptor,
               instruction_descriptor(kE4m3, kE4m3, 1, 128, 64), uint32_t{0});
  };
  // M = 128, N = 64, A in shared memory: latency N/2 + 136; every further MMA adds its interval,
  // the (128 + 64) * 32 bytes of its operands at 128 bytes a cycle. Issue and wait take some cycles
  // more.
  constexpr uint32_t kLatency = 64 / 2 + 136, kInterval = (128 + 64) * 32 / 128, kSlack = 60;
  run_timed(1, kLatency, kLatency + kSlack);
  run_timed(8, kLatency + 7 * kInterval, kLatency + 7 * kInterval + kSlack);
  run_timed(0, 0, kSlack);  // nothing outstanding: the arrival is immediate
  expect_fault(FaultKind::trap, {}, [&] { run_timed(1, 0, kLatency - 1); });
}

TEST(Tcgen05Mma, KeepsNanAndInfinity) {
  SharedMatrix a{kE5m2, false, Pattern::b128, 128, 32, 0, std::vector<uint32_t>(128 * 32, 0x3c)};
  SharedMatrix b{kE4m3, false, Pattern::b128, 16, 32, 16384, std::vector<uint32_t>(16 * 32, 0x38)};
  a.codes[0] = 0x7c;       // row 0: +inf
  a.codes[32] = 0xfc;      // row 1: -inf
  a.codes[64] = 0x7d;      // row 2: NaN
  b.codes[32 * 5] = 0x7f;  // column 5: NaN
  std::vector<uint8_t> image;
  a.place(image);
  b.place(image);
  MmaProgram program;
  program.columns = 16;
  program.issue = issue_of("f8f6f4");
  std::mt19937 random(1);
  const auto after =
      run_mma(program, image, random_tensor_memory(1, 16, random), a.descriptor(), b.descriptor(),
              instruction_descriptor(kE5m2, kE4m3, 1, 128, 16), false);
  const auto at = [&](int row, int column) {
    return std::bit_cast<float>(after[column * 128 + row]);
  };
  EXPECT_EQ(at(0, 0), INFINITY);
  EXPECT_EQ(at(1, 0), -INFINITY);
  EXPECT_TRUE(std::isnan(at(2, 0)));
  EXPECT_TRUE(std::isnan(at(7, 5)));
  EXPECT_EQ(at(7, 4), 32.0f);
}

// While the products that follow into other columns are under way: the warps that issue nothing
// load the first 8 columns.
TEST(Tcgen05Mma, ALoadSeesEachCompleteOperationThatWritesItsColumns) {
  constexpr uint32_t kM = 128, kN = 256, kK = 32, kColumns = 8, kFirstLane = 32;
  std::mt19937 random(3);
  Operands operands = random_operands(random, {kE4m3, false, Pattern::b128, kM, kK, 0, {}},
                                      {kE4m3, false, Pattern::b128, kN, kK, kM * 128, {}});
  const std::vector<uint32_t> before = random_tensor_memory(1, kColumns, random);
  const auto place = [](uint32_t lane, uint32_t column) { return column * kTmemLanes + lane; };
  const auto check = [&](const std::string& first, const auto& expected) {
    SCOPED_TRACE(first);
    MmaProgram program{.issue = first, .columns = kColumns, .drains_early = true};
    program.issue += "  add.u32 %r2, %tmem, 256;\n";
    for (int product = 0; product < 64; ++product)
      program.issue += "  tcgen05.mma.cta_group::1.kind::f8f6f4 [%r2], %a, %b, %idesc, %enable;\n";
    const std::vector<uint32_t> after =
        run_mma(program, operands.image, before, operands.a.descriptor(), operands.b.descriptor(),
                instruction_descriptor(kE4m3, kE4m3, 1, kM, kN), false);
    for (uint32_t lane = kFirstLane; lane < kTmemLanes; ++lane)
      for (uint32_t column = 0; column < kColumns; ++column)
        ASSERT_EQ(after[place(lane, column)], expected(lane, column)) << lane << ' ' << column;
  };
  check("", [&](uint32_t lane, uint32_t column) { return before[place(lane, column)]; });
  check(issue_of("f8f6f4"), [&](uint32_t lane, uint32_t column) {
    float sum = 0;
    for (uint32_t i = 0; i < kK; ++i)
      sum = std::fma(static_cast<float>(operands.a.value(lane, i)),
                     static_cast<float>(operands.b.value(column, i)), sum);
    return std::bit_cast<uint32_t>(sum);
  });
  check("  tcgen05.cp.cta_group::1.128x256b [%tmem], %a;\n", [&](uint32_t lane, uint32_t column) {
    uint32_t word = 0;
    for (uint32_t byte = 0; byte < sizeof word; ++byte)
      word |= operands.a.codes[lane * kK + column * sizeof word + byte] << 8 * byte;
    return word;
  });
  check("  add.u32 %r3, %tmem, 2097152;\n  tcgen05.shift.cta_group::1.down [%r3];\n",
        [&](uint32_t lane, uint32_t column) {
          const bool moves = lane >= kFirstLane && lane < kFirstLane + 31;
          return before[place(moves ? lane + 1 : lane, column)];
        });
}

}  // namespace
}  // namespace bw::sim::test::tcgen05_mma_test
