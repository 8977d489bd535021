/// \file
/// A ladder of matrix products by tcgen05, each with one idea more than the one before, in the
/// manner of published ones (learn-cuda, versions 1 to 4). The timing model is never fitted to
/// them.
///
/// Operands are e4m3 with twice the K of bf16: as many bytes, and as many cycles of the tensor
/// cores.

#include <cuda_bf16.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "common/device/fence.cuh"
#include "common/device/instruction_descriptor.cuh"
#include "common/device/mbarrier.cuh"
#include "common/device/shared_address.cuh"
#include "common/device/shared_descriptor.cuh"
#include "common/device/tcgen05_alloc.cuh"
#include "common/device/tcgen05_commit.cuh"
#include "common/device/tcgen05_fence.cuh"
#include "common/device/tcgen05_load_store.cuh"
#include "common/device/tcgen05_mma.cuh"
#include "common/device/tma_load.cuh"
#include "common/host/device_buffer.hpp"
#include "common/host/dynamic_shared_memory.hpp"
#include "tests/hardware/timing/event_time.hpp"
#include "tests/hardware/timing/measurement.hpp"
#include "tests/hardware/timing/tma_boxes.hpp"

namespace bw::timing {
namespace {

constexpr uint32_t kRows = 128;        // of a tile of C
constexpr uint32_t kRowBytes = 128;    // of A's and B's tiles: 64 elements of bf16
constexpr uint32_t kMmaBytes = 32;     // of K that one MMA multiplies
constexpr uint32_t kNarrowBytes = 16;  // of a row that is not swizzled
constexpr uint32_t kAlignment = 1024;
constexpr uint32_t kBarrierBytes = sizeof(uint64_t);
constexpr uint32_t kThreads = 128;

/// What a step of the ladder has.
template <uint32_t columns, uint32_t depth, uint32_t stages, bool roles = false,
          bool narrow = false>
struct Step {
  static constexpr uint32_t kColumns = columns;  ///< of a tile of C
  static constexpr uint32_t kDepth = depth;      ///< of a stage, in rows of kRowBytes
  static constexpr uint32_t kStages = stages;
  static constexpr bool kRoles = roles;    ///< one warp loads and another one multiplies
  static constexpr bool kNarrow = narrow;  ///< rows of 16 bytes, without a swizzle
  static constexpr uint32_t kStageBytes = depth * (kRows + columns) * kRowBytes;
  static constexpr uint32_t kSharedBytes = stages * kStageBytes + kAlignment;
};
using NarrowRows = Step<256, 4, 1, false, true>;
using Swizzled = Step<256, 4, 1>;
using Pipelined = Step<256, 2, 2>;
using WarpSpecialised = Step<128, 1, 7, true>;

__device__ void wait(uint32_t barrier, uint32_t parity) {
  while (!ptx::mbarrier_try_wait_parity(barrier, parity)) {
  }
}

/// Copies of an operand's rows for one stage: those of each row of kRowBytes are contiguous.
template <class S, uint32_t rows>
__device__ void load_operand(uint32_t to, const CUtensorMap* map, uint32_t full, uint32_t block,
                             uint32_t row) {
  constexpr uint32_t kBoxBytes = S::kNarrow ? kNarrowBytes : kRowBytes;
#pragma unroll
  for (uint32_t k = 0; k < S::kDepth * kRowBytes; k += kBoxBytes) {
    ptx::tma_load_2d(to + k * rows, map, full,
                     static_cast<int32_t>(block * S::kDepth * kRowBytes + k),
                     static_cast<int32_t>(row));
  }
}

/// The descriptor of an operand with `rows` rows, `bytes` along K.
template <class S, uint32_t rows>
__device__ uint64_t descriptor(uint32_t tile, uint32_t bytes) {
  if constexpr (!S::kNarrow) {
    return advance_descriptor(
        make_k_major_descriptor(tile + bytes / kRowBytes * kRowBytes * rows, Swizzle::k128B),
        bytes % kRowBytes);
  } else {
    using Layout = SharedDescriptorLayout;
    constexpr uint64_t kColumnBytes = rows * kNarrowBytes, kGroupBytes = 8 * kNarrowBytes;
    const uint64_t start = ((tile + bytes * rows) >> Layout::kUnitShift) & Layout::kFieldMask;
    return start << Layout::kStartAddressShift |
           (kColumnBytes >> Layout::kUnitShift) << Layout::kLeadingByteOffsetShift |
           (kGroupBytes >> Layout::kUnitShift) << Layout::kStrideByteOffsetShift |
           Layout::kVersion << Layout::kVersionShift;
  }
}

/// The stages in shared memory.
template <class S>
struct Ring {
  uint32_t tiles, full, empty, done;

  static constexpr uint32_t kABytes = S::kDepth * kRows * kRowBytes;

  [[nodiscard]] __device__ uint32_t a(uint32_t block) const {
    return tiles + block % S::kStages * S::kStageBytes;
  }
  __device__ void load(const CUtensorMap* map_a, const CUtensorMap* map_b, uint32_t block,
                       uint32_t row, uint32_t column) const {
    const uint32_t stage = block % S::kStages;
    if (block >= S::kStages) wait(empty + stage * kBarrierBytes, (block / S::kStages - 1) % 2);
    const uint32_t barrier = full + stage * kBarrierBytes;
    ptx::mbarrier_arrive_expect_tx(barrier, S::kStageBytes);
    load_operand<S, kRows>(a(block), map_a, barrier, block, row);
    load_operand<S, S::kColumns>(a(block) + kABytes, map_b, barrier, block, column);
  }
  __device__ void multiply(uint32_t d, uint32_t block) const {
    const uint32_t stage = block % S::kStages;
    wait(full + stage * kBarrierBytes, block / S::kStages % 2);
    ptx::tcgen05_fence_after_thread_sync();
#pragma unroll
    for (uint32_t k = 0; k < S::kDepth * kRowBytes; k += kMmaBytes) {
      ptx::tcgen05_mma_f8f6f4<1>(
          d, descriptor<S, kRows>(a(block), k), descriptor<S, S::kColumns>(a(block) + kABytes, k),
          make_e4m3_instruction_descriptor<kRows, S::kColumns, 1>(), block != 0 || k != 0);
    }
    ptx::tcgen05_commit<1>(empty + stage * kBarrierBytes);
  }
};

/// Each thread stores its row of the tile, 16 bytes at a time.
template <class S>
__device__ void store(uint32_t d, __nv_bfloat16* to) {
#pragma unroll 1
  for (uint32_t column = 0; column < S::kColumns; column += 8) {
    float values[8];
    ptx::tcgen05_ld_32x32b(values, d + (threadIdx.x / 32 * 32 << 16) + column);
    ptx::tcgen05_wait_ld(values);
    __nv_bfloat162 pairs[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) pairs[i] = __floats2bfloat162_rn(values[2 * i], values[2 * i + 1]);
    *reinterpret_cast<uint4*>(to + column) = *reinterpret_cast<uint4*>(pairs);
  }
}

/// C = A · Bᵀ, a tile a CTA.
template <class S>
__global__ void __launch_bounds__(kThreads)
    multiply_tiles(const __grid_constant__ CUtensorMap map_a,
                   const __grid_constant__ CUtensorMap map_b, __nv_bfloat16* c, uint32_t columns,
                   uint32_t blocks) {
  extern __shared__ uint8_t raw[];
  __shared__ uint64_t barriers[2 * S::kStages + 1];
  __shared__ uint32_t tmem_address;
  const uint32_t first = ptx::shared_address(barriers);
  const Ring<S> ring{.tiles = (ptx::shared_address(raw) + kAlignment - 1) / kAlignment * kAlignment,
                     .full = first,
                     .empty = first + S::kStages * kBarrierBytes,
                     .done = first + 2 * S::kStages * kBarrierBytes};
  if (threadIdx.x == 0) {
    for (uint32_t i = 0; i <= 2 * S::kStages; ++i) ptx::mbarrier_init(first + i * kBarrierBytes, 1);
    ptx::fence_mbarrier_init();
  }
  if (threadIdx.x / 32 == 1) ptx::tcgen05_alloc<1>(ptx::shared_address(&tmem_address), S::kColumns);
  ptx::tcgen05_fence_before_thread_sync();
  __syncthreads();
  ptx::tcgen05_fence_after_thread_sync();
  const uint32_t d = tmem_address;
  const uint32_t row = blockIdx.x / (columns / S::kColumns) * kRows;
  const uint32_t column = blockIdx.x % (columns / S::kColumns) * S::kColumns;
  if constexpr (S::kRoles) {
    if (threadIdx.x == 0) {
      for (uint32_t block = 0; block < blocks; ++block)
        ring.load(&map_a, &map_b, block, row, column);
    } else if (threadIdx.x == 32) {
      for (uint32_t block = 0; block < blocks; ++block) ring.multiply(d, block);
      ptx::tcgen05_commit<1>(ring.done);
    }
  } else if (threadIdx.x == 0) {
    constexpr uint32_t kAhead = S::kStages - 1;
    for (uint32_t block = 0; block + 1 < S::kStages; ++block)
      ring.load(&map_a, &map_b, block, row, column);
    for (uint32_t block = 0; block < blocks; ++block) {
      if (block + kAhead < blocks) ring.load(&map_a, &map_b, block + kAhead, row, column);
      ring.multiply(d, block);
    }
    ptx::tcgen05_commit<1>(ring.done);
  }
  __syncthreads();
  wait(ring.done, 0);
  ptx::tcgen05_fence_after_thread_sync();
  store<S>(d, c + size_t{row + threadIdx.x} * columns + column);
  ptx::tcgen05_fence_before_thread_sync();
  __syncthreads();
  if (threadIdx.x / 32 == 1) {
    ptx::tcgen05_fence_after_thread_sync();
    ptx::tcgen05_relinquish_alloc_permit<1>();
    ptx::tcgen05_dealloc<1>(d, S::kColumns);
  }
}

/// Adds the rate of a step of the ladder, in TFLOP/s as of bf16.
template <class S>
void add_step(Results& results, const char* name, uint32_t side, const ByteMatrix& a,
              const ByteMatrix& b, DeviceBuffer<__nv_bfloat16>& c) {
  const auto kernel = multiply_tiles<S>;
  constexpr uint32_t kBoxBytes = S::kNarrow ? kNarrowBytes : kRowBytes;
  const CUtensorMap map_a = a.map(kBoxBytes, kRows), map_b = b.map(kBoxBytes, S::kColumns);
  allow_dynamic_shared_memory(reinterpret_cast<const void*>(kernel), S::kSharedBytes);
  const uint32_t tiles = side / kRows * (side / S::kColumns);
  const double microseconds = graph_microseconds([&](cudaStream_t stream) {
    kernel<<<tiles, kThreads, S::kSharedBytes, stream>>>(map_a, map_b, c.data(), side,
                                                         2 * side / kRowBytes / S::kDepth);
  });
  constexpr double kMicrosecondsTera = 1e-6;
  results.add(std::string("ladder.") + name, "side=" + std::to_string(side), "TFLOP/s",
              2.0 * side * side * side / microseconds * kMicrosecondsTera);
}

void climb(Results& results, uint32_t side) {
  const ByteMatrix a(2 * side, side), b(2 * side, side);
  DeviceBuffer<__nv_bfloat16> c(size_t{side} * side);
  add_step<NarrowRows>(results, "narrow_rows", side, a, b, c);
  add_step<Swizzled>(results, "swizzled", side, a, b, c);
  add_step<Pipelined>(results, "pipelined", side, a, b, c);
  add_step<WarpSpecialised>(results, "warp_specialised", side, a, b, c);
}

}  // namespace

void measure_ladder(Results& results) { climb(results, 4096); }

}  // namespace bw::timing
