#pragma once
/// \file
/// What the labs of chapter 1 share: the task (columns of a matrix of 12 tiles by 2 bands, summed),
/// its run on the device, the check against float64, and the line of cycles.

#include <cmath>
#include <cstdint>
#include <vector>

#include "common/host/device_buffer.hpp"
#include "common/host/program.hpp"
#include "common/host/tensor_map.hpp"
#include "common/host/timed_launch.hpp"
#include "solutions/01_mbarrier_pipeline/column_sums.hpp"
#include "solutions/01_mbarrier_pipeline/column_sums_kernel.cuh"

namespace bw {

constexpr uint32_t kLabTiles = 12;  ///< that each CTA sums, one below the other
constexpr uint32_t kLabCtas = 2;    ///< one for each band of columns
constexpr int64_t kLabRows = int64_t{kLabTiles} * kTileRows;
constexpr int64_t kLabColumns = int64_t{kLabCtas} * kTileColumns;

/// True in the warp that copies; the other four sum, one thread a column.
__device__ __forceinline__ bool is_copy_warp() {
  return threadIdx.x / ptx::kWarpThreads == StreamRoles::kProducerWarp;
}

/// A thread of the four summing warps: `sum` plus its column of a tile in shared memory.
__device__ __forceinline__ float add_column(const MatrixTile& tile, float sum) {
#pragma unroll 8
  for (int row = 0; row < kTileRows; ++row) sum += tile.values[row][threadIdx.x];
  return sum;
}

/// A thread of the four summing warps: writes its sum, and thread 0 the cycles since `begin`.
__device__ __forceinline__ void write_sum(const ColumnSumArguments& args, float sum,
                                          int64_t begin) {
  args.sums[blockIdx.x * kTileColumns + threadIdx.x] = sum;
  if (threadIdx.x == 0) args.cycles[blockIdx.x] = clock64() - begin;
}

/// A kernel of kLabCtas CTAs of StreamRoles::kThreads threads, and what it sums: `value(x)` of each
/// element x, whose fp32 form may be off by `value_error` of its magnitude.
struct ColumnSumsLab {
  /// The kernel.
  void (*kernel)(ColumnSumArguments);
  uint32_t shared_bytes;  ///< bytes of dynamic shared memory
  /// What is summed: a function of the element.
  double (*value)(double) = [](double x) { return x; };
  double value_error = 0;  ///< relative error of that
};

/// Runs the lab, prints the cycles of its slowest CTA and the verdict.
inline ExitStatus run_column_sums_lab(const ColumnSumsLab& lab) {
  constexpr uint64_t kSeed = 1;
  constexpr int kPoisonByte = 0xff;  // every float a NaN
  constexpr int kRuns = 2;           // the first one warms a GPU's caches
  print_machine();
  const std::vector<float> matrix = make_normal_matrix(kLabRows, kLabColumns, kSeed);
  const DeviceBuffer<float> device_matrix(matrix);
  DeviceBuffer<float> sums(kLabColumns);
  DeviceBuffer<uint64_t> cycles(kLabCtas);
  ColumnSumArguments arguments{};
  arguments.map = make_tensor_map({.name = "to sum",
                                   .data = device_matrix.data(),
                                   .type = CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
                                   .element_bytes = sizeof(float),
                                   .inner = kLabColumns,
                                   .outer = kLabRows,
                                   .stride_bytes = kLabColumns * sizeof(float),
                                   .box_inner = kTileColumns,
                                   .box_outer = kTileRows,
                                   .swizzle = CU_TENSOR_MAP_SWIZZLE_NONE});
  arguments.matrix = device_matrix.data();
  arguments.rows = kLabRows;
  arguments.columns = kLabColumns;
  arguments.sums = sums.data();
  arguments.cycles = cycles.data();
  for (int run = 0; run < kRuns; ++run) {
    sums.fill_bytes(kPoisonByte);
    run_timed(lab.kernel, {kLabCtas, StreamRoles::kThreads, lab.shared_bytes}, arguments);
  }

  const std::vector<float> got = sums.download();
  std::vector<double> expected(kLabColumns), allowed(kLabColumns);
  for (int64_t i = 0; i < kLabRows * kLabColumns; ++i) {
    constexpr double kHalfUlp = 0x1p-24;
    const double value = lab.value(matrix[i]);
    double& sum = expected[i % kLabColumns];
    sum += value;
    allowed[i % kLabColumns] += lab.value_error * std::fabs(value) + kHalfUlp * std::fabs(sum);
  }
  print_most_cycles(cycles.download());
  return report(
      compare_elements(
          1, kLabColumns, [&](int64_t i) { return got[i]; }, [&](int64_t i) { return expected[i]; },
          // 1.001: the errors of the partial sums that the bound itself leans on
          [&](int64_t i) { return 1.001 * allowed[i]; }),
      "sums");
}

}  // namespace bw
