/// \file
/// New: scales on the way out. The epilogue rounds its row of D to MXFP8, a scale for 32 columns,
/// and writes codes and scales as the next GEMM takes them: the second kernel multiplies the first
/// one's D without any other kernel in between.

#include <cmath>
#include <cstdio>
#include <vector>

#include "common/device/convert_narrow.cuh"
#include "common/device/exercise.cuh"
#include "common/host/narrow_formats.hpp"
#include "solutions/07_block_scaled_gemm/labs/one_block.cuh"

namespace bw {

constexpr BlockFormat kFormat = BlockFormat::kMxfp8;
constexpr int kBlock = scale_block(kFormat);
constexpr int kBlocks = kLabTile / kBlock;
static_assert(kBlocks == kScaleAtomBlocks, "a row's scales are a word of the atom");

/// Rows of D to e4m3 codes [128, 128] and one atom of scales.
struct ToMxfp8 {
  uint8_t* codes;   ///< the next GEMM's A
  uint8_t* scales;  ///< its scales

  /// Thread r: row r.
  __device__ __forceinline__ void operator()(const float (&row)[kLabTile]) const {
    uint32_t word = 0;
#pragma unroll
    for (int block = 0; block < kBlocks; ++block) {
      float largest = 0;
#pragma unroll
      for (int i = 0; i < kBlock; ++i) largest = fmaxf(largest, fabsf(row[block * kBlock + i]));
      const uint32_t scale = scale_for(largest);
      word |= scale << block * 8;
      write_block(row, block, scale);
    }
    const int64_t place = scale_offset_in_atom(threadIdx.x, 0);
    *reinterpret_cast<uint32_t*>(scales + place) = word;
  }

 private:
  /// The ue8m0 code of the scale of a block whose largest magnitude is `largest`.
  static __device__ __forceinline__ uint32_t scale_for(float largest) {
    constexpr float kLargestE4m3 = 448;
    // >>> exercise 7.9 "A scale that is large enough"
    return ptx::round_up_to_ue8m0(largest / kLargestE4m3);
    // <<< exercise 7.9
  }

  /// The codes of a block, divided by 2^(scale - 127).
  __device__ __forceinline__ void write_block(const float (&row)[kLabTile], int block,
                                              uint32_t scale) const {
    constexpr int kPerWord = sizeof(uint32_t);
    const float inverse = exp2f(127.0f - static_cast<float>(scale));
    uint8_t* const out = codes + threadIdx.x * kLabTile + block * kBlock;
#pragma unroll
    for (int i = 0; i < kBlock; i += kPerWord) {
      const float* const values = row + block * kBlock + i;
      const uint32_t low = ptx::pack_e4m3x2(values[0] * inverse, values[1] * inverse);
      const uint32_t high = ptx::pack_e4m3x2(values[2] * inverse, values[3] * inverse);
      *reinterpret_cast<uint32_t*>(out + i) = low | high << 16;
    }
  }
};

/// D as the first kernel has written it, in plain order.
BlockScaledMatrix read_back(const std::vector<uint8_t>& codes, const std::vector<uint8_t>& atom) {
  BlockScaledMatrix matrix;
  matrix.format = kFormat;
  matrix.rows = kLabTile;
  matrix.k = kLabTile;
  matrix.blocks = kBlocks;
  matrix.values = codes;
  for (int64_t row = 0; row < kLabTile; ++row) {
    for (int64_t block = 0; block < kBlocks; ++block) {
      matrix.scales.push_back(atom[scale_offset_in_atom(row, block)]);
    }
  }
  return matrix;
}

/// The largest magnitude of each block of D, in float64.
std::vector<double> largest_of_blocks(const BlockwiseReference& reference) {
  std::vector<double> largest(kLabTile * kBlocks);
  for (size_t i = 0; i < reference.d.size(); ++i) {
    largest[i / kBlock] = std::fmax(largest[i / kBlock], std::fabs(reference.d[i]));
  }
  return largest;
}

/// The scales: powers of two from q to 2 q, where q is the largest magnitude of the block / 448.
Comparison compare_scales(const BlockwiseReference& reference, const BlockScaledMatrix& d) {
  constexpr double kLargestE4m3 = 448, kFp32 = 1e-5;
  const std::vector<double> largest = largest_of_blocks(reference);
  const auto quotient = [&](int64_t i) { return largest[i] / kLargestE4m3; };
  return compare_elements(
      kLabTile, kBlocks, [&](int64_t i) { return d.scale(i / kBlocks, i % kBlocks); },
      [&](int64_t i) { return 1.5 * quotient(i); },
      [&](int64_t i) { return (0.5 + kFp32) * quotient(i); });
}

/// D after rounding, compared with the float64 product. e4m3 has three bits of mantissa, so an
/// element may be off by 2^-4 of itself, or by 2^-10 of its scale if it is subnormal.
Comparison compare_rounded(const BlockwiseReference& reference, const BlockScaledMatrix& d) {
  constexpr double kFp32 = 1e-5;
  const auto scale = [&](int64_t i) { return d.scale(i / kLabTile, i % kLabTile / kBlock); };
  return compare_elements(
      kLabTile, kLabTile,
      [&](int64_t i) { return d.element(i / kLabTile, i % kLabTile) * scale(i); },
      [&](int64_t i) { return reference.d[i]; },
      [&](int64_t i) {
        return std::fmax(std::fabs(reference.d[i]) * 0x1p-4, scale(i) * 0x1p-10) +
               kFp32 * reference.magnitude[i];
      });
}

ExitStatus run_quantised_output() {
  require_blackwell();
  print_machine();
  const BlockScaledProblem first = make_lab_problem(kFormat);
  const DeviceBuffer<uint8_t> a(first.a.values), b(first.b.values);
  const DeviceBuffer<uint8_t> a_scales(lay_out_scales("A", first.a));
  const DeviceBuffer<uint8_t> b_scales(lay_out_scales("B", first.b));
  DeviceBuffer<uint8_t> codes(size_t{kLabTile} * kLabTile), scales(kScaleAtomBytes);
  DeviceBuffer<uint64_t> cycles(1);
  run_one_block<kFormat>(a, a_scales, b, b_scales, first.factor(),
                         ToMxfp8{codes.data(), scales.data()}, cycles);
  const BlockScaledMatrix d = read_back(codes.download(), scales.download());
  const BlockwiseReference reference = block_scaled_reference(first);
  const Comparison scaled = compare_scales(reference, d), rounded = compare_rounded(reference, d);
  std::printf("D        128 x 128 in MXFP8: %zu bytes and %d of scales, relative rms %.4f\n",
              d.values.size(), kScaleAtomBytes, rounded.relative_rms_error);
  if (!scaled.verified()) return report(scaled, "the scales of D");
  if (!rounded.verified()) return report(rounded, "D in MXFP8");

  // The next GEMM: E = D · Bᵀ, from what the first one has left in global memory.
  BlockScaledProblem second = first;
  second.a = d;
  DeviceBuffer<float> e = poisoned_floats(size_t{kLabTile} * kLabTile);
  run_one_block<kFormat>(codes, scales, b, b_scales, second.factor(), ToFloats{e.data()}, cycles);
  print_own_cycles(cycles);
  return report(compare_lab(second, e.download()), "E");
}

}  // namespace bw

int main(int argc, char** argv) {
  const bw::CommandLine command_line(
      "An epilogue that quantises, and a GEMM that goes on with it.");
  return bw::run_main(command_line, "lab_07_quantised_output", argc, argv,
                      [] { return bw::run_quantised_output(); });
}
