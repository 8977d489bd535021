#include "tests/gpu_reference/float64_reference.hpp"

#include <cuda_fp8.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

#include "common/host/cuda_check.hpp"
#include "tests/gpu_reference/device_bf16.cuh"

namespace bw {
namespace {

constexpr int kTile = 64;         // rows and columns of D that a CTA computes
constexpr int kDepth = 16;        // columns of A and B in shared memory at a time
constexpr int kThreads = 256;     // 16 × 16
constexpr int kPerThread = 4;     // rows and columns of D that a thread computes
constexpr int kScaleDepth = 128;  // columns of A and B that share a scale

__device__ double decode(Fp8E4m3 value) {
  return static_cast<double>(__half2float(__half(__nv_cvt_fp8_to_halfraw(value.bits, __NV_E4M3))));
}

/// Element (row, column) of an operand, zero outside.
__device__ double element(const Fp8E4m3* data, int64_t stride, int64_t rows, int64_t columns,
                          int64_t row, int64_t column) {
  return row < rows && column < columns ? decode(data[row * stride + column]) : 0.0;
}

__global__ void __launch_bounds__(kThreads)
    reference_kernel(BlockwiseFp8GemmArguments g, double* reference, float* magnitude) {
  __shared__ double a[kDepth][kTile + 1], b[kDepth][kTile + 1];
  const int64_t row0 = int64_t{blockIdx.y} * kTile, column0 = int64_t{blockIdx.x} * kTile;
  const int thread_row = threadIdx.x / 16, thread_column = threadIdx.x % 16;
  double total[kPerThread][kPerThread] = {};
  float total_magnitude[kPerThread][kPerThread] = {};
  for (int64_t block = 0; block * kScaleDepth < g.k; ++block) {
    double sum[kPerThread][kPerThread] = {};
    float sum_magnitude[kPerThread][kPerThread] = {};
    for (int64_t k0 = block * kScaleDepth; k0 < (block + 1) * kScaleDepth && k0 < g.k;
         k0 += kDepth) {
      __syncthreads();
      for (int i = threadIdx.x; i < kTile * kDepth; i += kThreads) {
        const int k = i % kDepth, row = i / kDepth;
        a[k][row] = element(g.a, g.lda, g.m, g.k, row0 + row, k0 + k);
        b[k][row] = element(g.b, g.ldb, g.n, g.k, column0 + row, k0 + k);
      }
      __syncthreads();
      for (int k = 0; k < kDepth; ++k) {
        for (int i = 0; i < kPerThread; ++i) {
          for (int j = 0; j < kPerThread; ++j) {
            const double product = a[k][thread_row + 16 * i] * b[k][thread_column + 16 * j];
            sum[i][j] += product;
            sum_magnitude[i][j] += static_cast<float>(fabs(product));
          }
        }
      }
    }
    for (int i = 0; i < kPerThread; ++i) {
      const int64_t row = row0 + thread_row + 16 * i;
      for (int j = 0; j < kPerThread; ++j) {
        const int64_t column = column0 + thread_column + 16 * j;
        if (row >= g.m || column >= g.n) continue;
        const double scale = static_cast<double>(g.a_scales[block * g.lda_scales + row]) *
                             g.b_scales[column / kScaleDepth * g.ldb_scales + block];
        total[i][j] += sum[i][j] * scale;
        total_magnitude[i][j] += sum_magnitude[i][j] * static_cast<float>(scale);
      }
    }
  }
  for (int i = 0; i < kPerThread; ++i) {
    const int64_t row = row0 + thread_row + 16 * i;
    for (int j = 0; j < kPerThread; ++j) {
      const int64_t column = column0 + thread_column + 16 * j;
      if (row >= g.m || column >= g.n) continue;
      const double residual =
          g.beta == 0 ? 0.0 : static_cast<double>(g.beta) * bf16_value(g.c[row * g.ldc + column]);
      reference[row * g.n + column] = total[i][j] + residual;
      magnitude[row * g.n + column] = total_magnitude[i][j];
    }
  }
}

/// What a CTA of the comparison found.
struct Partial {
  double error_squares, reference_squares, worst_share;
  unsigned long long bad_elements, first_bad;  ///< index of the element
};

__global__ void __launch_bounds__(kThreads)
    comparison_kernel(const Bf16* d, int64_t ldd, int64_t m, int64_t n, const double* reference,
                      const float* magnitude, double accumulation_error, Partial* partials) {
  __shared__ Partial of_thread[kThreads];
  Partial mine{0, 0, 0, 0, ~0ull};
  for (int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x; i < m * n;
       i += int64_t{gridDim.x} * kThreads) {
    const double expected = reference[i];
    const double got = bf16_value(d[i / n * ldd + i % n]);
    const double error = fabs(got - expected);
    const double allowed = bf16_unit(expected) + accumulation_error * magnitude[i];
    mine.reference_squares += expected * expected;
    if (!(error <= allowed)) {
      ++mine.bad_elements;
      mine.first_bad = min(mine.first_bad, static_cast<unsigned long long>(i));
    }
    if (isnan(error)) continue;
    mine.error_squares += error * error;
    mine.worst_share = fmax(mine.worst_share, error / allowed);
  }
  of_thread[threadIdx.x] = mine;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int i = 1; i < kThreads; ++i) {
    const Partial& other = of_thread[i];
    mine.error_squares += other.error_squares;
    mine.reference_squares += other.reference_squares;
    mine.worst_share = fmax(mine.worst_share, other.worst_share);
    mine.bad_elements += other.bad_elements;
    mine.first_bad = min(mine.first_bad, other.first_bad);
  }
  partials[blockIdx.x] = mine;
}

}  // namespace

DeviceReference float64_reference(const BlockwiseFp8GemmArguments& gemm) {
  DeviceReference reference{gemm.m, gemm.n, DeviceBuffer<double>(gemm.m * gemm.n),
                            DeviceBuffer<float>(gemm.m * gemm.n)};
  const dim3 grid(static_cast<unsigned>((gemm.n + kTile - 1) / kTile),
                  static_cast<unsigned>((gemm.m + kTile - 1) / kTile));
  reference_kernel<<<grid, kThreads>>>(gemm, reference.d.data(), reference.magnitude.data());
  check_cuda(cudaGetLastError(), "launch the float64 reference");
  return reference;
}

DeviceComparison compare_on_device(const Bf16* d, int64_t ldd, const DeviceReference& reference,
                                   double accumulation_error) {
  constexpr int kGrid = 1024;
  DeviceBuffer<Partial> partials(kGrid);
  comparison_kernel<<<kGrid, kThreads>>>(d, ldd, reference.m, reference.n, reference.d.data(),
                                         reference.magnitude.data(), accumulation_error,
                                         partials.data());
  check_cuda(cudaGetLastError(), "launch the comparison");
  DeviceComparison comparison;
  comparison.elements = reference.m * reference.n;
  double error_squares = 0, reference_squares = 0;
  unsigned long long first_bad = ~0ull;
  for (const Partial& partial : partials.download()) {
    error_squares += partial.error_squares;
    reference_squares += partial.reference_squares;
    comparison.worst_share = std::fmax(comparison.worst_share, partial.worst_share);
    comparison.bad_elements += static_cast<int64_t>(partial.bad_elements);
    first_bad = std::min(first_bad, partial.first_bad);
  }
  if (reference_squares > 0) {
    comparison.relative_frobenius_error = std::sqrt(error_squares / reference_squares);
  }
  if (comparison.bad_elements > 0) {
    comparison.first_bad_row = static_cast<int64_t>(first_bad) / reference.n;
    comparison.first_bad_column = static_cast<int64_t>(first_bad) % reference.n;
    Bf16 got{};
    check_cuda(cudaMemcpy(&got, d + comparison.first_bad_row * ldd + comparison.first_bad_column,
                          sizeof(got), cudaMemcpyDeviceToHost),
               "read an element of D");
    check_cuda(cudaMemcpy(&comparison.expected, reference.d.data() + first_bad,
                          sizeof(comparison.expected), cudaMemcpyDeviceToHost),
               "read an element of the reference");
    comparison.got = to_float(got);
  }
  return comparison;
}

std::string DeviceComparison::describe() const {
  char text[320];
  if (verified()) {
    std::snprintf(text, sizeof(text),
                  "%lld elements, worst share of the allowed error %.3f, "
                  "relative Frobenius error %.6f",
                  static_cast<long long>(elements), worst_share, relative_frobenius_error);
  } else {
    std::snprintf(text, sizeof(text),
                  "%lld of %lld elements are off by more than is allowed; the "
                  "first is D[%lld][%lld] = %.9g, expected %.9g; relative Frobenius error %.6f",
                  static_cast<long long>(bad_elements), static_cast<long long>(elements),
                  static_cast<long long>(first_bad_row), static_cast<long long>(first_bad_column),
                  static_cast<double>(got), expected, relative_frobenius_error);
  }
  return text;
}

}  // namespace bw
