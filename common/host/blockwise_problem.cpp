#include "common/host/blockwise_problem.hpp"

#include <algorithm>
#include <cmath>

#include "common/host/ceil_div.hpp"
#include "common/host/parallel_for.hpp"
#include "common/host/random_normal.hpp"

namespace bw {
namespace {

// The scale of a block whose largest magnitude is `amax`.
float block_scale(float amax) {
  constexpr float kMinAmax = 1e-4f;
  return std::max(amax, kMinAmax) / kFp8E4m3Max;
}

}  // namespace

float quantise_block(QuantisedMatrix& matrix, const ElementSource& source, int64_t row,
                     int64_t row_end, int64_t k, int64_t k_end) {
  const int64_t width = k_end - k;
  std::vector<float> block((row_end - row) * width);
  float amax = 0;
  for (int64_t i = row; i < row_end; ++i) {
    for (int64_t j = k; j < k_end; ++j) {
      const float value = to_float(to_bf16(source(i, j)));
      block[(i - row) * width + (j - k)] = value;
      amax = std::max(amax, std::fabs(value));
    }
  }
  const float scale = block_scale(amax);
  for (int64_t i = row; i < row_end; ++i) {
    for (int64_t j = k; j < k_end; ++j) {
      matrix.values[i * matrix.k + j] = to_fp8_e4m3(block[(i - row) * width + (j - k)] / scale);
    }
  }
  return scale;
}

QuantisedMatrix quantise_1x128(int64_t rows, int64_t k, const ElementSource& source) {
  constexpr int64_t kStrideUnit = 4;
  const int64_t k_blocks = ceil_div(k, kScaleBlock);
  QuantisedMatrix matrix{rows, k, {}, {}, round_up(rows, kStrideUnit)};
  matrix.values.resize(rows * k);
  matrix.scales.resize(k_blocks * matrix.scales_stride);
  parallel_for(rows, [&](int64_t row) {
    for (int64_t block = 0; block < k_blocks; ++block) {
      const int64_t begin = block * kScaleBlock;
      matrix.scales[block * matrix.scales_stride + row] = quantise_block(
          matrix, source, row, row + 1, begin, std::min<int64_t>(begin + kScaleBlock, k));
    }
  });
  return matrix;
}

QuantisedMatrix quantise_128x128(int64_t rows, int64_t k, const ElementSource& source) {
  const int64_t k_blocks = ceil_div(k, kScaleBlock);
  const int64_t row_blocks = ceil_div(rows, kScaleBlock);
  QuantisedMatrix matrix{rows, k, {}, {}, k_blocks};
  matrix.values.resize(rows * k);
  matrix.scales.resize(row_blocks * k_blocks);
  parallel_for(row_blocks * k_blocks, [&](int64_t block) {
    const int64_t row = block / k_blocks * kScaleBlock;
    const int64_t begin = block % k_blocks * kScaleBlock;
    matrix.scales[block] =
        quantise_block(matrix, source, row, std::min<int64_t>(row + kScaleBlock, rows), begin,
                       std::min<int64_t>(begin + kScaleBlock, k));
  });
  return matrix;
}

Bf16 position_code(int64_t row, int64_t column) {
  constexpr int64_t kRowStep = 131;  // odd, and more than the columns of a tile
  constexpr uint32_t kExponentBase = 96;
  const uint32_t code = static_cast<uint32_t>((row * kRowStep + column) & 0x3fff);
  const uint32_t sign = code >> 13;
  const uint32_t exponent = kExponentBase + (code >> 7 & 0x3f);
  return Bf16{static_cast<uint16_t>(sign << 15 | exponent << 7 | (code & 0x7f))};
}

BlockwiseProblem make_blockwise_problem(int64_t m, int64_t n, int64_t k, float beta, uint64_t seed,
                                        Fill fill) {
  BlockwiseProblem problem{m, n, k, beta, fill, {}, {}, {}};
  const RandomNormal normal_a(seed, 0), normal_b(seed, 1), normal_c(seed, 2);
  const bool positions = fill == Fill::kPositionC;
  problem.a = quantise_1x128(m, k, [&](int64_t row, int64_t column) {
    return positions ? 0.0f : normal_a(row * k + column);
  });
  problem.b = quantise_128x128(
      n, k, [&](int64_t row, int64_t column) { return normal_b(row * k + column); });
  if (beta != 0) {
    problem.c.resize(m * n);
    parallel_for(m, [&](int64_t row) {
      for (int64_t column = 0; column < n; ++column) {
        problem.c[row * n + column] =
            positions ? position_code(row, column) : to_bf16(normal_c(row * n + column));
      }
    });
  }
  return problem;
}

}  // namespace bw
