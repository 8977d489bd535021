#pragma once
/// \file
/// The host's side of an FP8 GEMM with one scale per tensor: matrices and maps to the device, one
/// launch, D back.

#include <cstdint>

#include "common/host/ceil_div.hpp"
#include "common/host/dense_gemm.hpp"
#include "common/host/device_buffer.hpp"
#include "common/host/timed_launch.hpp"
#include "solutions/03_warp_contexts/fp8_gemm_arguments.cuh"

namespace bw {

/// A kernel, and what each of its CTAs takes.
struct Fp8GemmKernel {
  /// The kernel.
  void (*entry)(Fp8GemmArguments);
  uint32_t threads;       ///< threads of a CTA
  uint32_t shared_bytes;  ///< bytes of dynamic shared memory
};

/// Output tiles of a D of m × n.
inline int64_t fp8_gemm_tiles(int64_t m, int64_t n) {
  return ceil_div(m, Fp8GemmTile::kM) * ceil_div(n, Fp8GemmTile::kN);
}

/// Copies the problem (make_per_tensor_problem) to the device, poisons D, and runs the kernel once
/// on a grid of `ctas`.
inline DenseGemmRun run_fp8_gemm(const BlockwiseProblem& problem, const Fp8GemmKernel& kernel,
                                 uint32_t ctas) {
  constexpr int kPoisonByte = 0xff;  // every bf16 a NaN
  const WallTimer wall;
  const DeviceBuffer<Fp8E4m3> a(problem.a.values), b(problem.b.values);
  DeviceBuffer<Bf16> d(problem.m * problem.n);
  d.fill_bytes(kPoisonByte);

  Fp8GemmArguments arguments{};
  arguments.a = make_fp8_operand_map("A", a.data(), problem.m, problem.k, Fp8GemmTile::kM);
  arguments.b = make_fp8_operand_map("B", b.data(), problem.n, problem.k, Fp8GemmTile::kN);
  arguments.d = {reinterpret_cast<uint16_t*>(d.data()), static_cast<uint32_t>(problem.m),
                 static_cast<uint32_t>(problem.n)};
  arguments.tiles_m = static_cast<uint32_t>(ceil_div(problem.m, Fp8GemmTile::kM));
  arguments.tiles_n = static_cast<uint32_t>(ceil_div(problem.n, Fp8GemmTile::kN));
  arguments.k_blocks = static_cast<uint32_t>(ceil_div(problem.k, Fp8GemmTile::kK));
  arguments.scale = problem.a.scales.front() * problem.b.scales.front();

  const float milliseconds =
      run_timed(kernel.entry, {ctas, kernel.threads, kernel.shared_bytes}, arguments);
  return {d.download(), milliseconds, wall.seconds()};
}

}  // namespace bw
