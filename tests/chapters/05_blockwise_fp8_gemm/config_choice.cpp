/// \file
/// Which configuration of the GEMM is fastest for a shape, in simulated cycles, and how far off the
/// one is that choose_gemm_kernel picks. `--every` prints all configurations' cycles.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "common/host/blockwise_problem.hpp"
#include "common/host/command_line.hpp"
#include "common/host/cuda_check.hpp"
#include "common/host/program.hpp"
#include "common/simulator/cudart/runtime/runtime.hpp"
#include "solutions/05_blockwise_fp8_gemm/blockwise_fp8_gemm.hpp"
#include "solutions/05_blockwise_fp8_gemm/device_problem.hpp"
#include "solutions/05_blockwise_fp8_gemm/gemm_cost_model.hpp"

namespace {

/// A problem, and the SMs of the device that it runs on: fewer make more waves of tiles, which
/// would take long to simulate with all of them.
struct Case {
  int64_t m, n, k;
  uint32_t multiprocessors;
};

constexpr uint32_t kB200Multiprocessors = 148;
constexpr Case kCases[] = {
    {1, 4096, 512, kB200Multiprocessors},
    {64, 2112, 1024, kB200Multiprocessors},
    {128, 1024, 2048, kB200Multiprocessors},
    {500, 3072, 256, kB200Multiprocessors},
    {1000, 576, 1024, kB200Multiprocessors},
    {1024, 1536, 512, kB200Multiprocessors},
    {129, 136, 272, kB200Multiprocessors},
    {2048, 2048, 256, kB200Multiprocessors},
    {500, 3072, 512, 16},
    {1024, 1024, 512, 8},
    {1000, 576, 1024, 16},
    {64, 4096, 512, 4},
};

struct Measured {
  const bw::GemmKernel* kernel;
  uint64_t cycles;
};

uint64_t simulated_cycles(const bw::DeviceProblem& problem, const bw::GemmKernel& kernel) {
  constexpr cudaStream_t kDefaultStream = nullptr;
  bw::blockwise_fp8_gemm(problem.arguments(), kernel, kDefaultStream);
  bw::check_cuda(cudaStreamSynchronize(kDefaultStream), "run the GEMM");
  return bw::sim::cudart::Runtime::instance().device().last_launch().cycles;
}

/// Every bf16 configuration whose clusters the device holds, the fastest first.
std::vector<Measured> measure(const Case& shape) {
  constexpr float kBeta = 0.5f;
  constexpr uint64_t kSeed = 1;
  const bw::DeviceProblem problem(
      bw::make_blockwise_problem(shape.m, shape.n, shape.k, kBeta, kSeed, bw::Fill::kNormal));
  std::vector<Measured> all;
  for (const bw::GemmKernel& kernel : bw::gemm_kernels()) {
    if (kernel.traits.output != bw::OutputType::kBf16) continue;
    if (kernel.traits.cluster_size() > static_cast<int>(shape.multiprocessors)) continue;
    all.push_back({&kernel, simulated_cycles(problem, kernel)});
  }
  std::sort(all.begin(), all.end(),
            [](const Measured& a, const Measured& b) { return a.cycles < b.cycles; });
  return all;
}

/// Prints the model's choice and the fastest configuration; the ratio of their cycles.
double compare(const Case& shape, bool every) {
  const auto multiprocessors = static_cast<int>(shape.multiprocessors);
  bw::sim::cudart::Runtime::instance().device().settings().sm_count = shape.multiprocessors;
  const std::vector<Measured> all = measure(shape);
  const bw::GemmKernel& chosen =
      bw::choose_gemm_kernel(shape.m, shape.n, shape.k, bw::OutputType::kBf16, multiprocessors);
  const auto of_chosen = std::find_if(all.begin(), all.end(), [&](const Measured& measured) {
    return measured.kernel->name == chosen.name;
  });
  const double ratio =
      static_cast<double>(of_chosen->cycles) / static_cast<double>(all.front().cycles);
  const std::string name =
      std::to_string(shape.m) + "x" + std::to_string(shape.n) + "x" + std::to_string(shape.k);
  std::printf("%-16s %4d  %-20s %8llu  %-20s %8llu  %5.2f\n", name.c_str(), multiprocessors,
              chosen.name.c_str(), static_cast<unsigned long long>(of_chosen->cycles),
              all.front().kernel->name.c_str(), static_cast<unsigned long long>(all.front().cycles),
              ratio);
  for (const Measured& measured : all) {
    if (!every) break;
    const int64_t modelled =
        bw::modelled_cycles(*measured.kernel, shape.m, shape.n, shape.k, multiprocessors);
    std::printf("    %-20s %8llu  (model %lld)\n", measured.kernel->name.c_str(),
                static_cast<unsigned long long>(measured.cycles), static_cast<long long>(modelled));
  }
  std::fflush(stdout);
  return ratio;
}

}  // namespace

int main(int argc, char** argv) {
  bool every = false;
  double most = 0;
  bw::CommandLine command_line(
      "Chapter 5's choice of a configuration against the fastest one, in simulated cycles.");
  command_line.add_flag("every", every, "print the cycles of every configuration");
  command_line.add("most", most, "exit status 1 when a ratio exceeds this; 0: any is fine");
  return bw::run_main(command_line, "05_config_choice", argc, argv, [&] {
    std::printf("%-16s %4s  %-20s %8s  %-20s %8s  %5s\n", "M x N x K", "SMs", "chosen", "cycles",
                "fastest", "cycles", "ratio");
    double worst = 0;
    for (const Case& shape : kCases) worst = std::max(worst, compare(shape, every));
    std::printf("(the simulator's costs are constants, see its README)\n");
    if (most == 0 || worst <= most) return bw::kVerified;
    std::printf("The choice for one of these shapes takes %.2f times what the fastest does.\n",
                worst);
    return bw::kWrongResult;
  });
}
