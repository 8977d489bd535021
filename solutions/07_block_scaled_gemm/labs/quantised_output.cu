/// \file
/// New: scales on the way out. The epilogue rounds its row of D to MXFP8 or NVFP4 and writes codes
/// and scales as the next GEMM takes them: the second kernel multiplies the first one's D without
/// any other kernel in between.

#include <cmath>
#include <cstdio>
#include <vector>

#include "common/host/narrow_formats.hpp"
#include "common/host/quantised_comparison.hpp"
#include "solutions/07_block_scaled_gemm/block_quantiser.cuh"
#include "solutions/07_block_scaled_gemm/labs/one_block.cuh"

namespace bw {

/// Rows of D to codes [128], rows of 128 bytes, and atoms of scales along K.
template <BlockFormat format>
struct ToCodes {
  uint8_t* codes;        ///< the next GEMM's A
  uint8_t* scales;       ///< its scales
  float inverse_factor;  ///< 1 / the factor of D

  /// Thread r: row r.
  __device__ __forceinline__ void operator()(const float (&row)[kLabTile]) const {
    using Quantiser = BlockQuantiser<format>;
    constexpr int kBlock = Quantiser::kBlock, kWords = Quantiser::kWords;
    const Quantiser quantiser(inverse_factor);
    auto* const line = reinterpret_cast<uint32_t*>(codes + threadIdx.x * kBlockScaledRowBytes);
#pragma unroll
    for (int block = 0; block < kLabTile / kBlock; ++block) {
      float values[kBlock];
#pragma unroll
      for (int i = 0; i < kBlock; ++i) values[i] = row[block * kBlock + i];
      uint32_t words[kWords];
      const uint32_t scale = quantiser.quantise(values, words);
      scales[scale_offset(threadIdx.x, block, LabScales<format>::kAtoms)] = scale;
#pragma unroll
      for (int i = 0; i < kWords; ++i) line[block * kWords + i] = words[i];
    }
  }
};

/// Gives the first rows of A a single element, 1, so that their rows of D are columns of B: numbers
/// of few bits, among them some that are 448 times a power of two. Then a row of zeros, and with
/// ue8m0 scales one of very small numbers.
void make_special_rows(BlockScaledMatrix& a) {
  constexpr int64_t kRows = 16, kDistance = 8;
  constexpr uint8_t kOneInE4m3 = 0x38, kOneInE2m1 = 2, kOneInUe8m0 = 127, kSmallInUe8m0 = 67;
  const bool is_e4m3 = element_bits(a.format) == 8;
  const auto fill_row = [](auto& matrix, int64_t row, int64_t width, uint8_t value) {
    for (int64_t i = 0; i < width; ++i) matrix[row * width + i] = value;
  };
  for (int64_t row = 0; row <= kRows; ++row) {
    fill_row(a.values, row, a.row_bytes(), 0);
    fill_row(a.scales, row, a.blocks, has_ue8m0_scales(a.format) ? kOneInUe8m0 : kOneInE4m3);
    if (row < kRows)
      a.values[row * a.row_bytes() + row * kDistance * element_bits(a.format) / 8] =
          is_e4m3 ? kOneInE4m3 : kOneInE2m1;
  }
  if (has_ue8m0_scales(a.format)) fill_row(a.scales, kRows + 1, a.blocks, kSmallInUe8m0);
}

/// The first `k` columns of a matrix, whole blocks.
BlockScaledMatrix first_columns(const BlockScaledMatrix& matrix, int64_t k) {
  BlockScaledMatrix part{.format = matrix.format,
                         .rows = matrix.rows,
                         .k = k,
                         .blocks = k / scale_block(matrix.format),
                         .values = {},
                         .scales = {},
                         .factor = matrix.factor};
  for (int64_t row = 0; row < matrix.rows; ++row) {
    const auto values = matrix.values.begin() + row * matrix.row_bytes();
    part.values.insert(part.values.end(), values, values + part.row_bytes());
    const auto scales = matrix.scales.begin() + row * matrix.blocks;
    part.scales.insert(part.scales.end(), scales, scales + part.blocks);
  }
  return part;
}

/// MXFP8's scales, for a D in fp32 [128, 128]: each has to be the smallest power of two that isn't
/// less than largest / 448.
Comparison compare_with_smallest(const std::vector<float>& d, const BlockScaledMatrix& quantised) {
  const int64_t blocks = quantised.blocks, width = scale_block(quantised.format);
  return compare_elements(
      kLabTile, blocks, [&](int64_t i) { return quantised.scale(i / blocks, i % blocks); },
      [&](int64_t i) {
        float largest = 0;
        for (int64_t j = 0; j < width; ++j)
          largest = std::fmax(largest, std::fabs(d[i * width + j]));
        return to_float(to_ue8m0_up(largest / kFp8E4m3Max));
      },
      [](int64_t) { return 0.0; });
}

/// Both GEMMs in one format.
template <BlockFormat format>
class TwoGemms {
 public:
  TwoGemms() { make_special_rows(first_.a); }

  /// Runs and verifies the first one, with D in fp32 and quantised, then the second one.
  ExitStatus run() {
    const DeviceBuffer<uint8_t> a(first_.a.values), a_scales(lay_out_scales("A", first_.a));
    DeviceBuffer<float> d = poisoned_floats(kElements);
    multiply(a, a_scales, first_.factor(), ToFloats{d.data()});
    const BlockwiseReference reference = block_scaled_reference(first_);
    const Comparison product = compare_with_reference(d.download(), kLabTile, reference);
    if (!product.verified()) return report(product, "D in fp32");

    // D's 128 columns are half of a K block of NVFP4: the other half and its scales are zero.
    const float factor =
        format == BlockFormat::kNvfp4 ? nvfp4_factor(largest_magnitude(reference)) : 1.0f;
    DeviceBuffer<uint8_t> codes(size_t{kLabTile} * kBlockScaledRowBytes);
    DeviceBuffer<uint8_t> scales(LabScales<format>::kBytes);
    codes.fill_bytes(0);
    scales.fill_bytes(0);
    multiply(a, a_scales, first_.factor(),
             ToCodes<format>{codes.data(), scales.data(), 1 / factor});
    BlockScaledProblem second = first_;
    second.a = collect_scales(format, kLabTile, block_k(format), codes.download(),
                              scales.download(), factor);
    if (verify_quantised(d.download(), reference, second.a) != kVerified) return kWrongResult;

    // The next GEMM: E = D · Bᵀ, from what the first one has left in global memory.
    DeviceBuffer<float> e = poisoned_floats(kElements);
    multiply(codes, scales, second.factor(), ToFloats{e.data()});
    print_own_cycles(cycles_);
    return report(compare_lab(second, e.download()), "E");
  }

 private:
  static constexpr size_t kElements = size_t{kLabTile} * kLabTile;

  template <class Epilogue>
  void multiply(const DeviceBuffer<uint8_t>& a, const DeviceBuffer<uint8_t>& a_scales, float factor,
                const Epilogue& epilogue) {
    run_one_block<format>(a, a_scales, b_, b_scales_, factor, epilogue, cycles_);
  }

  /// Compares scales and codes; prints the verdict if they are wrong, else the sizes of D.
  static ExitStatus verify_quantised(const std::vector<float>& d,
                                     const BlockwiseReference& reference,
                                     const BlockScaledMatrix& padded) {
    const BlockScaledMatrix quantised = first_columns(padded, kLabTile);
    const Comparison scaled = format == BlockFormat::kMxfp8
                                  ? compare_with_smallest(d, quantised)
                                  : compare_quantised_scales(reference, quantised);
    if (!scaled.verified()) return report(scaled, "the scales of D");
    const Comparison rounded = compare_quantised(reference, quantised);
    if (!rounded.verified()) return report(rounded, "the codes of D");
    std::printf(
        "D        128 x 128: %zu bytes of codes, %zu of scales, factor %g, relative rms %.4f\n",
        quantised.values.size(), quantised.scales.size(), padded.factor,
        rounded.relative_rms_error);
    return kVerified;
  }

  BlockScaledProblem first_ = make_lab_problem(format);
  DeviceBuffer<uint8_t> b_{first_.b.values}, b_scales_{lay_out_scales("B", first_.b)};
  DeviceBuffer<uint64_t> cycles_{1};
};

}  // namespace bw

int main(int argc, char** argv) {
  int format = 0;
  bw::CommandLine command_line("An epilogue that quantises, and a GEMM that goes on with it.");
  command_line.add("format", format, {"mxfp8", "nvfp4"}, "of A, B and D");
  return bw::run_main(command_line, "lab_07_quantised_output", argc, argv, [&] {
    bw::require_blackwell();
    bw::print_machine();
    return format == 0 ? bw::TwoGemms<bw::BlockFormat::kMxfp8>().run()
                       : bw::TwoGemms<bw::BlockFormat::kNvfp4>().run();
  });
}
