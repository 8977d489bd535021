/// \file
/// How many warp instructions a second the simulator executes of plain CUDA: an SGEMM in shared
/// memory, copies, a transposition. Each result is checked.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "common/host/device_buffer.hpp"
#include "common/simulator/cudart/runtime/runtime.hpp"
#include "tests/benchmarks/plain_cuda_kernels.hpp"

namespace {

using bw::DeviceBuffer;

/// The best of several runs: what others do on the machine only slows it down.
void measure(const char* name, const std::function<void()>& run) {
  constexpr int kRounds = 7;
  double least = 1e9;
  for (int round = 0; round < kRounds; ++round) {
    const auto begin = std::chrono::steady_clock::now();
    run();
    least = std::min(
        least, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  const auto instructions = static_cast<double>(
      bw::sim::cudart::Runtime::instance().device().last_launch().warp_instructions);
  std::printf("%-12s %14.0f %10.1f %12.1f\n", name, instructions, least * 1e3,
              instructions / least * 1e-6);
  std::fflush(stdout);
}

/// Small integers, so that every sum is exact.
std::vector<float> values(size_t count, size_t period) {
  std::vector<float> result(count);
  for (size_t i = 0; i < count; ++i) result[i] = static_cast<float>(i % period);
  return result;
}

void require(bool right, const char* what) {
  if (!right) throw std::runtime_error(std::string(what) + ": the result is wrong");
}

void run() {
  constexpr size_t kSize = 256, kMatrix = kSize * kSize, kWide = 1024;
  const std::vector<float> a = values(kMatrix, 7), b = values(kMatrix, 5);
  DeviceBuffer<float> device_a(a), device_b(b), device_d(kMatrix);
  std::printf("%-12s %14s %10s %12s\n", "kernel", "warp instr.", "ms", "M instr/s");
  measure("sgemm", [&] {
    bw::bench::plain_sgemm(device_a.data(), device_b.data(), device_d.data(), kSize);
  });
  const std::vector<float> d = device_d.download();
  for (size_t i = 0; i < kMatrix; i += 101) {
    float sum = 0;
    for (size_t k = 0; k < kSize; ++k) sum += a[i / kSize * kSize + k] * b[k * kSize + i % kSize];
    require(d[i] == sum, "sgemm");
  }
  const std::vector<float> wide = values(kWide * kWide, 1000003);
  DeviceBuffer<float> from(wide), to(kWide * kWide);
  measure("copy",
          [&] { bw::bench::plain_copy(from.data(), to.data(), static_cast<int>(kWide * kWide)); });
  require(to.download() == wide, "copy");
  measure("transpose", [&] { bw::bench::plain_transpose(from.data(), to.data(), kWide); });
  const std::vector<float> transposed = to.download();
  for (size_t i = 0; i < wide.size(); i += 37)
    require(transposed[i % kWide * kWide + i / kWide] == wide[i], "transpose");
}

}  // namespace

int main() {
  try {
    bw::sim::cudart::Runtime::instance().device().settings().pin_threads = true;
    run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "plain_cuda_bench: %s\n", error.what());
    return 1;
  }
  return 0;
}
