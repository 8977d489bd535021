#pragma once
/// \file
/// What the MMA labs of chapter 2 share: the task, D [M, 64] = A [M, K] · B [64, K]ᵀ with e4m3
/// operands, its run on the device, the check against float64, and the line of cycles.

#include <cuda.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "common/device/elect.cuh"
#include "common/device/fence.cuh"
#include "common/device/instruction_descriptor.cuh"
#include "common/device/shared_descriptor.cuh"
#include "common/device/shared_mem_barrier.cuh"
#include "common/device/tcgen05_commit.cuh"
#include "common/device/tcgen05_fence.cuh"
#include "common/device/tcgen05_mma.cuh"
#include "common/device/tma_load.cuh"
#include "common/host/device_buffer.hpp"
#include "common/host/number_formats.hpp"
#include "common/host/program.hpp"
#include "common/host/random_normal.hpp"
#include "common/host/tensor_map.hpp"
#include "common/host/timed_launch.hpp"
#include "solutions/02_tmem_lifecycle/tmem_address.cuh"
#include "solutions/02_tmem_lifecycle/tmem_allocation.cuh"
#include "solutions/02_tmem_lifecycle/tmem_dealloc_barrier.cuh"
#include "solutions/02_tmem_lifecycle/warp_group_barrier.cuh"

namespace bw {

constexpr uint32_t kLabRows = 128;     ///< of A and D in each CTA, one a lane of tensor memory
constexpr uint32_t kLabColumns = 64;   ///< of D, one a column of tensor memory; rows of B
constexpr uint32_t kLabK = 128;        ///< e4m3, 128 bytes a row
constexpr uint32_t kMmaBytes = 32;     ///< along K that one MMA takes
constexpr uint32_t kLabThreads = 128;  ///< that read D, one row each
/// What a swizzle moves as one.
constexpr uint32_t kChunkBytes = sizeof(uint4);

/// The rows of a tile whose swizzle repeats after 1024 bytes.
template <uint32_t rows>
struct alignas(swizzle_repeat_bytes(Swizzle::k128B)) OperandTile {
  uint8_t bytes[rows * kLabK];  ///< row by row
};

/// Kernel arguments. The maps bring boxes of `box_rows` × 128 bytes, swizzled by 128 bytes.
struct MmaLabArguments {
  CUtensorMap a_map;  ///< tensor map of A
  CUtensorMap b_map;  ///< tensor map of B
  const uint8_t* a;   ///< [M, k], row-major
  const uint8_t* b;   ///< [64, k]
  float* d;           ///< [M, 64]
  uint64_t* cycles;   ///< [CTAs]
};

/// All threads of the CTA: a __syncthreads that orders tensor memory as well.
__device__ __forceinline__ void meet_at_tensor_memory() {
  ptx::tcgen05_fence_before_thread_sync();
  __syncthreads();
  ptx::tcgen05_fence_after_thread_sync();
}

/// A thread of warps 0 to 3, after the MMA: reads its row of D from tensor memory, writes it to
/// `d`, and thread 0 the cycles from `begin` until its row was in registers: how rows get from
/// there to global memory is chapter 5's subject, and would take longer than all the rest.
__device__ __forceinline__ void write_d(const MmaLabArguments& args, TmemAddress d, int64_t begin) {
  float row[kLabColumns];
  d.load_32x32b(row);
  TmemAddress::wait_load(row);
  const int64_t end = clock64();
  float* out = args.d + (blockIdx.x * kLabRows + threadIdx.x) * kLabColumns;
#pragma unroll
  for (uint32_t column = 0; column < kLabColumns; ++column) out[column] = row[column];
  if (threadIdx.x == 0) args.cycles[blockIdx.x] = end - begin;
}

/// A kernel, its CTAs (a cluster of two is the kernel's own business) and its K.
struct MmaLab {
  /// The kernel.
  void (*kernel)(MmaLabArguments);
  uint32_t ctas = 1;               ///< of the cluster
  uint32_t threads = kLabThreads;  ///< threads of a CTA
  uint32_t k = kLabK;              ///< columns of A and B
};

/// A map of rows of kLabK bytes, in boxes of `box_rows` rows.
inline CUtensorMap lab_operand_map(const char* name, const void* data, uint64_t rows,
                                   uint32_t box_rows) {
  return make_tensor_map({.name = name,
                          .data = data,
                          .type = CU_TENSOR_MAP_DATA_TYPE_UINT8,
                          .element_bytes = 1,
                          .inner = kLabK,
                          .outer = rows,
                          .stride_bytes = kLabK,
                          .box_inner = kLabK,
                          .box_outer = box_rows,
                          .swizzle = CU_TENSOR_MAP_SWIZZLE_128B});
}

/// Normal random e4m3 numbers.
inline std::vector<Fp8E4m3> make_lab_operand(int64_t size, uint64_t stream) {
  constexpr uint64_t kSeed = 1;
  const RandomNormal normal(kSeed, stream);
  std::vector<Fp8E4m3> values(size);
  for (int64_t i = 0; i < size; ++i) values[i] = to_fp8_e4m3(normal(i));
  return values;
}

/// Compares D with float64; an element may be off by 1e-6 of its products' magnitudes.
inline ExitStatus verify_lab(const std::vector<Fp8E4m3>& a, const std::vector<Fp8E4m3>& b,
                             const std::vector<float>& d, int64_t k) {
  std::vector<double> expected(d.size()), allowed(d.size());
  for (size_t i = 0; i < d.size(); ++i) {
    const size_t row = i / kLabColumns, column = i % kLabColumns;
    for (int64_t j = 0; j < k; ++j) {
      const double product =
          static_cast<double>(to_float(a[row * k + j])) * to_float(b[column * k + j]);
      expected[i] += product;
      allowed[i] += kFp32AccumulationError * std::fabs(product);
    }
  }
  return report(compare_elements(
                    static_cast<int64_t>(d.size() / kLabColumns), kLabColumns,
                    [&](int64_t i) { return d[i]; }, [&](int64_t i) { return expected[i]; },
                    [&](int64_t i) { return allowed[i]; }),
                "D");
}

/// Runs the lab, prints the cycles of its slowest CTA and the verdict.
inline ExitStatus run_mma_lab(const MmaLab& lab) {
  constexpr int kPoisonByte = 0xff;  // every float a NaN
  require_blackwell();
  print_machine();
  const int64_t rows = int64_t{lab.ctas} * kLabRows;
  const std::vector<Fp8E4m3> a = make_lab_operand(rows * lab.k, 0);
  const std::vector<Fp8E4m3> b = make_lab_operand(int64_t{kLabColumns} * lab.k, 1);
  const DeviceBuffer<Fp8E4m3> device_a(a), device_b(b);
  DeviceBuffer<float> d(rows * kLabColumns);
  DeviceBuffer<uint64_t> cycles(lab.ctas);
  d.fill_bytes(kPoisonByte);
  MmaLabArguments arguments{};
  if (lab.k == kLabK) {  // the kernels that load by tensor copies
    arguments.a_map = lab_operand_map("A", device_a.data(), rows, kLabRows);
    arguments.b_map = lab_operand_map("B", device_b.data(), kLabColumns, kLabColumns / lab.ctas);
  }
  arguments.a = reinterpret_cast<const uint8_t*>(device_a.data());
  arguments.b = reinterpret_cast<const uint8_t*>(device_b.data());
  arguments.d = d.data();
  arguments.cycles = cycles.data();
  run_timed(lab.kernel, {lab.ctas, lab.threads, 0}, arguments);
  print_most_cycles(cycles.download());
  return verify_lab(a, b, d.download(), lab.k);
}

}  // namespace bw
