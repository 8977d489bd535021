/// \file
/// How fast the simulator is: the simulated blockwise FP8 GEMM against OpenBLAS sgemm of the same
/// size on the same cores in the same run, and how its time grows with size and with host threads.
#include <cblas.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <functional>
#include <random>
#include <thread>
#include <vector>

#include "common/simulator/cudart/runtime.hpp"
#include "solutions/05_blockwise_fp8_gemm/blockwise_fp8_gemm.hpp"
#include "solutions/05_blockwise_fp8_gemm/device_problem.hpp"

namespace {

struct Shape {
  int m, n, k;
  [[nodiscard]] double flop() const { return 2.0 * m * n * k; }
};

constexpr Shape kShapes[] = {{512, 512, 512}, {1024, 1024, 1024}, {2048, 2048, 1024}};
constexpr Shape kThreadShape = {1024, 1024, 1024};
/// The same for all shapes, so that their times can be compared.
constexpr const char* kConfiguration = "cta1_128x128_1x1";
constexpr int kRepetitions = 5;

/// Median wall time in seconds, after one run that is not counted.
double median_seconds(const std::function<void()>& run) {
  run();
  std::vector<double> seconds(kRepetitions);
  for (double& value : seconds) {
    const auto begin = std::chrono::steady_clock::now();
    run();
    value = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }
  std::nth_element(seconds.begin(), seconds.begin() + kRepetitions / 2, seconds.end());
  return seconds[kRepetitions / 2];
}

double sgemm_seconds(const Shape& shape) {
  std::mt19937 generator(1);
  std::normal_distribution<float> normal;
  const auto matrix = [&](int rows, int columns) {
    std::vector<float> values(static_cast<size_t>(rows) * static_cast<size_t>(columns));
    for (float& value : values) value = normal(generator);
    return values;
  };
  const std::vector<float> a = matrix(shape.m, shape.k), b = matrix(shape.n, shape.k);
  std::vector<float> d(static_cast<size_t>(shape.m) * static_cast<size_t>(shape.n));
  return median_seconds([&] {
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, shape.m, shape.n, shape.k, 1.0f, a.data(),
                shape.k, b.data(), shape.k, 0.0f, d.data(), shape.n);
  });
}

struct Simulated {
  double seconds = 0;
  bw::sim::LaunchResult launch;
};

Simulated simulate(const Shape& shape) {
  constexpr float kBeta = 0.0f;
  constexpr uint64_t kSeed = 1;
  constexpr cudaStream_t kDefaultStream = nullptr;
  const bw::GemmKernel& kernel = bw::find_gemm_kernel(kConfiguration);
  const bw::DeviceProblem problem(
      bw::make_blockwise_problem(shape.m, shape.n, shape.k, kBeta, kSeed, bw::Fill::kNormal));
  Simulated result;
  result.seconds = median_seconds([&] {
    bw::blockwise_fp8_gemm(problem.arguments(), kernel, kDefaultStream);
    bw::check_cuda(cudaStreamSynchronize(kDefaultStream), "run the GEMM");
  });
  result.launch = bw::sim::cudart::Runtime::instance().device().last_launch();
  return result;
}

void compare_with_openblas(unsigned threads) {
  std::printf("%-16s %12s %12s %7s %12s %10s %14s\n", "M x N x K", "simulated ms", "sgemm ms",
              "ratio", "warp instr.", "M instr/s", "device cycles");
  for (const Shape& shape : kShapes) {
    const Simulated simulated = simulate(shape);
    const double sgemm = sgemm_seconds(shape);
    char name[32];
    std::snprintf(name, sizeof name, "%dx%dx%d", shape.m, shape.n, shape.k);
    const auto instructions = static_cast<double>(simulated.launch.warp_instructions);
    std::printf("%-16s %12.1f %12.2f %7.2f %12.0f %10.1f %14llu\n", name, simulated.seconds * 1e3,
                sgemm * 1e3, simulated.seconds / sgemm, instructions,
                instructions / simulated.seconds * 1e-6,
                static_cast<unsigned long long>(simulated.launch.cycles));
    std::fflush(stdout);
  }
  std::printf("(%u host threads for both; chapter 5's %s; sgemm is OpenBLAS, %s)\n\n", threads,
              kConfiguration, openblas_get_corename());
}

void scale_with_threads(unsigned most) {
  bw::sim::Settings& settings = bw::sim::cudart::Runtime::instance().device().settings();
  std::printf("%-16s %12s %12s %9s\n", "host threads", "simulated ms", "sgemm ms", "speed-up");
  double single = 0;
  for (unsigned threads = 1; threads <= most; threads *= 2) {
    settings.host_threads = threads;
    openblas_set_num_threads(static_cast<int>(threads));
    const double seconds = simulate(kThreadShape).seconds;
    if (threads == 1) single = seconds;
    std::printf("%-16u %12.1f %12.2f %9.2f\n", threads, seconds * 1e3,
                sgemm_seconds(kThreadShape) * 1e3, single / seconds);
    std::fflush(stdout);
  }
  std::printf("(at %dx%dx%d)\n", kThreadShape.m, kThreadShape.n, kThreadShape.k);
}

}  // namespace

int main() {
  try {
    const unsigned threads = std::max(1u, std::thread::hardware_concurrency());
    openblas_set_num_threads(static_cast<int>(threads));
    compare_with_openblas(threads);
    scale_with_threads(threads);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "simulator_bench: %s\n", error.what());
    return 1;
  }
  return 0;
}
