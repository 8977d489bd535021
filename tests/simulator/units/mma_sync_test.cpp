/// \file
/// mma.sync and mma.sp compared with matrices multiplied element by element. Numbers are small
/// integers, so that every order of summation gives the same bits; which element a register holds
/// is taken from the formulas next to the PTX ISA's figures ("Matrix Fragments for mma...").
#include <cmath>
#include <random>

#include "tests/simulator/harness.hpp"

namespace bw::sim::test::mma_sync_test {
namespace {

using U32 = uint32_t;

struct Type {
  std::string name;
  int bits, exponent, mantissa;  ///< floats; exponent 0: integers
  bool is_signed;
};
const Type kF16{"f16", 16, 5, 10, true}, kBf16{"bf16", 16, 8, 7, true},
    kTf32{"tf32", 32, 8, 23, true}, kE4m3{"e4m3", 8, 4, 3, true}, kE5m2{"e5m2", 8, 5, 2, true},
    kS8{"s8", 8, 0, 0, true}, kU8{"u8", 8, 0, 0, false}, kS4{"s4", 4, 0, 0, true},
    kU4{"u4", 4, 0, 0, false}, kB1{"b1", 1, 0, 0, false};

/// The code of a small integer.
U32 code_of(const Type& type, int value) {
  if (type.exponent == 0)
    return static_cast<U32>(value) & (type.bits == 32 ? ~0u : (1u << type.bits) - 1);
  if (value == 0) return 0;
  int exponent = 0;
  const double fraction = 2 * std::frexp(std::abs(value), &exponent);  // 1 to 2
  const U32 biased = static_cast<U32>(exponent - 1 + (1 << (type.exponent - 1)) - 1);
  const auto mantissa = static_cast<U32>(std::ldexp(fraction - 1, type.mantissa));
  const U32 sign = value < 0 ? 1u << (type.bits - 1) : 0;
  return sign | biased << type.mantissa | mantissa;
}

struct Form {
  std::string opcode;
  int m, k;
  Type a, b;
  bool half = false;  ///< C and D
  int selector = -1;  ///< of sparse forms
};

using Matrix = std::vector<std::vector<int>>;

Matrix random_matrix(std::mt19937& random, const Type& type, int rows, int columns) {
  Matrix matrix(static_cast<size_t>(rows), std::vector<int>(static_cast<size_t>(columns)));
  for (auto& row : matrix)
    for (int& value : row) {
      if (type.bits == 1)
        value = static_cast<int>(random() % 2);
      else if (!type.is_signed)
        value = static_cast<int>(random() % 8);
      else
        value = static_cast<int>(random() % 9) - 4;
    }
  return matrix;
}

/// Row and column of value i of A's fragment: the ISA writes one formula for each width. `width`
/// is the stored one.
std::pair<int, int> place_in_a(int m, int bits, int lane, int i) {
  const int group = lane >> 2, member = lane % 4;
  if (m == 8) {  // .m8n8k16, k32, k128: row = groupID, col = (threadID_in_group * e) + i
    const int e = 32 / bits;
    return {group, member * e + i};
  }
  switch (bits) {
    case 32:  // row = groupID for a0 and a2, col = threadID_in_group for a0 and a1
      return {i % 2 == 0 ? group : group + 8, i < 2 ? member : member + 4};
    case 16:  // row = groupID for a0, a1, a4, a5; col = threadID_in_group * 2 + (i & 1), + 8 from
              // a4
      return {i < 2 || (4 <= i && i < 6) ? group : group + 8,
              member * 2 + (i & 1) + (i >= 4 ? 8 : 0)};
    case 8:  // row = groupID for i < 4 and 8 <= i < 12; col + 16 for i >= 8
      return {i < 4 || (8 <= i && i < 12) ? group : group + 8,
              member * 4 + (i & 3) + (i >= 8 ? 16 : 0)};
    case 4:  // row = groupID for i < 8 and 16 <= i < 24; col + 32 for i >= 16
      return {i < 8 || (16 <= i && i < 24) ? group : group + 8,
              member * 8 + (i & 7) + (i >= 16 ? 32 : 0)};
    default:  // 1: row = groupID for i < 32 and 64 <= i < 96; col + 128 for i >= 64
      return {i < 32 || (64 <= i && i < 96) ? group : group + 8,
              member * 32 + (i & 31) + (i >= 64 ? 128 : 0)};
  }
}

/// Row (k) and column of value i of B's fragment.
std::pair<int, int> place_in_b(int bits, int lane, int i) {
  const int e = 32 / bits;
  return {lane % 4 * e + i % e + i / e * 4 * e, lane >> 2};
}

/// Two of four elements of each chunk of a row stay: the stored row, and its metadata.
struct Compressed {
  std::vector<int> stored;
  uint64_t metadata = 0;
};

Compressed compress(std::mt19937& random, std::vector<int>& row, const Type& type) {
  constexpr int kPairs[6][2] = {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}};
  Compressed result;
  const auto k = row.size();
  const size_t unit = type.bits == 4 ? 2 : 1;  // 4-bit elements stay in pairs
  const bool singles = type.name == "tf32";    // one of two
  const size_t chunk = singles ? 2 : 4 * unit;
  for (size_t first = 0; first < k; first += chunk) {
    const auto* const pair = kPairs[random() % 6];
    const auto single = static_cast<int>(random() % 2);
    for (size_t i = 0; i < chunk; ++i) {
      const int place = static_cast<int>(i / unit);
      const bool kept = singles ? place == single : place == pair[0] || place == pair[1];
      if (kept)
        result.stored.push_back(row[first + i]);
      else
        row[first + i] = 0;
    }
    const uint64_t nibble =
        singles ? (single == 1 ? 0xe : 0x4) : static_cast<uint64_t>(pair[0] | pair[1] << 2);
    result.metadata |= nibble << (4 * (first / chunk));
  }
  return result;
}

std::string registers(const std::string& name, size_t count) {
  std::string text = "{";
  for (size_t i = 0; i < count; ++i) text += (i == 0 ? "%" : ", %") + name + std::to_string(i);
  return text + "}";
}

std::string loads(const std::string& name, size_t count) {
  std::string text = "mul.lo.u32 %t, %lane, " + std::to_string(4 * count) +
                     "; cvt.u64.u32 %l, %t; ld.param.u64 %p, [" + name + "]; add.u64 %p, %p, %l;\n";
  for (size_t i = 0; i < count; ++i)
    text +=
        "ld.global.b32 %" + name + std::to_string(i) + ", [%p+" + std::to_string(4 * i) + "];\n";
  return text;
}

/// D of fragments, as the kernel's words.
std::vector<U32> run_form(const Form& form, const std::vector<U32>& a, const std::vector<U32>& b,
                          const std::vector<U32>& c, const std::vector<U32>& e) {
  const size_t na = a.size() / 32, nb = b.size() / 32, nc = c.size() / 32;
  std::string text =
      ".reg .b32 %a<9>, %b<9>, %c<9>, %d<9>, %e<2>, %t, %lane; .reg .b64 %p, %l;\n"
      "mov.u32 %lane, %tid.x;\n" +
      loads("a", na) + loads("b", nb) + loads("c", nc) + loads("e", 1) + form.opcode + " " +
      registers("d", nc) + ", " + registers("a", na) + ", " + registers("b", nb) + ", " +
      registers("c", nc);
  if (form.selector >= 0) text += ", %e0, " + std::to_string(form.selector);
  text += ";\nmul.lo.u32 %t, %lane, " + std::to_string(4 * nc) +
          "; cvt.u64.u32 %l, %t; ld.param.u64 %p, [d]; add.u64 %p, %p, %l;\n";
  for (size_t i = 0; i < nc; ++i)
    text += "st.global.b32 [%p+" + std::to_string(4 * i) + "], %d" + std::to_string(i) + ";\n";
  Runner runner;
  const auto d = runner.buffer(std::vector<U32>(c.size()));
  runner.run(entry(".param .u64 d, .param .u64 a, .param .u64 b, .param .u64 c, .param .u64 e",
                   text + "ret;"),
             threads(32), d, runner.buffer(a), runner.buffer(b), runner.buffer(c),
             runner.buffer(e));
  return d.values();
}

void check_form(const Form& form, unsigned seed) {
  std::mt19937 random(seed);
  Matrix a = random_matrix(random, form.a, form.m, form.k);
  const Matrix b = random_matrix(random, form.b, form.k, 8);
  const Type c_type = form.half              ? kF16
                      : form.a.exponent != 0 ? Type{"f32", 32, 8, 23, true}
                                             : Type{"s32", 32, 0, 0, true};
  const Matrix c = random_matrix(random, c_type, form.m, 8);
  const bool sparse = form.selector >= 0;
  std::vector<Compressed> rows;
  std::vector<U32> e(32, 0xdeadbeef);
  if (sparse) {
    for (auto& row : a) rows.push_back(compress(random, row, form.a));
    // A register holds 16 bits of row g and 16 of row g + 8, and the lanes of a group of four that
    // the selector names hold the parts of the row in order; of types of 8 bits and less it holds
    // 32 bits of row g in even lanes, of row g + 8 in odd ones.
    const int bits = form.a.bits == 4 ? form.k / 2 : form.a.name == "tf32" ? 2 * form.k : form.k;
    const int parts = bits / 16;
    for (int group = 0; group < 8; ++group)
      for (int part = 0; part < parts; ++part) {
        const auto piece = [&](int row, int at) {
          return static_cast<U32>(rows[static_cast<size_t>(row)].metadata >> (16 * at) & 0xffff);
        };
        const int row = group + 8 * (part % 2), at = part / 2 * 2;
        e[static_cast<size_t>(4 * group + form.selector * parts + part)] =
            form.a.bits > 8 ? piece(group, part) | piece(group + 8, part) << 16
                            : piece(row, at) | piece(row, at + 1) << 16;
      }
  }
  const int ea = 32 / form.a.bits, eb = 32 / form.b.bits;
  const int na = form.m / 8 * (sparse ? form.k / 2 : form.k) / (4 * ea), nb = form.k / (4 * eb);
  const int nc = form.m / 4 / (form.half ? 2 : 1);
  std::vector<U32> wa, wb, wc;
  for (int lane = 0; lane < 32; ++lane) {
    for (int r = 0; r < na; ++r) {
      U32 word = 0;
      for (int i = 0; i < ea; ++i) {
        const auto [row, k] = place_in_a(form.m, form.a.bits, lane, r * ea + i);
        const auto at = static_cast<size_t>(row);
        const int value =
            sparse ? rows[at].stored[static_cast<size_t>(k)] : a[at][static_cast<size_t>(k)];
        word |= code_of(form.a, value) << (i * form.a.bits);
      }
      wa.push_back(word);
    }
    for (int r = 0; r < nb; ++r) {
      U32 word = 0;
      for (int i = 0; i < eb; ++i) {
        const auto [k, n] = place_in_b(form.b.bits, lane, r * eb + i);
        word |= code_of(form.b, b[static_cast<size_t>(k)][static_cast<size_t>(n)])
                << (i * form.b.bits);
      }
      wb.push_back(word);
    }
  }
  // c0, c1: row groupID, columns 2 threadID_in_group and the next; c2, c3: row groupID + 8.
  const auto place_in_c = [&](int lane, int i) {
    return std::pair{static_cast<size_t>((lane >> 2) + (i >= 2 ? 8 : 0)),
                     static_cast<size_t>(lane % 4 * 2 + (i & 1))};
  };
  const auto fragment_of = [&](const Matrix& matrix) {
    std::vector<U32> words;
    for (int lane = 0; lane < 32; ++lane)
      for (int r = 0; r < nc; ++r) {
        U32 word = 0;
        for (int i = 0; i < (form.half ? 2 : 1); ++i) {
          const auto [row, column] = place_in_c(lane, form.half ? 2 * r + i : r);
          word |= code_of(c_type, matrix[row][column]) << (16 * i);
        }
        words.push_back(word);
      }
    return words;
  };
  wc = fragment_of(c);
  Matrix d = c;
  const bool is_xor = form.opcode.find(".xor.") != std::string::npos;
  for (size_t row = 0; row < a.size(); ++row)
    for (size_t n = 0; n < 8; ++n)
      for (size_t k = 0; k < b.size(); ++k)
        d[row][n] += is_xor ? a[row][k] ^ b[k][n] : a[row][k] * b[k][n];
  EXPECT_EQ(run_form(form, wa, wb, wc, e), fragment_of(d)) << form.opcode;
}

std::string dense(const std::string& shape, const std::string& d, const Type& a, const Type& b,
                  const std::string& tail = "") {
  return "mma.sync.aligned." + shape + ".row.col." + d + "." + a.name + "." + b.name + "." + d +
         tail;
}

TEST(MmaSync, DenseFormsOfFloats) {
  const Form forms[] = {
      {dense("m16n8k8", "f32", kF16, kF16), 16, 8, kF16, kF16},
      {dense("m16n8k8", "f16", kF16, kF16), 16, 8, kF16, kF16, true},
      {dense("m16n8k16", "f32", kF16, kF16), 16, 16, kF16, kF16},
      {dense("m16n8k16", "f16", kF16, kF16), 16, 16, kF16, kF16, true},
      {dense("m16n8k8", "f32", kBf16, kBf16), 16, 8, kBf16, kBf16},
      {dense("m16n8k16", "f32", kBf16, kBf16), 16, 16, kBf16, kBf16},
      {dense("m16n8k4", "f32", kTf32, kTf32), 16, 4, kTf32, kTf32},
      {dense("m16n8k8", "f32", kTf32, kTf32), 16, 8, kTf32, kTf32},
      {dense("m16n8k16", "f32", kE4m3, kE5m2), 16, 16, kE4m3, kE5m2},
      {dense("m16n8k16", "f16", kE5m2, kE4m3), 16, 16, kE5m2, kE4m3, true},
      {dense("m16n8k32", "f32", kE4m3, kE4m3), 16, 32, kE4m3, kE4m3},
      {dense("m16n8k32", "f16", kE5m2, kE5m2), 16, 32, kE5m2, kE5m2, true},
  };
  for (const Form& form : forms) check_form(form, 1);
}

TEST(MmaSync, DenseFormsOfIntegersAndBits) {
  const Form forms[] = {
      {dense("m8n8k16", "s32", kS8, kU8), 8, 16, kS8, kU8},
      {dense("m16n8k16", "s32", kU8, kS8), 16, 16, kU8, kS8},
      {dense("m16n8k32", "s32", kS8, kS8), 16, 32, kS8, kS8},
      {dense("m8n8k32", "s32", kU4, kS4), 8, 32, kU4, kS4},
      {dense("m16n8k32", "s32", kS4, kS4), 16, 32, kS4, kS4},
      {dense("m16n8k64", "s32", kS4, kU4), 16, 64, kS4, kU4},
      {dense("m8n8k128", "s32", kB1, kB1, ".xor.popc"), 8, 128, kB1, kB1},
      {dense("m16n8k128", "s32", kB1, kB1, ".and.popc"), 16, 128, kB1, kB1},
      {dense("m16n8k256", "s32", kB1, kB1, ".xor.popc"), 16, 256, kB1, kB1},
  };
  for (const Form& form : forms) check_form(form, 2);
}

TEST(MmaSync, SparseForms) {
  const auto sparse = [](const std::string& text, const std::string& base = "mma.sp") {
    return base + text.substr(3);
  };
  const std::string ordered = "mma.sp::ordered_metadata";
  const Form forms[] = {
      {sparse(dense("m16n8k16", "f32", kF16, kF16)), 16, 16, kF16, kF16, false, 2},
      {sparse(dense("m16n8k16", "f16", kF16, kF16), ordered), 16, 16, kF16, kF16, true, 0},
      {sparse(dense("m16n8k32", "f32", kBf16, kBf16)), 16, 32, kBf16, kBf16, false, 1},
      {sparse(dense("m16n8k8", "f32", kTf32, kTf32)), 16, 8, kTf32, kTf32, false, 3},
      {sparse(dense("m16n8k16", "f32", kTf32, kTf32), ordered), 16, 16, kTf32, kTf32, false, 1},
      {sparse(dense("m16n8k64", "f32", kE4m3, kE5m2)), 16, 64, kE4m3, kE5m2, false, 0},
      {sparse(dense("m16n8k32", "s32", kS8, kU8)), 16, 32, kS8, kU8, false, 1},
      {sparse(dense("m16n8k64", "s32", kS8, kS8), ordered), 16, 64, kS8, kS8, false, 0},
      {sparse(dense("m16n8k64", "s32", kS4, kS4)), 16, 64, kS4, kS4, false, 1},
      {sparse(dense("m16n8k128", "s32", kU4, kS4)), 16, 128, kU4, kS4, false, 0},
  };
  for (const Form& form : forms) check_form(form, 3);
}

TEST(MmaSync, SatfiniteClampsAndElseTheSumWraps) {
  const std::vector<U32> ones(32, 0x01010101), most(64, 0x7fffffff);
  for (const bool clamps : {false, true}) {
    const Form form{std::string("mma.sync.aligned.m8n8k16.row.col.") +
                        (clamps ? "satfinite." : "") + "s32.s8.s8.s32",
                    8, 16, kS8, kS8};
    const auto d = run_form(form, ones, ones, most, ones);
    for (const U32 word : d) EXPECT_EQ(word, clamps ? 0x7fffffffu : 0x8000000fu);
  }
}

TEST(MmaSync, Refusals) {
  const auto refused = [](const std::vector<std::string>& parts, const std::string& instruction) {
    expect_fault(FaultKind::unsupported, parts, [&] {
      Runner runner;
      runner.run(entry("", ".reg .b32 %r<16>;\n" + instruction + "\nret;"), threads(32));
    });
  };
  refused({"gives 1 registers for B, which takes 2", "(PTX ISA, \"mma\")"},
          "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%r0, %r1, %r2, %r3}, "
          "{%r0, %r1, %r2, %r3}, {%r0}, {%r0, %r1, %r2, %r3};");
  refused({"has the sparsity selector 2; its form takes 0 to 1", "(PTX ISA, \"mma.sp\")"},
          "mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 {%r0, %r1, %r2, %r3}, "
          "{%r0, %r1, %r2, %r3}, {%r0, %r1, %r2, %r3}, {%r0, %r1, %r2, %r3}, %r4, 2;");
  refused({"has a C of another type than D"},
          "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f16 {%r0, %r1, %r2, %r3}, {%r0, %r1}, "
          "{%r0}, {%r0, %r1};");
}

TEST(MmaSync, MayNotBeExecutedByAPartOfTheWarp) {
  expect_fault(FaultKind::contract, {"divergence"}, [] {
    Runner runner;
    runner.run(entry("",
                     ".reg .b32 %r<9>; .reg .pred %p; mov.u32 %r8, %tid.x;\n"
                     "setp.lt.u32 %p, %r8, 8;\n@%p mma.sync.aligned.m8n8k16.row.col.s32.s8.s8"
                     ".s32 {%r0, %r1}, {%r2}, {%r3}, {%r4, %r5};\nret;"),
               threads(32));
  });
}

TEST(MmaSync, AnInfinityReachesOnlyTheRowsThatMeetIt) {
  // All rows of A have ones at two places of each four, the first or the last; B is zero but for
  // one infinity.
  const Form form{"mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
                  16,
                  16,
                  kF16,
                  kF16,
                  false,
                  0};
  const std::vector<U32> a(2 * 32, 0x3c003c00), c(4 * 32, 0);
  for (const bool first : {true, false})
    for (int lane = 0; lane < 32; ++lane)
      for (int i = 0; i < 4; ++i) {
        const auto [k, n] = place_in_b(16, lane, i);
        std::vector<U32> b(2 * 32, 0);
        b[static_cast<size_t>(2 * lane + i / 2)] = 0x7c00u << (16 * (i % 2));
        const std::vector<U32> d =
            run_form(form, a, b, c, std::vector<U32>(32, first ? 0x44444444 : 0xeeeeeeee));
        for (size_t word = 0; word < d.size(); ++word) {
          const int column = static_cast<int>(word / 4 % 4 * 2 + word % 2);
          ASSERT_EQ(d[word], column == n && (k % 4 < 2) == first ? 0x7f800000u : 0u)
              << "k " << k << " n " << n << " word " << word;
        }
      }
}

}  // namespace
}  // namespace bw::sim::test::mma_sync_test
