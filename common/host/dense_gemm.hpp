#pragma once
/// \file
/// GEMMs over matrices in dense rows, D [M, N] = A [M, K] · B [N, K]ᵀ with e4m3 operands: the
/// options and shapes that programs take, the operands' tensor maps, and the verdict on a bf16 D.

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "common/device/scale_block.cuh"
#include "common/host/blockwise_problem.hpp"
#include "common/host/blockwise_reference.hpp"
#include "common/host/command_line.hpp"
#include "common/host/error.hpp"
#include "common/host/gemm_checks.hpp"
#include "common/host/program.hpp"
#include "common/host/tensor_map.hpp"

namespace bw {

/// Throws Error for options --m, --n, --k that TMA can't address, whose dense rows it can't take,
/// or whose matrices and reference don't fit the host. `bytes_per_d`: what the host holds for each
/// element of D, C and their copies on the device (which the simulator keeps in host memory too).
inline void validate_dense_gemm(int64_t m, int64_t n, int64_t k, size_t bytes_per_d) {
  constexpr int64_t kKUnit = 16, kNUnit = 8;  // 16 bytes of e4m3, of bf16
  validate_gemm_shape(m, n, k);
  require(k % kKUnit == 0, "--k ", k,
          ": this program stores A and B without padding, and TMA needs rows that are a multiple"
          " of 16 bytes apart: give a multiple of 16.");
  require(n % kNUnit == 0, "--n ", n,
          ": this program stores C and D without padding, and rows must be a multiple of 16 bytes"
          " apart: give a multiple of 8.");
  constexpr double kBytesPerOperand = 2;                     // codes on host and device
  constexpr double kBytesPerReference = 2 * sizeof(double);  // the value and the magnitude
  const double rows = static_cast<double>(m), columns = static_cast<double>(n);
  const double depth = static_cast<double>(k);
  require_host_memory(kBytesPerOperand * (rows + columns) * depth +
                      (static_cast<double>(bytes_per_d) + kBytesPerReference) * rows * columns);
}

/// The options that name a problem.
struct DenseGemmOptions {
  int64_t m = 512;   ///< rows of A, C and D
  int64_t n = 512;   ///< rows of B, columns of C and D
  int64_t k = 1024;  ///< columns of A and B
  int64_t seed = 1;  ///< seed of the random inputs

  /// Adds the options to a command line; this object must outlive its parsing.
  void add_to(CommandLine& command_line) {
    command_line.add("m", m, "rows of A and D");
    command_line.add("n", n, "rows of B, columns of D; a multiple of 8");
    command_line.add("k", k, "columns of A and B; a multiple of 16");
    command_line.add("seed", seed, "seed of the random inputs");
  }

  /// Throws Error for what the kernel would refuse and for what won't fit.
  void validate() const {
    constexpr size_t kBytesPerD = 2 * sizeof(Bf16);  // on host and device
    validate_dense_gemm(m, n, k, kBytesPerD);
  }

  /// Prints the problem's line; `choices`: the program's own options, in words.
  void print(const std::string& choices) const {
    std::printf("shape    m %lld, n %lld, k %lld, %s, seed %lld\n", static_cast<long long>(m),
                static_cast<long long>(n), static_cast<long long>(k), choices.c_str(),
                static_cast<long long>(seed));
  }
};

/// Floating-point operations of a problem: one product and one sum for each m, n, k.
inline double gemm_flops(int64_t m, int64_t n, int64_t k) {
  return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
}

/// What one run on the device gives.
struct DenseGemmRun {
  std::vector<Bf16> d;  ///< the result
  float milliseconds;   ///< of the fastest run, on the device
  double wall_seconds;  ///< of the whole
};

/// Prints the time of a run, and the verdict on its D by the float64 reference.
inline ExitStatus report_run(const BlockwiseProblem& problem, const DenseGemmRun& run) {
  print_time(run.milliseconds, gemm_flops(problem.m, problem.n, problem.k), run.wall_seconds);
  return report(compare_with_reference(run.d, problem.n, blockwise_reference(problem)), "D");
}

/// Map of an e4m3 operand [rows, k] whose tiles are `tile_rows` rows of 128 bytes along K, with
/// the 128B swizzle.
inline CUtensorMap make_fp8_operand_map(const char* name, const Fp8E4m3* data, int64_t rows,
                                        int64_t k, uint32_t tile_rows) {
  return make_tensor_map({.name = name,
                          .data = data,
                          .type = CU_TENSOR_MAP_DATA_TYPE_UINT8,
                          .element_bytes = sizeof(Fp8E4m3),
                          .inner = static_cast<uint64_t>(k),
                          .outer = static_cast<uint64_t>(rows),
                          .stride_bytes = static_cast<uint64_t>(k),
                          .box_inner = kScaleBlock,
                          .box_outer = tile_rows,
                          .swizzle = CU_TENSOR_MAP_SWIZZLE_128B});
}

}  // namespace bw
