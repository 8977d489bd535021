/// \file
/// Kernels as teaching material has them, from a copy to a matrix product by wgmma. The timing
/// model is never fitted to them: they say what it is worth.

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "common/device/bulk_copy.cuh"
#include "common/device/fence.cuh"
#include "common/device/mbarrier.cuh"
#include "common/device/shared_address.cuh"
#include "common/device/tma_load.cuh"
#include "common/device/wgmma.cuh"
#include "common/device/wgmma_descriptor.cuh"
#include "common/host/device_buffer.hpp"
#include "common/host/dynamic_shared_memory.hpp"
#include "tests/hardware/timing/event_time.hpp"
#include "tests/hardware/timing/measurement.hpp"
#include "tests/hardware/timing/tma_boxes.hpp"

namespace bw::timing {
namespace {

constexpr int kTile = 32;     // of the transposes
constexpr int kTileRows = 8;  // rows of threads: each does four elements

/// One element a thread.
__global__ void copy(const float* in, float* out, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) out[i] = in[i];
}

/// Four elements a thread and access.
__global__ void copy_wide(const float4* in, float4* out, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) out[i] = in[i];
}

/// Writes down columns: every lane another line.
__global__ void transpose_naive(const float* in, float* out, int n) {
  const int x = static_cast<int>(blockIdx.x) * kTile + static_cast<int>(threadIdx.x);
  const int y = static_cast<int>(blockIdx.y) * kTile + static_cast<int>(threadIdx.y);
  for (int j = 0; j < kTile; j += kTileRows) out[x * n + y + j] = in[(y + j) * n + x];
}

/// Through shared memory; without padding a column of the tile is in one bank.
template <int padding>
__global__ void transpose_shared(const float* in, float* out, int n) {
  __shared__ float tile[kTile][kTile + padding];
  const int tx = static_cast<int>(threadIdx.x), ty = static_cast<int>(threadIdx.y);
  int x = static_cast<int>(blockIdx.x) * kTile + tx;
  int y = static_cast<int>(blockIdx.y) * kTile + ty;
  for (int j = 0; j < kTile; j += kTileRows) tile[ty + j][tx] = in[(y + j) * n + x];
  __syncthreads();
  x = static_cast<int>(blockIdx.y) * kTile + tx;
  y = static_cast<int>(blockIdx.x) * kTile + ty;
  for (int j = 0; j < kTile; j += kTileRows) out[(y + j) * n + x] = tile[tx][ty + j];
}

/// Sums of 256 × 8 elements, a tree in shared memory.
__global__ void reduce_shared(const float* in, float* out) {
  constexpr int kPerThread = 8;
  __shared__ float sums[256];
  const int t = static_cast<int>(threadIdx.x);
  const float* const mine = in + size_t{blockIdx.x} * 256 * kPerThread + t;
  float sum = 0;
#pragma unroll
  for (int j = 0; j < kPerThread; ++j) sum += mine[j * 256];
  sums[t] = sum;
  __syncthreads();
  for (int half = 128; half > 0; half /= 2) {
    if (t < half) sums[t] += sums[t + half];
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = sums[0];
}

/// The same, with shuffles inside of a warp and one atomic a CTA.
__global__ void reduce_shuffle(const float* in, float* out) {
  constexpr int kPerThread = 8;
  __shared__ float sums[8];
  const int t = static_cast<int>(threadIdx.x);
  const float* const mine = in + size_t{blockIdx.x} * 256 * kPerThread + t;
  float sum = 0;
#pragma unroll
  for (int j = 0; j < kPerThread; ++j) sum += mine[j * 256];
  for (int half = 16; half > 0; half /= 2) sum += __shfl_down_sync(~0u, sum, half);
  if (t % 32 == 0) sums[t / 32] = sum;
  __syncthreads();
  if (t == 0) {
    for (int i = 1; i < 8; ++i) sum += sums[i];
    atomicAdd(out, sum);
  }
}

/// Five points of a plane.
__global__ void stencil(const float* in, float* out, int n) {
  const int x = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int y = static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y);
  if (x == 0 || y == 0 || x >= n - 1 || y >= n - 1) return;
  const float* const p = in + y * n + x;
  out[y * n + x] = 0.2f * (p[0] + p[-1] + p[1] + p[-n] + p[n]);
}

/// A row a CTA of 256 threads: largest, sum of exponentials, quotient.
__global__ void softmax(const float* in, float* out, int n) {
  __shared__ float shared[8];
  const int t = static_cast<int>(threadIdx.x);
  const float* const row = in + size_t{blockIdx.x} * n;
  const auto all = [&](float value, auto combine) {
    for (int half = 16; half > 0; half /= 2) {
      value = combine(value, __shfl_xor_sync(~0u, value, half));
    }
    __syncthreads();
    if (t % 32 == 0) shared[t / 32] = value;
    __syncthreads();
    value = shared[0];
    for (int i = 1; i < 8; ++i) value = combine(value, shared[i]);
    return value;
  };
  float largest = -INFINITY;
  for (int i = t; i < n; i += 256) largest = fmaxf(largest, row[i]);
  largest = all(largest, [](float a, float b) { return fmaxf(a, b); });
  float sum = 0;
  for (int i = t; i < n; i += 256) sum += __expf(row[i] - largest);
  sum = all(sum, [](float a, float b) { return a + b; });
  for (int i = t; i < n; i += 256) out[size_t{blockIdx.x} * n + i] = __expf(row[i] - largest) / sum;
}

/// One element of C a thread, operands from global memory.
__global__ void gemm_naive(const float* a, const float* b, float* c, int n, int k) {
  const int x = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int y = static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y);
  float sum = 0;
  for (int i = 0; i < k; ++i) sum += a[y * k + i] * b[i * n + x];
  c[y * n + x] = sum;
}

/// Tiles of 64 × 64 of C, 8 of K; 256 threads, 4 × 4 elements each.
__global__ void __launch_bounds__(256)
    gemm_tiled(const float* a, const float* b, float* c, int n, int k) {
  constexpr int kSide = 64, kDepth = 8, kEach = 4;
  __shared__ float tile_a[kDepth][kSide];
  __shared__ float tile_b[kDepth][kSide];
  const int t = static_cast<int>(threadIdx.x);
  const int row = static_cast<int>(blockIdx.y) * kSide,
            column = static_cast<int>(blockIdx.x) * kSide;
  const int ty = t / 16 * kEach, tx = t % 16 * kEach;
  float sums[kEach][kEach] = {};
  for (int block = 0; block < k; block += kDepth) {
#pragma unroll
    for (int i = t; i < kSide * kDepth; i += 256) {
      tile_a[i % kDepth][i / kDepth] = a[(row + i / kDepth) * k + block + i % kDepth];
      tile_b[i / kSide][i % kSide] = b[(block + i / kSide) * n + column + i % kSide];
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kDepth; ++i) {
#pragma unroll
      for (int y = 0; y < kEach; ++y) {
#pragma unroll
        for (int x = 0; x < kEach; ++x) sums[y][x] += tile_a[i][ty + y] * tile_b[i][tx + x];
      }
    }
    __syncthreads();
  }
  for (int y = 0; y < kEach; ++y) {
    for (int x = 0; x < kEach; ++x) c[(row + ty + y) * n + column + tx + x] = sums[y][x];
  }
}

constexpr uint32_t kMmaTile = 128;  // rows of A and of B, bytes of K
constexpr uint32_t kTileBytes = kMmaTile * kMmaTile;
constexpr uint32_t kAlignment = 1024;

/// C = A · Bᵀ of e4m3, tiles of 128 × 128 by two warpgroups; one thread loads, `stages` stages.
/// With one stage nothing overlaps.
template <int stages>
__global__ void __launch_bounds__(256)
    gemm_wgmma(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b,
               float* c, int n, int blocks) {
  extern __shared__ uint8_t raw[];
  __shared__ uint64_t barriers[stages];
  const uint32_t tiles = (ptx::shared_address(raw) + kAlignment - 1) / kAlignment * kAlignment;
  const uint32_t full = ptx::shared_address(barriers);
  const int row = static_cast<int>(blockIdx.y * kMmaTile),
            column = static_cast<int>(blockIdx.x * kMmaTile);
  if (threadIdx.x == 0) {
    for (int i = 0; i < stages; ++i) ptx::mbarrier_init(full + i * 8, 1);
    ptx::fence_mbarrier_init();
  }
  __syncthreads();
  const auto load = [&](int block) {
    const uint32_t stage = block % stages, tile = tiles + stage * 2 * kTileBytes;
    const int k = block * static_cast<int>(kMmaTile);
    ptx::mbarrier_arrive_expect_tx(full + stage * 8, 2 * kTileBytes);
    ptx::tma_load_2d(tile, &map_a, full + stage * 8, k, row);
    ptx::tma_load_2d(tile + kTileBytes, &map_b, full + stage * 8, k, column);
  };
  if (threadIdx.x == 0) {
    for (int block = 0; block < stages && block < blocks; ++block) load(block);
  }
  float d[64];
#pragma unroll
  for (float& x : d) x = 0;
  const uint32_t warpgroup = threadIdx.x / 128;
  for (int block = 0; block < blocks; ++block) {
    const uint32_t stage = block % stages, tile = tiles + stage * 2 * kTileBytes;
    while (!ptx::mbarrier_try_wait_parity(full + stage * 8, block / stages & 1)) {
    }
    const uint64_t a = wgmma_descriptor(wgmma_descriptor_low(tile + warpgroup * kTileBytes / 2));
    const uint64_t b = wgmma_descriptor(wgmma_descriptor_low(tile + kTileBytes));
    ptx::wgmma_fence();
#pragma unroll
    for (int i = 0; i < 4; ++i) ptx::wgmma_e4m3(d, a + i * 2, b + i * 2, true);
    ptx::wgmma_commit_group();
    ptx::wgmma_wait_group<0>();
    ptx::wgmma_hold(d);
    __syncthreads();  // both warpgroups are done with the stage
    if (threadIdx.x == 0 && block + stages < blocks) load(block + stages);
  }
  const uint32_t warp = threadIdx.x / 32 % 4, lane = threadIdx.x % 32;
  float* const out =
      c + size_t{row + warpgroup * 64 + warp * 16 + lane / 4} * n + column + lane % 4 * 2;
#pragma unroll
  for (int i = 0; i < 16; ++i) {
    *reinterpret_cast<float2*>(out + i * 8) = {d[i * 4], d[i * 4 + 1]};
    *reinterpret_cast<float2*>(out + size_t{8} * n + i * 8) = {d[i * 4 + 2], d[i * 4 + 3]};
  }
}

template <int stages>
void add_wgmma(Results& results, const char* name, uint32_t m, uint32_t n, uint32_t k) {
  const ByteMatrix a(k, m), b(k, n);
  DeviceBuffer<float> c(size_t{m} * n);
  const CUtensorMap map_a = a.map(kMmaTile, kMmaTile), map_b = b.map(kMmaTile, kMmaTile);
  const auto kernel = gemm_wgmma<stages>;
  constexpr uint32_t kBytes = stages * 2 * kTileBytes + kAlignment;
  allow_dynamic_shared_memory(reinterpret_cast<const void*>(kernel), kBytes);
  results.add(std::string("teaching.") + name,
              std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k), "us",
              graph_microseconds([&](cudaStream_t s) {
                kernel<<<dim3(n / kMmaTile, m / kMmaTile), 256, kBytes, s>>>(
                    map_a, map_b, c.data(), static_cast<int>(n), static_cast<int>(k / kMmaTile));
              }));
}

}  // namespace

void measure_teaching(Results& results) {
  const auto add = [&](const std::string& name, const std::string& parameter,
                       const std::function<void(cudaStream_t)>& enqueue) {
    results.add("teaching." + name, parameter, "us", graph_microseconds(enqueue));
  };
  for (const int n : {1024, 2048}) {
    const std::string square = std::to_string(n) + "x" + std::to_string(n);
    const int count = n * n;
    DeviceBuffer<float> in(count), out(count);
    in.fill_bytes(0);
    out.fill_bytes(0);
    float* const o = out.data();
    const float* const i = in.data();
    add("copy", square, [&](cudaStream_t s) { copy<<<count / 256, 256, 0, s>>>(i, o, count); });
    add("copy_wide", square, [&](cudaStream_t s) {
      copy_wide<<<count / 1024, 256, 0, s>>>(reinterpret_cast<const float4*>(i),
                                             reinterpret_cast<float4*>(o), count / 4);
    });
    const dim3 tiles(n / kTile, n / kTile), tile_threads(kTile, kTileRows);
    add("transpose_naive", square,
        [&](cudaStream_t s) { transpose_naive<<<tiles, tile_threads, 0, s>>>(i, o, n); });
    add("transpose_conflicts", square,
        [&](cudaStream_t s) { transpose_shared<0><<<tiles, tile_threads, 0, s>>>(i, o, n); });
    add("transpose_padded", square,
        [&](cudaStream_t s) { transpose_shared<1><<<tiles, tile_threads, 0, s>>>(i, o, n); });
    constexpr int kReduced = 2048;  // elements a CTA
    add("reduce_shared", square,
        [&](cudaStream_t s) { reduce_shared<<<count / kReduced, 256, 0, s>>>(i, o); });
    add("reduce_shuffle", square,
        [&](cudaStream_t s) { reduce_shuffle<<<count / kReduced, 256, 0, s>>>(i, o); });
    add("stencil", square,
        [&](cudaStream_t s) { stencil<<<dim3(n / 32, n / 8), dim3(32, 8), 0, s>>>(i, o, n); });
    add("softmax", square, [&](cudaStream_t s) { softmax<<<n, 256, 0, s>>>(i, o, n); });
  }
  for (const int n : {512, 1024}) {
    constexpr int kDepth = 256;
    DeviceBuffer<float> a(n * kDepth), b(n * kDepth), c(n * n);
    a.fill_bytes(0);
    b.fill_bytes(0);
    const std::string shape = std::to_string(n) + "x" + std::to_string(n) + "x256";
    add("gemm_naive", shape, [&](cudaStream_t s) {
      gemm_naive<<<dim3(n / 32, n / 8), dim3(32, 8), 0, s>>>(a.data(), b.data(), c.data(), n,
                                                             kDepth);
    });
    add("gemm_tiled", shape, [&](cudaStream_t s) {
      gemm_tiled<<<dim3(n / 64, n / 64), 256, 0, s>>>(a.data(), b.data(), c.data(), n, kDepth);
    });
  }
  add_wgmma<1>(results, "gemm_wgmma_1_stage", 1024, 1024, 1024);
  add_wgmma<4>(results, "gemm_wgmma_4_stages", 1024, 1024, 1024);
  add_wgmma<1>(results, "gemm_wgmma_1_stage", 2048, 2048, 512);
  add_wgmma<4>(results, "gemm_wgmma_4_stages", 2048, 2048, 512);
}

}  // namespace bw::timing
