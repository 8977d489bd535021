#pragma once
/// \file
/// When a result of the Hopper GEMM is right. An element passes if it is within the criterion
/// (allowed_error() with kHopperAccumulationError), or if it is, bit for bit, what the tensor
/// cores compute in the kernel's order: chapter 6, "How many bits the tensor cores keep". Of the
/// latter there may be a few only.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <vector>

#include "common/host/blockwise_problem.hpp"
#include "common/host/blockwise_reference.hpp"
#include "common/host/comparison.hpp"
#include "common/host/program.hpp"
#include "common/host/tensor_core_element.hpp"
#include "solutions/06_hopper_fp8_gemm/summation_order.hpp"

namespace bw::hopper {

/// Most elements that may be off by more than is allowed because the tensor cores keep 13 fraction
/// bits. With normal random inputs K = 128 is the worst length of K: 10 of 29.4 million elements,
/// of the model as of cuBLASLt on an H100. Three times that share, and one where that is zero.
constexpr int64_t most_outside(int64_t elements) {
  constexpr int64_t kElementsPerOutside = 1000000;
  return 1 + elements / kElementsPerOutside;
}

/// What verify_elements() found.
struct Verification {
  /// Of all elements. Those that are explained count as good, unless there are too many outside of
  /// the criterion; then all those count as bad, and the first bad one is the first unexplained
  /// one, as far as there is one among the first most_outside() + 1.
  Comparison comparison;
  /// Elements outside of the criterion that are, bit for bit, the model's; 0 if too many elements
  /// are outside.
  int64_t explained = 0;
  /// There are too many outside, and the first most_outside() + 1 of them are all the model's.
  bool too_many_explained = false;
};

/// Verifies `d` [M, N] of a kernel that sums K in `order`. Throws Error if D hasn't the reference's
/// size.
inline Verification verify_elements(const BlockwiseProblem& problem, const std::vector<Bf16>& d,
                                    const SummationOrder& order,
                                    const BlockwiseReference& reference) {
  const int64_t most = most_outside(static_cast<int64_t>(d.size()));
  std::vector<BadElement> outside;  // the first ones: one more than there may be
  Verification result;
  Comparison& comparison = result.comparison;
  comparison = compare_with_reference(d, problem.n, reference, kHopperAccumulationError,
                                      [&](const BadElement& element) {
                                        if (static_cast<int64_t>(outside.size()) <= most) {
                                          outside.push_back(element);
                                        }
                                      });
  const auto is_explained = [&](const BadElement& element) {
    return d[element.row * problem.n + element.column] ==
           tensor_core_element(problem, element.row, element.column,
                               order.parts_of(element.row, element.column));
  };
  const auto first_unexplained = std::find_if_not(outside.begin(), outside.end(), is_explained);
  if (first_unexplained != outside.end()) comparison.first_bad = *first_unexplained;
  if (comparison.bad_elements > most) {
    result.too_many_explained = first_unexplained == outside.end();
    return result;
  }
  result.explained = std::count_if(outside.begin(), outside.end(), is_explained);
  comparison.bad_elements -= result.explained;
  if (comparison.bad_elements == 0) comparison.first_bad.reset();
  return result;
}

/// Prints the error figures, a line about elements that the model explains, where there are any,
/// and the verdict.
inline ExitStatus report(const Verification& verification) {
  const Comparison& comparison = verification.comparison;
  print_error_figures(comparison, "D");
  if (verification.explained > 0) {
    std::printf("explained %lld %s, bit for bit, what the tensor cores compute (chapter 6)\n",
                static_cast<long long>(verification.explained),
                verification.explained == 1 ? "element outside is" : "elements outside are");
  }
  if (verification.too_many_explained) {
    std::printf(
        "too many elements outside are, bit for bit, what the tensor cores compute (chapter 6): "
        "at least %lld, where %lld may be\n",
        static_cast<long long>(most_outside(comparison.elements) + 1),
        static_cast<long long>(most_outside(comparison.elements)));
  }
  return print_verdict(comparison, "D");
}

/// Verifies D and prints what came out: a position-encoded C exactly, everything else as
/// verify_elements() does.
inline ExitStatus verify(const BlockwiseProblem& problem, const std::vector<Bf16>& d,
                         const SummationOrder& order) {
  if (problem.fill == Fill::kPositionC) return bw::report(compare_with_residual(d, problem), "D");
  return report(verify_elements(problem, d, order, blockwise_reference(problem)));
}

}  // namespace bw::hopper
