/// \file
/// How fast the simulator is: the simulated blockwise FP8 GEMM against OpenBLAS sgemm of the same
/// size on the same cores, the two in turn; with the timing model against without one; against
/// chapter 6's GEMM, whose sums have an H100's bits; and how its time grows with size and with host
/// threads.
#include <cblas.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <functional>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "common/host/cuda_check.hpp"
#include "common/simulator/cudart/runtime/runtime.hpp"
#include "solutions/05_blockwise_fp8_gemm/device_problem.hpp"
#include "solutions/06_hopper_fp8_gemm/hopper_fp8_gemm.hpp"
#include "tests/benchmarks/duel.hpp"
#include "tests/benchmarks/gemm_process.hpp"
#include "tests/benchmarks/simulated_gemm.hpp"

namespace {

using bw::bench::Duel;
using bw::bench::duel;
using bw::bench::GemmProcess;
using bw::bench::SimulatedGemm;

struct Shape {
  int m, n, k;
  [[nodiscard]] double flop() const { return 2.0 * m * n * k; }
};

constexpr Shape kShapes[] = {
    {512, 512, 512}, {1024, 1024, 1024}, {2048, 2048, 1024}, {4096, 4096, 1024}};
constexpr Shape kThreadShape = {1024, 1024, 1024};
/// The same for all shapes, so that their times can be compared.
constexpr const char* kConfiguration = "cta1_128x128_1x1";
constexpr Shape kHopperShape = {1024, 1024, 1024};
constexpr const char* kHopperConfiguration = "128x192_2x1";

/// OpenBLAS' product of random matrices of a shape.
class Sgemm {
 public:
  explicit Sgemm(const Shape& shape)
      : shape_(shape),
        a_(random(shape.m, shape.k)),
        b_(random(shape.n, shape.k)),
        d_(static_cast<size_t>(shape.m) * static_cast<size_t>(shape.n)) {}

  void run() {
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, shape_.m, shape_.n, shape_.k, 1.0f,
                a_.data(), shape_.k, b_.data(), shape_.k, 0.0f, d_.data(), shape_.n);
  }

 private:
  static std::vector<float> random(int rows, int columns) {
    std::mt19937 generator(1);
    std::normal_distribution<float> normal;
    std::vector<float> values(static_cast<size_t>(rows) * static_cast<size_t>(columns));
    for (float& value : values) value = normal(generator);
    return values;
  }

  Shape shape_;
  std::vector<float> a_, b_, d_;
};

Duel simulator_against_sgemm(const Shape& shape) {
  SimulatedGemm simulated(shape.m, shape.n, shape.k, kConfiguration);
  Sgemm sgemm(shape);
  return duel([&] { simulated.run(); }, [&] { sgemm.run(); });
}

void compare_with_openblas(unsigned threads) {
  std::printf("%-16s %12s %10s %7s %11s %12s %10s %14s\n", "M x N x K", "simulated ms", "sgemm ms",
              "ratio", "Gflop/s", "warp instr.", "M instr/s", "device cycles");
  for (const Shape& shape : kShapes) {
    const Duel times = simulator_against_sgemm(shape);
    const bw::sim::LaunchResult& launch =
        bw::sim::cudart::Runtime::instance().device().last_launch();
    char name[32];
    std::snprintf(name, sizeof name, "%dx%dx%d", shape.m, shape.n, shape.k);
    const auto instructions = static_cast<double>(launch.warp_instructions);
    std::printf("%-16s %12.1f %10.2f %7.2f %11.1f %12.0f %10.1f %14llu\n", name, times.first * 1e3,
                times.second * 1e3, times.ratio, shape.flop() / times.first * 1e-9, instructions,
                instructions / times.first * 1e-6, static_cast<unsigned long long>(launch.cycles));
    std::fflush(stdout);
  }
  std::printf(
      "(%u host threads for both, in turn, medians; chapter 5's %s; sgemm is OpenBLAS, %s)\n\n",
      threads, kConfiguration, openblas_get_corename());
}

/// A launch lasts milliseconds: on a virtual machine whose scheduler fills one core before it uses
/// the next, both of its threads would share a core, while OpenBLAS' threads, which spin between
/// two products, have been spread long ago.
void pin_threads() { bw::sim::cudart::Runtime::instance().device().settings().pin_threads = true; }

/// In its process: chapter 5's GEMM.
std::function<void()> blackwell_gemm() {
  pin_threads();
  const auto gemm = std::make_shared<SimulatedGemm>(kThreadShape.m, kThreadShape.n, kThreadShape.k,
                                                    kConfiguration);
  return [gemm] { gemm->run(); };
}

/// In its process, on an H100: chapter 6's GEMM.
std::function<void()> hopper_gemm() {
  constexpr cudaStream_t kDefaultStream = nullptr;
  constexpr uint64_t kSeed = 1;
  pin_threads();
  const auto problem = std::make_shared<bw::DeviceProblem>(bw::make_blockwise_problem(
      kHopperShape.m, kHopperShape.n, kHopperShape.k, /*beta=*/0, kSeed, bw::Fill::kNormal));
  return [problem] {
    bw::hopper::blockwise_fp8_gemm(
        problem->arguments(), bw::hopper::find_gemm_kernel(kHopperConfiguration), kDefaultStream);
    bw::check_cuda(cudaStreamSynchronize(kDefaultStream), "run the GEMM");
  };
}

/// What the timing model costs, and how the simulator does without one against OpenBLAS.
void compare_timing(const GemmProcess& model, const GemmProcess& simple) {
  const Duel times = duel([&] { model.run(); }, [&] { simple.run(); });
  Sgemm sgemm(kThreadShape);
  const Duel against_sgemm = duel([&] { simple.run(); }, [&] { sgemm.run(); });
  std::printf("%-16s %12s %12s %7s %10s %13s\n", "M x N x K", "model ms", "simple ms", "ratio",
              "sgemm ms", "simple/sgemm");
  char name[32];
  std::snprintf(name, sizeof name, "%dx%dx%d", kThreadShape.m, kThreadShape.n, kThreadShape.k);
  std::printf(
      "%-16s %12.1f %12.1f %7.2f %10.2f %13.2f\n"
      "(in turn, medians; BW_SIM_TIMING=model and =simple)\n\n",
      name, times.first * 1e3, times.second * 1e3, times.ratio, against_sgemm.second * 1e3,
      against_sgemm.ratio);
  std::fflush(stdout);
}

/// Chapter 6's GEMM on the simulated H100 against chapter 5's on the simulated B200, in turn.
void compare_chapters(const GemmProcess& hopper) {
  SimulatedGemm blackwell(kHopperShape.m, kHopperShape.n, kHopperShape.k, kConfiguration);
  const Duel times = duel([&] { hopper.run(); }, [&] { blackwell.run(); });
  std::printf("%-16s %12s %12s %7s\n", "M x N x K", "chapter 6 ms", "chapter 5 ms", "ratio");
  char name[32];
  std::snprintf(name, sizeof name, "%dx%dx%d", kHopperShape.m, kHopperShape.n, kHopperShape.k);
  std::printf("%-16s %12.1f %12.1f %7.2f\n(in turn, medians; %s on an H100, %s on a B200)\n\n",
              name, times.first * 1e3, times.second * 1e3, times.ratio, kHopperConfiguration,
              kConfiguration);
  std::fflush(stdout);
}

/// The simulated GEMM with one host thread against 2, 4, ... of them, in turn.
void scale_with_threads(unsigned most) {
  bw::sim::Settings& settings = bw::sim::cudart::Runtime::instance().device().settings();
  std::printf("%-16s %12s %9s\n", "host threads", "simulated ms", "speed-up");
  SimulatedGemm gemm(kThreadShape.m, kThreadShape.n, kThreadShape.k, kConfiguration);
  const auto with = [&](unsigned threads) {
    return [&gemm, &settings, threads] {
      settings.host_threads = threads;
      gemm.run();
    };
  };
  for (unsigned threads = 2; threads <= most; threads *= 2) {
    const Duel times = duel(with(1), with(threads));
    if (threads == 2) std::printf("%-16u %12.1f %9.2f\n", 1u, times.first * 1e3, 1.0);
    std::printf("%-16u %12.1f %9.2f\n", threads, times.second * 1e3, times.ratio);
    std::fflush(stdout);
  }
  std::printf("(at %dx%dx%d)\n", kThreadShape.m, kThreadShape.n, kThreadShape.k);
}

}  // namespace

int main() {
  try {
    const GemmProcess hopper({{"BW_SIM_MACHINE", "h100"}}, hopper_gemm);
    const GemmProcess model({{"BW_SIM_TIMING", "model"}}, blackwell_gemm);
    const GemmProcess simple({{"BW_SIM_TIMING", "simple"}}, blackwell_gemm);
    const unsigned threads = std::max(1u, std::thread::hardware_concurrency());
    openblas_set_num_threads(static_cast<int>(threads));
    pin_threads();
    compare_with_openblas(threads);
    compare_timing(model, simple);
    compare_chapters(hopper);
    scale_with_threads(threads);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "simulator_bench: %s\n", error.what());
    return 1;
  }
  return 0;
}
