/// \file
/// Operands of an MMA in shared memory that nothing has written.
#include <string>
#include <vector>

#include "tests/simulator/harness.hpp"

namespace bw::sim::test::operand_contents_test {
namespace {

/// What is written of the operands. A of 64 rows and B of 8 rows are K-major without swizzle, 32
/// bytes a row: 16 bytes of rows 0 to 7, the other 16 of them, then the next eight rows.
struct Written {
  int a_chunks = 128;
  int b_chunks = 16;
};

/// One CTA of 128 threads; the instruction of `body` gets %a, %b (descriptors) and %tmem.
std::string kernel(const Written& written, const std::string& body) {
  return entry("",
               R"(
  .reg .pred %p<4>, %warp0, %first;
  .reg .b32 %r<16>, %t, %tmem;
  .reg .b64 %a, %b;
  mov.u32 %t, %tid.x;
  setp.lt.u32 %warp0, %t, 32;
  setp.eq.u32 %first, %t, 0;
  mov.u32 %r0, 0;
  mov.u32 %r1, image;
  mad.lo.u32 %r2, %t, 16, %r1;
  setp.lt.u32 %p0, %t, )" +
                   std::to_string(written.a_chunks) + R"(;
  @%p0 st.shared.v4.b32 [%r2], {%r0, %r0, %r0, %r0};
  setp.lt.u32 %p0, %t, )" +
                   std::to_string(written.b_chunks) + R"(;
  @%p0 st.shared.v4.b32 [%r2+2048], {%r0, %r0, %r0, %r0};
  @%first mbarrier.init.shared::cta.b64 [bar], 1;
  fence.mbarrier_init.release.cluster;
  fence.proxy.async.shared::cta;
  shr.u32 %r3, %r1, 4;
  cvt.u64.u32 %a, %r3;
  or.b64 %a, %a, 0x0000401000080000;
  add.u64 %b, %a, 128;
  @%warp0 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 32;
  tcgen05.fence::before_thread_sync;
  bar.sync 0;
  tcgen05.fence::after_thread_sync;
  ld.shared.b32 %tmem, [slot];
  setp.ne.u32 %p1, 0, 0;
)" + body + R"(
  @%first tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [bar];
WAIT:
  mbarrier.try_wait.parity.shared::cta.b64 %p2, [bar], 0;
  @!%p2 bra WAIT;
  tcgen05.fence::after_thread_sync;
  @%warp0 tcgen05.dealloc.cta_group::1.sync.aligned.b32 %tmem, 32;
  ret;
)",
               ".shared .align 1024 .b8 image[4096];\n.shared .align 8 .b64 bar;\n"
               ".shared .align 4 .b32 slot;\n.shared .align 8 .b64 filled;\n"
               ".global .align 16 .b8 source[256];\n");
}

/// D = A * B: m64n8k16 of f16.
const std::string kMma =
    "  @%first tcgen05.mma.cta_group::1.kind::f16 [%tmem], %a, %b, 0x04020010, %p1;";
/// 64 rows of 16 bytes: the first half of A.
const std::string kCopy = "  @%first tcgen05.cp.cta_group::1.64x128b.warpx2::02_13 [%tmem], %a;";

LaunchResult run(const Written& written, const std::string& body,
                 Strictness level = Strictness::isa, Checks checks = Checks::contract) {
  Settings settings = test_settings();
  settings.strictness = level;
  settings.checks = checks;
  Runner runner(settings);
  return runner.run(kernel(written, body), threads(128));
}

void expect_m13(const std::vector<std::string>& parts, const Written& written,
                const std::string& body) {
  for (const Checks checks : {Checks::contract, Checks::races}) {
    const Report report = expect_fault(FaultCode::shared_never_written, parts,
                                       [&] { (void)run(written, body, Strictness::isa, checks); });
    EXPECT_TRUE(report.hardware_accepts);
  }
  EXPECT_EQ(run(written, body, Strictness::hardware).warnings.size(), 1u);
  EXPECT_TRUE(run(written, body, Strictness::isa, Checks::off).warnings.empty());
}

TEST(OperandContents, WhatIsWrittenIsFine) {
  EXPECT_TRUE(run({}, kMma).warnings.empty());
  EXPECT_TRUE(run({}, kCopy).warnings.empty());
}

TEST(OperandContents, NoRowIsWhole) {
  expect_m13(
      {"this multiplies A, of which no row is whole: it reads 16 bytes of shared memory that "
       "nothing has written, from image"},
      {0, 16}, kMma);
  // Half of each of eight rows.
  expect_m13({"this multiplies A, of which no row is whole", "image+128"}, {8, 16}, kMma);
  expect_m13({"this multiplies B, of which no row is whole", "image+2048"}, {128, 0}, kMma);
  expect_m13({"this copies a matrix, of which no row is whole"}, {0, 16}, kCopy);
}

/// B's 256 bytes are brought by a copy; without a wait it is still under way.
TEST(OperandContents, ACopyThatIsUnderWayHasWrittenNothing) {
  const std::string copy = R"(
  .reg .b64 %source;
  mov.u64 %source, source;
  cvta.global.u64 %source, %source;
  cvta.to.global.u64 %source, %source;
  add.u32 %r5, %r1, 2048;
  @%first mbarrier.init.shared::cta.b64 [filled], 1;
  @%first mbarrier.arrive.expect_tx.shared::cta.b64 _, [filled], 256;
  @%first cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%r5], [%source], 256, [filled];
)";
  const std::string wait = R"(
FILLED:
  mbarrier.try_wait.parity.shared::cta.b64 %p3, [filled], 0;
  @!%p3 bra FILLED;
)";
  EXPECT_TRUE(
      run({128, 0}, copy + "@!%first bra DONE;" + wait + "DONE:\n" + kMma).warnings.empty());
  const Report report = expect_fault(FaultCode::shared_never_written,
                                     {"this multiplies B, of which no row is whole"}, [&] {
                                       (void)run({128, 0}, copy + kMma);
                                     });
  EXPECT_TRUE(report.hardware_accepts);
}

TEST(OperandContents, RowsThatMayOnlyPadAreFine) {
  EXPECT_TRUE(run({64, 16}, kMma).warnings.empty());  // 32 of 64 rows of A
  // 15 of 16 chunks of B: the last row lacks its second half.
  EXPECT_TRUE(run({128, 15}, kMma).warnings.empty());
}

/// The same with M contiguous in A: a chunk holds eight rows at one k.
TEST(OperandContents, RowsOfATransposedMatrixAreFoundInItsChunks) {
  const std::string transposed =
      "  @%first tcgen05.mma.cta_group::1.kind::f16 [%tmem], %a, %b, 0x04028010, %p1;";
  EXPECT_TRUE(run({}, transposed).warnings.empty());
  EXPECT_TRUE(run({64, 16}, transposed).warnings.empty());
  expect_m13({"this multiplies A, of which no row is whole"}, {0, 16}, transposed);
}

}  // namespace
}  // namespace bw::sim::test::operand_contents_test
