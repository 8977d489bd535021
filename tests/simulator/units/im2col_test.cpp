/// \file
/// Copies through im2col maps, against a convolution's own loops over images, rows and columns
/// (PTX ISA, "Im2col mode"; CUDA driver API, cuTensorMapEncodeIm2col).
#include "tests/simulator/units/copy_harness.hpp"

namespace bw::sim::test {
namespace {

/// Four images of 6 x 5 pixels with 8 channels of 32 bits.
constexpr uint32_t kChannels = 8, kWidth = 6, kHeight = 5, kImages = 4;
constexpr uint32_t kPixelWords = kChannels;

struct Im2colCase {
  std::array<int, 2> lower{-1, -1}, upper{-1, -1};  ///< a 3 x 3 filter with a border of one pixel
  uint32_t channels = kChannels, pixels = 24, stride = 1;
};

OpaqueMap encode(uint64_t address, const Im2colCase& c) {
  MapArguments a;
  a.type = TensorMapType::u32;
  a.address = address;
  a.extents = {kChannels, kWidth, kHeight, kImages};
  a.strides = {kChannels * 4, kChannels * 4 * kWidth, kChannels * 4 * kWidth * kHeight};
  a.element_strides = {1, c.stride, c.stride, 1};
  alignas(kTensorMapAlignmentBytes) std::array<std::byte, kTensorMapBytes> bytes{};
  const TensorMapStatus status = encode_im2col_tensor_map(
      bytes.data(), a.raw(), {c.lower.data(), c.upper.data(), c.channels, c.pixels});
  EXPECT_TRUE(status.ok()) << status.message;
  return {bytes};
}

/// Input word of a channel of a pixel, or 0 outside of its image.
uint32_t pixel_word(int image, int y, int x, uint32_t channel) {
  const bool inside =
      x >= 0 && x < int{kWidth} && y >= 0 && y < int{kHeight} && image < int{kImages};
  if (!inside) return 0;
  return ((static_cast<uint32_t>(image) * kHeight + static_cast<uint32_t>(y)) * kWidth +
          static_cast<uint32_t>(x)) *
             kPixelWords +
         channel + 1;
}

/// The positions of the filter's corner: images, then rows, then columns, from (x, y, image) on.
std::vector<std::array<int, 3>> positions(const Im2colCase& c, int x, int y, int image) {
  std::vector<std::array<int, 3>> all;
  const int step = static_cast<int>(c.stride);
  for (int n = image; n < int{kImages} + 8; ++n)
    for (int row = c.lower[1]; row <= int{kHeight} - 1 + c.upper[1]; row += step)
      for (int column = c.lower[0]; column <= int{kWidth} - 1 + c.upper[0]; column += step) {
        const bool before = n == image && (row < y || (row == y && column < x));
        if (!before) all.push_back({column, row, n});
      }
  return all;
}

void check_load(const Im2colCase& c, int x, int y, int image, uint32_t dx, uint32_t dy) {
  CopyRun run;
  const std::string load =
      "  mov.b16 %rs1, " + std::to_string(dx) + "; mov.b16 %rs2, " + std::to_string(dy) + ";\n" +
      "  @%p0 cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes "
      "[%r1], [%rd1, {0, " +
      std::to_string(x) + ", " + std::to_string(y) + ", " + std::to_string(image) +
      "}], [%r2], {%rs1, %rs2};\n";
  run.run(expect_bytes(c.channels * 4 * c.pixels) + load + wait_for_bar() + write_tile(),
          encode(run.in.address(), c));
  const auto all = positions(c, x, y, image);
  for (uint32_t p = 0; p < c.pixels; ++p)
    for (uint32_t channel = 0; channel < c.channels; ++channel)
      ASSERT_EQ(run.out[p * c.channels + channel],
                pixel_word(all[p][2], all[p][1] + static_cast<int>(dy),
                           all[p][0] + static_cast<int>(dx), channel))
          << "pixel " << p << ", channel " << channel;
  EXPECT_EQ(run.out[c.pixels * c.channels], tile_word(0, c.pixels * c.channels));
}

TEST(Im2col, AFilterWithABorderGoesOverRowsAndImages) {
  for (uint32_t dy = 0; dy < 3; ++dy)
    for (uint32_t dx = 0; dx < 3; ++dx) {
      check_load({}, -1, -1, 0, dx, dy);
      check_load({}, 3, 2, 1, dx, dy);
    }
}

TEST(Im2col, TraversalStridesSkipPixels) {
  Im2colCase c;
  c.stride = 2;
  c.pixels = 17;
  check_load(c, 1, 1, 0, 1, 2);
}

TEST(Im2col, PixelsBehindTheLastImageAreZero) {
  Im2colCase c;
  c.channels = 4;
  c.pixels = 40;
  check_load(c, -1, 1, 3, 1, 1);
}

TEST(Im2col, AStoreWritesThePixelsInsideOfTheTensor) {
  CopyRun run;
  Im2colCase c{{0, 0}, {0, 0}, kChannels, 20, 1};
  run.run(
      "  @%p0 cp.async.bulk.tensor.4d.global.shared::cta.im2col_no_offs.bulk_group "
      "[%rd1, {0, 2, 3, 3}], [%r1];\n  cp.async.bulk.commit_group;\n"
      "  cp.async.bulk.wait_group 0;\n",
      encode(run.in.address(), c));
  const uint32_t first = ((3 * kHeight + 3) * kWidth + 2) * kPixelWords;
  const uint32_t end = kImages * kHeight * kWidth * kPixelWords;  // 10 of 20 pixels are inside
  for (uint32_t i = 0; i < end + 64; ++i)
    ASSERT_EQ(run.in[i], i >= first && i < end ? tile_word(0, i - first) : i + 1) << i;
}

TEST(Im2col, Faults) {
  const auto load = [](const std::string& mode, const std::string& coordinates,
                       const std::string& offsets) {
    return "  mov.b16 %rs1, 0;\n  @%p0 cp.async.bulk.tensor.4d.shared::cluster.global" + mode +
           ".mbarrier::complete_tx::bytes [%r1], [%rd1, {" + coordinates + "}], [%r2]" + offsets +
           ";\n";
  };
  CopyRun run;
  const OpaqueMap map = encode(run.in.address(), {});
  expect_fault(FaultKind::contract,
               {"the first pixel has the coordinate 5 in dimension 1", "goes from -1 to 4",
                "(PTX ISA, \"Tensors, Im2col mode\")"},
               [&] { run.run(load(".im2col", "0, 5, 0, 0", ", {%rs1, %rs1}"), map); });
  expect_fault(FaultKind::contract, {"a tiled instruction with", "(im2col)"},
               [&] { run.run(load("", "0, 0, 0, 0", ""), map); });
  expect_fault(FaultKind::contract, {"an im2col store through", "whose corners are not 0"}, [&] {
    run.run(
        "  @%p0 cp.async.bulk.tensor.4d.global.shared::cta.im2col_no_offs.bulk_group "
        "[%rd1, {0, 0, 0, 0}], [%r1];\n",
        map);
  });
  MapArguments tiled;
  tiled.type = TensorMapType::u32;
  tiled.address = run.in.address();
  tiled.extents = {8, 4, 4, 4};
  tiled.strides = {32, 128, 512};
  tiled.box = {8, 1, 1, 1};
  expect_fault(FaultKind::contract, {"an .im2col instruction with", "cuTensorMapEncodeIm2col"},
               [&] { run.run(load(".im2col", "0, 0, 0, 0", ", {%rs1, %rs1}"), tiled.encode()); });
}

TEST(Im2col, TheEncoderSaysWhatIsWrong) {
  alignas(kTensorMapAlignmentBytes) std::array<std::byte, kTensorMapBytes> bytes{};
  MapArguments a;
  a.type = TensorMapType::u32;
  a.address = 0x1000;
  a.extents = {8, 6, 5, 4};
  a.strides = {32, 192, 960};
  const auto message = [&](const Im2colArguments& im2col) {
    return encode_im2col_tensor_map(bytes.data(), a.raw(), im2col).message;
  };
  const int zero[3] = {0, 0, 0}, far[3] = {128, 0, 0}, past[3] = {-6, 0, 0};
  EXPECT_EQ(message({zero, zero, 8, 16}), "");
  EXPECT_EQ(message({zero, zero, 257, 16}),
            "cuTensorMapEncodeIm2col: channelsPerPixel is 257; it must be 1 to 256");
  EXPECT_EQ(message({zero, zero, 8, 1025}),
            "cuTensorMapEncodeIm2col: pixelsPerColumn is 1025; it must be 1 to 1024");
  EXPECT_EQ(
      message({far, zero, 8, 16}),
      "cuTensorMapEncodeIm2col: pixelBoxLowerCorner[0] is 128; with rank 4 it must be -128 to "
      "127");
  EXPECT_EQ(message({zero, past, 8, 16}),
            "cuTensorMapEncodeIm2col: the box of dimension 1 is empty: from 0 to -1");
  EXPECT_NE(message({nullptr, zero, 8, 16}).find("must not be null"), std::string::npos);
}

}  // namespace
}  // namespace bw::sim::test
