#include "tests/benchmarks/plain_cuda_kernels.hpp"

#include "common/host/cuda_check.hpp"

namespace bw::bench {
namespace {

constexpr int kTile = 64, kTileK = 16, kPerThread = 4;
constexpr int kThreads = kTile / kPerThread * (kTile / kPerThread);
constexpr int kTransposeTile = 32, kTransposeRows = 8;

__global__ void __launch_bounds__(kThreads)
    sgemm(const float* a, const float* b, float* d, int size) {
  __shared__ float tile_a[kTileK][kTile + 1], tile_b[kTileK][kTile];
  const int row = static_cast<int>(blockIdx.y) * kTile,
            column = static_cast<int>(blockIdx.x) * kTile;
  const int t = static_cast<int>(threadIdx.x);
  const int own_row = t / (kTile / kPerThread) * kPerThread;
  const int own_column = t % (kTile / kPerThread) * kPerThread;
  float sum[kPerThread][kPerThread] = {};
  for (int k = 0; k < size; k += kTileK) {
    for (int i = t; i < kTile * kTileK; i += kThreads) {
      tile_a[i % kTileK][i / kTileK] = a[(row + i / kTileK) * size + k + i % kTileK];
      tile_b[i / kTile][i % kTile] = b[(k + i / kTile) * size + column + i % kTile];
    }
    __syncthreads();
    for (int i = 0; i < kTileK; ++i) {
      float own_a[kPerThread], own_b[kPerThread];
      for (int j = 0; j < kPerThread; ++j) own_a[j] = tile_a[i][own_row + j];
      for (int j = 0; j < kPerThread; ++j) own_b[j] = tile_b[i][own_column + j];
      for (int y = 0; y < kPerThread; ++y)
        for (int x = 0; x < kPerThread; ++x) sum[y][x] += own_a[y] * own_b[x];
    }
    __syncthreads();
  }
  for (int y = 0; y < kPerThread; ++y)
    for (int x = 0; x < kPerThread; ++x)
      d[(row + own_row + y) * size + column + own_column + x] = sum[y][x];
}

__global__ void copy(const float4* from, float4* to, int count) {
  const int step = static_cast<int>(gridDim.x * blockDim.x);
  for (int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); i < count; i += step)
    to[i] = from[i];
}

__global__ void transpose(const float* from, float* to, int size) {
  __shared__ float tile[kTransposeTile][kTransposeTile + 1];
  const int x = static_cast<int>(blockIdx.x) * kTransposeTile,
            y = static_cast<int>(blockIdx.y) * kTransposeTile;
  const int tx = static_cast<int>(threadIdx.x), ty = static_cast<int>(threadIdx.y);
  for (int i = ty; i < kTransposeTile; i += kTransposeRows)
    tile[i][tx] = from[(y + i) * size + x + tx];
  __syncthreads();
  for (int i = ty; i < kTransposeTile; i += kTransposeRows)
    to[(x + i) * size + y + tx] = tile[tx][i];
}

void finish() { check_cuda(cudaDeviceSynchronize(), "run the kernel"); }

}  // namespace

void plain_sgemm(const float* a, const float* b, float* d, int size) {
  const auto tiles = static_cast<unsigned>(size / kTile);
  sgemm<<<dim3(tiles, tiles), kThreads>>>(a, b, d, size);
  finish();
}

void plain_copy(const float* from, float* to, int count) {
  constexpr int kWidth = 4, kBlocks = 296, kBlockThreads = 256;
  copy<<<kBlocks, kBlockThreads>>>(reinterpret_cast<const float4*>(from),
                                   reinterpret_cast<float4*>(to), count / kWidth);
  finish();
}

void plain_transpose(const float* from, float* to, int size) {
  const auto tiles = static_cast<unsigned>(size / kTransposeTile);
  transpose<<<dim3(tiles, tiles), dim3(kTransposeTile, kTransposeRows)>>>(from, to, size);
  finish();
}

}  // namespace bw::bench
