#include "tests/gpu_reference/mma_steps.hpp"

#include "common/device/fence.cuh"
#include "common/device/shared_address.cuh"
#include "common/device/wgmma.cuh"
#include "common/device/wgmma_descriptor.cuh"
#include "common/host/cuda_check.hpp"
#include "common/host/device_buffer.hpp"

namespace bw {
namespace {

constexpr int kThreads = 128;
constexpr int kRows = MmaTiles::kRows, kColumns = MmaTiles::kColumns, kDepth = MmaTiles::kDepth;
constexpr int kRegisters = kRows * kColumns / kThreads;
constexpr int kTileBytes = kRows * kDepth;
constexpr uint32_t kSwizzleAlignment = 1024;
static_assert(kRows == kColumns, "one loop copies both operands");

/// Place of register i of this thread in a row-major tile of accumulators (wgmma.cuh).
__device__ int place(int i) {
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int row = 16 * warp + lane / 4 + 8 * (i / 2 % 2);
  const int column = 8 * (i / 4) + 2 * (lane % 4) + i % 2;
  return row * kColumns + column;
}

__device__ void step(float (&accumulator)[kRegisters], uint32_t a, uint32_t b, int step) {
  constexpr uint32_t kUnit = 16;  // bytes, of a descriptor's address
  const uint32_t k = step * MmaTiles::kStepDepth / kUnit;
  ptx::wgmma_e4m3(accumulator, wgmma_descriptor(a + k), wgmma_descriptor(b + k), true);
}

__global__ void __launch_bounds__(kThreads)
    run_tiles(const uint8_t* a, const uint8_t* b, const float* initial, float* after,
              float* chained) {
  __shared__ alignas(kSwizzleAlignment) uint8_t tiles[2 * kTileBytes];
  const int64_t tile = blockIdx.x;
  for (int i = threadIdx.x; i < kTileBytes; i += kThreads) {
    const int row = i / kDepth, column = i % kDepth;
    // The 128B swizzle: 16-byte chunks are exchanged by the row's number modulo 8.
    const int swizzled = row * kDepth + ((column / 16) ^ (row % 8)) * 16 + column % 16;
    tiles[swizzled] = a[tile * kTileBytes + i];
    tiles[kTileBytes + swizzled] = b[tile * kTileBytes + i];
  }
  ptx::fence_proxy_async_shared();
  __syncthreads();
  const uint32_t a_operand = wgmma_descriptor_low(ptx::shared_address(tiles));
  const uint32_t b_operand = wgmma_descriptor_low(ptx::shared_address(tiles + kTileBytes));
  const auto load = [&](float(&accumulator)[kRegisters]) {
#pragma unroll
    for (int i = 0; i < kRegisters; ++i) {
      accumulator[i] = initial[tile * kRows * kColumns + place(i)];
    }
    ptx::wgmma_hold(accumulator);
    ptx::wgmma_fence();
  };
  const auto finish = [&](float(&accumulator)[kRegisters], float* result) {
    ptx::wgmma_commit_group();
    ptx::wgmma_wait_group<0>();
    ptx::wgmma_hold(accumulator);
#pragma unroll
    for (int i = 0; i < kRegisters; ++i) result[place(i)] = accumulator[i];
  };
  float accumulator[kRegisters];
  load(accumulator);
#pragma unroll
  for (int k = 0; k < MmaTiles::kSteps; ++k) {
    ptx::wgmma_fence();
    step(accumulator, a_operand, b_operand, k);
    finish(accumulator, after + (tile * MmaTiles::kSteps + k) * kRows * kColumns);
  }
  load(accumulator);
#pragma unroll
  for (int k = 0; k < MmaTiles::kSteps; ++k) step(accumulator, a_operand, b_operand, k);
  finish(accumulator, chained + tile * kRows * kColumns);
}

/// Bytes of e4m3 values, for the kernel.
DeviceBuffer<uint8_t> upload_bits(const std::vector<Fp8E4m3>& values) {
  std::vector<uint8_t> bits;
  bits.reserve(values.size());
  for (const Fp8E4m3 value : values) bits.push_back(value.bits);
  return DeviceBuffer<uint8_t>(bits);
}

}  // namespace

MmaResults run_mma_steps(const MmaTiles& tiles) {
  const DeviceBuffer<uint8_t> a = upload_bits(tiles.a), b = upload_bits(tiles.b);
  const DeviceBuffer<float> initial(tiles.initial);
  DeviceBuffer<float> after(tiles.initial.size() * MmaTiles::kSteps);
  DeviceBuffer<float> chained(tiles.initial.size());
  run_tiles<<<tiles.tiles, kThreads>>>(a.data(), b.data(), initial.data(), after.data(),
                                       chained.data());
  check_cuda(cudaGetLastError(), "launch single wgmma steps");
  return {after.download(), chained.download()};
}

}  // namespace bw
