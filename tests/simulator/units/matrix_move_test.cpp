/// \file
/// ldmatrix, stmatrix and movmatrix against the ISA's fragment layout: lane t holds elements (t/4,
/// 2(t%4)) and (t/4, 2(t%4)+1) of an 8x8 matrix (PTX ISA, "Warp Level Matrix Instructions").
#include "tests/simulator/harness.hpp"

namespace bw::sim::test {
namespace {

using U16 = uint16_t;
using U32 = uint32_t;
constexpr size_t kElements = 4 * 64;  // four 8x8 matrices

/// Element (row, column) of matrix k.
U16 element(size_t k, size_t row, size_t column) {
  return static_cast<U16>(1000 * k + 10 * row + column);
}

std::string kernel(const std::string& body) {
  return entry(
      ".param .u64 in, .param .u64 out",
      ".shared .align 16 .b8 tile[512];\n"
      ".reg .b32 %r<8>, %t, %base, %row, %own; .reg .b64 %in, %out, %l<4>;\n"
      "ld.param.u64 %in, [in]; ld.param.u64 %out, [out]; mov.u32 %t, %tid.x; mov.u32 %base, tile;\n"
      // Each lane's row of 16 bytes; the same place in global memory for filling and reading back.
      "shl.b32 %r7, %t, 4; add.u32 %row, %base, %r7; cvt.u64.u32 %l1, %r7;\n"
      "add.u64 %in, %in, %l1; add.u64 %out, %out, %l1;\n" +
          body + "\nret;");
}

std::vector<U32> run_kernel(const std::string& body, const std::vector<U16>& in) {
  Runner runner;
  const auto source = runner.buffer(in);
  const auto out = runner.buffer(std::vector<U32>(128));
  runner.run(kernel(body), threads(32), source, out);
  return out.values();
}

std::vector<U16> tile() {
  std::vector<U16> values(kElements);
  for (size_t i = 0; i < kElements; ++i) values[i] = element(i / 64, i / 8 % 8, i % 8);
  return values;
}

constexpr const char* kFill =
    "ld.global.v4.u32 {%r0, %r1, %r2, %r3}, [%in]; st.shared.v4.u32 [%row], {%r0, %r1, %r2, %r3};\n"
    "bar.warp.sync -1;\n";
constexpr const char* kStoreRegisters = "st.global.v4.u32 [%out], {%r0, %r1, %r2, %r3};";

TEST(MatrixMove, LoadFourMatricesPlainAndTransposed) {
  for (const bool transpose : {false, true}) {
    const std::string load = std::string("ldmatrix.sync.aligned.m8n8.x4") +
                             (transpose ? ".trans" : "") +
                             ".shared.b16 {%r0, %r1, %r2, %r3}, [%row];\n";
    const auto out = run_kernel(kFill + load + kStoreRegisters, tile());
    for (size_t lane = 0; lane < 32; ++lane)
      for (size_t k = 0; k < 4; ++k) {
        const size_t row = lane / 4, column = 2 * (lane % 4);
        const U32 low = transpose ? element(k, column, row) : element(k, row, column);
        const U32 high = transpose ? element(k, column + 1, row) : element(k, row, column + 1);
        ASSERT_EQ(out[4 * lane + k], high << 16 | low) << lane << ", matrix " << k;
      }
  }
}

TEST(MatrixMove, FewerMatricesUseTheFirstLanesAddressesOnly) {
  // Lanes 16 and up give addresses far out of bounds, which nobody may touch.
  const auto out = run_kernel(std::string(kFill) +
                                  ".reg .pred %p; setp.ge.u32 %p, %t, 16;\n"
                                  "@%p add.u32 %row, %row, 0x400000;\n"
                                  "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r0, %r1}, [%row];\n" +
                                  kStoreRegisters,
                              tile());
  for (size_t lane = 0; lane < 32; ++lane)
    for (size_t k = 0; k < 2; ++k)
      ASSERT_EQ(out[4 * lane + k] & 0xffff, element(k, lane / 4, 2 * (lane % 4)));
}

TEST(MatrixMove, StoreIsTheInverseOfLoad) {
  for (const std::string trans : {"", ".trans"}) {
    const auto out = run_kernel(
        std::string(kFill) + "ldmatrix.sync.aligned.m8n8.x4" + trans +
            ".shared::cta.b16 {%r0, %r1, %r2, %r3}, [%row];\n"
            "mov.b32 %r4, 0; st.shared.v4.u32 [%row], {%r4, %r4, %r4, %r4}; bar.warp.sync -1;\n"
            "stmatrix.sync.aligned.m8n8.x4" +
            trans +
            ".shared.b16 [%row], {%r0, %r1, %r2, %r3};\nbar.warp.sync -1;\n"
            "ld.shared.v4.u32 {%r0, %r1, %r2, %r3}, [%row];\n" +
            kStoreRegisters,
        tile());
    const auto expected = tile();
    EXPECT_EQ(std::memcmp(out.data(), expected.data(), 512), 0) << trans;
  }
}

TEST(MatrixMove, MovmatrixTransposes) {
  const auto out = run_kernel(std::string(kFill) +
                                  "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r0}, [%row];\n"
                                  "movmatrix.sync.aligned.m8n8.trans.b16 %r1, %r0;\n" +
                                  kStoreRegisters,
                              tile());
  for (size_t lane = 0; lane < 32; ++lane) {
    const size_t row = lane / 4, column = 2 * (lane % 4);
    ASSERT_EQ(out[4 * lane + 1], U32{element(0, column + 1, row)} << 16 | element(0, column, row));
  }
}

TEST(MatrixMove, Faults) {
  expect_fault(FaultKind::contract, {"ldmatrix"}, [] {  // rows must be 16-byte aligned
    (void)run_kernel(std::string(kFill) +
                         "add.u32 %row, %row, 8;\n"
                         "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r0}, [%row];",
                     tile());
  });
  expect_fault(FaultKind::contract, {"does not lie in shared memory"}, [] {
    (void)run_kernel(std::string(kFill) + "ldmatrix.sync.aligned.m8n8.x1.b16 {%r0}, [%in];",
                     tile());
  });
  expect_fault(FaultKind::contract, {"divergence"}, [] {
    (void)run_kernel(std::string(kFill) +
                         ".reg .pred %p; setp.lt.u32 %p, %t, 8;\n"
                         "@%p ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r0}, [%row];",
                     tile());
  });
  expect_fault(FaultKind::unsupported, {"one 32-bit register per matrix"}, [] {
    (void)run_kernel("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r0}, [%row];", tile());
  });
  expect_fault(FaultKind::unsupported, {"stmatrix.sync.aligned.m16n8.x1.trans.shared.b8"}, [] {
    (void)run_kernel("stmatrix.sync.aligned.m16n8.x1.trans.shared.b8 [%row], {%r0};", tile());
  });
}

}  // namespace
}  // namespace bw::sim::test
