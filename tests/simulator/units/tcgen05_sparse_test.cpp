/// \file
/// tcgen05.mma.sp against a float64 reference: metadata, every kind, every shape.
///
/// Read twice from the PTX ISA: "Sparse Matrices" (granularity, indices, "Sparsity selector"),
/// "Data Path Layout Organization" (layouts C and F use half of the lanes). Which bit of which lane
/// is which index is shown in figures; the test writes metadata as published kernels do.
#include <array>

#include "tests/simulator/units/tcgen05_harness.hpp"

namespace bw::sim::test::tcgen05_sparse_test {
namespace {

struct Case {
  NumberFormat format = kBf16;
  uint32_t m = 128, n = 32;
  int group = 1;
  bool a_in_tensor_memory = false;
  uint32_t selector = 0;
  uint32_t lane = 0;  ///< of A, D and metadata
  bool enable = true;
  bool weight_stationary = false;
  bool b_mn = false;
  Pattern pattern = Pattern::b128;
};

constexpr uint32_t kAColumn = 256, kMetadataColumn = 272, kColumns = 280;

/// Which elements of a chunk are stored: positions in the order in which they are stored.
struct Index {
  uint32_t bits;
  std::vector<uint32_t> positions;
};
const std::vector<Index>& indices(const NumberFormat& format) {
  static const std::vector<Index> one_of_two = {{0b0100, {0}}, {0b1110, {1}}};
  static const std::vector<Index> two_of_four = {
      {0b0100, {0, 1}}, {0b1000, {0, 2}}, {0b1100, {0, 3}}, {0b1001, {1, 2}},
      {0b1101, {1, 3}}, {0b0110, {2, 1}}, {0b1110, {2, 3}}};
  return format.kind == "tf32" ? one_of_two : two_of_four;
}

/// Lane of a row in group `g` of the columns, per CTA.
uint32_t lane_of(const Case& c, uint32_t row, uint32_t g) {
  const uint32_t rows = c.m / static_cast<uint32_t>(c.group);
  if (c.weight_stationary) return row + g * rows;            // D, E and G
  if (rows == 64) return c.lane + row / 16 * 32 + row % 16;  // C and F
  return row;
}
uint32_t groups_of(const Case& c) { return c.weight_stationary ? 128 / c.m : 1; }

void check(const Case& c) {
  SCOPED_TRACE(c.format.kind + std::to_string(c.format.code) + " M " + std::to_string(c.m) + " N " +
               std::to_string(c.n) + " group " + std::to_string(c.group) + " selector " +
               std::to_string(c.selector) + " lane " + std::to_string(c.lane) +
               (c.weight_stationary ? " ws" : "") + (c.a_in_tensor_memory ? " A in TMEM" : ""));
  std::mt19937 random(c.m + c.n + c.selector);
  const uint32_t container = c.format.bits < 8 ? 1 : static_cast<uint32_t>(c.format.bits) / 8;
  const uint32_t stored = 32 / container, k = 2 * stored, ctas = static_cast<uint32_t>(c.group);
  const uint32_t rows = c.m / ctas, b_rows = c.n / ctas, groups = groups_of(c);
  const uint32_t per_chunk = c.format.kind == "tf32" ? 2 : 4, chunks = k / per_chunk;
  const bool shares_words = c.format.bits >= 16;
  const auto at = [](uint32_t cta, uint32_t column, uint32_t lane) {
    return (size_t{cta} * kColumns + column) * kTmemLanes + lane;
  };
  constexpr uint32_t kImageBytes = 49152, kBOffset = 16384;
  std::vector<SharedMatrix> a, b;
  std::vector<uint8_t> image;
  std::vector<uint32_t> before = random_tensor_memory(ctas, kColumns, random);
  std::vector<std::vector<double>> dense(c.m, std::vector<double>(k, 0.0));
  for (uint32_t cta = 0; cta < ctas; ++cta) {
    a.push_back({c.format, false, Pattern::b128, rows, stored, 0, {}});
    b.push_back({c.format, c.b_mn, c.pattern, b_rows, k, kBOffset, {}});
    a[cta].randomise(random);
    b[cta].randomise(random);
    std::vector<uint8_t> own(kImageBytes);
    a[cta].place(own);
    b[cta].place(own);
    ASSERT_EQ(own.size(), kImageBytes);
    image.insert(image.end(), own.begin(), own.end());
    for (uint32_t row = 0; row < rows; ++row)
      for (uint32_t g = 0; g < groups; ++g) {
        const uint32_t lane = lane_of(c, row, g);
        for (uint32_t i = 0; i < stored; ++i) {
          auto* const word =
              reinterpret_cast<uint8_t*>(&before[at(cta, kAColumn + i * container / 4, lane)]);
          const uint32_t code = a[cta].codes[row * stored + i] << (c.format.bits == 4 ? 2 : 0);
          std::memcpy(word + i * container % 4, &code, container);
        }
      }
    for (uint32_t row = 0; row < rows; ++row)
      for (uint32_t chunk = 0; chunk < chunks; ++chunk) {
        const auto& choice = indices(c.format)[random() % indices(c.format).size()];
        for (size_t i = 0; i < choice.positions.size(); ++i)
          dense[cta * rows + row][chunk * per_chunk + choice.positions[i]] =
              a[cta].value(row, chunk * static_cast<uint32_t>(choice.positions.size()) +
                                    static_cast<uint32_t>(i));
        for (uint32_t g = 0; g < groups; ++g) {
          const uint32_t base = lane_of(c, row / 16 * 16, g), within = row % 16;
          uint32_t column = kMetadataColumn, lane = 0, bit = 0;
          if (shares_words) {
            // Rows r and r + 8 share the lanes r (first half of K) and r + 8 (second half).
            column += c.selector;
            lane = base + within % 8 + chunk / 4 * 8;
            bit = within / 8 * 16 + chunk % 4 * 4;
          } else {
            column += chunk / 8;
            lane = base + within;
            bit = chunk % 8 * 4;
          }
          uint32_t& word = before[at(cta, column, lane)];
          word = (word & ~(0xfu << bit)) | choice.bits << bit;
        }
      }
  }
  MmaProgram program;
  program.group = c.group;
  program.columns = kColumns;
  const uint32_t lane_bits = c.lane << 16;
  program.issue = "  add.u32 %r2, %tmem, " + std::to_string(kMetadataColumn | lane_bits) +
                  ";\n  add.u32 %r3, %tmem, " + std::to_string(kAColumn | lane_bits) +
                  ";\n  add.u32 %r4, %tmem, " + std::to_string(lane_bits) + ";\n  tcgen05.mma" +
                  (c.weight_stationary ? ".ws" : "") + ".sp.cta_group::" + std::to_string(c.group) +
                  ".kind::" + c.format.kind + " [%r4], " + (c.a_in_tensor_memory ? "[%r3]" : "%a") +
                  ", %b, [%r2], %idesc, %enable;\n";
  const bool integers = c.format.kind == "i8";
  const uint32_t idesc =
      instruction_descriptor(c.format, c.format, integers ? 2 : 1, c.m, c.n, false, c.b_mn) | 4u |
      c.selector;
  const auto after =
      run_mma(program, image, before, a[0].descriptor(), b[0].descriptor(), idesc, c.enable);
  for (uint32_t row = 0; row < c.m; ++row)
    for (uint32_t column = 0; column < c.n; ++column) {
      const uint32_t width = c.n / groups;
      const size_t place = at(row / rows, column % width, lane_of(c, row % rows, column / width));
      double sum = 0;
      if (c.enable)
        sum = integers ? static_cast<double>(static_cast<int32_t>(before[place]))
                       : static_cast<double>(std::bit_cast<float>(before[place]));
      double magnitude = std::fabs(sum);
      for (uint32_t i = 0; i < k; ++i) {
        const double product = dense[row][i] * b[column / b_rows].value(column % b_rows, i);
        sum += product;
        magnitude += std::fabs(product);
      }
      const double got = integers ? static_cast<double>(static_cast<int32_t>(after[place]))
                                  : static_cast<double>(std::bit_cast<float>(after[place]));
      ASSERT_NEAR(got, sum, integers ? 0 : chain_bound(magnitude, k))
          << "row " << row << " column " << column;
    }
}

TEST(Tcgen05Sparse, EveryKindAndShape) {
  for (const NumberFormat* format :
       {&kF16, &kBf16, &kTf32, &kE4m3, &kE5m2, &kE2m1, &kE3m2, &kU8, &kS8})
    for (const uint32_t m : {64u, 128u}) check({.format = *format, .m = m, .n = 32});
  for (const NumberFormat* format : {&kBf16, &kTf32, &kE4m3, &kS8})
    for (const uint32_t m : {128u, 256u}) check({.format = *format, .m = m, .n = 64, .group = 2});
  check({.m = 128, .n = 256});
  check({.m = 64, .n = 8, .enable = false});
}

TEST(Tcgen05Sparse, SelectorChoosesTheColumnOfThePair) {
  for (const NumberFormat* format : {&kF16, &kTf32}) {
    check({.format = *format, .selector = 1});
    check({.format = *format, .m = 64, .selector = 1});
  }
}

TEST(Tcgen05Sparse, TakesAFromTensorMemoryAndTheUpperHalfOfTheLanes) {
  for (const NumberFormat* format : {&kBf16, &kTf32, &kE4m3, &kE2m1, &kE2m3}) {
    check({.format = *format, .a_in_tensor_memory = true});
    check({.format = *format, .m = 64, .a_in_tensor_memory = true, .lane = 16});
    check({.format = *format, .m = 128, .group = 2, .a_in_tensor_memory = true, .lane = 16});
  }
}

TEST(Tcgen05Sparse, ReadsTwiceTheBytesOfB) {
  for (const Pattern pattern : {Pattern::none, Pattern::b64, Pattern::b128})
    for (const bool b_mn : {false, true})
      check({.format = kE4m3, .n = 64, .b_mn = b_mn, .pattern = pattern});
}

TEST(Tcgen05Sparse, WeightStationary) {
  for (const NumberFormat* format : {&kBf16, &kTf32, &kE4m3, &kS8})
    for (const uint32_t m : {32u, 64u, 128u})
      for (const bool in_tensor_memory : {false, true})
        check({.format = *format,
               .m = m,
               .n = m == 32 ? 128u : 64u,
               .a_in_tensor_memory = in_tensor_memory,
               .weight_stationary = true});
}

/// A kind of 128 rows and 32 columns whose operands are filled with one code each.
struct Uniform {
  std::string kind = "f16";
  std::string size = {};
  uint32_t idesc = 0;
  uint8_t a = 0x3f, b = 0x3f;
  uint32_t metadata = 0x44444444;
  std::string metadata_column = "64";
  bool scaled = false;
  uint32_t special_b = 0;  ///< replaces the first element of B when not 0
};
std::vector<uint32_t> run(const Uniform& u, Settings settings = test_settings()) {
  std::vector<uint8_t> image(16384, u.a);
  image.insert(image.end(), 16384, u.b);
  if (u.special_b != 0) std::memcpy(&image[16384], &u.special_b, 2);
  constexpr uint32_t kAll = 80;
  std::vector<uint32_t> before(size_t{kAll} * kTmemLanes, 0);
  for (uint32_t column = 64; column < kAll; ++column)
    for (uint32_t lane = 0; lane < kTmemLanes; ++lane)
      before[column * kTmemLanes + lane] = column < 70 ? u.metadata : 0x7f7f7f7fu;
  MmaProgram program;
  program.columns = kAll;
  program.issue = "  add.u32 %r2, %tmem, " + u.metadata_column +
                  ";\n  add.u32 %r3, %tmem, 70;\n  add.u32 %r4, %tmem, 74;\n"
                  "  tcgen05.mma.sp.cta_group::1.kind::" +
                  u.kind + (u.scaled ? ".block_scale" : "") + u.size +
                  " [%tmem], %a, %b, [%r2], %idesc, " + (u.scaled ? "[%r3], [%r4], " : "") +
                  "%enable;\n";
  constexpr uint64_t kDescriptor = uint64_t{1} << 46 | uint64_t{64} << 32 | uint64_t{2} << 61;
  return run_mma(program, image, before, kDescriptor, kDescriptor + (16384 >> 4), u.idesc, false,
                 settings);
}
const uint32_t kBf16Descriptor = instruction_descriptor(kBf16, kBf16, 1, 128, 32) | 4u;

/// Encoders write 0b0000 for a chunk of zeros. By the ISA's table it means nothing.
TEST(Tcgen05Sparse, HardwareTakesTheIndexOfAChunkOfZeros) {
  Settings hardware = test_settings();
  hardware.strictness = Strictness::hardware;
  Uniform u{.idesc = kBf16Descriptor, .a = 0, .metadata = 0};
  const Report report = expect_fault(FaultKind::contract, {"0b0000"}, [&] { run(u); });
  EXPECT_TRUE(report.hardware_accepts);
  EXPECT_EQ(run(u, hardware)[3], 0u);
  u.metadata = 0x55555555;
  EXPECT_FALSE(
      expect_fault(FaultKind::contract, {"0b0101"}, [&] { run(u, hardware); }).hardware_accepts);
}

/// Only elements that the metadata names take part, whatever the others hold.
TEST(Tcgen05Sparse, ElementsOfBThatAreNotNamedDoNotCount) {
  // 0x3f3f is a bf16 near 1; 0x7f80 is infinity, at k = 0 of column 0 of B.
  Uniform u{.idesc = kBf16Descriptor, .special_b = 0x7f80};
  u.metadata = 0xeeeeeeee;  // positions 2 and 3 of each chunk
  const auto other = run(u);
  EXPECT_TRUE(std::isfinite(std::bit_cast<float>(other[3])));
  EXPECT_EQ(other[3], other[kTmemLanes + 3]) << "as every other column";
  u.metadata = 0x44444444;  // positions 0 and 1
  EXPECT_TRUE(std::isinf(std::bit_cast<float>(run(u)[3])));
}

/// Block scaling with sparsity: one scale for 64, 32 or 16 stored elements' span along K. Operands
/// are 1, scales 1: half of K remains.
TEST(Tcgen05Sparse, BlockScaledKinds) {
  const uint32_t shape = 32 / 8 << 17 | 1u << 27 | 4u;
  EXPECT_EQ(std::bit_cast<float>(run({.kind = "mxf8f6f4",
                                      .idesc = shape | 1u << 23,
                                      .a = 0x38,
                                      .b = 0x38,
                                      .scaled = true})[9]),
            32.0f);
  EXPECT_EQ(std::bit_cast<float>(run({.kind = "mxf4",
                                      .idesc = shape | 1u << 23 | 1u << 7 | 1u << 10,
                                      .a = 0x22,
                                      .b = 0x22,
                                      .scaled = true})[9]),
            64.0f);
  EXPECT_EQ(std::bit_cast<float>(run({.kind = "mxf4nvf4",
                                      .size = ".block16",
                                      .idesc = shape | 1u << 23 | 1u << 7 | 1u << 10,
                                      .a = 0x22,
                                      .b = 0x22,
                                      .scaled = true})[9]),
            64.0f);
}

TEST(Tcgen05SparseFaults, Rules) {
  const Uniform valid{.idesc = kBf16Descriptor};
  EXPECT_NO_THROW((void)run(valid));
  const auto expect = [](const std::vector<std::string>& parts, const Uniform& u) {
    SCOPED_TRACE(parts.front());
    expect_fault(FaultKind::contract, parts, [&] { (void)run(u); });
  };
  Uniform u = valid;
  u.idesc &= ~4u;
  expect({"bit 2 (sparse) clear"}, u);
  u = valid;
  u.idesc |= 2u;
  expect({"the sparsity selector 2", "0 or 1"}, u);
  u = {.kind = "f8f6f4", .idesc = instruction_descriptor(kE4m3, kE4m3, 1, 128, 32) | 5u};
  expect({"the sparsity selector 1", "0 alone"}, u);
  u = valid;
  u.metadata_column = "65";
  expect({"starts at the odd column 65"}, u);
  u.metadata_column = "0x100040";
  expect({"the sparsity metadata starts at lane 16"}, u);
  u.metadata_column = "90";
  expect({"reads Tensor Memory column 90"}, u);
  for (const uint32_t index : {0x0u, 0x5u, 0xau, 0xfu, 0x1u, 0x2u, 0x3u, 0x7u, 0xbu}) {
    u = valid;
    u.metadata = 0x44444404u | index << 4;
    expect({"the sparsity metadata of chunk 1", "means nothing", "0b1001"}, u);
  }
  u = {.kind = "tf32",
       .idesc = instruction_descriptor(kTf32, kTf32, 1, 128, 32) | 4u,
       .metadata = 0x4444444c};
  expect({"the sparsity metadata of chunk 0", "0b0100 and 0b1110"}, u);
}

}  // namespace
}  // namespace bw::sim::test::tcgen05_sparse_test
