/// \file
/// What atom and the wide loads and stores do beyond what is compared with hardware
/// (tests/hardware/atomic_cases.cu): 128 bits, and what counts as progress of a kernel (PTX ISA,
/// "atom", "ld", "st").
#include <algorithm>
#include <array>
#include <cstdint>
#include <string>

#include "tests/simulator/harness.hpp"

namespace bw::sim::test::atomic_test {
namespace {

using Wide = std::array<uint64_t, 2>;

/// Runs `body` by one thread with `%q0` and `%q1`, 128 bits each, from `in`, `%at` the address of
/// `place`, which holds a value of 128 bits; what `place` holds afterwards and what `%q2` is.
std::array<Wide, 2> run_wide(const std::string& body, Wide place, Wide first, Wide second) {
  Runner runner;
  const auto in = runner.buffer(std::vector<uint64_t>{first[0], first[1], second[0], second[1]});
  const auto memory = runner.buffer(std::vector<uint64_t>{place[0], place[1]});
  const auto out = runner.buffer(std::vector<uint64_t>(2));
  runner.run(entry(".param .u64 in, .param .u64 place, .param .u64 out",
                   "  .reg .b128 %q<3>;\n  .reg .b64 %in, %at, %out;\n"
                   "  ld.param.u64 %in, [in];\n  ld.param.u64 %at, [place];\n"
                   "  ld.param.u64 %out, [out];\n"
                   "  ld.global.b128 %q0, [%in];\n  ld.global.b128 %q1, [%in+16];\n"
                   "  mov.b128 %q2, %q0;\n" +
                       body + "  st.global.b128 [%out], %q2;\n  ret;\n"),
             threads(1), in, memory, out);
  return {Wide{memory[0], memory[1]}, Wide{out[0], out[1]}};
}

constexpr Wide kBytes = {0x0706050403020100ull, 0xff0e0d0c0b0a0908ull};

TEST(Atomic, LoadsAndStoresOf128BitsMoveEveryByte) {
  const auto [place, result] = run_wide("  st.global.b128 [%at], %q1;\n", {}, {1, 2}, kBytes);
  EXPECT_EQ(place, kBytes);
  EXPECT_EQ(result, (Wide{1, 2}));
}

TEST(Atomic, CompareAndSwapOf128BitsComparesAllOfThem) {
  const std::string swap = "  atom.global.cas.b128 %q2, [%at], %q0, %q1;\n";
  const Wide other = {5, 6};
  for (const Wide& difference :
       {Wide{0, 0}, Wide{1, 0}, Wide{0, 1}, Wide{1ull << 63, 0}, Wide{0, 1ull << 63}, Wide{1, 1}}) {
    const Wide compared = {kBytes[0] ^ difference[0], kBytes[1] ^ difference[1]};
    const auto [place, old] = run_wide(swap, kBytes, compared, other);
    EXPECT_EQ(old, kBytes);
    EXPECT_EQ(place, difference == Wide{} ? other : kBytes)
        << difference[0] << " " << difference[1];
  }
}

TEST(Atomic, ExchangeOf128Bits) {
  const auto [place, old] =
      run_wide("  atom.global.exch.b128 %q2, [%at], %q1;\n", {7, 8}, {}, kBytes);
  EXPECT_EQ(place, kBytes);
  EXPECT_EQ(old, (Wide{7, 8}));
}

TEST(Atomic, EachLaneHasItsOwn128Bits) {
  // Lane i puts {i + 1, i + 100} where {i, i + 50} is, if it is i it compares with; odd lanes
  // compare with something else.
  Runner runner;
  std::vector<uint64_t> words, expected;
  for (uint64_t lane = 0; lane < 32; ++lane) {
    words.insert(words.end(), {lane, lane + 50});
    if (lane % 2 == 0)
      expected.insert(expected.end(), {lane + 1, lane + 100});
    else
      expected.insert(expected.end(), {lane, lane + 50});
  }
  const auto memory = runner.buffer(words);
  const auto old = runner.buffer(std::vector<uint64_t>(64));
  runner.run(entry(".param .u64 memory, .param .u64 old",
                   "  .reg .b128 %q<3>;\n  .reg .b32 %r<3>;\n  .reg .b64 %d<10>;\n"
                   "  ld.param.u64 %d0, [memory];\n  ld.param.u64 %d1, [old];\n"
                   "  mov.u32 %r0, %tid.x;\n  mul.wide.u32 %d2, %r0, 16;\n"
                   "  add.u64 %d0, %d0, %d2;\n  add.u64 %d1, %d1, %d2;\n"
                   "  cvt.u64.u32 %d3, %r0;\n  add.u64 %d4, %d3, 50;\n"
                   "  and.b64 %d5, %d3, 1;\n  add.u64 %d4, %d4, %d5;\n"
                   "  add.u64 %d6, %d3, 1;\n  add.u64 %d7, %d3, 100;\n"
                   "  mov.b128 %q0, {%d3, %d4};\n  mov.b128 %q1, {%d6, %d7};\n"
                   "  atom.global.cas.b128 %q2, [%d0], %q0, %q1;\n"
                   "  st.global.b128 [%d1], %q2;\n  ret;\n"),
             threads(32), memory, old);
  EXPECT_EQ(memory.values(), expected);
  EXPECT_EQ(old.values(), words);
}

TEST(Atomic, AddsDoubles) {
  Runner runner;
  const auto sum = runner.buffer(std::vector<double>{0.5, 0.0});
  runner.run(entry(".param .u64 sum",
                   "  .reg .b64 %d<3>;\n  .reg .f64 %f<3>;\n  .reg .b32 %r0;\n"
                   "  ld.param.u64 %d0, [sum];\n  mov.u32 %r0, %tid.x;\n"
                   "  cvt.rn.f64.u32 %f0, %r0;\n  red.global.add.f64 [%d0], %f0;\n"
                   "  atom.global.add.f64 %f1, [%d0+8], 0d3FD0000000000000;\n  ret;\n"),
             threads(32), sum);
  EXPECT_EQ(sum[0], 0.5 + 31 * 32 / 2.0);
  EXPECT_EQ(sum[1], 32 * 0.25);
}

/// One thread goes around `turns` times with `loop`, in a kernel that must get on every 2000
/// cycles.
void spin(const std::string& loop, uint32_t turns) {
  Settings settings = test_settings();
  settings.livelock_cycles = 2000;
  settings.cycle_limit = 2'000'000;
  Runner runner(settings);
  const auto out = runner.buffer(std::vector<uint32_t>{1});
  runner.run(entry(".param .u64 out",
                   "  .reg .pred %p<2>;\n  .reg .b32 %r<4>;\n  .reg .b64 %out;\n"
                   "  ld.param.u64 %out, [out];\n  mov.u32 %r0, 0;\n"
                   "LOOP:\n" +
                       loop + "  add.u32 %r0, %r0, 1;\n  setp.lt.u32 %p0, %r0, " +
                       std::to_string(turns) + ";\n  @%p0 bra LOOP;\n  ret;\n"),
             threads(1), out);
}

TEST(Atomic, ALockThatIsNeverGivenBackIsNoProgress) {
  // The word holds 1: no lane gets it.
  expect_fault(FaultKind::livelock, {},
               [] { spin("  atom.global.cas.b32 %r1, [%out], 0, 2;\n", 100'000); });
  // Rewriting the same value isn't progress either: an exchange of 1 for 1.
  expect_fault(FaultKind::livelock, {},
               [] { spin("  atom.global.exch.b32 %r1, [%out], 1;\n", 100'000); });
}

TEST(Atomic, WhatChangesMemoryIsProgress) {
  spin("  atom.global.add.u32 %r1, [%out], 1;\n", 1000);
  spin("  red.global.xor.b32 [%out], 4;\n", 1000);
}

}  // namespace
}  // namespace bw::sim::test::atomic_test
