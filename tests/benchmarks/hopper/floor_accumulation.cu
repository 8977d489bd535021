#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "common/device/fence.cuh"
#include "common/device/shared_address.cuh"
#include "common/host/device_buffer.hpp"
#include "common/host/number_formats.hpp"
#include "tests/benchmarks/hopper/floor.hpp"
#include "tests/benchmarks/hopper/floor_device.cuh"

namespace bw {
namespace {

constexpr int kRows = 64, kColumns = 64, kThreads = 128;
constexpr int kMmaDepth = 32, kSteps = kRowBytes / kMmaDepth;
constexpr int kTileBytes = kRows * kRowBytes;

/// Multiplies a row of A with a row of B (128 e4m3 each) by four chained wgmma of 32 columns each.
/// All rows of both operands are the same, so every element of the result is.
__global__ void __launch_bounds__(kThreads)
    multiply_rows(const uint8_t* a_row, const uint8_t* b_row, float* result) {
  __shared__ uint8_t raw[2 * kTileBytes + 1024];
  uint8_t* tiles = align_tile(raw);
  for (int i = threadIdx.x; i < kRows * kRowBytes; i += kThreads) {
    const int row = i / kRowBytes, column = i % kRowBytes;
    // The 128B swizzle: 16-byte chunks are exchanged by the row's number modulo 8.
    const int place = row * kRowBytes + ((column / 16) ^ (row % 8)) * 16 + column % 16;
    tiles[place] = a_row[column];
    tiles[kTileBytes + place] = b_row[column];
  }
  ptx::fence_proxy_async_shared();
  __syncthreads();
  const uint32_t base = ptx::shared_address(tiles);
  const uint64_t a = tile_descriptor(base);
  const uint64_t b = tile_descriptor(base + kTileBytes);
  float accumulator[kColumns / 2];
#pragma unroll
  for (int i = 0; i < kColumns / 2; ++i) accumulator[i] = 0;
  ptx::wgmma_fence();
#pragma unroll
  for (int step = 0; step < kSteps; ++step) {
    ptx::wgmma_e4m3(accumulator, a + step * 2, b + step * 2, step != 0);
  }
  ptx::wgmma_commit_group();
  ptx::wgmma_wait_group<0>();
  ptx::wgmma_hold(accumulator);
  if (threadIdx.x == 0) *result = accumulator[0];
}

/// A product at a place of K: sign · mantissa · 2^exponent.
struct Product {
  int k;
  double mantissa;
  int exponent;
};

/// The result of a row of such products (all others are zero).
double accumulate(const std::vector<Product>& products) {
  std::vector<uint8_t> a(kRowBytes, 0), b(kRowBytes, 0);
  for (const Product& product : products) {
    // Shared between the factors; e4m3 reaches from 2^-9 to 1.75 · 2^8.
    const int half = product.exponent / 2, rest = product.exponent - half;
    a[product.k] = to_fp8_e4m3(static_cast<float>(std::ldexp(product.mantissa, half))).bits;
    b[product.k] = to_fp8_e4m3(static_cast<float>(std::ldexp(1.0, rest))).bits;
  }
  const DeviceBuffer<uint8_t> a_row(a), b_row(b);
  DeviceBuffer<float> result(1);
  multiply_rows<<<1, kThreads>>>(a_row.data(), b_row.data(), result.data());
  check_cuda(cudaGetLastError(), "launch a row of products");
  return static_cast<double>(result.download().front());
}

}  // namespace

std::vector<AccumulationBits> measure_accumulation() {
  constexpr int kLarge = 14;  // the large product is 2^14: its factors are 2^7
  constexpr int kFewest = 8, kMost = 26;
  constexpr int kNext = kMmaDepth;  // the first column of the second wgmma
  std::vector<AccumulationBits> bits;
  for (int distance = kFewest; distance <= kMost; ++distance) {
    const int exponent = kLarge - distance;
    const double small = std::ldexp(1.0, exponent);
    const auto left = [&](int large_k, int small_k, double mantissa, int negative_k) {
      return accumulate(
                 {{large_k, 1, kLarge}, {small_k, mantissa, exponent}, {negative_k, -1, kLarge}}) /
             small;
    };
    AccumulationBits entry{};
    entry.distance = distance;
    entry.within = left(0, 1, 1, 2);
    entry.across = left(0, kMmaDepth - 1, 1, 1);
    entry.chained = left(0, kNext, 1, 2 * kNext);
    entry.negative = left(0, kNext, -1, 2 * kNext);
    entry.half_more = left(0, kNext, 1.5, 2 * kNext);
    bits.push_back(entry);
  }
  return bits;
}

}  // namespace bw
