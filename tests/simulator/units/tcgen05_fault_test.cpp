/// \file
/// Faults of tcgen05.mma, tcgen05.cp and tcgen05.commit, and tcgen05.cp's and tcgen05.commit's
/// effects.
#include "tests/simulator/units/tcgen05_harness.hpp"

namespace bw::sim::test::tcgen05_fault_test {
namespace {

constexpr uint64_t kVersion = uint64_t{1} << 46;
constexpr char kMma[] =
    "  tcgen05.mma.cta_group::1.kind::f8f6f4 [%tmem], %a, %b, %idesc, %enable;\n";

struct Arguments {
  std::string issue = kMma;
  uint64_t a = kVersion | uint64_t{64} << 32 | uint64_t{2} << 61;
  uint64_t b = kVersion | uint64_t{64} << 32 | uint64_t{2} << 61;
  uint32_t idesc = instruction_descriptor(kE4m3, kE4m3, 1, 128, 64);
  int group = 1;
};

std::vector<uint32_t> run(const Arguments& arguments) {
  MmaProgram program;
  program.group = arguments.group;
  program.issue = arguments.issue;
  program.columns = 64;
  std::mt19937 random(1);
  return run_mma(program, std::vector<uint8_t>(32768 * arguments.group, 0x38),
                 random_tensor_memory(arguments.group, 64, random), arguments.a, arguments.b,
                 arguments.idesc, true);
}

void expect_contract(const std::vector<std::string>& parts, const Arguments& arguments) {
  expect_fault(FaultKind::contract, parts, [&] { (void)run(arguments); });
}

TEST(Tcgen05Faults, TheValidArgumentsRun) { EXPECT_NO_THROW((void)run({})); }

TEST(Tcgen05Faults, SharedMemoryDescriptor) {
  const Arguments valid;
  for (const int bit : {14, 15, 30, 31}) {
    Arguments changed = valid;
    changed.a |= uint64_t{1} << bit;
    expect_contract({"A: ", "reserved bits"}, changed);
    changed = valid;
    changed.b |= uint64_t{1} << bit;
    expect_contract({"B: ", "reserved bits"}, changed);
  }
  for (int bit = 53; bit <= 60; ++bit) {
    Arguments changed = valid;
    changed.a |= uint64_t{1} << bit;
    expect_contract({"bits 53 to 60"}, changed);
  }
  for (const uint64_t flip : {uint64_t{1} << 46, uint64_t{1} << 47, uint64_t{1} << 48}) {
    Arguments changed = valid;
    changed.a ^= flip;
    expect_contract({"bits 46 to 48", "needs 1"}, changed);
  }
  Arguments changed = valid;
  changed.a |= uint64_t{1} << 52;
  expect_contract({"bit 52", "which only K = 96 of sm_103a has"}, changed);
  for (const uint64_t mode : {3, 5, 7}) {
    changed = valid;
    changed.b = (changed.b & ~(uint64_t{7} << 61)) | mode << 61;
    expect_contract({"swizzle mode " + std::to_string(mode)}, changed);
  }
  changed = valid;
  changed.b += 32768 >> 4;
  expect_contract({"out of bounds: B of 64 rows"}, changed);
  changed = valid;
  changed.a = (changed.a & ~(uint64_t{0x3fff} << 32)) | uint64_t{0x3fff} << 32;
  expect_contract({"out of bounds: A of 128 rows", "stride offset 262128"}, changed);
}

TEST(Tcgen05Faults, InstructionDescriptor) {
  const Arguments valid;
  const auto expect_bits = [&](uint32_t idesc, const std::vector<std::string>& parts,
                               const std::string& kind = "f8f6f4", int group = 1) {
    Arguments changed = valid;
    changed.idesc = idesc;
    changed.group = group;
    changed.issue = "  tcgen05.mma.cta_group::" + std::to_string(group) + ".kind::" + kind +
                    " [%tmem], %a, %b, %idesc, %enable;\n";
    expect_contract(parts, changed);
  };
  for (const int bit : {0, 1, 2}) expect_bits(valid.idesc | 1u << bit, {"sparsity bits"});
  for (const int bit : {6, 23, 29}) expect_bits(valid.idesc | 1u << bit, {"reserved bits"});
  for (const int bit : {30, 31}) expect_bits(valid.idesc | 1u << bit, {"maximum shift"});
  expect_bits(valid.idesc | 8u, {"saturate bit"});
  for (const uint32_t code : {2u, 6u, 7u}) {
    expect_bits(valid.idesc | code << 7, {"format " + std::to_string(code) + " for A"});
    expect_bits(valid.idesc | code << 10, {std::to_string(code) + " for B"});
  }
  expect_bits(instruction_descriptor(kE4m3, kE4m3, 2, 128, 64), {"format 2 for D"});
  expect_bits(instruction_descriptor(kBf16, kBf16, 0, 128, 64), {"format 0 for D"}, "f16");
  expect_bits(instruction_descriptor(kF16, kBf16, 1, 128, 64), {"one f16 and one bf16"}, "f16");
  expect_bits(instruction_descriptor(kTf32, kTf32, 0, 128, 64), {"format 0 for D"}, "tf32");
  expect_bits(instruction_descriptor(kE4m3, kE4m3, 1, 128, 64), {"format 0 for A", "2 (tf32)"},
              "tf32");
  expect_bits(instruction_descriptor(kU8, kS8, 1, 128, 64), {"format 1 for D"}, "i8");
  expect_bits(instruction_descriptor(kS8, kS8, 2, 128, 64) | 1u << 13, {"negate bit"}, "i8");
  struct Shape {
    uint32_t m, n;
  };
  for (const Shape shape : {Shape{128, 8}, Shape{128, 24}, Shape{64, 0}, Shape{128, 264},
                            Shape{256, 64}, Shape{32, 64}, Shape{96, 64}})
    expect_bits(
        instruction_descriptor(kE4m3, kE4m3, 1, shape.m, shape.n),
        {"M = " + std::to_string(shape.m) + ", N = " + std::to_string(shape.n), "cta_group::1"});
  expect_bits(instruction_descriptor(kS8, kS8, 2, 64, 40), {"M = 64, N = 40"}, "i8");
  for (const Shape shape : {Shape{64, 64}, Shape{256, 8}, Shape{128, 24}})
    expect_bits(instruction_descriptor(kE4m3, kE4m3, 1, shape.m, shape.n), {"cta_group::2"},
                "f8f6f4", 2);
}

TEST(Tcgen05Faults, PlacesInTensorMemory) {
  Arguments changed;
  changed.issue =
      "  add.u32 %r2, %tmem, 480;\n"
      "  tcgen05.mma.cta_group::1.kind::f8f6f4 [%r2], %a, %b, %idesc, %enable;\n";
  expect_contract(
      {"Tensor Memory column 512 being accessed by instruction tcgen05.mma is not allocated"},
      changed);
  changed.issue =
      "  add.u32 %r2, %tmem, 1048576;\n"
      "  tcgen05.mma.cta_group::1.kind::f8f6f4 [%r2], %a, %b, %idesc, %enable;\n";
  expect_contract({"invalid datapath (lane) alignment: D starts at lane 16 with M = 128"}, changed);
  changed.issue =
      "  add.u32 %r2, %tmem, 128;\n"
      "  tcgen05.mma.cta_group::1.kind::f8f6f4 [%r2], %a, %b, %idesc, %enable;\n";
  expect_contract({"reads Tensor Memory column 128", "enable-input-d must be false"}, changed);
  changed.issue =
      "  add.u32 %r2, %tmem, 510;\n"
      "  tcgen05.mma.cta_group::1.kind::f8f6f4 [%tmem], [%r2], %b, %idesc, %enable;\n";
  expect_contract({"column 512", "not allocated"}, changed);
  changed.issue =
      "  tcgen05.mma.cta_group::1.kind::f8f6f4 [%tmem], [%tmem], %b, %idesc, %enable;\n";
  changed.idesc |= 1u << 15;
  expect_contract({"A is MN-major, but A is in Tensor Memory"}, changed);
}

TEST(Tcgen05Faults, Commit) {
  Arguments changed;
  changed.issue =
      "  add.u32 %r2, %bar, 64;\n"
      "  tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r2];\n";
  expect_contract({"tcgen05.commit"}, changed);
  changed.issue =
      "  mov.b16 %mask, 2;\n  tcgen05.commit.cta_group::1.mbarrier::arrive::one"
      ".shared::cluster.multicast::cluster.b64 [%bar], %mask;\n";
  expect_contract({"CTA mask 2 of a cluster of 1", "do not exist"}, changed);
  changed.issue =
      "  mov.b16 %mask, 0;\n  tcgen05.commit.cta_group::1.mbarrier::arrive::one"
      ".shared::cluster.multicast::cluster.b64 [%bar], %mask;\n";
  expect_contract({"CTA mask 0", "no CTA"}, changed);
}

TEST(Tcgen05Faults, CommitWithNothingOutstandingArrivesAtOnce) {
  Arguments empty;
  empty.issue = "";
  EXPECT_NO_THROW((void)run(empty));
}

TEST(Tcgen05Faults, Copy) {
  const auto copy = [](const std::string& prepare, const std::string& shape,
                       const std::string& to) {
    return prepare + "  tcgen05.cp.cta_group::1." + shape + " [" + to + "], %a;\n";
  };
  Arguments changed;
  changed.issue = copy("  add.u32 %r2, %tmem, 508;\n", "128x256b", "%r2");
  expect_contract({"column 512", "tcgen05.cp", "not allocated"}, changed);
  changed.issue = copy("  add.u32 %r2, %tmem, 65536;\n", "32x128b.warpx4", "%r2");
  expect_contract({"destination starts at lane 1"}, changed);
  changed.issue = copy("", "128x128b", "%tmem");
  changed.a |= 1u << 14;
  expect_contract({"reserved bits"}, changed);
  changed.a = Arguments{}.a + (32768 >> 4);
  expect_contract({"out of bounds: the source matrix"}, changed);
}

/// Where row `row` of a copied matrix goes: lanes as a list.
std::vector<uint32_t> lanes_of(const std::string& shape, uint32_t row) {
  if (shape.starts_with("128x")) return {row};
  if (shape == "4x256b") return {row * 32};
  if (shape == "32x128b.warpx4") return {row, row + 32, row + 64, row + 96};
  if (shape == "64x128b.warpx2::02_13") return {row, row + 64};
  return {row % 32 + row / 32 * 64, row % 32 + row / 32 * 64 + 32};  // 01_23
}

TEST(Tcgen05Copy, PutsEveryShapeWhereTheIsaSays) {
  struct Shape {
    std::string name;
    uint32_t rows, bytes;
  };
  for (const Shape& shape :
       {Shape{"128x256b", 128, 32}, Shape{"4x256b", 4, 32}, Shape{"128x128b", 128, 16},
        Shape{"64x128b.warpx2::02_13", 64, 16}, Shape{"64x128b.warpx2::01_23", 64, 16},
        Shape{"32x128b.warpx4", 32, 16}})
    for (const std::string format : {"", "b6x16_p32", "b4x16_p64"}) {
      SCOPED_TRACE(shape.name + " " + format);
      std::mt19937 random(13);
      std::vector<uint8_t> image(8192);
      for (auto& byte : image) byte = static_cast<uint8_t>(random());
      MmaProgram program;
      program.columns = 16;
      program.issue = "  add.u32 %r2, %tmem, 4;\n  tcgen05.cp.cta_group::1." + shape.name +
                      (format.empty() ? "" : ".b8x16." + format) + " [%r2], %a;\n";
      // Without swizzle: 8 rows of 16 bytes are contiguous, the next 16 bytes of a row 2048
      // further.
      const uint64_t descriptor = kVersion | uint64_t{2048 >> 4} << 16 | uint64_t{128 >> 4} << 32;
      const auto before = random_tensor_memory(1, 16, random);
      auto expected = before;
      const unsigned bits = format.empty() ? 8 : format == "b6x16_p32" ? 6 : 4;
      for (uint32_t row = 0; row < shape.rows; ++row)
        for (uint32_t byte = 0; byte < shape.bytes; ++byte) {
          const uint8_t* const chunk = &image[row * 16 + byte / 16 * 2048];
          uint32_t code = 0;
          for (unsigned bit = 0; bit < bits; ++bit) {
            const unsigned position = byte % 16 * bits + bit;
            code |= (chunk[position / 8] >> position % 8 & 1u) << bit;
          }
          if (bits == 4) code <<= 2;
          for (const uint32_t lane : lanes_of(shape.name, row))
            reinterpret_cast<uint8_t*>(&expected[(4 + byte / 4) * kTmemLanes + lane])[byte % 4] =
                static_cast<uint8_t>(code);
        }
      const auto after = run_mma(program, image, before, descriptor, 0, 0, false);
      EXPECT_EQ(after, expected);
    }
}

TEST(Tcgen05Copy, RunsInOrderWithMmas) {
  // A is copied to Tensor Memory and used by the MMA that follows, without a wait in between.
  std::mt19937 random(14);
  const auto [a, b, image] = random_operands(random, {kE4m3, false, Pattern::none, 128, 32, 0, {}},
                                             {kE4m3, false, Pattern::b128, 16, 32, 8192, {}});
  MmaProgram program;
  program.columns = 32;
  program.issue =
      "  add.u32 %r2, %tmem, 20;\n"
      "  tcgen05.cp.cta_group::1.128x256b [%r2], %a;\n"
      "  tcgen05.mma.cta_group::1.kind::f8f6f4 [%tmem], [%r2], %b, %idesc, %enable;\n";
  const auto after =
      run_mma(program, image, random_tensor_memory(1, 32, random), a.descriptor(), b.descriptor(),
              instruction_descriptor(kE4m3, kE4m3, 1, 128, 16), false);
  for (uint32_t row = 0; row < 128; ++row)
    for (uint32_t column = 0; column < 16; ++column) {
      double sum = 0;
      for (uint32_t i = 0; i < 32; ++i) sum += a.value(row, i) * b.value(column, i);
      ASSERT_NEAR(std::bit_cast<float>(after[column * kTmemLanes + row]), sum, 1e-3);
    }
}

}  // namespace
}  // namespace bw::sim::test::tcgen05_fault_test
