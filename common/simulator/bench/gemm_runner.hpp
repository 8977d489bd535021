// The simulated GEMM as the benchmark calls it: the CUDA side behind a plain C++ interface.
#pragma once

#include <cstdint>
#include <memory>

namespace bw::bench {

/// One blockwise FP8 GEMM (chapter 5, beta = 0) with its inputs on the simulated device.
class GemmRunner {
 public:
  GemmRunner(std::int64_t m, std::int64_t n, std::int64_t k);
  ~GemmRunner();
  GemmRunner(const GemmRunner&) = delete;
  GemmRunner& operator=(const GemmRunner&) = delete;

  /// Runs the kernel to its end. Throws bw::Error.
  void run();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace bw::bench
