#pragma once
/// \file
/// What the labs on D = beta · C share around their kernels: options, matrices, verdict; for the
/// lab on the order of loads, which adds sums of A's rows to it, the arithmetic of a row as well.

#include <cuda.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "common/host/ceil_div.hpp"
#include "common/host/dense_gemm.hpp"
#include "common/host/device_buffer.hpp"
#include "common/host/lab_cycles.hpp"
#include "common/host/program.hpp"
#include "common/host/random_normal.hpp"
#include "common/host/tensor_map.hpp"
#include "common/host/timed_launch.hpp"
#include "solutions/05_blockwise_fp8_gemm/labs/c_slices.cuh"

namespace bw::lab {

/// Throws Error for what TMA can't address or the host can't hold, and for a factor beyond fp32.
inline void validate_c_lab(int64_t m, int64_t n, int64_t k, double beta) {
  validate_dense_gemm(m, n, k, /*bytes_per_d=*/4 * sizeof(Bf16));
  require(std::isfinite(static_cast<float>(beta)), "--beta ", beta,
          ": the kernel multiplies in fp32, whose largest number is 3.4e38.");
}

/// The tensor map of a bf16 matrix of these labs, with boxes of one slice.
inline CUtensorMap slice_map(const char* name, const Bf16* data, int64_t rows, int64_t columns) {
  return make_tensor_map({name, data, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, sizeof(Bf16),
                          static_cast<uint64_t>(columns), static_cast<uint64_t>(rows),
                          columns * sizeof(Bf16), CSlice::kColumns, CSlice::kRows,
                          CU_TENSOR_MAP_SWIZZLE_128B});
}

inline constexpr int kPoisonByte = 0xff;  ///< of D before the launch: every bf16 a NaN

/// The options of these labs.
struct COptions {
  int64_t m = 512;    ///< rows of C
  int64_t n = 1024;   ///< columns of C
  double beta = 0.5;  ///< the factor

  /// Adds the options to a command line; this object must outlive its parsing.
  void add_to(CommandLine& command_line) {
    command_line.add("m", m, "rows of C and D");
    command_line.add("n", n, "columns of C and D; a multiple of 8");
    command_line.add("beta", beta, "factor of C");
  }
  /// Throws Error.
  void validate() const {
    constexpr int64_t kAnyK = 16;
    validate_c_lab(m, n, kAnyK, beta);
  }
};

/// Makes a C that tells its positions and a poisoned D, runs `kernel` once, verifies every element
/// exactly, prints the cycles.
inline ExitStatus run_c_lab(const COptions& options, void (*kernel)(CArguments),
                            size_t shared_bytes) {
  BlockwiseProblem problem{};
  problem.m = options.m;
  problem.n = options.n;
  problem.beta = static_cast<float>(options.beta);
  problem.c.resize(options.m * options.n);
  for (int64_t i = 0; i < options.m * options.n; ++i) {
    problem.c[i] = position_code(i / options.n, i % options.n);
  }
  const DeviceBuffer<Bf16> c(problem.c);
  DeviceBuffer<Bf16> d(problem.m * problem.n);
  d.fill_bytes(kPoisonByte);
  const CArguments arguments{slice_map("C", c.data(), options.m, options.n),
                             slice_map("D", d.data(), options.m, options.n),
                             reinterpret_cast<uint16_t*>(d.data()),
                             static_cast<uint32_t>(options.m),
                             static_cast<uint32_t>(options.n),
                             problem.beta};
  const float milliseconds =
      run_timed(kernel,
                {.ctas = static_cast<uint32_t>(ceil_div(options.m, CSlice::kRows)),
                 .threads = CRoles::kThreads,
                 .shared_bytes = static_cast<uint32_t>(shared_bytes)},
                arguments);
  print_cycles(milliseconds);
  return print_verdict(compare_with_residual(d.download(), problem), "D");
}

// The lab on the order of loads.

/// Kernel arguments. A CTA computes 128 rows of D, tile after tile.
struct LoadOrderArguments {
  CUtensorMap a;     ///< bf16 [M, K], box 64 × 128, swizzle 128B: a K block of this lab is 64 wide
  CUtensorMap c;     ///< bf16 [M, N], the same box
  uint16_t* d;       ///< bf16 [M, N]
  uint32_t rows;     ///< of C
  uint32_t columns;  ///< of C
  uint32_t tiles;    ///< along N
  uint32_t k_blocks;  ///< operand blocks of a tile
  float beta;         ///< factor of the residual C; 0: no C
  uint32_t in_order;  ///< 0: C's warp asks whenever it can

  /// First row of the CTA.
  __device__ __forceinline__ int32_t first_row() const { return blockIdx.x * CSlice::kRows; }
};

/// Sum of the calling thread's row of a slice.
__device__ __forceinline__ float row_sum(const uint8_t* slice) {
  float sum = 0;
#pragma unroll
  for (int chunk = 0; chunk < CSlice::kChunks; ++chunk) {
    const uint4 words = *reinterpret_cast<const uint4*>(slice + CSlice::offset(threadIdx.x, chunk));
    for (const uint32_t pair : {words.x, words.y, words.z, words.w}) {
      sum += ptx::unpack_bf16_low(pair) + ptx::unpack_bf16_high(pair);
    }
  }
  return sum;
}

/// Writes the calling thread's row of slice `slice` of D: beta · C + `sum`.
__device__ __forceinline__ void write_row(const LoadOrderArguments& args, const uint8_t* c_slice,
                                          uint32_t slice, float sum) {
  const uint32_t row = args.first_row() + threadIdx.x;
#pragma unroll
  for (int chunk = 0; chunk < CSlice::kChunks; ++chunk) {
    const uint4 c = *reinterpret_cast<const uint4*>(c_slice + CSlice::offset(threadIdx.x, chunk));
    const auto added = [&](uint32_t pair) {
      return ptx::pack_bf16x2(fmaf(args.beta, ptx::unpack_bf16_low(pair), sum),
                              fmaf(args.beta, ptx::unpack_bf16_high(pair), sum));
    };
    const uint32_t column = slice * CSlice::kColumns + chunk * CSlice::kChunkColumns;
    if (row < args.rows && column < args.columns) {
      *reinterpret_cast<uint4*>(args.d + uint64_t{row} * args.columns + column) =
          make_uint4(added(c.x), added(c.y), added(c.z), added(c.w));
    }
  }
}

/// The lab's options.
struct LoadOrderOptions {
  int64_t m = 256;    ///< rows of A, C and D
  int64_t n = 2048;   ///< rows of B, columns of C and D
  int64_t k = 256;    ///< columns of A and B
  double beta = 0.5;  ///< factor of the residual C; 0: no C
  int order = 0;      ///< 0: operands first, 1: as it happens

  /// Adds the options to a command line.
  void add_to(CommandLine& command_line) {
    command_line.add("m", m, "rows of A, C and D");
    command_line.add("n", n, "columns of C and D; a multiple of 8, 256 make a tile");
    command_line.add("k", k, "columns of A; a multiple of 16, 64 make a K block");
    command_line.add("beta", beta, "factor of C");
    command_line.add("order", order, {"operands-first", "none"},
                     "whether C's warp waits for the operands of its tile to be asked for");
  }
  /// Throws Error.
  void validate() const { validate_c_lab(m, n, k, beta); }
};

/// Makes A and C, runs `kernel` once, verifies D against float64, prints the cycles.
inline ExitStatus run_load_order_lab(const LoadOrderOptions& options,
                                     void (*kernel)(LoadOrderArguments), uint32_t threads,
                                     size_t shared_bytes, int64_t tile_columns) {
  const int64_t m = options.m, n = options.n, k = options.k;
  constexpr uint64_t kSeed = 1;
  const RandomNormal normal_a(kSeed, 0), normal_c(kSeed, 1);
  std::vector<Bf16> a(m * k), c(m * n);
  std::vector<double> sums(m), magnitudes(m);
  for (int64_t i = 0; i < m * k; ++i) {
    a[i] = to_bf16(normal_a(i));
    sums[i / k] += to_float(a[i]);
    magnitudes[i / k] += std::fabs(to_float(a[i]));
  }
  for (int64_t i = 0; i < m * n; ++i) c[i] = to_bf16(normal_c(i));

  const DeviceBuffer<Bf16> a_on_device(a), c_on_device(c);
  DeviceBuffer<Bf16> d(m * n);
  d.fill_bytes(kPoisonByte);
  const auto beta = static_cast<float>(options.beta);
  const LoadOrderArguments arguments{
      .a = slice_map("A", a_on_device.data(), m, k),
      .c = slice_map("C", c_on_device.data(), m, n),
      .d = reinterpret_cast<uint16_t*>(d.data()),
      .rows = static_cast<uint32_t>(m),
      .columns = static_cast<uint32_t>(n),
      .tiles = static_cast<uint32_t>(ceil_div(n, tile_columns)),
      .k_blocks = static_cast<uint32_t>(ceil_div(k, CSlice::kColumns)),
      .beta = beta,
      .in_order = options.order == 0};
  const float milliseconds = run_timed(kernel,
                                       {.ctas = static_cast<uint32_t>(ceil_div(m, CSlice::kRows)),
                                        .threads = threads,
                                        .shared_bytes = static_cast<uint32_t>(shared_bytes)},
                                       arguments);
  print_cycles(milliseconds);
  const std::vector<Bf16> result = d.download();
  const auto expected = [&](int64_t i) { return sums[i / n] + double{beta} * to_float(c[i]); };
  return print_verdict(
      compare_elements(
          m, n, [&](int64_t i) { return to_float(result[i]); }, expected,
          [&](int64_t i) { return allowed_error(expected(i), magnitudes[i / n]); }),
      "D");
}

}  // namespace bw::lab
