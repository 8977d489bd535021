#pragma once
/// \file
/// How long a kernel takes for a problem, by a model; for the choice among the kernels.

#include <cstdint>

#include "solutions/05_blockwise_fp8_gemm/gemm_kernels.hpp"

namespace bw {

/// Bytes that the L2 cache of a B200 delivers in a cycle: published, 16.6 TB/s on a B300. The
/// simulator's table of the B200 has the same number with its source.
inline constexpr int64_t kL2BytesPerCycle = 8450;

/// What a kernel's time is made of, in cycles: `start` once, `tile` for every tile that a CTA
/// computes, `k_block` for every K block of a tile.
struct GemmCost {
  int64_t start;    ///< once
  int64_t tile;     ///< for every tile that a CTA computes
  int64_t k_block;  ///< for every K block of a tile
};

/// The costs that follow from the kernel's shape while `ctas` CTAs compute.
///
/// The model's numbers were fitted to this repository's simulator with the timing model
/// (config_choice.cpp has the shapes, and others to judge by); they are not measurements of a GPU.
/// `./workbook bench configs` compares what the model chooses with the fastest configuration.
GemmCost gemm_cost(const GemmKernel& kernel, int64_t ctas);

/// Cycles for a problem of `m` × `n` × `k` on `multiprocessors` SMs, by gemm_cost and the waves of
/// clusters that it takes; the largest number when a cluster doesn't fit.
int64_t modelled_cycles(const GemmKernel& kernel, int64_t m, int64_t n, int64_t k,
                        int multiprocessors);

}  // namespace bw
