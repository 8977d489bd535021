#pragma once
/// \file
/// The host's side of this chapter's GEMMs: matrices, scales and maps to the device, one launch, D
/// back.

#include <cstdint>

#include "common/device/scale_block.cuh"
#include "common/host/ceil_div.hpp"
#include "common/host/dense_gemm.hpp"
#include "common/host/device_buffer.hpp"
#include "common/host/timed_launch.hpp"
#include "solutions/04_per_k_contexts/blockwise_tile_arguments.cuh"

namespace bw {

/// What one CTA has of an output tile. In a pair each CTA has its own rows and half of B's.
struct CtaTile {
  uint32_t rows;     ///< of A and D
  uint32_t columns;  ///< of D
  uint32_t b_rows;   ///< rows of B that this CTA loads
};

/// A kernel with a CTA for each tile, and what the CTA takes.
struct BlockwiseTileKernel {
  /// The kernel.
  void (*entry)(BlockwiseTileArguments);
  uint32_t threads;            ///< threads of a CTA
  uint32_t shared_bytes;       ///< bytes of dynamic shared memory
  CtaTile ctas;                ///< of the grid
  uint32_t ctas_per_tile = 1;  ///< 2: a pair, one CTA above the other
};

/// Copies the problem to the device, poisons D, and runs the kernel once.
inline DenseGemmRun run_blockwise_tiles(const BlockwiseProblem& problem,
                                        const BlockwiseTileKernel& kernel) {
  constexpr int kPoisonByte = 0xff;  // every bf16 a NaN
  const WallTimer wall;
  const DeviceBuffer<Fp8E4m3> a(problem.a.values), b(problem.b.values);
  const DeviceBuffer<float> a_scales(problem.a.scales), b_scales(problem.b.scales);
  DeviceBuffer<Bf16> d(problem.m * problem.n);
  d.fill_bytes(kPoisonByte);

  const CtaTile& tile = kernel.ctas;
  BlockwiseTileArguments arguments{};
  arguments.a = make_fp8_operand_map("A", a.data(), problem.m, problem.k, tile.rows);
  arguments.b = make_fp8_operand_map("B", b.data(), problem.n, problem.k, tile.b_rows);
  arguments.k_blocks = static_cast<uint32_t>(ceil_div(problem.k, kScaleBlock));
  arguments.a_scales = make_tensor_map({.name = "A-scales",
                                        .data = a_scales.data(),
                                        .type = CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
                                        .element_bytes = sizeof(float),
                                        .inner = static_cast<uint64_t>(problem.m),
                                        .outer = arguments.k_blocks,
                                        .stride_bytes = problem.a.scales_stride * sizeof(float),
                                        .box_inner = tile.rows,
                                        .box_outer = 1,
                                        .swizzle = CU_TENSOR_MAP_SWIZZLE_NONE});
  arguments.a_scale_rows = {a_scales.data(), problem.a.scales_stride};
  arguments.b_scales = {b_scales.data(), problem.b.scales_stride,
                        static_cast<uint32_t>(ceil_div(problem.n, kScaleBlock))};
  arguments.d = {reinterpret_cast<uint16_t*>(d.data()), static_cast<uint32_t>(problem.m),
                 static_cast<uint32_t>(problem.n)};
  arguments.tiles_m = static_cast<uint32_t>(ceil_div(problem.m, tile.rows * kernel.ctas_per_tile));
  const auto tiles_n = static_cast<uint32_t>(ceil_div(problem.n, tile.columns));

  const float milliseconds = run_timed(kernel.entry,
                                       {.ctas = arguments.tiles_m * tiles_n * kernel.ctas_per_tile,
                                        .threads = kernel.threads,
                                        .shared_bytes = kernel.shared_bytes},
                                       arguments);
  return {d.download(), milliseconds, wall.seconds()};
}

}  // namespace bw
