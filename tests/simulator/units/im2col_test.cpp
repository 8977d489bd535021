/// \file
/// Copies through im2col maps, against a convolution's own loops over images, rows and columns
/// (PTX ISA, "Im2col mode"; CUDA driver API, cuTensorMapEncodeIm2col).
#include "tests/simulator/units/copy_harness.hpp"

namespace bw::sim::test::im2col_test {
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

// .im2col::w and .im2col::w::128 (PTX ISA, "im2col::w and im2col::w::128 modes").

/// Images of `extents` pixels (dimension 1 and up; the last one counts images) of 16 channels of 32
/// bits, 64 bytes: as many as the swizzle moves around.
struct WideCase {
  std::vector<uint64_t> extents{5, 3, 8};
  int lower = 0, upper = 0;
  uint32_t pixels = 20, stride = 1;
  int mode = 0;  ///< CU_TENSOR_MAP_IM2COL_WIDE_MODE_*
};
constexpr uint32_t kWideChannels = 16, kWideBytes = 4 * kWideChannels;

MapArguments wide_arguments(uint64_t address, const WideCase& c) {
  MapArguments a;
  a.type = TensorMapType::u32;
  a.address = address;
  a.extents = {kWideChannels};
  a.extents.insert(a.extents.end(), c.extents.begin(), c.extents.end());
  uint64_t stride = kWideBytes;
  for (const uint64_t extent : c.extents) {
    a.strides.push_back(stride);
    stride *= extent;
  }
  a.element_strides[1] = c.stride;
  a.swizzle = TensorMapSwizzle::bytes64;
  return a;
}

OpaqueMap encode_wide(uint64_t address, const WideCase& c) {
  alignas(kTensorMapAlignmentBytes) std::array<std::byte, kTensorMapBytes> bytes{};
  const TensorMapStatus status =
      encode_im2col_wide_tensor_map(bytes.data(), wide_arguments(address, c).raw(),
                                    {c.lower, c.upper, kWideChannels, c.pixels, c.mode});
  EXPECT_TRUE(status.ok()) << status.message;
  return {bytes};
}

/// What a copy asks for: coordinates of dimension 1 and up, wHalo and wOffset.
struct WideCopy {
  std::vector<int> from;
  uint32_t halo = 0, offset = 0;
};

/// Input word of channel 0 of each pixel, 0 outside of the tensor: from the first pixel to the end
/// of its row of the box, then the same row of the next images.
std::vector<uint32_t> wide_words(const WideCase& c, const WideCopy& copy, uint32_t count) {
  std::vector<uint32_t> words;
  const int end = static_cast<int>(c.extents[0]) + c.upper;
  std::vector<int> at = copy.from;
  while (words.size() < count) {
    for (; at[0] < end && words.size() < count; at[0] += static_cast<int>(c.stride)) {
      uint64_t pixel = 0;
      bool inside = true;
      for (size_t d = at.size(); d-- > 0;) {
        const int place = at[d] + (d == 0 ? static_cast<int>(copy.offset) : 0);
        inside &= place >= 0 && place < static_cast<int>(c.extents[d]);
        pixel = pixel * c.extents[d] + static_cast<uint64_t>(place);
      }
      words.push_back(inside ? static_cast<uint32_t>(pixel * kWideChannels + 1) : 0);
    }
    at[0] = c.lower;
    ++at.back();
  }
  return words;
}

std::string wide_load(const std::string& form, const WideCopy& copy,
                      const std::string& tile = "%r1") {
  std::string coordinates = "0";
  for (const int place : copy.from) coordinates += ", " + std::to_string(place);
  return "  mov.b16 %rs1, " + std::to_string(copy.halo) + "; mov.b16 %rs2, " +
         std::to_string(copy.offset) + ";\n  @%p0 cp.async.bulk.tensor." +
         std::to_string(copy.from.size() + 1) + "d." + form + ".mbarrier::complete_tx::bytes [" +
         tile + "], [%rd1, {" + coordinates + "}], [%r2], {%rs1, %rs2};\n";
}

/// Word `channel` of row `row` of a tile with the 64-byte swizzle.
uint32_t swizzled_word(uint32_t row, uint32_t channel) {
  const uint32_t byte = row * kWideBytes + channel * 4;
  return (byte ^ ((byte >> 7 & 3) << 4)) / 4;
}

void check_wide(const WideCase& c, const WideCopy& copy,
                const std::string& form = "shared::cta.global.im2col::w") {
  SCOPED_TRACE(testing::Message() << "from " << testing::PrintToString(copy.from) << ", halo "
                                  << copy.halo << ", offset " << copy.offset);
  CopyRun run;
  const uint32_t rows = c.pixels + copy.halo;
  run.run(expect_bytes(rows * kWideBytes) + wide_load(form, copy) + wait_for_bar() + write_tile(),
          encode_wide(run.in.address(), c));
  const std::vector<uint32_t> expected = wide_words(c, copy, rows);
  for (uint32_t row = 0; row < rows; ++row)
    for (uint32_t channel = 0; channel < kWideChannels; ++channel)
      ASSERT_EQ(run.out[swizzled_word(row, channel)],
                expected[row] == 0 ? 0 : expected[row] + channel)
          << "pixel " << row << ", channel " << channel;
  EXPECT_EQ(run.out[rows * kWideChannels], tile_word(0, rows * kWideChannels));
}

TEST(Im2colWide, GoesAlongARowOfEveryImage) {
  const WideCase c{.lower = -1, .upper = -1};
  for (uint32_t offset = 0; offset < 3; ++offset) {
    check_wide(c, {{-1, 1, 0}, 0, offset});
    check_wide(c, {{3, 2, 4}, 0, offset});
  }
  check_wide(c, {{0, 1, 7}});              // pixels past the last image are zero
  check_wide(c, {{0, -1, 0}});             // so is a row above the image
  check_wide({.lower = 1}, {{-2, 0, 0}});  // the first pixel may be to the left of the box
}

TEST(Im2colWide, TheHaloGoesOnBehindTheLastPixel) {
  check_wide({}, {{3, 0, 0}, 2});
  check_wide({.lower = -1, .upper = 0, .stride = 2}, {{-1, 1, 0}, 1});
  check_wide({.lower = -1, .upper = 0, .stride = 2}, {{-1, 1, 0}, 0, 1},
             "shared::cluster.global.im2col::w");
}

TEST(Im2colWide, HasThreeToFiveDimensions) {
  check_wide({.extents = {7, 8}}, {{2, 1}, 3, 1});
  check_wide({.extents = {4, 2, 3, 5}}, {{1, 1, 2, 0}, 1, 1});
}

TEST(Im2colWide, TheFixedFormCopies128Pixels) {
  const WideCase c{.extents = {6, 2, 20}, .lower = -1, .upper = -1, .pixels = 3, .mode = 1};
  const WideCopy copy{{2, 1, 0}, 0, 1};
  CopyRun run;
  // A tile of its own, the second half of which is given out.
  run.run("  .shared .align 1024 .b8 wide[8192];\n  mov.u32 %r4, wide;\n" +
              expect_bytes(Im2col::kWidePixels * kWideBytes) +
              wide_load("shared::cta.global.im2col::w::128", copy, "%r4") + wait_for_bar() +
              "  add.u32 %r1, %r4, 4096;\n" + write_tile(),
          encode_wide(run.in.address(), c));
  const std::vector<uint32_t> expected = wide_words(c, copy, Im2col::kWidePixels);
  constexpr uint32_t kHalf = Im2col::kWidePixels / 2;
  for (uint32_t row = 0; row < kHalf; ++row)
    ASSERT_EQ(run.out[swizzled_word(row, 3)],
              expected[kHalf + row] == 0 ? 0 : expected[kHalf + row] + 3)
        << "pixel " << kHalf + row;
}

TEST(Im2colWide, IsPrefetchedAsItIsCopied) {
  CopyRun run;
  const std::string prefetch =
      "  mov.b16 %rs1, 2;\n  @%p0 cp.async.bulk.prefetch.tensor.4d.L2.global.im2col::w [%rd1, {0, ";
  run.run(prefetch + "4, 0, 0}], {%rs1, %rs1};\n", encode_wide(run.in.address(), {}));
  expect_fault(FaultKind::contract, {"the first pixel has the coordinate 5 in dimension 1"}, [&] {
    run.run(prefetch + "5, 0, 0}], {%rs1, %rs1};\n", encode_wide(run.in.address(), {}));
  });
}

TEST(Im2colWide, Faults) {
  CopyRun run;
  const std::string w = "shared::cta.global.im2col::w";
  const OpaqueMap map = encode_wide(run.in.address(), {});
  const OpaqueMap fixed = encode_wide(run.in.address(), {.mode = 1});
  const auto fault = [&](const OpaqueMap& of, const std::string& body,
                         const std::vector<std::string>& parts,
                         FaultKind kind = FaultKind::contract) {
    expect_fault(kind, parts, [&] { run.run(body, of); });
  };
  fault(map, wide_load(w, {{5, 0, 0}}), {"coordinate 5 in dimension 1", "ends at 4", "left side"});
  fault(map, wide_load(w, {{0, 0, 0}, 512}), {"{wHalo, wOffset} are {512, 0}", "0 to 511"});
  fault(map, wide_load(w, {{0, 0, 0}, 0, 32}), {"{wHalo, wOffset} are {0, 32}"});
  fault(map, wide_load(w + "::128", {{0, 0, 0}}),
        {"an .im2col::w::128 instruction with", "(im2col::w)", "cuTensorMapEncodeIm2colWide"});
  fault(fixed, wide_load(w, {{0, 0, 0}}), {"an .im2col::w instruction with", "(im2col::w::128)"});
  fault(encode(run.in.address(), {}), wide_load(w, {{0, 0, 0}}), {"(im2col)"});
  fault(fixed, wide_load(w + "::128", {{0, 0, 0}, 2}),
        {"wHalo of .im2col::w::128 is 2", "only a wHalo of 0 is simulated"},
        FaultKind::unsupported);
  std::string short_operand = wide_load(w, {{0, 0, 0}});
  short_operand.replace(short_operand.find("{%rs1, %rs2}"), 12, "{%rs1}");
  fault(map, short_operand, {"has 1 im2col operands instead of 2"}, FaultKind::unsupported);
}

TEST(Im2colWide, TheEncoderSaysWhatIsWrong) {
  alignas(kTensorMapAlignmentBytes) std::array<std::byte, kTensorMapBytes> bytes{};
  MapArguments a = wide_arguments(0x1000, {});
  const auto message = [&](const Im2colWideArguments& wide) {
    return encode_im2col_wide_tensor_map(bytes.data(), a.raw(), wide).message;
  };
  const std::string name = "cuTensorMapEncodeIm2colWide: ";
  EXPECT_EQ(message({0, 0, 16, 128, 0}), "");
  EXPECT_EQ(message({0, 0, 16, 5000, 1}), "");  // always 128 pixels
  EXPECT_EQ(message({0, 0, 16, 1025, 0}), name + "pixelsPerColumn is 1025; it must be 1 to 1024");
  EXPECT_EQ(message({0, 0, 16, 128, 2}).rfind(name + "mode is 2", 0), 0u);
  EXPECT_EQ(message({-32769, 0, 16, 128, 0}),
            name + "pixelBoxLowerCornerWidth is -32769; it must be -32768 to 32767");
  EXPECT_EQ(message({0, -5, 16, 128, 0}), name + "the box of dimension 1 is empty: from 0 to -1");
  a.swizzle = TensorMapSwizzle::none;
  EXPECT_EQ(message({0, 0, 16, 128, 0}).rfind(name + "swizzle is 0", 0), 0u);
  a.swizzle = TensorMapSwizzle::bytes64;
  a.interleave = TensorMapInterleave::bytes16;
  EXPECT_EQ(message({0, 0, 16, 128, 0}).rfind(name + "interleave is 1", 0), 0u);
}

}  // namespace
}  // namespace bw::sim::test::im2col_test
