#include "tests/gpu_reference/tensor_core_model.hpp"

#include <cuda_bf16.h>

#include <cstdio>
#include <vector>

#include "common/host/ceil_div.hpp"
#include "common/host/cuda_check.hpp"
#include "common/host/tensor_core_sum.hpp"
#include "solutions/06_hopper_fp8_gemm/hopper_verification.hpp"
#include "tests/gpu_reference/device_bf16.cuh"

namespace bw {
namespace {

constexpr int kTile = 16;        // rows and columns of D that a CTA computes, one per thread
constexpr int kPaddedRow = 132;  // bytes: rows begin in different banks

__device__ Fp8E4m3 element(const Fp8E4m3* data, int64_t stride, int64_t rows, int64_t columns,
                           int64_t row, int64_t column) {
  return row < rows && column < columns ? data[row * stride + column] : Fp8E4m3{0};
}

__global__ void __launch_bounds__(kTile* kTile)
    model_kernel(BlockwiseFp8GemmArguments g, KParts parts, hopper::OutputWindow window, Bf16* d) {
  __shared__ Fp8E4m3 a[kTile][kPaddedRow], b[kTile][kPaddedRow];
  const int64_t row0 = window.row + int64_t{blockIdx.y} * kTile;
  const int64_t column0 = window.column + int64_t{blockIdx.x} * kTile;
  const int64_t row = row0 + threadIdx.y, column = column0 + threadIdx.x;
  const bool inside = row < g.m && column < g.n && row < window.row + window.rows &&
                      column < window.column + window.columns;
  const int64_t k_blocks = ceil_div(g.k, kPromotedProducts);
  float total = 0;
  for (int part = 0; part < parts.count(); ++part) {
    float sum = 0;
    for (int64_t block = parts.begin(part); block < parts.end(part, k_blocks); ++block) {
      __syncthreads();
      for (int i = threadIdx.y * kTile + threadIdx.x; i < kTile * kPromotedProducts;
           i += kTile * kTile) {
        const int place = i / kPromotedProducts, k = i % kPromotedProducts;
        const int64_t depth = block * kPromotedProducts + k;
        a[place][k] = element(g.a, g.lda, g.m, g.k, row0 + place, depth);
        b[place][k] = element(g.b, g.ldb, g.n, g.k, column0 + place, depth);
      }
      __syncthreads();
      if (!inside) continue;
      const float product = tensor_core_block(a[threadIdx.y], b[threadIdx.x], kPromotedProducts);
      const float scale = g.a_scales[block * g.lda_scales + row] *
                          g.b_scales[column / kPromotedProducts * g.ldb_scales + block];
      sum = fmaf(product, scale, sum);
    }
    total = part == 0 ? sum : total + sum;
  }
  if (!inside) return;
  if (g.beta != 0) {
    total = fmaf(g.beta, bf16_value(g.c[row * g.ldc + column]), total);
  }
  d[row * g.n + column].bits = __bfloat16_as_ushort(__float2bfloat16_rn(total));
}

/// Counts of a comparison, in the order of ModelComparison's.
enum Count { kDifferent, kOutside, kUnexplained, kModelOutside, kCounts };

__device__ bool is_outside(Bf16 value, double expected, double magnitude,
                           double accumulation_error) {
  const double allowed = bf16_unit(expected) + accumulation_error * magnitude;
  return !(fabs(bf16_value(value) - expected) <= allowed);
}

__global__ void compare_kernel(const Bf16* d, int64_t ldd, const Bf16* model, int64_t m, int64_t n,
                               const double* reference, const float* magnitude,
                               double accumulation_error, unsigned long long* counts) {
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < m * n;
       i += int64_t{gridDim.x} * blockDim.x) {
    const Bf16 value = d[i / n * ldd + i % n];
    const bool different = value.bits != model[i].bits;
    const bool outside = is_outside(value, reference[i], magnitude[i], accumulation_error);
    if (different) atomicAdd(counts + kDifferent, 1);
    if (outside) atomicAdd(counts + kOutside, 1);
    if (outside && different) atomicAdd(counts + kUnexplained, 1);
    if (is_outside(model[i], reference[i], magnitude[i], accumulation_error)) {
      atomicAdd(counts + kModelOutside, 1);
    }
  }
}

}  // namespace

void overwrite_with_model(const BlockwiseFp8GemmArguments& gemm, const KParts& parts,
                          const hopper::OutputWindow& window, DeviceBuffer<Bf16>& d) {
  const dim3 grid(static_cast<unsigned>(ceil_div(window.columns, kTile)),
                  static_cast<unsigned>(ceil_div(window.rows, kTile)));
  model_kernel<<<grid, dim3(kTile, kTile)>>>(gemm, parts, window, d.data());
  check_cuda(cudaGetLastError(), "launch the model of the tensor cores");
}

DeviceBuffer<Bf16> tensor_core_model(const BlockwiseFp8GemmArguments& gemm, const KParts& parts) {
  DeviceBuffer<Bf16> d(gemm.m * gemm.n);
  overwrite_with_model(gemm, parts, {0, 0, gemm.m, gemm.n}, d);
  return d;
}

DeviceBuffer<Bf16> tensor_core_model(const BlockwiseFp8GemmArguments& gemm,
                                     const hopper::SummationOrder& order) {
  DeviceBuffer<Bf16> d = tensor_core_model(gemm, order.elsewhere());
  for (const hopper::SplitPiece& piece : order.split_pieces()) {
    overwrite_with_model(gemm, piece.parts, piece.window, d);
  }
  return d;
}

ModelComparison compare_with_model(const Bf16* d, int64_t ldd, const DeviceBuffer<Bf16>& model,
                                   const DeviceReference& reference, double accumulation_error) {
  constexpr int kGrid = 1024, kThreads = 256;
  DeviceBuffer<unsigned long long> counts(std::vector<unsigned long long>(kCounts, 0));
  compare_kernel<<<kGrid, kThreads>>>(d, ldd, model.data(), reference.m, reference.n,
                                      reference.d.data(), reference.magnitude.data(),
                                      accumulation_error, counts.data());
  check_cuda(cudaGetLastError(), "launch the comparison with the model");
  const std::vector<unsigned long long> found = counts.download();
  return {reference.m * reference.n, static_cast<int64_t>(found[kDifferent]),
          static_cast<int64_t>(found[kOutside]), static_cast<int64_t>(found[kUnexplained]),
          static_cast<int64_t>(found[kModelOutside])};
}

bool ModelComparison::verified() const {
  return elements > 0 && unexplained == 0 && outside <= hopper::most_outside(elements);
}

std::string ModelComparison::describe() const {
  char text[320];
  std::snprintf(text, sizeof(text),
                "%lld elements: %lld off by more than is allowed (the model of the tensor cores: "
                "%lld), %lld of them not as the model has it; %lld of all not as the model has it",
                static_cast<long long>(elements), static_cast<long long>(outside),
                static_cast<long long>(model_outside), static_cast<long long>(unexplained),
                static_cast<long long>(different));
  return text;
}

}  // namespace bw
