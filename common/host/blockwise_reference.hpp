#pragma once
/// \file
/// The float64 reference of the blockwise-scaled FP8 GEMM.

#include <vector>

#include "common/host/blockwise_problem.hpp"

namespace bw {

/// What D should be, element by element [M, N].
struct BlockwiseReference {
  std::vector<double> d;          ///< Σ a·b·scales + beta·C, in float64
  std::vector<double> magnitude;  ///< Σ |a·b|·scales: what rounding errors are relative to
};

/// Computes the reference from the dequantised operands (reference_in_blocks.hpp).
BlockwiseReference blockwise_reference(const BlockwiseProblem& problem);

}  // namespace bw
