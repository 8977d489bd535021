/// \file
/// tcgen05.ld, tcgen05.st and tcgen05.wait: every shape against the ISA's matrix fragments.
#include <algorithm>
#include <bit>
#include <cmath>

#include "tests/simulator/units/tcgen05_harness.hpp"

namespace bw::sim::test::tcgen05_load_store_test {
namespace {

struct Shape {
  std::string name;
  int registers;  ///< of .x1
  int columns;    ///< of .x1
  int lanes;
};
const Shape kShapes[] = {{"32x32b", 1, 1, 32},
                         {"16x64b", 1, 2, 16},
                         {"16x128b", 2, 4, 16},
                         {"16x256b", 4, 8, 16},
                         {"16x32bx2", 1, 1, 16}};
constexpr int kSplit = 64;

/// Row (lane) and column of register `r` of thread `t`, read off the ISA's fragment figures: 32x32b
/// thread t holds row t; the 16-row shapes hold rows t / 4 and t / 4 + 8 in 8-row halves.
struct Cell {
  int lane, column;
};
Cell cell(const Shape& shape, int r, int t) {
  if (shape.name == "32x32b") return {t, r};
  if (shape.name == "16x32bx2") return {t % 16, r + (t < 16 ? 0 : kSplit)};
  if (shape.name == "16x64b") {
    // Four threads hold a row pair: T0 row 0 column 0, T1 row 8 column 0, T2 row 0 column 1, T3 row
    // 8 column 1.
    const int quad = t % 4;
    return {t / 4 + (quad % 2 == 1 ? 8 : 0), 2 * r + (quad >= 2 ? 1 : 0)};
  }
  if (shape.name == "16x128b") {
    // Registers come in pairs: rows 0-7, then rows 8-15; thread t % 4 is the column.
    return {t / 4 + (r % 2 == 1 ? 8 : 0), r / 2 * 4 + t % 4};
  }
  // 16x256b: registers in fours: two neighbouring columns of rows 0-7, then of rows 8-15.
  return {t / 4 + (r % 4 >= 2 ? 8 : 0), r / 4 * 8 + t % 4 * 2 + r % 2};
}

std::string registers(int count) {
  std::string text = "{";
  for (int r = 0; r < count; ++r) text += (r == 0 ? "%d" : ", %d") + std::to_string(r);
  return text + "}";
}

/// One warp (index `warp`) fills its quarter with `fill`, executes `middle` on %taddr, and copies
/// its quarter out; `registers` values %d go to `out` after the quarter.
std::string program(const std::string& middle, int warp, int columns, int data_registers) {
  constexpr int kQuarterBytes = 32 * 4;  // a column of the warp's lanes
  std::string text = R"(
  .reg .pred %p<4>;
  .reg .b32 %t, %warp, %tmem, %taddr, %address, %i, %v, %d<128>;
  .reg .b64 %in, %out, %offset;
  mov.u32 %t, %tid.x;
  shr.u32 %warp, %t, 5;
  setp.ne.u32 %p0, %warp, 0;
  @%p0 bra ALLOCATED;
  tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 512;
ALLOCATED:
  bar.sync 0;
  ld.shared.b32 %tmem, [slot];
  setp.ne.u32 %p1, %warp, )" +
                     std::to_string(warp) + R"(;
  @%p1 bra IDLE;
  and.b32 %t, %t, 31;
  ld.param.u64 %in, [in];
  ld.param.u64 %out, [out];
  mul.wide.u32 %offset, %t, 4;
  add.s64 %in, %in, %offset;
  add.s64 %out, %out, %offset;
  and.b32 %taddr, %warp, 3;
  shl.b32 %taddr, %taddr, 21;
  add.u32 %taddr, %taddr, %tmem;
  mov.b32 %address, %taddr;
)" + fill_tensor_memory(columns, kQuarterBytes);
  for (int r = 0; r < data_registers; ++r)
    text += "  ld.global.b32 %d" + std::to_string(r) + ", [%in+" + std::to_string(r * 128) + "];\n";
  text += middle + "  mov.b32 %address, %taddr;\n" + drain_tensor_memory(columns, kQuarterBytes);
  for (int r = 0; r < data_registers; ++r)
    text +=
        "  st.global.b32 [%out+" + std::to_string(r * 128) + "], %d" + std::to_string(r) + ";\n";
  text += R"(
IDLE:
  bar.sync 0;
  @%p0 bra DONE;
  tcgen05.dealloc.cta_group::1.sync.aligned.b32 %tmem, 512;
DONE:
  ret;
)";
  return entry(".param .u64 in, .param .u64 out", text, ".shared .align 4 .b32 slot;\n");
}

struct Result {
  std::vector<uint32_t> in, out;
};

Result run(const std::string& middle, int warp, int columns, int data_registers) {
  Runner runner;
  std::mt19937 random(11);
  std::vector<uint32_t> values((columns + data_registers) * 32);
  for (auto& value : values) value = static_cast<uint32_t>(random());
  const auto in = runner.buffer(values);
  const auto out = runner.buffer(std::vector<uint32_t>(values.size(), 0));
  runner.run(program(middle, warp, columns, data_registers), threads(256), in, out);
  return {values, out.values()};
}

void check_shape(const Shape& shape, int repetitions, int warp, bool packed, int lane_offset) {
  const int count = shape.registers * repetitions;
  const int width = packed ? 2 : 1;
  const int columns = kSplit + shape.columns * repetitions * width;
  SCOPED_TRACE(shape.name + ".x" + std::to_string(repetitions) + (packed ? " packed" : "") +
               " warp " + std::to_string(warp) + " lane +" + std::to_string(lane_offset));
  const std::string suffix = shape.name + ".x" + std::to_string(repetitions);
  const std::string split = shape.name == "16x32bx2" ? ", " + std::to_string(kSplit) : "";
  const std::string moved =
      lane_offset == 0 ? "  mov.b32 %v, %taddr;\n" : "  add.u32 %v, %taddr, 1048576;\n";
  // A packed cell c is in the low halves of columns 2c and 2c + 1 (of its half for 16x32bx2).
  const auto packed_column = [&](const Cell& c) {
    const int base = shape.name == "16x32bx2" && c.column >= kSplit ? kSplit : 0;
    return base + (c.column - base) * 2;
  };
  // The wait follows at once, or in another basic block: then the data wait for it.
  for (const char* const between : {"", "  bra.uni WAIT;\nWAIT:\n"}) {
    const Result result =
        run(moved + "  tcgen05.ld.sync.aligned." + suffix + (packed ? ".pack::16b" : "") + ".b32 " +
                registers(count) + ", [%v]" + split + ";\n" + between +
                "  tcgen05.wait::ld.sync.aligned;\n",
            warp, columns, count);
    for (int r = 0; r < count; ++r)
      for (int t = 0; t < 32; ++t) {
        const Cell c = cell(shape, r, t);
        const int lane = c.lane + lane_offset;
        const uint32_t expected = packed ? (result.in[packed_column(c) * 32 + lane] & 0xffffu) |
                                               result.in[(packed_column(c) + 1) * 32 + lane] << 16
                                         : result.in[c.column * 32 + lane];
        ASSERT_EQ(result.out[(columns + r) * 32 + t], expected)
            << "ld register " << r << " thread " << t;
      }
  }
  {  // Store.
    const Result result = run(moved + "  tcgen05.st.sync.aligned." + suffix +
                                  (packed ? ".unpack::16b" : "") + ".b32 [%v]" + split + ", " +
                                  registers(count) + ";\n  tcgen05.wait::st.sync.aligned;\n",
                              warp, columns, count);
    std::vector<uint32_t> expected(result.in.begin(), result.in.begin() + columns * 32);
    for (int r = 0; r < count; ++r)
      for (int t = 0; t < 32; ++t) {
        const Cell c = cell(shape, r, t);
        const int lane = c.lane + lane_offset;
        const uint32_t value = result.in[(columns + r) * 32 + t];
        if (packed) {
          expected[packed_column(c) * 32 + lane] = value & 0xffffu;
          expected[(packed_column(c) + 1) * 32 + lane] = value >> 16;
        } else {
          expected[c.column * 32 + lane] = value;
        }
      }
    for (int i = 0; i < columns * 32; ++i)
      ASSERT_EQ(result.out[i], expected[i]) << "st column " << i / 32 << " lane " << i % 32;
  }
}

TEST(Tcgen05LoadStore, EveryShapeFollowsTheFragmentFigures) {
  for (const Shape& shape : kShapes)
    for (const int repetitions : {1, 2, 8, 32}) {
      check_shape(shape, repetitions, 1, false, 0);
      if (shape.lanes == 16) check_shape(shape, repetitions, 2, false, 16);
    }
  check_shape(kShapes[0], 128, 3, false, 0);
  check_shape(kShapes[1], 128, 0, false, 0);
  check_shape(kShapes[2], 64, 0, false, 0);
}

TEST(Tcgen05LoadStore, PacksTwo16BitColumnsIntoARegister) {
  for (const Shape& shape : kShapes)
    for (const int repetitions : {1, 4, 16}) check_shape(shape, repetitions, 5, true, 0);
}

TEST(Tcgen05LoadStore, AStoreIsNotThereBeforeItCompletes) {
  const Result result =
      run("  tcgen05.st.sync.aligned.32x32b.x1.b32 [%taddr], {%d0};\n"
          "  tcgen05.ld.sync.aligned.32x32b.x1.b32 {%d1}, [%taddr];\n"
          "  tcgen05.wait::ld.sync.aligned;\n"
          "  tcgen05.wait::st.sync.aligned;\n",
          0, 4, 2);
  for (int t = 0; t < 32; ++t) {
    EXPECT_EQ(result.out[5 * 32 + t], result.in[t]) << "the old contents";
    EXPECT_EQ(result.out[t], result.in[4 * 32 + t]);
  }
}

TEST(Tcgen05LoadStore, DeadDestinationsDoNotDisturbOtherRegisters) {
  // %d0 and %d1 are never read, so their places may be given to the registers defined between load
  // and wait.
  const Result result =
      run("  tcgen05.ld.sync.aligned.32x32b.x4.b32 {_, %i, _, %d2}, [%taddr];\n"
          "  mov.b32 %d0, 17;\n  mov.b32 %d1, 23;\n"
          "  tcgen05.wait::ld.sync.aligned;\n",
          0, 4, 3);
  for (int t = 0; t < 32; ++t) {
    EXPECT_EQ(result.out[4 * 32 + t], 17u);
    EXPECT_EQ(result.out[5 * 32 + t], 23u);
    EXPECT_EQ(result.out[6 * 32 + t], result.in[3 * 32 + t]);
  }
}

TEST(Tcgen05LoadStoreFaults, LaneQuarterOfAnotherWarp) {
  const std::string middle =
      "  add.u32 %v, %taddr, 2097152;\n"
      "  tcgen05.ld.sync.aligned.32x32b.x1.b32 {%d0}, [%v];\n"
      "  tcgen05.wait::ld.sync.aligned;\n";
  expect_fault(FaultKind::contract,
               {"invalid datapath (lane) alignment", "names lane 64", "warp 1", "lanes 32-63"},
               [&] { (void)run(middle, 1, 4, 1); });
}

TEST(Tcgen05LoadStoreFaults, MisalignedLane) {
  expect_fault(FaultKind::contract, {"invalid datapath (lane) alignment", "names lane 16"}, [&] {
    (void)run(
        "  add.u32 %v, %taddr, 1048576;\n"
        "  tcgen05.st.sync.aligned.32x32b.x1.b32 [%v], {%d0};\n",
        0, 4, 1);
  });
  expect_fault(FaultKind::contract, {"invalid datapath (lane) alignment", "names lane 8"}, [&] {
    (void)run(
        "  add.u32 %v, %taddr, 524288;\n"
        "  tcgen05.st.sync.aligned.16x64b.x1.b32 [%v], {%d0};\n",
        0, 4, 1);
  });
}

TEST(Tcgen05LoadStoreFaults, ColumnsThatAreNotAllocated) {
  expect_fault(
      FaultKind::contract,
      {"Tensor Memory column 512 being accessed by instruction tcgen05.ld is not allocated",
       "Columns allocated are: 0-511."},
      [&] {
        (void)run(
            "  add.u32 %v, %taddr, 510;\n"
            "  tcgen05.ld.sync.aligned.32x32b.x4.b32 {%d0, %d1, %d2, %d3}, [%v];\n",
            0, 4, 4);
      });
  for (const Shape& shape : kShapes) {
    SCOPED_TRACE(shape.name);
    const bool is_split = shape.name == "16x32bx2";
    const auto store = [&](int column) {
      (void)run("  add.u32 %v, %taddr, " + std::to_string(column) +
                    ";\n  tcgen05.st.sync.aligned." + shape.name + ".x1.b32 [%v]" +
                    (is_split ? ", " + std::to_string(kSplit) : "") + ", " +
                    registers(shape.registers) + ";\n  tcgen05.wait::st.sync.aligned;\n",
                0, 4, shape.registers);
    };
    const int last = 512 - shape.columns - (is_split ? kSplit : 0);
    store(last);
    expect_fault(FaultKind::contract, {"column 512", "not allocated"}, [&] { store(last + 1); });
  }
}

/// The second half of a split load or store begins before the first column.
TEST(Tcgen05LoadStoreFaults, SplitThatLeadsBeforeTheFirstColumn) {
  for (const std::string access : {"tcgen05.ld.sync.aligned.16x32bx2.x4.b32 {%d0, %d1, %d2, %d3}, "
                                   "[%taddr], -1;\n  tcgen05.wait::ld.sync.aligned;\n",
                                   "tcgen05.st.sync.aligned.16x32bx2.x4.b32 [%taddr], -1, "
                                   "{%d0, %d1, %d2, %d3};\n"})
    expect_fault(FaultKind::contract, {"column -1", "not allocated", "columns -1-2"},
                 [&] { (void)run("  " + access, 0, 4, 4); });
}

TEST(Tcgen05LoadStoreFaults, ReadOfColumnsThatNothingHasWritten) {
  expect_fault(FaultKind::contract, {"reads Tensor Memory column 4", "nothing has written"}, [&] {
    (void)run(
        "  tcgen05.ld.sync.aligned.32x32b.x8.b32 "
        "{%d0, %d1, %d2, %d3, %d4, %d5, %d6, %d7}, [%taddr];\n",
        0, 4, 8);
  });
}

TEST(Tcgen05LoadStoreFaults, AddressThatDiffersWithinTheWarp) {
  expect_fault(FaultKind::contract, {"Tensor Memory address differs within the warp"}, [&] {
    (void)run(
        "  add.u32 %v, %taddr, %t;\n"
        "  tcgen05.ld.sync.aligned.32x32b.x1.b32 {%d0}, [%v];\n",
        0, 32, 1);
  });
}

TEST(Tcgen05LoadStoreFaults, DivergentWarp) {
  for (const std::string instruction :
       {"tcgen05.ld.sync.aligned.32x32b.x1.b32 {%d0}, [%taddr]",
        "tcgen05.st.sync.aligned.32x32b.x1.b32 [%taddr], {%d0}", "tcgen05.wait::ld.sync.aligned",
        "tcgen05.wait::st.sync.aligned"})
    expect_fault(FaultKind::contract, {"under divergence"}, [&] {
      (void)run(
          "  .reg .pred %half;\n  setp.lt.u32 %half, %t, 16;\n  @%half " + instruction + ";\n", 0,
          4, 1);
    });
}

TEST(Tcgen05LoadStoreFaults, HardwareLevelTakesTheQuarterFromTheWarp) {
  Settings settings = test_settings();
  settings.strictness = Strictness::hardware;
  Runner runner(settings);
  std::vector<uint32_t> values((4 + 1) * 32);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<uint32_t>(i * 7);
  const auto in = runner.buffer(values);
  const auto out = runner.buffer(std::vector<uint32_t>(values.size(), 0));
  // The warp's lane bits are left out: %tmem instead of %taddr.
  runner.run(program("  tcgen05.ld.sync.aligned.32x32b.x1.b32 {%d0}, [%tmem];\n"
                     "  tcgen05.wait::ld.sync.aligned;\n",
                     2, 4, 1),
             threads(256), in, out);
  for (int t = 0; t < 32; ++t) EXPECT_EQ(out[4 * 32 + t], values[t]);
}

TEST(Tcgen05LoadStoreFaults, ReducingLoadsNeedAnotherMachine) {
  for (const std::string form : {"32x32b.x2.min.f32 {%d0, %d1}, %v, [%taddr]",
                                 "32x32b.x2.max.abs.NaN.f32 {%d0, %d1}, %v, [%taddr]",
                                 "16x32bx2.x2.max.s32 {%d0, %d1}, %v, [%taddr], 16"})
    expect_fault(FaultKind::unsupported, {"tcgen05.ld.red", "of the machine b200"},
                 [&] { (void)run("  tcgen05.ld.red.sync.aligned." + form + ";\n", 0, 4, 2); });
}

/// The reduction of a thread's values, as the ISA says it of .min and .max: a NaN counts with .NaN
/// alone.
uint32_t reduced(const std::vector<uint32_t>& values, const std::string& form) {
  const bool is_max = form.find("max") != std::string::npos;
  if (form.find("f32") == std::string::npos) {
    std::vector<int64_t> numbers;
    for (const uint32_t value : values)
      numbers.push_back(form.find("s32") != std::string::npos ? int64_t{static_cast<int32_t>(value)}
                                                              : int64_t{value});
    return static_cast<uint32_t>(is_max ? *std::max_element(numbers.begin(), numbers.end())
                                        : *std::min_element(numbers.begin(), numbers.end()));
  }
  float result = NAN;
  bool has_nan = false;
  for (const uint32_t value : values) {
    float number = std::bit_cast<float>(value);
    if (form.find("abs") != std::string::npos) number = std::fabs(number);
    has_nan |= std::isnan(number);
    if (std::isnan(number)) continue;
    if (std::isnan(result) || (is_max ? number > result : number < result)) result = number;
  }
  if (std::isnan(result) || (has_nan && form.find("NaN") != std::string::npos)) return 0x7fffffff;
  return std::bit_cast<uint32_t>(result);
}

TEST(Tcgen05LoadStore, ReducingLoadsOfEveryKind) {
  constexpr int kColumns = 72, kCount = 8;
  for (const std::string operation :
       {"min.u32", "max.u32", "min.s32", "max.s32", "min.f32", "max.f32", "min.abs.f32",
        "max.abs.f32", "min.NaN.f32", "max.abs.NaN.f32"})
    for (const bool in_halves : {false, true})
      for (const bool touched : {false, true}) {
        const std::string form = in_halves ? "16x32bx2" : "32x32b";
        std::string middle = "  mov.b32 %d8, 0;\n";
        // A branch before the wait takes the way of a load whose registers are watched.
        middle += "  tcgen05.ld.red.sync.aligned." + form + ".x8." + operation + " " +
                  registers(kCount) + ", %d8, [%taddr]" + (in_halves ? ", 64" : "") + ";\n";
        if (touched) middle += "  bra.uni WAIT;\nWAIT:\n";
        middle += "  tcgen05.wait::ld.sync.aligned;\n";
        std::string text = program(middle, 1, kColumns, kCount + 1);
        text.replace(text.find("sm_100a"), 7, "sm_103a");
        Settings settings = test_settings();
        settings.machine = find_machine("b300");
        Runner runner(settings);
        std::mt19937 random(3);
        std::vector<uint32_t> values((kColumns + kCount + 1) * 32);
        for (auto& value : values)
          value = random() % 11 == 0 ? 0x7fc00000u | static_cast<uint32_t>(random() % 2) << 31
                                     : static_cast<uint32_t>(random());
        const auto in = runner.buffer(values);
        const auto out = runner.buffer(std::vector<uint32_t>(values.size(), 0));
        runner.run(text, threads(256), in, out);
        for (int t = 0; t < 32; ++t) {
          std::vector<uint32_t> mine;
          for (int r = 0; r < kCount; ++r) {
            const Cell at = cell(kShapes[in_halves ? 4 : 0], r, t);
            mine.push_back(values[static_cast<size_t>(at.column * 32 + at.lane)]);
            ASSERT_EQ(out[(kColumns + r) * 32 + t], mine.back()) << form << " " << r << " " << t;
          }
          ASSERT_EQ(out[(kColumns + kCount) * 32 + t], reduced(mine, operation))
              << form << " " << operation << " thread " << t << (touched ? " watched" : "");
        }
      }
}

/// The shape whose second half is apart: a deallocation sees that half too.
TEST(Tcgen05LoadStoreFaults, DeallocationUnderAStoreInTwoParts) {
  // 64 columns from 0 on hold one half, 64 from 64 on the other, which alone are given back.
  const auto kernel = [](const std::string& split) {
    return entry(".param .u64 out",
                 R"(
  .reg .b32 %first, %second, %value, %least, %most;
  tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 64;
  tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot+4], 64;
  bar.sync 0;
  ld.shared.b32 %first, [slot];
  ld.shared.b32 %second, [slot+4];
  min.u32 %least, %first, %second;
  max.u32 %most, %first, %second;
  mov.b32 %value, 7;
  tcgen05.st.sync.aligned.16x32bx2.x1.b32 [%least], )" +
                     split + R"(, {%value};
  tcgen05.dealloc.cta_group::1.sync.aligned.b32 %most, 64;
  tcgen05.wait::st.sync.aligned;
  tcgen05.dealloc.cta_group::1.sync.aligned.b32 %least, 64;
  ret;
)",
                 ".shared .align 4 .b32 slot[2];\n");
  };
  const auto attempt = [&](const std::string& split) {
    Runner runner;
    runner.run(kernel(split), threads(32), runner.buffer(std::vector<uint32_t>(1)));
  };
  expect_fault(FaultCode::tmem_dealloc_in_use,
               {"deallocates columns 64-127", "a store of them by warp 0"}, [&] { attempt("64"); });
  EXPECT_NO_THROW(attempt("63"));
}

}  // namespace
}  // namespace bw::sim::test::tcgen05_load_store_test
