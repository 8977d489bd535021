/// \file
/// tcgen05.mma.ws against a float64 reference: shapes, zero-column masks, collector buffers; and
/// .ashift.
///
/// Read twice from the PTX ISA: "Data Path Layout Organization" (layouts D, E, G), "Zero-Column
/// Mask Descriptor" with its examples, "tcgen05.mma.ws".
#include "common/simulator/units/tensor_core/zero_columns.hpp"
#include "tests/simulator/units/tcgen05_harness.hpp"

namespace bw::sim::test::tcgen05_ws_test {
namespace {

struct Case {
  NumberFormat format = kBf16;
  uint32_t m = 64, n = 64;
  bool a_in_tensor_memory = false;
  bool enable = true;
  uint64_t zero_columns = 0;
  uint32_t shift_field = 0;       ///< bits 30 and 31 of the instruction descriptor
  std::vector<bool> zeroed = {};  ///< expected, by column
  uint32_t shift = 0;             ///< expected
};

constexpr uint32_t kAColumn = 256, kColumns = 264;

void check(const Case& c) {
  SCOPED_TRACE(c.format.kind + " M " + std::to_string(c.m) + " N " + std::to_string(c.n) +
               (c.a_in_tensor_memory ? " A in TMEM" : ""));
  std::mt19937 random(c.m + c.n);
  const uint32_t container = static_cast<uint32_t>(c.format.bits) / 8, k = 32 / container;
  const uint32_t groups = 128 / c.m, width = c.n / groups;
  SharedMatrix a{c.format, false, Pattern::b128, c.m, k, 0, {}};
  SharedMatrix b{c.format, false, Pattern::b128, c.n + 32, k, 16384, {}};
  const Operands operands = random_operands(random, a, b);
  auto before = random_tensor_memory(1, kColumns, random);
  for (uint32_t row = 0; row < c.m; ++row)
    for (uint32_t g = 0; g < groups; ++g)
      for (uint32_t i = 0; i < k; ++i) {
        auto* const word = reinterpret_cast<uint8_t*>(
            &before[(kAColumn + i * container / 4) * kTmemLanes + row + g * c.m]);
        std::memcpy(word + i * container % 4, &operands.a.codes[row * k + i], container);
      }
  MmaProgram program;
  program.columns = kColumns;
  program.issue = "  add.u32 %r3, %tmem, 256;\n  mov.b64 %rd0, " + std::to_string(c.zero_columns) +
                  ";\n  tcgen05.mma.ws.cta_group::1.kind::" + c.format.kind + " [%tmem], " +
                  (c.a_in_tensor_memory ? "[%r3]" : "%a") + ", %b, %idesc, %enable" +
                  (c.zero_columns != 0 ? ", %rd0" : "") + ";\n";
  const auto after = run_mma(
      program, operands.image, before, operands.a.descriptor(), operands.b.descriptor(),
      instruction_descriptor(c.format, c.format, 1, c.m, c.n) | c.shift_field << 30, c.enable);
  for (uint32_t row = 0; row < c.m; ++row)
    for (uint32_t column = 0; column < c.n; ++column) {
      const size_t place = column % width * kTmemLanes + row + column / width * c.m;
      double sum = c.enable ? std::bit_cast<float>(before[place]) : 0, magnitude = std::fabs(sum);
      for (uint32_t i = 0; i < k; ++i) {
        const bool zero = !c.zeroed.empty() && c.zeroed[column];
        const double product =
            zero ? 0 : operands.a.value(row, i) * operands.b.value(column + c.shift, i);
        sum += product;
        magnitude += std::fabs(product);
      }
      ASSERT_NEAR(std::bit_cast<float>(after[place]), sum, chain_bound(magnitude, k))
          << "row " << row << " column " << column;
    }
}

TEST(Tcgen05WeightStationary, EveryShape) {
  for (const NumberFormat* format : {&kF16, &kBf16, &kTf32, &kE4m3})
    for (const uint32_t m : {32u, 64u, 128u})
      for (const bool in_tensor_memory : {false, true})
        check({.format = *format, .m = m, .n = 64, .a_in_tensor_memory = in_tensor_memory});
  for (const uint32_t n : {128u, 256u}) check({.m = 32, .n = n, .enable = false});
}

uint64_t mask_descriptor(const std::vector<uint64_t>& starts, const std::vector<uint64_t>& spans,
                         uint64_t skip, uint64_t use, uint64_t shift) {
  uint64_t bits = uint64_t{1} << 39 | skip << 40 | use << 48 | shift << 56;
  for (size_t i = 0; i < starts.size(); ++i) bits |= starts[i] << 8 * i | spans[i] << (32 + i);
  return bits;
}
/// The ISA writes masks with column 0 on the right; `head` is their end, which then repeats.
std::vector<bool> mask(const std::vector<std::string>& heads, uint32_t n) {
  std::vector<bool> zeroed;
  for (const std::string& head : heads) {
    std::string bits(head.rbegin(), head.rend());
    while (bits.size() < n / heads.size()) bits += bits.back() == '1' ? "0000" : "111";
    for (size_t i = 0; i < n / heads.size(); ++i) zeroed.push_back(bits[i] == '1');
  }
  return zeroed;
}

TEST(Tcgen05WeightStationary, TheIsasExamplesOfZeroColumns) {
  check({.m = 128,
         .zero_columns = mask_descriptor({0}, {0}, 2, 3, 0),
         .zeroed = mask({"1110000"}, 64)});
  check({.m = 64,
         .zero_columns = mask_descriptor({0, 0}, {1, 0}, 2, 3, 0),
         .zeroed = mask({"0000111", "1110000"}, 64)});
  check({.m = 32,
         .n = 128,
         .zero_columns = mask_descriptor({0, 1, 2, 1}, {1, 1, 0, 0}, 2, 3, 2),
         .shift_field = 1,
         .zeroed = mask({"0000111", "000011", "11100", "111000"}, 128),
         .shift = 2});
  // Without the non-zero bit the spans mean nothing.
  check({.zero_columns = mask_descriptor({0, 0}, {1, 1}, 2, 3, 0) & ~(uint64_t{1} << 39)});
  check({.m = 128, .zero_columns = uint64_t{32} << 56, .shift_field = 3, .shift = 32});
}

std::vector<uint32_t> run_issue(const std::string& issue, uint32_t idesc,
                                Settings settings = test_settings()) {
  MmaProgram program;
  program.columns = 96;
  program.issue = issue;
  constexpr uint64_t kDescriptor = uint64_t{1} << 46 | uint64_t{64} << 32 | uint64_t{2} << 61;
  return run_mma(program, std::vector<uint8_t>(65536, 0x38),
                 std::vector<uint32_t>(size_t{96} * kTmemLanes, 0), kDescriptor, kDescriptor, idesc,
                 true, settings);
}
void expect_contract(const std::vector<std::string>& parts, const std::string& issue,
                     uint32_t idesc) {
  SCOPED_TRACE(parts.front());
  expect_fault(FaultKind::contract, parts, [&] { (void)run_issue(issue, idesc); });
}

TEST(Tcgen05WeightStationaryFaults, Rules) {
  const std::string plain =
      "  tcgen05.mma.ws.cta_group::1.kind::f8f6f4 [%tmem], %a, %b, %idesc, %enable;\n";
  EXPECT_NO_THROW((void)run_issue(plain, instruction_descriptor(kE4m3, kE4m3, 1, 32, 64)));
  for (const auto& [m, n] : {std::pair{32u, 32u}, std::pair{64u, 96u}, std::pair{256u, 64u}})
    expect_contract({"M = " + std::to_string(m) + ", N = " + std::to_string(n), ".ws"}, plain,
                    instruction_descriptor(kE4m3, kE4m3, 1, m, n));
  const auto with_mask = [](uint64_t bits) {
    return "  mov.b64 %rd0, " + std::to_string(bits) +
           ";\n  tcgen05.mma.ws.cta_group::1.kind::f8f6f4 [%tmem], %a, %b, %idesc, %enable, "
           "%rd0;\n";
  };
  const uint32_t idesc = instruction_descriptor(kE4m3, kE4m3, 1, 32, 64);
  for (const int bit : {36, 37, 38, 62, 63})
    expect_contract({"zero-column mask descriptor has reserved bits"},
                    with_mask(uint64_t{1} << bit), idesc);
  expect_contract({"shifts B by 9 columns", "allows 8"}, with_mask(uint64_t{9} << 56),
                  idesc | 1u << 30);
  expect_contract({"shifts B by 17 columns", "the most are 16"}, with_mask(uint64_t{17} << 56),
                  idesc | 3u << 30);
  expect_contract({"shifts B by 1 columns", "allows 0"}, with_mask(uint64_t{1} << 56), idesc);
}

/// A shift needs the rows of B that follow its N rows.
TEST(Tcgen05WeightStationaryFaults, AShiftedBReachesFurther) {
  constexpr uint32_t kImageBytes = 65536, kGroupBytes = 8 * 128, kN = 64, kShift = 8;
  const auto issue = [](uint32_t start_bytes, uint64_t shift) {
    return "  add.s64 %b, %b, " + std::to_string(start_bytes / 16) + ";\n  mov.b64 %rd0, " +
           std::to_string(shift << 56) +
           ";\n  tcgen05.mma.ws.cta_group::1.kind::f8f6f4 [%tmem], %a, %b, %idesc, %enable, "
           "%rd0;\n";
  };
  const uint32_t idesc = instruction_descriptor(kE4m3, kE4m3, 1, 32, kN) | 1u << 30;
  constexpr uint32_t kLast = kImageBytes - kN / 8 * kGroupBytes;  // N rows end with the image
  EXPECT_NO_THROW((void)run_issue(issue(kLast, 0), idesc));
  EXPECT_NO_THROW((void)run_issue(issue(kLast - kGroupBytes, kShift), idesc));
  expect_contract({"out of bounds: B of 72 rows"}, issue(kLast, kShift), idesc);
}

TEST(Tcgen05Collector, AUseNeedsAFillOfTheSameMatrix) {
  const auto a = [](const std::string& operation, const std::string& descriptor = "%a") {
    return "  tcgen05.mma.cta_group::1.kind::f8f6f4.collector::a::" + operation + " [%tmem], " +
           descriptor + ", %b, %idesc, %enable;\n";
  };
  const auto b = [](int buffer, const std::string& operation) {
    return "  tcgen05.mma.ws.cta_group::1.kind::f8f6f4.collector::b" + std::to_string(buffer) +
           "::" + operation + " [%tmem], %a, %b, %idesc, %enable;\n";
  };
  const uint32_t idesc = instruction_descriptor(kE4m3, kE4m3, 1, 128, 64);
  const std::string other = "  add.s64 %rd1, %a, 256;\n";
  EXPECT_NO_THROW((void)run_issue(a("fill") + a("use") + a("use") + a("lastuse"), idesc));
  EXPECT_NO_THROW((void)run_issue(
      b(0, "fill") + b(3, "fill") + b(0, "use") + b(3, "lastuse") + b(0, "lastuse"), idesc));
  const std::vector<std::string> of_a = {"collector buffer a", "holds no A", "::fill"};
  expect_contract(of_a, a("use"), idesc);
  expect_contract(of_a, a("fill") + a("lastuse") + a("use"), idesc);
  expect_contract(of_a, a("fill") + a("discard") + a("lastuse"), idesc);
  expect_contract(of_a, other + a("fill") + a("use", "%rd1"), idesc);
  expect_contract({"collector buffer b2"}, b(1, "fill") + b(2, "use"), idesc);
  // Hardware may read the matrix again instead.
  Settings hardware = test_settings();
  hardware.strictness = Strictness::hardware;
  EXPECT_NO_THROW((void)run_issue(a("use"), idesc, hardware));
}

/// The product takes A unshifted; then A's rows have moved as tcgen05.shift moves them.
TEST(Tcgen05Ashift, ShiftsABehindTheProduct) {
  std::mt19937 random(5);
  const Operands operands = random_operands(random, {kE4m3, false, Pattern::b128, 128, 32, 0, {}},
                                            {kE4m3, false, Pattern::b128, 16, 32, 16384, {}});
  auto before = random_tensor_memory(1, 48, random);
  for (uint32_t row = 0; row < 128; ++row)
    for (uint32_t i = 0; i < 32; ++i)
      reinterpret_cast<uint8_t*>(&before[(32 + i / 4) * kTmemLanes + row])[i % 4] =
          static_cast<uint8_t>(operands.a.codes[row * 32 + i]);
  MmaProgram program;
  program.columns = 48;
  program.issue =
      "  add.u32 %r2, %tmem, 32;\n  add.u32 %r3, %tmem, 16;\n"
      "  tcgen05.mma.cta_group::1.kind::f8f6f4.ashift [%tmem], [%r2], %b, %idesc, %enable;\n"
      "  tcgen05.mma.cta_group::1.kind::f8f6f4 [%r3], [%r2], %b, %idesc, %enable;\n";
  const auto after = run_mma(program, operands.image, before, 0, operands.b.descriptor(),
                             instruction_descriptor(kE4m3, kE4m3, 1, 128, 16), false);
  for (uint32_t row = 0; row < 128; ++row) {
    const uint32_t shifted = row % 32 == 31 ? row : row + 1;
    for (uint32_t column = 0; column < 16; ++column) {
      double first = 0, second = 0;
      for (uint32_t i = 0; i < 32; ++i) {
        first += operands.a.value(row, i) * operands.b.value(column, i);
        second += operands.a.value(shifted, i) * operands.b.value(column, i);
      }
      ASSERT_NEAR(std::bit_cast<float>(after[column * kTmemLanes + row]), first, 1e-3);
      ASSERT_NEAR(std::bit_cast<float>(after[(16 + column) * kTmemLanes + row]), second, 1e-3);
    }
    for (uint32_t word = 0; word < 8; ++word)
      ASSERT_EQ(after[(32 + word) * kTmemLanes + row], before[(32 + word) * kTmemLanes + shifted]);
  }
}

TEST(Tcgen05Ashift, Faults) {
  const uint32_t idesc = instruction_descriptor(kE4m3, kE4m3, 1, 64, 64);
  expect_contract({".ashift with M = 64"},
                  "  add.u32 %r2, %tmem, 80;\n"
                  "  tcgen05.mma.cta_group::1.kind::f8f6f4.ashift [%tmem], [%r2], %b, %idesc, "
                  "%enable;\n",
                  idesc);
  expect_fault(FaultKind::unsupported, {".ashift and A in shared memory"}, [&] {
    (void)run_issue(
        "  tcgen05.mma.cta_group::1.kind::f8f6f4.ashift [%tmem], %a, %b, %idesc, %enable;\n",
        idesc);
  });
  for (const char* operation : {"fill", "use"})
    expect_fault(FaultKind::unsupported, {"combines .ashift"}, [&] {
      (void)run_issue(std::string("  tcgen05.mma.cta_group::1.kind::f8f6f4.ashift.collector::a::") +
                          operation + " [%tmem], [%tmem], %b, %idesc, %enable;\n",
                      idesc);
    });
}

TEST(Tcgen05MmaFaults, SwizzlesThatDoNotGoWithTheElements) {
  const auto issue = [](const std::string& kind) {
    return "  tcgen05.mma.cta_group::1.kind::" + kind + " [%tmem], %a, %b, %idesc, %enable;\n";
  };
  expect_contract({"A: transposed 32-bit elements without 128-byte swizzle with 32-byte atoms"},
                  issue("tf32"), instruction_descriptor(kTf32, kTf32, 1, 128, 32, true));
  expect_contract({"B: transposed 16-bit elements with 128-byte swizzle with 32-byte atoms"},
                  "  mov.b64 %rd0, 0xc000000000000000;\n  mov.b64 %rd1, 0x2000000000000000;\n"
                  "  not.b64 %rd2, %rd0;\n  and.b64 %b, %b, %rd2;\n  or.b64 %b, %b, %rd1;\n" +
                      issue("f16"),
                  instruction_descriptor(kBf16, kBf16, 1, 128, 32, false, true));
}

/// .ashift is there for M = 128 and M = 256, which is a pair's.
TEST(Tcgen05Ashift, InAPair) {
  std::mt19937 random(5);
  SharedMatrix a, b;
  a.format = b.format = kE4m3;
  a.rows = 128;
  b.rows = 8;
  a.k = b.k = 32;
  b.offset = 8192;
  const Operands operands = random_operands(random, a, b);
  std::vector<uint8_t> image = operands.image;
  image.resize(16384);
  std::vector<uint8_t> both = image;
  both.insert(both.end(), image.begin(), image.end());
  MmaProgram program;
  program.group = 2;
  program.columns = 48;
  program.issue =
      "  add.u32 %r2, %tmem, 32;\n"
      "  tcgen05.mma.cta_group::2.kind::f8f6f4.ashift [%tmem], [%r2], %b, %idesc, %enable;\n";
  const auto attempt = [&](uint32_t m) {
    (void)run_mma(program, both, random_tensor_memory(2, 48, random), 0, operands.b.descriptor(),
                  instruction_descriptor(kE4m3, kE4m3, 1, m, 16), false);
  };
  EXPECT_NO_THROW(attempt(256));
  EXPECT_NO_THROW(attempt(128));
}

/// scale-input-d is 0 to 15.
TEST(Tcgen05MmaFaults, ScalesOfD) {
  const auto attempt = [](const std::string& exponent) {
    (void)run_issue("  tcgen05.mma.cta_group::1.kind::f16 [%tmem], %a, %b, %idesc, %enable, " +
                        exponent + ";\n",
                    instruction_descriptor(kF16, kF16, 1, 128, 32));
  };
  for (const std::string taken : {"0", "1", "15"}) EXPECT_NO_THROW(attempt(taken)) << taken;
  for (const std::string refused : {"16", "-1"})
    expect_fault(FaultKind::unsupported, {"scale-input-d " + refused, "0 to 15"},
                 [&] { attempt(refused); });
}

/// MMAs that add to one accumulator may be computed together, but only where their shapes are
/// alike.
TEST(Tcgen05Mma, TheSecondOfTwoIsNarrower) {
  const auto of_both = run_issue(
      "  mov.u32 %r0, " + std::to_string(instruction_descriptor(kE4m3, kE4m3, 1, 128, 16)) +
          ";\n  setp.eq.u32 %p6, %t, %t;\n"
          "  tcgen05.mma.cta_group::1.kind::f8f6f4 [%tmem], %a, %b, %idesc, %p6;\n"
          "  tcgen05.mma.cta_group::1.kind::f8f6f4 [%tmem], %a, %b, %r0, %p6;\n"
          "  tcgen05.mma.cta_group::1.kind::f8f6f4 [%tmem], %a, %b, %r0, %p6;\n",
      instruction_descriptor(kE4m3, kE4m3, 1, 128, 32));
  for (uint32_t column = 0; column < 48; ++column)
    for (uint32_t lane = 0; lane < kTmemLanes; ++lane)  // all codes are 1, K is 32
      ASSERT_EQ(std::bit_cast<float>(of_both[column * kTmemLanes + lane]), column < 16   ? 96.0f
                                                                           : column < 32 ? 32.0f
                                                                                         : 0.0f)
          << "column " << column << " lane " << lane;
}

/// Five columns are used, three skipped, and so on; the start count drops columns from the low end
/// (PTX ISA, "Zero-Column Mask Descriptor").
TEST(Tcgen05WeightStationary, StartCountsOfZeroColumns) {
  MmaShape shape;
  shape.m = 128;
  shape.n = 64;
  for (const uint64_t start : {0u, 1u, 5u, 127u, 128u, 130u, 254u, 255u}) {
    const ZeroColumns zero = decode_zero_columns(
        start | uint64_t{1} << 39 | uint64_t{3 - 1} << 40 | uint64_t{5 - 1} << 48, shape);
    for (uint32_t column = 0; column < ZeroColumns::kMostColumns; ++column)
      EXPECT_EQ(zero.mask[column], column < shape.n && (column + start) % 8 >= 5)
          << "start " << start << " column " << column;
  }
}

}  // namespace
}  // namespace bw::sim::test::tcgen05_ws_test
