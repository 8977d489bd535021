/// \file
/// tcgen05.mma of 4-bit elements with K = 96, which sm_103a has, against a float64 reference.
///
/// Read twice from the PTX ISA: "Matrix Shape" (256xNx96 of a pair of CTAs alone), "Absolute
/// address mode for K dimension being 48B" with its restrictions, "Layout of the Scale Factor A
/// Matrix for block32 with K=96" and the sections after it. The columns where scales go on, which
/// only figures show, are those of CUTLASS 4.2 (cute/atom/mma_traits_sm100.hpp, tmem_sf_frg).
#include <array>

#include "tests/simulator/units/tcgen05_harness.hpp"

namespace bw::sim::test::tcgen05_long_test {
namespace {

constexpr uint32_t kK = 96, kKBytes = 48, kLine = 128;
constexpr uint32_t kUe8m0 = 1, kUe4m3 = 0;
constexpr uint32_t kAColumn = 256, kAScaleColumn = 272, kBScaleColumn = 280, kColumns = 296;
// Two buffers of 128 rows of 128 bytes for each operand, all at multiples of 1024.
constexpr uint32_t kBuffer = 128 * kLine;
constexpr uint32_t kAOffsets[] = {0, kBuffer}, kBOffsets[] = {2 * kBuffer, 3 * kBuffer};
constexpr uint32_t kImageBytes = 4 * kBuffer;

struct Case {
  std::string kind = "mxf4", size = ".block32";
  uint32_t scales = 3, type = kUe8m0;
  uint32_t m = 256, n = 64;
  int group = 2;
  uint32_t a_id = 0, b_id = 0;
  uint32_t a_first = 0, b_first = 0;  ///< byte of a line where K begins
  bool a_in_tensor_memory = false;
};

Settings on_b300(Strictness level = Strictness::isa) {
  Settings settings = test_settings();
  settings.machine = find_machine("b300");
  settings.strictness = level;
  return settings;
}

uint32_t descriptor_of(const Case& c) {
  return c.b_id << 4 | 1u << 7 | 1u << 10 | c.n / 8 << 17 | c.type << 23 | c.m / 128 << 27 |
         c.a_id << 29 | 1u << 31;
}

/// 128-byte swizzle, 1024 bytes from 8 rows to the next; past the line at `next`, if that is given.
uint64_t matrix_descriptor(uint32_t first, const uint32_t* next) {
  return uint64_t{first} >> 4 | uint64_t{1024 >> 4} << 32 | uint64_t{1} << 46 | uint64_t{2} << 61 |
         (next == nullptr ? 0 : uint64_t{*next} >> 4 << 16 | uint64_t{1} << 52);
}

bool crosses(uint32_t first) { return first + kKBytes > kLine; }

/// Two codes a byte, from byte `first` of each row's line on, in the next buffer past its end.
void place(std::vector<uint8_t>& image, const std::vector<uint32_t>& codes, uint32_t rows,
           uint32_t first, const uint32_t (&offsets)[2]) {
  for (uint32_t row = 0; row < rows; ++row)
    for (uint32_t byte = 0; byte < kKBytes; ++byte) {
      const uint32_t along = first + byte, in_line = along % kLine;
      const uint32_t chunk = in_line / 16 ^ row % 8;  // the figure of the 128-byte swizzle
      const uint32_t* const pair = &codes[size_t{row} * kK + 2 * byte];
      image[offsets[along / kLine] + row * kLine + chunk * 16 + in_line % 16] =
          static_cast<uint8_t>(pair[0] | pair[1] << 4);
    }
}

size_t at(uint32_t cta, uint32_t column, uint32_t lane) {
  return (size_t{cta} * kColumns + column) * kTmemLanes + lane;
}

/// One row's scales in all four quarters, from byte `id` of the row's first word on. `of_rows`: how
/// many rows the matrix has.
void put_scales(std::vector<uint32_t>& memory, uint32_t cta, uint32_t base, uint32_t row,
                uint32_t of_rows, uint32_t id, const uint32_t* codes, uint32_t count) {
  for (uint32_t quarter = 0; quarter < 4; ++quarter)
    for (uint32_t i = 0; i < count; ++i) {
      const uint32_t word = (id + i) / 4, shift = (id + i) % 4 * 8;
      uint32_t& there = memory[at(cta, base + row / 32 + word * (of_rows <= 128 ? 4 : 8),
                                  quarter * 32 + row % 32)];
      there = (there & ~(0xffu << shift)) | codes[i] << shift;
    }
}

double scale_of(uint32_t code, uint32_t type) {
  if (type == kUe8m0) return power_of_two(static_cast<int>(code) - 127);
  return value_of_code(kE4m3, code);
}

std::vector<uint32_t> random_scales(const Case& c, uint32_t rows, std::mt19937& random) {
  std::vector<uint32_t> codes(size_t{rows} * c.scales);
  for (auto& code : codes)
    code = static_cast<uint32_t>(c.type == kUe8m0 ? 122 + random() % 10 : random() % 0x7f);
  return codes;
}

/// Everything that a product reads.
struct Inputs {
  std::vector<uint32_t> a, b, a_scales, b_scales, memory;
  std::vector<uint8_t> image;
};

Inputs inputs_of(const Case& c) {
  std::mt19937 random(c.n + c.a_id + c.a_first);
  Inputs in;
  const auto ctas = static_cast<uint32_t>(c.group);
  const uint32_t rows = c.m / ctas, b_rows = c.n / ctas;
  in.a.resize(size_t{c.m} * kK);
  in.b.resize(size_t{c.n} * kK);
  for (auto* codes : {&in.a, &in.b})
    for (auto& code : *codes) code = random_code(kE2m1, random);
  in.a_scales = random_scales(c, c.m, random);
  in.b_scales = random_scales(c, c.n, random);
  in.memory = random_tensor_memory(ctas, kColumns, random);
  const auto part = [](const std::vector<uint32_t>& codes, uint32_t first, uint32_t count) {
    const auto begin = codes.begin() + static_cast<std::ptrdiff_t>(size_t{first} * kK);
    return std::vector<uint32_t>(begin, begin + static_cast<std::ptrdiff_t>(size_t{count} * kK));
  };
  for (uint32_t cta = 0; cta < ctas; ++cta) {
    std::vector<uint8_t> own(kImageBytes);
    place(own, part(in.a, cta * rows, rows), rows, c.a_first, kAOffsets);
    place(own, part(in.b, cta * b_rows, b_rows), b_rows, c.b_first, kBOffsets);
    in.image.insert(in.image.end(), own.begin(), own.end());
    for (uint32_t row = 0; row < rows; ++row) {
      const size_t number = cta * rows + row;
      put_scales(in.memory, cta, kAScaleColumn, row, rows, c.a_id, &in.a_scales[number * c.scales],
                 c.scales);
      for (uint32_t i = 0; i < kK; ++i) {
        uint32_t& word = in.memory[at(cta, kAColumn + i / 8, row)];
        word = (word & ~(0xfu << i % 8 * 4)) | in.a[number * kK + i] << i % 8 * 4;
      }
    }
    for (uint32_t column = 0; column < c.n; ++column)
      put_scales(in.memory, cta, kBScaleColumn, column, c.n, c.b_id,
                 &in.b_scales[size_t{column} * c.scales], c.scales);
  }
  return in;
}

std::vector<uint32_t> run(const Case& c, const Inputs& in, uint32_t idesc, uint64_t a, uint64_t b,
                          Settings settings, const std::string& sparse = "") {
  MmaProgram program;
  program.group = c.group;
  program.columns = kColumns;
  // A leading offset that is an address counts from the start of the image, too.
  program.issue = "  shl.b64 %rd1, %smem64, 16;\n";
  for (const auto& [name, bits] : {std::pair{"%a", a}, std::pair{"%b", b}})
    if ((bits >> 52 & 1u) != 0)
      program.issue += std::string("  add.s64 ") + name + ", " + name + ", %rd1;\n";
  program.issue +=
      "  add.u32 %r2, %tmem, 272;\n  add.u32 %r3, %tmem, 280;\n"
      "  add.u32 %r4, %tmem, 256;\n  tcgen05.mma" +
      sparse + ".cta_group::" + std::to_string(c.group) + ".kind::" + c.kind + ".block_scale" +
      c.size + " [%tmem], " + (c.a_in_tensor_memory ? "[%r4]" : "%a") + ", %b, " +
      (sparse.empty() ? "" : "[%r4], ") + "%idesc, [%r2], [%r3], %enable;\n";
  return run_mma(program, in.image, in.memory, a, b, idesc, true, settings);
}

uint64_t a_descriptor(const Case& c) {
  return matrix_descriptor(kAOffsets[0] + c.a_first, crosses(c.a_first) ? &kAOffsets[1] : nullptr);
}
uint64_t b_descriptor(const Case& c) {
  return matrix_descriptor(kBOffsets[0] + c.b_first, crosses(c.b_first) ? &kBOffsets[1] : nullptr);
}

void check(const Case& c, Settings settings = on_b300()) {
  SCOPED_TRACE(c.kind + c.size + " N " + std::to_string(c.n) + " ids " + std::to_string(c.a_id) +
               std::to_string(c.b_id) + " from bytes " + std::to_string(c.a_first) + " and " +
               std::to_string(c.b_first));
  const Inputs in = inputs_of(c);
  const auto after = run(c, in, descriptor_of(c), a_descriptor(c), b_descriptor(c), settings);
  const uint32_t rows = c.m / static_cast<uint32_t>(c.group);
  std::vector<bool> written(after.size(), false);
  for (uint32_t row = 0; row < c.m; ++row)
    for (uint32_t column = 0; column < c.n; ++column) {
      const size_t place = at(row / rows, column, row % rows);
      written[place] = true;
      double sum = std::bit_cast<float>(in.memory[place]), magnitude = std::fabs(sum);
      for (uint32_t i = 0; i < kK; ++i) {
        const uint32_t block = i / (kK / c.scales);
        const double product = value_of_code(kE2m1, in.a[size_t{row} * kK + i]) *
                               scale_of(in.a_scales[size_t{row} * c.scales + block], c.type) *
                               value_of_code(kE2m1, in.b[size_t{column} * kK + i]) *
                               scale_of(in.b_scales[size_t{column} * c.scales + block], c.type);
        sum += product;
        magnitude += std::fabs(product);
      }
      ASSERT_NEAR(std::bit_cast<float>(after[place]), sum, chain_bound(magnitude, kK))
          << "row " << row << " column " << column;
    }
  for (size_t place = 0; place < after.size(); ++place) {
    if (written[place]) continue;
    ASSERT_EQ(after[place], in.memory[place]) << "must not change: " << place;
  }
}

const Case kNvfp4{.kind = "mxf4nvf4", .size = ".block16", .scales = 6, .type = kUe4m3};

TEST(Tcgen05Long, ThreeScalesARowAtEveryId) {
  for (uint32_t id = 0; id < 4; ++id) check({.n = 32, .a_id = id, .b_id = 3 - id});
  check({.kind = "mxf4nvf4", .n = 16, .a_id = 2, .b_id = 1});
}

TEST(Tcgen05Long, SixScalesARowAtBothIds) {
  for (const uint32_t id : {0u, 2u}) {
    Case c = kNvfp4;
    c.a_id = id;
    c.b_id = 2 - id;
    check(c);
  }
}

TEST(Tcgen05Long, ScalesOfMoreThan128ColumnsGoOnEightColumnsFurther) {
  check({.n = 256, .a_id = 3, .b_id = 2});
  Case c = kNvfp4;
  c.n = 192;
  check(c);
}

TEST(Tcgen05Long, ARowGoesOnInTheNextBuffer) {
  for (const uint32_t first : {48u, 80u, 96u, 112u})
    check({.n = 16, .a_first = first, .b_first = 160 - first});
}

TEST(Tcgen05Long, AInTensorMemoryTakesTwelveColumns) {
  check({.n = 16, .a_in_tensor_memory = true});
}

/// The ISA lists M = 256 of a pair alone; published kernels multiply with M = 128 of one CTA.
TEST(Tcgen05Long, OneCtaIsBeyondTheIsa) {
  const Case c{.m = 128, .n = 24, .group = 1};
  check(c, on_b300(Strictness::hardware));
  const Report report = expect_fault(
      FaultKind::contract, {"M = 128, N = 24, K = 96", "cta_group::2 and M = 256"}, [&] {
        (void)run(c, inputs_of(c), descriptor_of(c), a_descriptor(c), b_descriptor(c), on_b300());
      });
  EXPECT_TRUE(report.hardware_accepts);
}

/// Faults at both levels: `change` makes the descriptors wrong.
void expect_faults(const std::vector<std::string>& parts, const Case& c, uint32_t idesc, uint64_t a,
                   Settings settings = on_b300(), const std::string& sparse = "") {
  SCOPED_TRACE(parts.front());
  for (const Strictness level : {Strictness::isa, Strictness::hardware}) {
    settings.strictness = level;
    expect_fault(FaultKind::contract, parts,
                 [&] { (void)run(c, inputs_of(c), idesc, a, b_descriptor(c), settings, sparse); });
  }
}

TEST(Tcgen05Long, Faults) {
  const Case c{.n = 16};
  const uint32_t idesc = descriptor_of(c);
  const uint64_t a = a_descriptor(c);
  Settings b200 = test_settings();
  expect_faults({"bit 31 set (K = 96)", "sm_103a"}, c, idesc, a, b200);
  expect_faults({"bit 31 set (K = 96)", "sparse"}, c, idesc | 4u, a, on_b300(), ".sp");
  Case sixes = kNvfp4;
  expect_faults({"scale factor id 1 for A", "0 and 2"}, sixes, descriptor_of(sixes) | 1u << 29, a);
  Case half{.m = 128, .n = 16};
  expect_faults({"M = 128, N = 16, K = 96"}, half, descriptor_of(half), a);
  expect_faults({"the 48 bytes along K from byte 96 of a row of 128"}, c, idesc,
                matrix_descriptor(96, nullptr));
  constexpr uint64_t kAddress = uint64_t{1} << 52;
  expect_faults({"an absolute address", "swizzle mode 4"}, c, idesc,
                (a & ~(uint64_t{7} << 61)) | uint64_t{4} << 61 | kAddress);
  expect_faults({"an absolute address", "base offset 1"}, c, idesc,
                a | kAddress | uint64_t{1} << 49);
  // K = 64 has no such mode.
  expect_faults({"which only K = 96 of sm_103a has"}, c, idesc & ~(1u << 31), a | kAddress);
}

TEST(Tcgen05Long, TheCopiesOfTheSecondWordAreCompared) {
  const Case c{.n = 16, .a_id = 3};
  Inputs in = inputs_of(c);
  in.memory[at(0, kAScaleColumn + 4, 32)] ^= 1;  // row 0, second quarter
  expect_fault(FaultKind::contract, {"the scale factors of row 0 in column 276 differ"}, [&] {
    (void)run(c, in, descriptor_of(c), a_descriptor(c), b_descriptor(c), on_b300());
  });
}

}  // namespace
}  // namespace bw::sim::test::tcgen05_long_test
