#pragma once
/// \file
/// Inputs of the block-scaled GEMM and what D should be: D [M, N] = A [M, K] · B [N, K]ᵀ, each
/// element scaled by its block's scale and its matrix' factor, + beta · C [M, N].

#include <cstdint>
#include <vector>

#include "common/host/block_scaled_matrix.hpp"
#include "common/host/blockwise_problem.hpp"
#include "common/host/blockwise_reference.hpp"

namespace bw {

/// One problem on the host.
struct BlockScaledProblem {
  int64_t m;            ///< rows of A, C and D
  int64_t n;            ///< rows of B, columns of C and D
  int64_t k;            ///< columns of A and B
  float beta;           ///< factor of C
  Fill fill;            ///< what the matrices are filled with
  BlockScaledMatrix a;  ///< [M, K]
  BlockScaledMatrix b;  ///< [N, K]
  std::vector<Bf16> c;  ///< [M, N]; empty when beta is 0

  /// What the product of the scaled elements is multiplied by: the factors of A and B.
  float factor() const { return a.factor * b.factor; }
};

/// Makes the operands of `m` × `n` × `k` from `seed`. C is made only when beta isn't 0.
BlockScaledProblem make_block_scaled_problem(BlockFormat format, int64_t m, int64_t n, int64_t k,
                                             float beta, uint64_t seed, Fill fill);

/// The float64 reference, computed from the codes and the plain matrices of scales on all cores. It
/// knows nothing of atoms, tiles or tensor memory.
BlockwiseReference block_scaled_reference(const BlockScaledProblem& problem);

}  // namespace bw
