#pragma once
/// \file
/// How long a kernel takes for a problem, by a model; for the choice among the kernels.

#include <cstdint>

#include "solutions/05_blockwise_fp8_gemm/gemm_kernels.hpp"

namespace bw {

/// What a kernel's time is made of, in cycles: `start` once, `tile` for every tile that a CTA
/// computes, `k_block` for every K block of a tile.
struct GemmCost {
  int64_t start;    ///< once
  int64_t tile;     ///< for every tile that a CTA computes
  int64_t k_block;  ///< for every K block of a tile
};

/// The costs that follow from the kernel's shape.
///
/// The model's numbers were fitted on 2026-11-21 to this repository's simulator with constant costs
/// from published measurements (BW_SIM_TIMING=simple); they are not measurements of a GPU, and not
/// fitted to the simulator's timing model yet. `./workbook bench configs` compares what the model
/// chooses with the fastest configuration of all. Of that day, with constants, in simulated cycles,
/// with beta = 0.5 (with fewer SMs there are more waves of tiles):
///
///     M x N x K         SMs  chosen                 cycles  fastest                cycles  ratio
///     1x4096x512        148  cta1_64x128_1x1          5738  cta1_64x128_1x1          5738   1.00
///     64x2112x1024      148  cta2_128x128_8x2         6868  cta2_128x128_8x2         6868   1.00
///     128x1024x2048     148  cta2_128x128_8x2         9900  cta2_128x128_8x2         9900   1.00
///     500x3072x256      148  cta1_128x96_1x1          4679  cta1_128x96_1x1          4679   1.00
///     1000x576x1024     148  cta2_128x128_8x2         6868  cta2_128x128_8x2         6868   1.00
///     1024x1536x512     148  cta1_128x96_1x1          5779  cta1_128x96_1x1          5779   1.00
///     129x136x272       148  cta1_64x128_1x1          5130  cta2_128x128_8x2         4973   1.03
///     2048x2048x256     148  cta1_128x256_1x1         7294  cta1_128x256_1x1         7294   1.00
///     500x3072x512       16  cta1_128x256_1x1        19032  cta1_128x256_1x1        19032   1.00
///     1024x1024x512       8  cta1_128x256_1x1        24275  cta1_128x256_1x1        24275   1.00
///     1000x576x1024      16  cta1_128x256_1x1        18779  cta1_128x256_1x1        18779   1.00
///     64x4096x512         4  cta1_128x256_1x1        24275  cta1_128x256_1x1        24275   1.00
GemmCost gemm_cost(const GemmKernel& kernel);

/// Cycles for a problem of `m` × `n` × `k` on `multiprocessors` SMs, by gemm_cost and the waves of
/// clusters that it takes; the largest number when a cluster doesn't fit.
int64_t modelled_cycles(const GemmKernel& kernel, int64_t m, int64_t n, int64_t k,
                        int multiprocessors);

}  // namespace bw
