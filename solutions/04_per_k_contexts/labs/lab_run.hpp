#pragma once
/// \file
/// What the labs of this chapter do alike: a problem from the options, one run, the verdict, the
/// cycles.

#include <cstdint>
#include <cstdio>

#include "common/host/dense_gemm.hpp"
#include "common/host/lab_cycles.hpp"
#include "common/host/program.hpp"
#include "solutions/04_per_k_contexts/blockwise_tile_run.hpp"

namespace bw {

/// One output tile of 128 × 128, sixteen K blocks long.
struct LabOptions : DenseGemmOptions {
  LabOptions() {
    m = 128;
    n = 128;
    k = 16 * kScaleBlock;
  }
};

/// Checks the options and the device, and prints the first lines; `choices`: what the lab runs,
/// as parts of a text.
template <class... Parts>
BlockwiseProblem begin_lab(const LabOptions& options, const Parts&... choices) {
  options.validate();
  require_blackwell();
  print_machine();
  options.print(choices...);
  return make_blockwise_problem(options.m, options.n, options.k, /*beta=*/0.0f,
                                static_cast<uint64_t>(options.seed), Fill::kNormal);
}

/// Error figures of a run against the float64 reference.
inline Comparison compare_lab(const BlockwiseProblem& problem, const DenseGemmRun& run) {
  return compare_with_reference(run.d, problem.n, blockwise_reference(problem));
}

/// Prints how a variant that is expected to be wrong fares; it's an error if it is right.
inline void show_wrong(const char* variant, const Comparison& comparison) {
  require(!comparison.verified(), "The variant '", variant,
          "' has verified, though this lab shows that it is wrong: give a longer --k or larger"
          " sizes.");
  std::printf("wrong    %s: %lld of %lld elements, relative rms %.3g\n", variant,
              static_cast<long long>(comparison.bad_elements),
              static_cast<long long>(comparison.elements), comparison.relative_rms_error);
}

/// Runs `kernel` once; prints the verdict by the float64 reference, and the cycles.
inline ExitStatus run_lab(const BlockwiseProblem& problem, const BlockwiseTileKernel& kernel) {
  const DenseGemmRun run = run_blockwise_tiles(problem, kernel);
  const ExitStatus status = report(compare_lab(problem, run), "D");
  print_cycles(run.milliseconds);
  return status;
}

}  // namespace bw
