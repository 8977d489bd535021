#include "common/simulator/bench/gemm_runner.hpp"

#include "common/host/blockwise_problem.hpp"
#include "solutions/05_blockwise_fp8_gemm/blockwise_fp8_gemm.hpp"
#include "solutions/05_blockwise_fp8_gemm/device_problem.hpp"

namespace bw::bench {

struct GemmRunner::State {
  DeviceProblem problem;
};

GemmRunner::GemmRunner(std::int64_t m, std::int64_t n, std::int64_t k) {
  constexpr std::uint64_t kSeed = 1;
  constexpr float kBeta = 0.0f;
  state_ = std::make_unique<State>(
      State{DeviceProblem(make_blockwise_problem(m, n, k, kBeta, kSeed, Fill::kNormal))});
}

GemmRunner::~GemmRunner() = default;

void GemmRunner::run() {
  constexpr cudaStream_t kDefaultStream = nullptr;
  blockwise_fp8_gemm(state_->problem.arguments(), kDefaultStream);
  check_cuda(cudaStreamSynchronize(kDefaultStream), "run the GEMM");
}

}  // namespace bw::bench
