#pragma once
/// \file
/// What the programs that run and verify the blockwise-scaled FP8 GEMM have in common.

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

#include "common/host/blockwise_problem.hpp"
#include "common/host/blockwise_reference.hpp"
#include "common/host/dense_gemm.hpp"
#include "common/host/program.hpp"

namespace bw {

/// The options of a program.
struct GemmOptions {
  int64_t m = 512;    ///< rows of A, C and D
  int64_t n = 512;    ///< rows of B, columns of C and D
  int64_t k = 1024;   ///< columns of A and B
  double beta = 0.5;  ///< factor of the residual C; 0: the product has no C
  int64_t seed = 1;   ///< seed of the random inputs
  int fill = 0;       ///< index into fill_names(), in the order of Fill
  /// Name of the configuration, or automatic().
  const char* config = automatic();
  bool list_configs = false;  ///< print the names and end

  /// The name that lets the program choose.
  static const char* automatic() { return "auto"; }
  /// What the inputs may be filled with.
  static std::vector<const char*> fill_names() { return {"normal", "position-c"}; }
  /// Whether the program is to choose.
  bool chooses_config() const { return std::strcmp(config, automatic()) != 0; }

  /// Adds the options to a command line; this object must outlive its parsing. `k_help`: what K may
  /// be.
  void add_to(CommandLine& command_line,
              const char* k_help = "columns of A and B; a multiple of 16") {
    command_line.add("m", m, "rows of A, C and D");
    command_line.add("n", n, "rows of B, columns of C and D; a multiple of 8");
    command_line.add("k", k, k_help);
    command_line.add("beta", beta, "factor of the residual C; 0: no C");
    command_line.add("seed", seed, "seed of the random inputs");
    command_line.add("fill", fill, fill_names(),
                     "normal random inputs, or A = 0 and a C that encodes its positions");
    command_line.add("config", config, "name of the configuration; auto: one that fits the shape");
    command_line.add_flag("list-configs", list_configs, "print the names and end");
  }

  /// Throws Error, before anything is allocated, for what the kernel would refuse and for what
  /// won't fit.
  void validate() const {
    constexpr size_t kBytesPerD = 2 * (sizeof(Bf16) + sizeof(float));  // C and D, twice
    validate_dense_gemm(m, n, k, kBytesPerD);
    require(std::isfinite(static_cast<float>(beta)), "--beta ", beta,
            ": the kernel multiplies in fp32, whose largest number is 3.4e38.");
  }

  /// Prints the lines of the configuration and the problem.
  void print(const char* config_name) const {
    std::printf("config   %s\n", config_name);
    std::printf("shape    m %lld, n %lld, k %lld, beta %g, seed %lld, fill %s\n",
                static_cast<long long>(m), static_cast<long long>(n), static_cast<long long>(k),
                beta, static_cast<long long>(seed), fill_names()[fill]);
  }

  /// The problem with random inputs.
  BlockwiseProblem make_problem() const {
    return make_blockwise_problem(m, n, k, static_cast<float>(beta), static_cast<uint64_t>(seed),
                                  static_cast<Fill>(fill));
  }
};

/// Compares a position-encoded C exactly, everything else with the float64 reference.
template <class Output>
ExitStatus verify_gemm(const BlockwiseProblem& problem, const std::vector<Output>& d) {
  if (problem.fill == Fill::kPositionC) return report(compare_with_residual(d, problem), "D");
  return report(compare_with_reference(d, problem.n, blockwise_reference(problem)), "D");
}

/// Prints one name a line.
template <class Kernels>
void list_gemm_kernels(const Kernels& kernels) {
  for (const auto& kernel : kernels) std::printf("%s\n", kernel.name);
}

}  // namespace bw
