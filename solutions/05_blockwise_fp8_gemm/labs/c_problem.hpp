#pragma once
/// \file
/// The host's side of the labs on D = beta · C: options, matrices, verdict.

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "common/host/ceil_div.hpp"
#include "common/host/dense_gemm.hpp"
#include "common/host/device_buffer.hpp"
#include "common/host/lab_cycles.hpp"
#include "common/host/program.hpp"
#include "common/host/tensor_map.hpp"
#include "common/host/timed_launch.hpp"
#include "solutions/05_blockwise_fp8_gemm/labs/c_slices.cuh"

namespace bw::lab {

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
  /// Throws Error for what TMA can't address or the host can't hold.
  void validate() const {
    constexpr int64_t kAnyK = 16;
    validate_dense_gemm(m, n, kAnyK, /*bytes_per_d=*/4 * sizeof(Bf16));
    require(std::isfinite(static_cast<float>(beta)), "--beta ", beta,
            ": the kernel multiplies in fp32, whose largest number is 3.4e38.");
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
  constexpr int kPoisonByte = 0xff;  // every bf16 a NaN
  d.fill_bytes(kPoisonByte);
  const auto map = [&](const char* name, const Bf16* data) {
    return make_tensor_map({name, data, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, sizeof(Bf16),
                            static_cast<uint64_t>(options.n), static_cast<uint64_t>(options.m),
                            options.n * sizeof(Bf16), CSlice::kColumns, CSlice::kRows,
                            CU_TENSOR_MAP_SWIZZLE_128B});
  };
  const CArguments arguments{map("C", c.data()),
                             map("D", d.data()),
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

}  // namespace bw::lab
