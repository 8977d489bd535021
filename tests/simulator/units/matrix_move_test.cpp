/// \file
/// ldmatrix, stmatrix and movmatrix against the ISA's fragment layout: lane t holds elements (t/4,
/// 2(t%4)) and (t/4, 2(t%4)+1) of an 8x8 matrix (PTX ISA, "Warp Level Matrix Instructions").
#include "tests/simulator/harness.hpp"

namespace bw::sim::test::matrix_move_test {
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
  // Lanes 16 and up give addresses far out of bounds, which must not be touched.
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

// The 8-bit shapes. 32 rows of 16 bytes are in shared memory, lane r gives the address of row r.

std::vector<U16> byte_tile(int first = 0) {
  std::vector<U16> values(256);
  auto* const bytes = reinterpret_cast<uint8_t*>(values.data());
  for (size_t i = 0; i < 512; ++i) bytes[i] = static_cast<uint8_t>(first + 37 * i + i / 16);
  return values;
}

uint8_t byte_at(const std::vector<U16>& tile, size_t row, size_t column) {
  return reinterpret_cast<const uint8_t*>(tile.data())[16 * row + column];
}

/// Element `column` of a row in memory, as the byte that a register gets: 16 codes of 8, 6 or 4
/// bits from bit 0 on; a 6-bit code in bits 0 to 5 of the byte, a 4-bit one in bits 2 to 5.
uint8_t element_at(const std::vector<U16>& tile, int bits, size_t row, size_t column) {
  unsigned code = 0;
  for (int bit = 0; bit < bits; ++bit) {
    const size_t at = column * static_cast<size_t>(bits) + static_cast<size_t>(bit);
    code |= (byte_at(tile, row, at / 8) >> at % 8 & 1u) << bit;
  }
  return static_cast<uint8_t>(bits == 4 ? code << 2 : code);
}

std::string source_format(int bits) {
  return bits == 8 ? "b8" : bits == 6 ? "b8x16.b6x16_p32" : "b8x16.b4x16_p64";
}

TEST(MatrixMove, LoadOf16x16BytesIsTransposed) {
  for (const int bits : {8, 6, 4}) {
    const auto in = byte_tile(bits);
    const auto out =
        run_kernel(std::string(kFill) + "ldmatrix.sync.aligned.m16n16.x2.trans.shared." +
                       source_format(bits) + " {%r0, %r1, %r2, %r3}, [%row];\n" + kStoreRegisters,
                   in);
    for (size_t lane = 0; lane < 32; ++lane)
      for (size_t r = 0; r < 4; ++r)
        for (size_t byte = 0; byte < 4; ++byte) {
          // Row of the matrix: a column in memory; its column: a row in memory.
          const size_t row = lane / 4 + 8 * (r % 2), column = 4 * (lane % 4) + byte;
          ASSERT_EQ(out[4 * lane + r] >> 8 * byte & 0xff,
                    element_at(in, bits, 16 * (r / 2) + column, row))
              << bits << " bits, lane " << lane << ", register " << r << ", byte " << byte;
        }
  }
}

TEST(MatrixMove, LoadOfPacked8x16) {
  for (const int bits : {6, 4}) {
    const auto in = byte_tile(bits);
    const auto out =
        run_kernel(std::string(kFill) + "ldmatrix.sync.aligned.m8n16.x4.shared::cta." +
                       source_format(bits) + " {%r0, %r1, %r2, %r3}, [%row];\n" + kStoreRegisters,
                   in);
    for (size_t lane = 0; lane < 32; ++lane)
      for (size_t r = 0; r < 4; ++r)
        for (size_t byte = 0; byte < 4; ++byte)
          ASSERT_EQ(out[4 * lane + r] >> 8 * byte & 0xff,
                    element_at(in, bits, 8 * r + lane / 4, 4 * (lane % 4) + byte))
              << bits << " bits, lane " << lane << ", register " << r << ", byte " << byte;
  }
}

TEST(MatrixMove, StoreOf16x8BytesIsTransposed) {
  // Each lane stores the four bytes 4 lane, 4 lane + 1, ... of matrix 0, and 128 more of matrix 1.
  const auto out = run_kernel(
      "shl.b32 %r4, %t, 2; add.u32 %r5, %r4, 1; add.u32 %r6, %r4, 2; add.u32 %r7, %r4, 3;\n"
      "shl.b32 %r5, %r5, 8; shl.b32 %r6, %r6, 16; shl.b32 %r7, %r7, 24;\n"
      "or.b32 %r0, %r4, %r5; or.b32 %r0, %r0, %r6; or.b32 %r0, %r0, %r7;\n"
      "or.b32 %r1, %r0, 0x80808080;\n"
      "st.shared.v4.u32 [%row], {%r0, %r0, %r0, %r0}; bar.warp.sync -1;\n"
      "stmatrix.sync.aligned.m16n8.x2.trans.shared.b8 [%row], {%r0, %r1}; bar.warp.sync -1;\n"
      "ld.shared.v4.u32 {%r0, %r1, %r2, %r3}, [%row];\n" +
          std::string(kStoreRegisters),
      byte_tile());
  const auto* const bytes = reinterpret_cast<const uint8_t*>(out.data());
  for (size_t k = 0; k < 2; ++k)
    for (size_t row = 0; row < 16; ++row)
      for (size_t column = 0; column < 8; ++column) {
        // The element of an accumulator fragment: lane 4 (row % 8) + column / 2, byte 2 (row / 8) +
        // column % 2. In memory a row of 16 bytes holds one column of the matrix.
        const size_t lane = 4 * (row % 8) + column / 2, byte = 2 * (row / 8) + column % 2;
        ASSERT_EQ(bytes[16 * (8 * k + column) + row], 128 * k + 4 * lane + byte)
            << k << ", " << row << ", " << column;
      }
}

TEST(MatrixMove, Faults) {
  expect_fault(FaultKind::contract, {"ldmatrix"}, [] {  // rows must be 16-byte aligned
    (void)run_kernel(std::string(kFill) +
                         "add.u32 %row, %row, 8;\n"
                         "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r0}, [%row];",
                     tile());
  });
  // A shared address is one, whatever its contents; a generic one may be anything.
  for (const char* const wrong : {"mov.u32 %row, 0x20000;\n", "mov.u32 %row, 16;\n"})
    for (const char* const move : {"ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r0}, [%row];",
                                   "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%row], {%r0};"})
      expect_fault(FaultKind::contract, {"shared memory access", "out of bounds"},
                   [&] { (void)run_kernel(std::string(kFill) + wrong + move, tile()); });
  expect_fault(FaultKind::contract, {"is not in shared memory"}, [] {
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
  expect_fault(FaultKind::unsupported, {"two 32-bit registers per matrix"}, [] {
    (void)run_kernel("ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {%r0}, [%row];", tile());
  });
  expect_fault(FaultKind::contract, {"ldmatrix"}, [] {
    (void)run_kernel(std::string(kFill) +
                         "add.u32 %row, %row, 4;\n"
                         "ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {%r0, %r1}, [%row];",
                     tile());
  });
}

}  // namespace
}  // namespace bw::sim::test::matrix_move_test
