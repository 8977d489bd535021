#pragma once
/// \file
/// Chapter 5's GEMM in the simulator, for benchmarks.

#include <cstdint>

#include "solutions/05_blockwise_fp8_gemm/blockwise_fp8_gemm.hpp"
#include "solutions/05_blockwise_fp8_gemm/device_problem.hpp"

namespace bw::bench {

/// A GEMM of one shape by one configuration, which can be run again and again.
class SimulatedGemm {
 public:
  /// Makes the operands.
  SimulatedGemm(int m, int n, int k, const char* configuration)
      : kernel_(find_gemm_kernel(configuration)),
        problem_(make_blockwise_problem(m, n, k, kBeta, kSeed, Fill::kNormal)) {}

  /// Launches the kernel and waits for it.
  void run() {
    blockwise_fp8_gemm(problem_.arguments(), kernel_, kDefaultStream);
    check_cuda(cudaStreamSynchronize(kDefaultStream), "run the GEMM");
  }

 private:
  static constexpr float kBeta = 0.0f;
  static constexpr uint64_t kSeed = 1;
  static constexpr cudaStream_t kDefaultStream = nullptr;

  const GemmKernel& kernel_;
  DeviceProblem problem_;
};

}  // namespace bw::bench
