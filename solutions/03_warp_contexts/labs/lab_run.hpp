#pragma once
/// \file
/// What the labs of this chapter do alike: a problem from the options, one run, the verdict, the
/// cycles.

#include <cstdint>
#include <cstdio>

#include "common/host/dense_gemm.hpp"
#include "common/host/lab_cycles.hpp"
#include "common/host/program.hpp"
#include "solutions/03_warp_contexts/fp8_gemm_run.hpp"
#include "solutions/03_warp_contexts/per_tensor_problem.hpp"

namespace bw {

/// Eight output tiles, one above the other, of eight K blocks each.
struct LabOptions : DenseGemmOptions {
  LabOptions() {
    m = 8 * Fp8GemmTile::kM;
    n = Fp8GemmTile::kN;
    k = 8 * Fp8GemmTile::kK;
  }
  /// Tiles of D.
  int64_t tiles() const { return fp8_gemm_tiles(m, n); }
};

/// Checks the options and the device, and prints the first lines; `choices`: what the lab runs,
/// as parts of a text.
template <class... Parts>
BlockwiseProblem begin_lab(const LabOptions& options, const Parts&... choices) {
  options.validate();
  require_blackwell();
  print_machine();
  options.print(options.tiles(), " tiles, ", choices...);
  return make_per_tensor_problem(options.m, options.n, options.k,
                                 static_cast<uint64_t>(options.seed));
}

/// Runs `kernel` once on `ctas` CTAs; prints the verdict by the float64 reference, and the cycles.
inline ExitStatus run_lab(const BlockwiseProblem& problem, const Fp8GemmKernel& kernel,
                          int64_t ctas) {
  const DenseGemmRun run = run_fp8_gemm(problem, kernel, static_cast<uint32_t>(ctas));
  const ExitStatus status =
      report(compare_with_reference(run.d, problem.n, blockwise_reference(problem)), "D");
  print_cycles(run.milliseconds);
  return status;
}

}  // namespace bw
