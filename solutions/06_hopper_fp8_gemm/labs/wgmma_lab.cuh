#pragma once
/// \file
/// What the wgmma labs of chapter 6 share: operands in shared memory, the product of a K block, the
/// promotion of it, the run on the device, the check against float64, and the line of cycles.
///
/// The task: D [rows, 128] = C + Σ over i of scale(i) · A(i) · B(i)ᵀ with e4m3 operands, where K
/// block i is number i % kLabBlocks of those in shared memory. Nothing is loaded inside of the
/// loop, so that the tensor cores and the promotion are all that takes time.

#include <cuda.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "common/device/elect.cuh"
#include "common/device/fence.cuh"
#include "common/device/shared_address.cuh"
#include "common/device/shared_mem_barrier.cuh"
#include "common/device/tma_load.cuh"
#include "common/device/wgmma.cuh"
#include "common/device/wgmma_descriptor.cuh"
#include "common/host/comparison.hpp"
#include "common/host/device_buffer.hpp"
#include "common/host/hopper_device.hpp"
#include "common/host/number_formats.hpp"
#include "common/host/program.hpp"
#include "common/host/random_normal.hpp"
#include "common/host/tensor_core_sum.hpp"
#include "common/host/tensor_map.hpp"
#include "common/host/timed_launch.hpp"

namespace bw::hopper::lab {

constexpr uint32_t kWarpgroupThreads = 128;
constexpr uint32_t kGroupRows = 64;    ///< of A and D, of each warpgroup: wgmma's M
constexpr uint32_t kLabColumns = 128;  ///< of D, and rows of B: wgmma's N
constexpr uint32_t kBlockK = 128;      ///< e4m3 of a K block: 128 bytes a row
constexpr uint32_t kMmaK = 32;         ///< of them that one wgmma takes
constexpr uint32_t kLabBlocks = 4;     ///< K blocks in shared memory
constexpr uint32_t kUnit = 16;         ///< bytes that a descriptor's address counts
/// Registers that a product of 64 × 128 takes in each of the 128 threads.
constexpr int kRegisters = kGroupRows * kLabColumns / kWarpgroupThreads;

/// A product, or a sum of products, in the layout of wgmma's fragments.
using Fragment = float[kRegisters];

/// The operands of one K block for `groups` warpgroups.
template <uint32_t groups>
struct alignas(1024) KBlock {
  uint8_t a[groups * kGroupRows * kBlockK];  ///< row by row, swizzled by 128 bytes
  uint8_t b[kLabColumns * kBlockK];          ///< row by row, swizzled by 128 bytes
};

/// Kernel arguments. The maps bring boxes of 64 × 128 bytes of A and 128 × 128 of B.
struct WgmmaLabArguments {
  CUtensorMap a_map;         ///< tensor map of A
  CUtensorMap b_map;         ///< tensor map of B
  float scales[kLabBlocks];  ///< of the product of each K block
  const float* c;            ///< [rows, 128], where the sum begins
  float* d;                  ///< [rows, 128]
  uint64_t* cycles;          ///< [warpgroups]
};

/// All threads: brings `count` K blocks into shared memory, and returns when they are there.
template <uint32_t groups>
__device__ __forceinline__ void load_blocks(KBlock<groups>* blocks, uint32_t count,
                                            SharedMemBarrier& loaded,
                                            const WgmmaLabArguments& args) {
  if (threadIdx.x == 0) {
    loaded.init(1);
    ptx::fence_mbarrier_init();
    loaded.arrive_and_expect_bytes(count * sizeof(KBlock<groups>));
    for (uint32_t block = 0; block < count; ++block) {
      const int32_t k = static_cast<int32_t>(block * kBlockK);
      for (uint32_t row = 0; row < groups * kGroupRows; row += kGroupRows) {
        ptx::tma_load_2d(ptx::shared_address(blocks[block].a + row * kBlockK), &args.a_map,
                         loaded.address(), k, static_cast<int32_t>(row));
      }
      ptx::tma_load_2d(ptx::shared_address(blocks[block].b), &args.b_map, loaded.address(), k, 0);
    }
  }
  __syncthreads();
  loaded.wait(0);
}

/// One warpgroup: product = A · Bᵀ over a K block, as one group of four MMAs that it doesn't wait
/// for; `a` and `b`: low words of the operands' descriptors.
__device__ __forceinline__ void begin_product(Fragment& product, uint32_t a, uint32_t b) {
  ptx::wgmma_hold(product);
  ptx::wgmma_fence();
#pragma unroll
  for (uint32_t k = 0; k < kBlockK; k += kMmaK) {
    const uint32_t step = k / kUnit;
    ptx::wgmma_e4m3(product, wgmma_descriptor(a + step), wgmma_descriptor(b + step), k > 0);
  }
  ptx::wgmma_commit_group();
}

/// One warpgroup, after the wait for a product: sum += scale * product.
__device__ __forceinline__ void promote(Fragment& sum, Fragment& product, float scale) {
  ptx::wgmma_hold(product);
#pragma unroll
  for (int i = 0; i < kRegisters; ++i) sum[i] = fmaf(product[i], scale, sum[i]);
}

/// Calls `visit(register, element of a [rows, 128] matrix)` for what a thread holds.
template <class Visit>
__device__ __forceinline__ void for_each_element(Visit&& visit) {
  constexpr uint32_t kWarpThreads = 32, kWarpRows = 16, kLanesPerRow = 4, kColumnsPerBlock = 8;
  const uint32_t warp = threadIdx.x / kWarpThreads, lane = threadIdx.x % kWarpThreads;
  const uint32_t row = warp * kWarpRows + lane / kLanesPerRow;  // warps of all warpgroups in a row
  const uint32_t column = lane % kLanesPerRow * 2;
#pragma unroll
  for (int i = 0; i < kRegisters; ++i) {
    const uint32_t block = i / 4, half = i / 2 % 2;
    visit(i, (row + half * 8) * kLabColumns + block * kColumnsPerBlock + column + i % 2);
  }
}

/// All threads of a warpgroup: read their elements of C.
__device__ __forceinline__ void read_c(const WgmmaLabArguments& args, Fragment& sum) {
  for_each_element([&](int i, uint32_t element) { sum[i] = args.c[element]; });
}

/// All threads of a warpgroup: write their elements of D, and one thread the cycles since `begin`.
__device__ __forceinline__ void write_d(const WgmmaLabArguments& args, const Fragment& sum,
                                        int64_t begin) {
  if (threadIdx.x % kWarpgroupThreads == 0) {
    args.cycles[threadIdx.x / kWarpgroupThreads] = clock64() - begin;
  }
  for_each_element([&](int i, uint32_t element) { args.d[element] = sum[i]; });
}

/// A kernel of one CTA, and what it computes.
struct WgmmaLab {
  /// The kernel.
  void (*kernel)(WgmmaLabArguments);
  uint32_t groups = 1;     ///< warpgroups that multiply, 64 rows of A and D each
  uint32_t products = 1;   ///< K blocks that are added up
  uint32_t shared_bytes;   ///< of dynamic shared memory
  uint32_t k = kBlockK;    ///< columns of a K block that count
  bool is_scaled = false;  ///< whether the products have scales; if not, these are 1
};

/// A map of `rows` rows of kLabBlocks K blocks, in boxes of `box_rows` rows of one.
inline CUtensorMap operand_map(const char* name, const void* data, uint64_t rows,
                               uint32_t box_rows) {
  return make_tensor_map({.name = name,
                          .data = data,
                          .type = CU_TENSOR_MAP_DATA_TYPE_UINT8,
                          .element_bytes = 1,
                          .inner = kLabBlocks * kBlockK,
                          .outer = rows,
                          .stride_bytes = kLabBlocks * kBlockK,
                          .box_inner = kBlockK,
                          .box_outer = box_rows,
                          .swizzle = CU_TENSOR_MAP_SWIZZLE_128B});
}

/// Operands, scales and C of a lab, and D in float64.
struct WgmmaLabProblem {
  std::vector<Fp8E4m3> a, b;    ///< [rows, kLabBlocks · 128], [128, kLabBlocks · 128]
  float scales[kLabBlocks];     ///< of the K blocks
  std::vector<float> c;         ///< [rows, 128]
  std::vector<double> d;        ///< [rows, 128]
  std::vector<double> allowed;  ///< [rows, 128]: error of each element

  /// Random operands; D and the chapter's criterion (`kHopperAccumulationError`) for it.
  explicit WgmmaLabProblem(const WgmmaLab& lab) {
    constexpr int64_t kStride = kLabBlocks * kBlockK;
    const int64_t rows = int64_t{lab.groups} * kGroupRows;
    a = operand(rows * kStride, 0);
    b = operand(kLabColumns * kStride, 1);
    const RandomNormal normal(kSeed, 2);
    for (uint32_t block = 0; block < kLabBlocks; ++block) {
      scales[block] = lab.is_scaled ? std::exp2(normal(block)) : 1.0f;
    }
    // An MMA that begins with C in its registers truncates the whole sum, not a product alone.
    const double truncation =
        lab.is_scaled ? 0 : lab.k / kMmaK * std::ldexp(1.0, -kTensorCoreFractionBits);
    c.resize(rows * kLabColumns);
    d.resize(c.size());
    allowed.resize(c.size());
    for (int64_t i = 0; i < static_cast<int64_t>(c.size()); ++i) {
      c[i] = normal(kLabBlocks + i);
      d[i] = c[i];
      double magnitude = std::fabs(c[i]);
      for (uint32_t product = 0; product < lab.products; ++product) {
        const uint32_t block = product % kLabBlocks;
        for (int64_t k = block * kBlockK; k < block * kBlockK + lab.k; ++k) {
          const double term = double{scales[block]} * to_float(a[i / kLabColumns * kStride + k]) *
                              to_float(b[i % kLabColumns * kStride + k]);
          d[i] += term;
          magnitude += std::fabs(term);
        }
      }
      allowed[i] = allowed_error<float>(d[i], magnitude, kHopperAccumulationError + truncation);
    }
  }

 private:
  static constexpr uint64_t kSeed = 1;

  static std::vector<Fp8E4m3> operand(int64_t size, uint64_t stream) {
    const RandomNormal normal(kSeed, stream);
    std::vector<Fp8E4m3> values(size);
    for (int64_t i = 0; i < size; ++i) values[i] = to_fp8_e4m3(normal(i));
    return values;
  }
};

/// Runs the lab, prints the cycles of its slowest warpgroup and the verdict.
inline ExitStatus run_wgmma_lab(const WgmmaLab& lab) {
  constexpr int kPoisonByte = 0xff;  // every float a NaN
  require_hopper();
  print_machine();
  const WgmmaLabProblem problem(lab);
  const DeviceBuffer<Fp8E4m3> a(problem.a), b(problem.b);
  const DeviceBuffer<float> c(problem.c);
  DeviceBuffer<float> d(static_cast<int64_t>(problem.c.size()));
  DeviceBuffer<uint64_t> cycles(lab.groups);
  d.fill_bytes(kPoisonByte);
  WgmmaLabArguments arguments{};
  arguments.a_map = operand_map("A", a.data(), uint64_t{lab.groups} * kGroupRows, kGroupRows);
  arguments.b_map = operand_map("B", b.data(), kLabColumns, kLabColumns);
  std::memcpy(arguments.scales, problem.scales, sizeof(arguments.scales));
  arguments.c = c.data();
  arguments.d = d.data();
  arguments.cycles = cycles.data();
  run_timed(lab.kernel, {1, lab.groups * kWarpgroupThreads, lab.shared_bytes}, arguments);
  print_most_cycles(cycles.download());
  const std::vector<float> found = d.download();
  return report(compare_elements(
                    static_cast<int64_t>(found.size() / kLabColumns), kLabColumns,
                    [&](int64_t i) { return found[i]; }, [&](int64_t i) { return problem.d[i]; },
                    [&](int64_t i) { return problem.allowed[i]; }),
                "D");
}

}  // namespace bw::hopper::lab
