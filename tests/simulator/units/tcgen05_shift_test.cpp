/// \file
/// tcgen05.shift: 32-byte elements of 32 rows move down by one row, the last row stays.
#include "tests/simulator/units/tcgen05_harness.hpp"

namespace bw::sim::test::tcgen05_shift_test {
namespace {

constexpr uint32_t kColumns = 24;
constexpr uint32_t kFirstColumn = 4, kShiftedColumns = 8;

std::vector<uint32_t> run(const std::string& issue, int group,
                          const std::vector<uint32_t>& before) {
  MmaProgram program;
  program.group = group;
  program.columns = kColumns;
  program.issue = issue;
  constexpr uint64_t kUnused = uint64_t{1} << 46;
  return run_mma(program, std::vector<uint8_t>(1024 * group), before, kUnused, kUnused, 0, false);
}

/// `before` with the rows of one 32-lane quarter moved.
std::vector<uint32_t> shifted(std::vector<uint32_t> memory, uint32_t cta, uint32_t first_lane) {
  for (uint32_t column = kFirstColumn; column < kFirstColumn + kShiftedColumns; ++column) {
    uint32_t* const lanes = &memory[(cta * kColumns + column) * kTmemLanes + first_lane];
    for (uint32_t row = 0; row < 31; ++row) lanes[row] = lanes[row + 1];
  }
  return memory;
}

TEST(Tcgen05Shift, MovesTheRowsOfOneQuarter) {
  for (const uint32_t lane : {0u, 32u, 64u, 96u}) {
    std::mt19937 random(21);
    const auto before = random_tensor_memory(1, kColumns, random);
    const auto after = run("  add.u32 %r2, %tmem, " + std::to_string(lane << 16 | kFirstColumn) +
                               ";\n  tcgen05.shift.cta_group::1.down [%r2];\n",
                           1, before);
    EXPECT_EQ(after, shifted(before, 0, lane)) << lane;
  }
}

TEST(Tcgen05Shift, WorksInBothCtasOfAPair) {
  std::mt19937 random(22);
  const auto before = random_tensor_memory(2, kColumns, random);
  const auto after =
      run("  add.u32 %r2, %tmem, 4;\n  tcgen05.shift.cta_group::2.down [%r2];\n", 2, before);
  EXPECT_EQ(after, shifted(shifted(before, 0, 0), 1, 0));
}

TEST(Tcgen05Shift, RunsInOrder) {
  std::mt19937 random(23);
  const auto before = random_tensor_memory(1, kColumns, random);
  const auto after =
      run("  add.u32 %r2, %tmem, 4;\n  tcgen05.shift.cta_group::1.down [%r2];\n"
          "  tcgen05.shift.cta_group::1.down [%r2];\n",
          1, before);
  EXPECT_EQ(after, shifted(shifted(before, 0, 0), 0, 0));
}

TEST(Tcgen05Shift, Faults) {
  std::mt19937 random(24);
  const auto before = random_tensor_memory(1, kColumns, random);
  expect_fault(FaultKind::contract, {"lane", "aligned to 32", "starts at lane 16"}, [&] {
    (void)run("  add.u32 %r2, %tmem, 0x100000;\n  tcgen05.shift.cta_group::1.down [%r2];\n", 1,
              before);
  });
  expect_fault(FaultKind::contract, {"tcgen05.shift", "not allocated"}, [&] {
    (void)run("  add.u32 %r2, %tmem, 508;\n  tcgen05.shift.cta_group::1.down [%r2];\n", 1, before);
  });
  expect_fault(FaultKind::contract, {"cta_group"},
               [&] { (void)run("  tcgen05.shift.cta_group::2.down [%tmem];\n", 1, before); });
}

}  // namespace
}  // namespace bw::sim::test::tcgen05_shift_test
