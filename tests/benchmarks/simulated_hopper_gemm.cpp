#include "tests/benchmarks/simulated_hopper_gemm.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>

#include "common/host/cuda_check.hpp"
#include "common/simulator/cudart/runtime.hpp"
#include "solutions/05_blockwise_fp8_gemm/device_problem.hpp"
#include "solutions/06_hopper_fp8_gemm/hopper_fp8_gemm.hpp"

namespace bw::bench {
namespace {

/// The child's life: a byte for each run, both ways.
void serve(int size, const char* configuration, int requests, int answers) {
  constexpr cudaStream_t kDefaultStream = nullptr;
  constexpr uint64_t kSeed = 1;
  setenv("BW_SIM_MACHINE", "h100", 1);
  sim::cudart::Runtime::instance().device().settings().pin_threads = true;
  const hopper::GemmKernel& kernel = hopper::find_gemm_kernel(configuration);
  DeviceProblem problem(make_blockwise_problem(size, size, size, /*beta=*/0, kSeed, Fill::kNormal));
  for (char byte = 0; read(requests, &byte, 1) == 1;) {
    hopper::blockwise_fp8_gemm(problem.arguments(), kernel, kDefaultStream);
    check_cuda(cudaStreamSynchronize(kDefaultStream), "run the GEMM");
    if (write(answers, &byte, 1) != 1) return;
  }
}

}  // namespace

SimulatedHopperGemm::SimulatedHopperGemm(int size, const char* configuration) {
  int to_child[2] = {}, from_child[2] = {};
  if (pipe(to_child) != 0 || pipe(from_child) != 0)
    throw std::runtime_error("Could not make pipes to a process for the other machine.");
  child_ = fork();
  if (child_ < 0) throw std::runtime_error("Could not start a process for the other machine.");
  if (child_ == 0) {
    close(to_child[1]);
    close(from_child[0]);
    int status = 0;
    try {
      serve(size, configuration, to_child[0], from_child[1]);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s\n", error.what());
      status = 1;
    }
    _exit(status);
  }
  close(to_child[0]);
  close(from_child[1]);
  requests_ = to_child[1];
  answers_ = from_child[0];
}

SimulatedHopperGemm::~SimulatedHopperGemm() {
  close(requests_);
  close(answers_);
  waitpid(child_, nullptr, 0);
}

void SimulatedHopperGemm::run() const {
  char byte = 0;
  if (write(requests_, &byte, 1) != 1 || read(answers_, &byte, 1) != 1)
    throw std::runtime_error("Chapter 6's GEMM has failed in its process.");
}

}  // namespace bw::bench
