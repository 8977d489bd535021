/// \file
/// Block-scaled tcgen05.mma against a float64 reference.
///
/// Read twice from the PTX ISA: "Block Scaling for tcgen05.mma" ("Valid combinations of
/// scale_vectorsize with types and MMA-Kind", "Scale Factor A ID", "Scale Factor B ID"), "Packing
/// formats of elements in Tensor and Shared memory", tables "Instruction descriptor format for
/// .kind::mxf8f6f4" and "... for .kind::mxf4 and .kind::mxf4nvf4", "Data Path Layout Organization".
/// Where the figures alone say it, the lanes and columns of scales are those that published
/// kernels write.
#include <array>

#include "tests/simulator/units/tcgen05_harness.hpp"

namespace bw::sim::test::tcgen05_scaled_test {
namespace {

constexpr uint32_t kUe8m0 = 1, kUe4m3 = 0;

double scale_of(uint32_t code, uint32_t type) {
  if (type == kUe8m0) return power_of_two(static_cast<int>(code) - 127);
  return value_of_code(kE4m3, code);
}

struct Case {
  std::string kind = "mxf8f6f4";
  std::string size = ".scale_vec::1X";
  NumberFormat a = kE4m3, b = kE4m3;
  uint32_t scales = 1, type = kUe8m0;
  uint32_t m = 128, n = 64;
  int group = 1;
  uint32_t a_id = 0, b_id = 0;
  bool a_in_tensor_memory = false;
  bool a_mn = false, b_mn = false;
  bool enable = true;
  uint32_t negate = 0;  ///< bit 0: A, bit 1: B
};

uint32_t descriptor_of(const Case& c) {
  const bool pairs = c.kind != "mxf8f6f4";
  const uint32_t a = pairs ? 1 : c.a.code, b = pairs ? 1 : c.b.code;
  return c.b_id << 4 | a << 7 | b << 10 | c.negate << 13 | (c.a_mn ? 1u << 15 : 0) |
         (c.b_mn ? 1u << 16 : 0) | c.n / 8 << 17 | c.type << 23 | c.m / 128 << 27 | c.a_id << 29;
}

std::string issue_of(const Case& c, const std::string& a_scales, const std::string& b_scales,
                     const std::string& a_place) {
  return "  add.u32 %r2, %tmem, " + a_scales + ";\n  add.u32 %r3, %tmem, " + b_scales +
         ";\n  add.u32 %r4, %tmem, " + a_place +
         ";\n  tcgen05.mma.cta_group::" + std::to_string(c.group) + ".kind::" + c.kind +
         ".block_scale" + c.size + " [%tmem], " + (c.a_in_tensor_memory ? "[%r4]" : "%a") +
         ", %b, %idesc, [%r2], [%r3], %enable;\n";
}

/// Codes of a matrix and their storage: two 4-bit codes a byte, or a container each.
struct Matrix {
  NumberFormat format;
  bool pairs = false;
  uint32_t rows = 0, k = 0;
  std::vector<uint32_t> codes;
  SharedMatrix shared;

  Matrix(const NumberFormat& number, bool packs_pairs, bool mn, uint32_t row_count, uint32_t length,
         uint32_t offset, std::mt19937& random)
      : format(number), pairs(packs_pairs), rows(row_count), k(length) {
    codes.resize(size_t{rows} * k);
    for (auto& code : codes) code = random_code(format, random);
    // Pairs are a matrix of bytes.
    shared = {pairs ? kU8 : format, mn, Pattern::b128, rows, pairs ? k / 2 : k, offset, codes};
    if (!pairs) return;
    shared.codes.resize(size_t{rows} * k / 2);
    for (size_t i = 0; i < shared.codes.size(); ++i)
      shared.codes[i] = codes[2 * i] | codes[2 * i + 1] << 4;
  }
  [[nodiscard]] double value(uint32_t row, uint32_t column) const {
    return value_of_code(format, codes[size_t{row} * k + column]);
  }
  /// The 32 bytes of a row in Tensor Memory.
  [[nodiscard]] std::array<uint8_t, 32> bytes(uint32_t row) const {
    std::array<uint8_t, 32> out{};
    for (uint32_t i = 0; i < k; ++i) {
      const uint32_t code = codes[size_t{row} * k + i];
      if (pairs)
        out[i / 2] = static_cast<uint8_t>(out[i / 2] | code << i % 2 * 4);
      else  // 4-bit codes are in bits 2 to 5 of their container
        out[i] = static_cast<uint8_t>(format.bits == 4 ? code << 2 : code);
    }
    return out;
  }
};

/// Random scale codes of moderate size: [row][scale].
std::vector<uint32_t> random_scales(const Case& c, uint32_t rows, std::mt19937& random) {
  std::vector<uint32_t> codes(size_t{rows} * c.scales);
  for (auto& code : codes)
    code = c.type == kUe8m0 ? 122 + static_cast<uint32_t>(random()) % 10
                            : static_cast<uint32_t>(random()) % 0x7f;
  return codes;
}

constexpr uint32_t kAColumn = 256, kAScaleColumn = 272, kBScaleColumn = 280, kColumns = 296;

size_t place(uint32_t cta, uint32_t column, uint32_t lane) {
  return (size_t{cta} * kColumns + column) * kTmemLanes + lane;
}

/// Writes one row's scales into `quarters` (bit mask) of the lanes.
void put_scales(std::vector<uint32_t>& memory, uint32_t cta, uint32_t base, uint32_t row,
                uint32_t id, const uint32_t* codes, uint32_t count, uint32_t quarters) {
  for (uint32_t quarter = 0; quarter < 4; ++quarter) {
    if ((quarters >> quarter & 1u) == 0) continue;
    auto* const bytes =
        reinterpret_cast<uint8_t*>(&memory[place(cta, base + row / 32, quarter * 32 + row % 32)]);
    for (uint32_t i = 0; i < count; ++i) bytes[id + i] = static_cast<uint8_t>(codes[i]);
  }
}

void check(const Case& c) {
  SCOPED_TRACE(c.kind + c.size + " " + std::to_string(c.a.code) + "x" + std::to_string(c.b.code) +
               " M " + std::to_string(c.m) + " N " + std::to_string(c.n) + " group " +
               std::to_string(c.group) + " ids " + std::to_string(c.a_id) + std::to_string(c.b_id) +
               (c.a_in_tensor_memory ? " A in TMEM" : ""));
  std::mt19937 random(c.m + c.n + c.a_id);
  const bool pairs = c.kind != "mxf8f6f4";
  const uint32_t k = pairs ? 64 : 32, ctas = static_cast<uint32_t>(c.group);
  const uint32_t rows = c.m / ctas, b_rows = c.n / ctas;
  std::vector<Matrix> a, b;
  std::vector<uint8_t> image;
  constexpr uint32_t kImageBytes = 49152, kBOffset = 16384;
  for (uint32_t cta = 0; cta < ctas; ++cta) {
    a.emplace_back(c.a, pairs, c.a_mn, rows, k, 0, random);
    b.emplace_back(c.b, pairs, c.b_mn, b_rows, k, kBOffset, random);
    std::vector<uint8_t> own(kImageBytes);
    a[cta].shared.place(own);
    b[cta].shared.place(own);
    ASSERT_EQ(own.size(), kImageBytes);
    image.insert(image.end(), own.begin(), own.end());
  }
  const std::vector<uint32_t> a_scales = random_scales(c, c.m, random);
  const std::vector<uint32_t> b_scales = random_scales(c, c.n, random);
  // M = 128 of a pair cuts N in two: each half of the lanes works on one half of N.
  const bool cut = c.group == 2 && c.m == 128;
  std::vector<uint32_t> before = random_tensor_memory(ctas, kColumns, random);
  for (uint32_t cta = 0; cta < ctas; ++cta) {
    for (uint32_t row = 0; row < rows; ++row) {
      put_scales(before, cta, kAScaleColumn, row, c.a_id,
                 &a_scales[size_t{cta * rows + row} * c.scales], c.scales, 0b1111);
      const auto bytes = a[cta].bytes(row);
      for (uint32_t copy = 0; copy < (cut ? 2u : 1u); ++copy)
        for (uint32_t word = 0; word < 8; ++word)
          std::memcpy(&before[place(cta, kAColumn + word, row + 64 * copy)], &bytes[4 * word], 4);
    }
    for (uint32_t column = 0; column < c.n; ++column) {
      const uint32_t half = cut && column >= c.n / 2 ? 1 : 0;
      put_scales(before, cta, kBScaleColumn, column - half * c.n / 2, c.b_id,
                 &b_scales[size_t{column} * c.scales], c.scales,
                 !cut        ? 0b1111
                 : half != 0 ? 0b1100
                             : 0b0011);
    }
  }
  MmaProgram program;
  program.group = c.group;
  program.columns = kColumns;
  program.issue = issue_of(c, std::to_string(kAScaleColumn), std::to_string(kBScaleColumn),
                           std::to_string(kAColumn));
  const auto after = run_mma(program, image, before, a[0].shared.descriptor(),
                             b[0].shared.descriptor(), descriptor_of(c), c.enable);
  const double sign = c.negate == 1 || c.negate == 2 ? -1 : 1;
  std::vector<bool> written(after.size(), false);
  for (uint32_t row = 0; row < c.m; ++row)
    for (uint32_t column = 0; column < c.n; ++column) {
      const uint32_t half = cut && column >= c.n / 2 ? 1 : 0;
      const size_t at = place(row / rows, column - half * c.n / 2, row % rows + 64 * half);
      written[at] = true;
      double sum = c.enable ? std::bit_cast<float>(before[at]) : 0, magnitude = std::fabs(sum);
      for (uint32_t i = 0; i < k; ++i) {
        const uint32_t block = i / (k / c.scales);
        const double product = sign * a[row / rows].value(row % rows, i) *
                               scale_of(a_scales[size_t{row} * c.scales + block], c.type) *
                               b[column / b_rows].value(column % b_rows, i) *
                               scale_of(b_scales[size_t{column} * c.scales + block], c.type);
        sum += product;
        magnitude += std::fabs(product);
      }
      ASSERT_NEAR(std::bit_cast<float>(after[at]), sum, chain_bound(magnitude, k))
          << "row " << row << " column " << column;
    }
  for (size_t at = 0; at < after.size(); ++at) {
    if (written[at]) continue;
    ASSERT_EQ(after[at], before[at]) << "must not change: " << at;
  }
}

TEST(Tcgen05Scaled, Mxf8f6f4TakesEveryFormat) {
  const NumberFormat* const formats[] = {&kE4m3, &kE5m2, &kE2m3, &kE3m2, &kE2m1};
  for (const NumberFormat* a : formats)
    for (const NumberFormat* b : formats) check({.a = *a, .b = *b, .n = 24});
}

TEST(Tcgen05Scaled, ScaleIdsChooseTheBytes) {
  for (uint32_t id = 0; id < 4; ++id) check({.a_id = id, .b_id = 3 - id});
  for (const uint32_t id : {0u, 2u})
    check({.kind = "mxf4",
           .size = ".scale_vec::2X",
           .a = kE2m1,
           .b = kE2m1,
           .scales = 2,
           .a_id = id,
           .b_id = 2 - id});
}

const Case kMxf4{.kind = "mxf4", .size = "", .a = kE2m1, .b = kE2m1, .scales = 2};
const Case kNvfp4{.kind = "mxf4nvf4",
                  .size = ".scale_vec::4X",
                  .a = kE2m1,
                  .b = kE2m1,
                  .scales = 4,
                  .type = kUe4m3};

TEST(Tcgen05Scaled, EveryScaleVectorOfEveryKind) {
  Case c;
  for (const char* size : {"", ".scale_vec::1X", ".block32"}) {
    c.size = size;
    check(c);
  }
  c = kMxf4;
  for (const char* size : {"", ".scale_vec::2X", ".block32"}) {
    c.size = size;
    check(c);
  }
  c.kind = "mxf4nvf4";
  for (const char* size : {".scale_vec::2X", ".block32"}) {
    c.size = size;
    check(c);
  }
  c = kNvfp4;
  for (const char* size : {".scale_vec::4X", ".block16"})
    for (const uint32_t type : {kUe4m3, kUe8m0}) {
      c.size = size;
      c.type = type;
      check(c);
    }
}

TEST(Tcgen05Scaled, EveryShape) {
  for (Case c : {Case{}, kNvfp4}) {
    for (const uint32_t n : {8u, 136u, 256u}) {
      c.group = 1;
      c.m = 128;
      c.n = n;
      check(c);
    }
    c.group = 2;
    for (const uint32_t m : {128u, 256u})
      for (const uint32_t n : {16u, 96u}) {
        c.m = m;
        c.n = n;
        check(c);
      }
  }
}

TEST(Tcgen05Scaled, TakesAFromTensorMemory) {
  for (Case c :
       {Case{}, Case{.a = kE2m1, .b = kE5m2}, Case{.a = kE3m2, .b = kE2m3}, kMxf4, kNvfp4}) {
    c.a_in_tensor_memory = true;
    check(c);
    c.group = 2;
    for (const uint32_t m : {128u, 256u}) {
      c.m = m;
      check(c);
    }
  }
}

TEST(Tcgen05Scaled, TransposesAndNegates) {
  check({.a_mn = true, .b_mn = true});
  check({.a_mn = true, .enable = false, .negate = 1});
  check({.b_mn = true, .negate = 2});
  check({.negate = 3});
  Case pair = kNvfp4;
  pair.negate = 1;
  check(pair);
}

/// Several K blocks on one accumulator, whose scales are in the four bytes of the same words.
TEST(Tcgen05Scaled, AChainOfInstructionsUsesEachItsScales) {
  std::mt19937 random(3);
  constexpr uint32_t kM = 128, kN = 32, kSteps = 4, kK = 32 * kSteps;
  Matrix a(kE4m3, false, false, kM, kK, 0, random), b(kE4m3, false, false, kN, kK, 16384, random);
  std::vector<uint8_t> image(32768);
  a.shared.place(image);
  b.shared.place(image);
  Case c{.scales = kSteps, .n = kN};
  const auto a_scales = random_scales(c, kM, random), b_scales = random_scales(c, kN, random);
  auto before = random_tensor_memory(1, kColumns, random);
  for (uint32_t row = 0; row < kM; ++row)
    put_scales(before, 0, kAScaleColumn, row, 0, &a_scales[size_t{row} * 4], 4, 0b1111);
  for (uint32_t row = 0; row < kN; ++row)
    put_scales(before, 0, kBScaleColumn, row, 0, &b_scales[size_t{row} * 4], 4, 0b1111);
  for (const bool apart : {false, true}) {
    MmaProgram program;
    program.columns = kColumns;
    for (uint32_t step = 0; step < kSteps; ++step) {
      program.issue +=
          issue_of(c, std::to_string(kAScaleColumn), std::to_string(kBScaleColumn), "0") +
          "  setp.eq.u32 %enable, %t, %t;\n  add.s64 %a, %a, 2;\n"
          "  add.s64 %b, %b, 2;\n  add.u32 %idesc, %idesc, 0x20000010;\n";
      if (apart) program.issue += "  nanosleep.u32 2000;\n";
    }
    const auto after = run_mma(program, image, before, a.shared.descriptor(), b.shared.descriptor(),
                               descriptor_of(c), false);
    for (uint32_t row = 0; row < kM; ++row)
      for (uint32_t column = 0; column < kN; ++column) {
        double sum = 0, magnitude = 0;
        for (uint32_t i = 0; i < kK; ++i) {
          const double product = a.value(row, i) * scale_of(a_scales[row * 4 + i / 32], kUe8m0) *
                                 b.value(column, i) *
                                 scale_of(b_scales[column * 4 + i / 32], kUe8m0);
          sum += product;
          magnitude += std::fabs(product);
        }
        ASSERT_NEAR(std::bit_cast<float>(after[place(0, column, row)]), sum,
                    chain_bound(magnitude, kK));
      }
  }
}

/// One MMA whose scales all are `a_code` and `b_code`; A and B are 1.
float one_element(const Case& c, uint32_t a_code, uint32_t b_code) {
  const bool pairs = c.kind != "mxf8f6f4";
  std::vector<uint8_t> image(32768, pairs ? 0x22 : 0x38);  // e2m1 and e4m3 codes of 1
  std::vector<uint32_t> before(size_t{kColumns} * kTmemLanes, 0);
  for (uint32_t column = kAScaleColumn; column < kColumns; ++column)
    for (uint32_t lane = 0; lane < kTmemLanes; ++lane)
      before[place(0, column, lane)] = (column < kBScaleColumn ? a_code : b_code) * 0x01010101u;
  MmaProgram program;
  program.columns = kColumns;
  program.issue = issue_of(c, std::to_string(kAScaleColumn), std::to_string(kBScaleColumn), "0");
  constexpr uint64_t kDescriptor = uint64_t{1} << 46 | uint64_t{64} << 32 | uint64_t{2} << 61;
  return std::bit_cast<float>(run_mma(program, image, before, kDescriptor, kDescriptor,
                                      descriptor_of(c), false)[place(0, 5, 7)]);
}

TEST(Tcgen05Scaled, ScaleCodes) {
  EXPECT_EQ(one_element({}, 127, 127), 32.0f);
  EXPECT_EQ(one_element({}, 0, 254), 32.0f) << "2^-127 times 2^127";
  EXPECT_EQ(one_element({}, 0, 1), 0.0f) << "2^-253 is below fp32";
  EXPECT_EQ(one_element({}, 254, 254), INFINITY);
  EXPECT_TRUE(std::isnan(one_element({}, 255, 127)));
  EXPECT_TRUE(std::isnan(one_element({}, 127, 255)));
  EXPECT_EQ(one_element(kNvfp4, 0x38, 0x7e), 64 * 448.0f);
  EXPECT_EQ(one_element(kNvfp4, 1, 0x38), 64 * 0.001953125f);
  EXPECT_EQ(one_element(kNvfp4, 0, 0x7e), 0.0f);
  EXPECT_TRUE(std::isnan(one_element(kNvfp4, 0x7f, 0x38)));
}

TEST(Tcgen05ScaledFaults, WhatScalesMayNotBe) {
  expect_fault(FaultKind::contract, {"A: the scale factor 0xb8 of row 0 has its top bit set"},
               [] { (void)one_element(kNvfp4, 0xb8, 0x38); });
  // 2^127 times an element of 2 leaves fp32.
  Case big;
  big.a = kE5m2;  // 0x38 is 0.5 there; the image's codes then are 0.5
  EXPECT_EQ(one_element(big, 254, 0), 32 * 0.5f);
  expect_fault(FaultKind::contract, {"beyond the range of fp32"}, [] {
    std::vector<uint8_t> image(32768, 0x40);  // 2
    std::vector<uint32_t> before(size_t{kColumns} * kTmemLanes, 0xfefefefeu);
    MmaProgram program;
    program.columns = kColumns;
    program.issue = issue_of({}, std::to_string(kAScaleColumn), std::to_string(kBScaleColumn), "0");
    constexpr uint64_t kDescriptor = uint64_t{1} << 46 | uint64_t{64} << 32 | uint64_t{2} << 61;
    (void)run_mma(program, image, before, kDescriptor, kDescriptor, descriptor_of({}), false);
  });
}

TEST(Tcgen05ScaledFaults, ScalesMustStandInAllQuarters) {
  for (const uint32_t column : {kAScaleColumn + 1, kBScaleColumn}) {
    const bool of_a = column < kBScaleColumn;
    expect_fault(
        FaultKind::contract,
        {of_a ? "A: the scale factors of row 37" : "B: the scale factors of row 5", "lane 5",
         "lane 69", "duplicated to all 32-lane partitions", "warpx4"},
        [&] {
          std::vector<uint8_t> image(32768, 0x38);
          std::vector<uint32_t> before(size_t{kColumns} * kTmemLanes, 0x7f7f7f7fu);
          before[place(0, column, 64 + 5)] ^= 0x100;  // byte 1
          Case c{.a_id = 1, .b_id = 1};
          MmaProgram program;
          program.columns = kColumns;
          program.issue =
              issue_of(c, std::to_string(kAScaleColumn), std::to_string(kBScaleColumn), "0");
          constexpr uint64_t kDescriptor =
              uint64_t{1} << 46 | uint64_t{64} << 32 | uint64_t{2} << 61;
          (void)run_mma(program, image, before, kDescriptor, kDescriptor, descriptor_of(c), false);
        });
  }
}

/// Runs one MMA with the given descriptor and scale addresses, on zeros.
void run_with(const Case& c, uint32_t idesc, const std::string& a_scales = "272",
              const std::string& b_scales = "280") {
  MmaProgram program;
  program.group = c.group;
  program.columns = kColumns;
  program.issue = issue_of(c, a_scales, b_scales, "256");
  constexpr uint64_t kDescriptor = uint64_t{1} << 46 | uint64_t{64} << 32 | uint64_t{2} << 61;
  const auto ctas = static_cast<uint32_t>(c.group);
  (void)run_mma(program, std::vector<uint8_t>(size_t{32768} * ctas),
                std::vector<uint32_t>(size_t{ctas} * kColumns * kTmemLanes, 0), kDescriptor,
                kDescriptor, idesc, true);
}

void expect_contract(const std::vector<std::string>& parts, const Case& c, uint32_t idesc) {
  SCOPED_TRACE(parts.front());
  expect_fault(FaultKind::contract, parts, [&] { run_with(c, idesc); });
}

TEST(Tcgen05ScaledFaults, InstructionDescriptor) {
  const Case mxf8;
  const uint32_t valid = descriptor_of(mxf8);
  EXPECT_NO_THROW(run_with(mxf8, valid));
  for (const int bit : {3, 6, 24, 25, 26, 31})
    expect_contract({"reserved bits set"}, mxf8, valid | 1u << bit);
  for (const int bit : {0, 1}) expect_contract({"sparsity bits"}, mxf8, valid | 1u << bit);
  expect_contract({"bit 2: sparse"}, mxf8, valid | 4u);
  expect_contract({"scales of type ue4m3"}, mxf8, valid & ~(1u << 23));
  expect_contract({"format 2 for A"}, mxf8, valid | 2u << 7);
  expect_contract({"M = 256, N = 64", "cta_group::1"}, mxf8, valid ^ 3u << 27);
  expect_contract({"M = 0"}, mxf8, valid & ~(3u << 27));
  Case narrow{.a = kE2m3};
  narrow.a_mn = true;
  expect_contract({"the transpose bit of A set, whose elements have 6 bits"}, narrow,
                  descriptor_of(narrow));
  Case wide{.n = 24};
  wide.b_mn = true;
  expect_contract({"N = 24 with an 8-bit transposed B"}, wide, descriptor_of(wide));

  const uint32_t fp4 = descriptor_of(kMxf4);
  for (const int bit : {3, 6, 12, 24, 25, 26})
    expect_contract({"reserved bits set"}, kMxf4, fp4 | 1u << bit);
  expect_contract({"bit 31 set (K = 96)", "sm_103a"}, kMxf4, fp4 | 1u << 31);
  expect_contract({"scales of type ue4m3"}, kMxf4, fp4 & ~(1u << 23));
  expect_contract({"format 5 for A"}, kMxf4, (fp4 & ~(7u << 7)) | 5u << 7);
  expect_contract({"scale factor id 1 for A", "0 and 2"}, kMxf4, fp4 | 1u << 29);
  expect_contract({"scale factor id 3 for B"}, kMxf4, fp4 | 3u << 4);
  expect_contract({"scale factor id 2 for A", "0 alone"}, kNvfp4, descriptor_of(kNvfp4) | 2u << 29);
  Case transposed = kMxf4;
  transposed.b_mn = true;
  expect_contract({"the transpose bit of B set, whose elements have 4 bits"}, kMxf4,
                  descriptor_of(transposed));
  Case two_scales = kNvfp4;
  two_scales.size = ".scale_vec::2X";
  two_scales.scales = 2;
  expect_contract({"scales of type ue4m3"}, two_scales, descriptor_of(two_scales));
  Case pair{.n = 24, .group = 2};
  expect_contract({"N = 24", "cta_group::2"}, pair, descriptor_of(pair));
}

TEST(Tcgen05ScaledFaults, PlacesOfScales) {
  const Case c;
  expect_fault(FaultKind::contract, {"Tensor Memory column 512"},
               [&] { run_with(c, descriptor_of(c), "510"); });
  expect_fault(FaultKind::contract, {"reads Tensor Memory column 300", "nothing has written"},
               [&] { run_with(c, descriptor_of(c), "272", "300"); });
  expect_fault(FaultKind::contract, {"the scale factors of A start at lane 32"},
               [&] { run_with(c, descriptor_of(c), "0x200110"); });
}

TEST(Tcgen05ScaledFaults, FormsThatDoNotExist) {
  for (const auto& [kind, size] :
       {std::pair{"mxf8f6f4", ".scale_vec::2X"}, std::pair{"mxf8f6f4", ".block16"},
        std::pair{"mxf4", ".scale_vec::4X"}, std::pair{"mxf4", ".scale_vec::1X"},
        std::pair{"mxf4nvf4", ".scale_vec::1X"}, std::pair{"mxf4nvf4", ""}}) {
    Case c;
    c.kind = kind;
    c.size = size;
    expect_fault(FaultKind::unsupported, {"tcgen05.mma"}, [&] { run_with(c, 0); });
  }
}

}  // namespace
}  // namespace bw::sim::test::tcgen05_scaled_test
