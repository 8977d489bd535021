/// \file
/// What checking costs: chapter 5's GEMM at the levels off, contract and races, in turn, and
/// barriers of the whole grid at contract and races.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <utility>

#include "common/host/device_buffer.hpp"
#include "common/simulator/cudart/runtime/runtime.hpp"
#include "common/simulator/diagnosis/races/watch.hpp"
#include "tests/benchmarks/duel.hpp"
#include "tests/benchmarks/grid_barriers.hpp"
#include "tests/benchmarks/simulated_gemm.hpp"

namespace {

constexpr int kExtent = 512;
constexpr const char* kConfiguration = "cta1_128x128_1x1";
// What was promised for them.
constexpr double kMostForContract = 1.05, kMostForRaces = 3.5, kMostForGridBarriers = 5,
                 kMostBytesForAByte = 12;
// The grid whose CTAs meet: one on each SM of an H100.
constexpr uint32_t kCtas = 132, kThreads = 256;
constexpr int kRounds = 64;

/// Level `later` over `earlier`; prints a line.
void compare(const std::function<void()>& run, bw::sim::Settings& settings, const char* names,
             bw::sim::Checks later, bw::sim::Checks earlier, double most) {
  const auto at = [&](bw::sim::Checks checks) {
    return [&run, &settings, checks] {
      settings.checks = checks;
      run();
    };
  };
  const bw::bench::Duel times = bw::bench::duel(at(later), at(earlier));
  std::printf("%-30s %10.2f %10.2f %8.2f %8.2f\n", names, times.first * 1e3, times.second * 1e3,
              times.ratio, most);
  std::fflush(stdout);
}

}  // namespace

int main() {
  try {
    // A device gets its race detector when it is made; what is compared is set later.
    setenv("BW_SIM_CHECKS", "races", 1);
    bw::sim::Device& device = bw::sim::cudart::Runtime::instance().device();
    bw::sim::Settings& settings = device.settings();
    bw::bench::SimulatedGemm gemm(kExtent, kExtent, kExtent, kConfiguration);
    std::printf("%-30s %10s %10s %8s %8s\n", "BW_SIM_CHECKS", "ms", "ms", "ratio", "at most");
    using bw::sim::Checks;
    const auto run_gemm = [&] { gemm.run(); };
    compare(run_gemm, settings, "contract over off", Checks::contract, Checks::off,
            kMostForContract);
    compare(run_gemm, settings, "races over contract", Checks::races, Checks::contract,
            kMostForRaces);
    settings.checks = Checks::races;
    const bw::sim::races::ShadowUse use = bw::sim::races::watch_of(device)->shared_memory();
    std::printf("%-30s %10zu %10zu %8.2f %8.2f\n", "shadow of shared memory", use.shadow_bytes,
                use.bytes, static_cast<double>(use.shadow_bytes) / static_cast<double>(use.bytes),
                kMostBytesForAByte);
    // Clusters that know of each other run on one host thread at the level races.
    settings.host_threads = 1;
    bw::DeviceBuffer<uint32_t> counter(1), data(size_t{2} * kCtas * kThreads);
    for (const auto& [kind, name] :
         {std::pair(bw::bench::GridBarrier::fences, "grid barriers by fences"),
          std::pair(bw::bench::GridBarrier::acquire, "grid barriers by acquire")}) {
      const auto meet = [&, kind = kind] {
        bw::bench::meet_in_grid(kind, kRounds, kCtas, kThreads, counter.data(), data.data());
      };
      compare(meet, settings, name, Checks::races, Checks::contract, kMostForGridBarriers);
    }
    std::printf(
        "(at %dx%dx%d, %s, in turn, medians; the shadow's bytes, and the bytes that a "
        "cluster used; %d barriers of a grid of %u CTAs with %u threads, races over contract on "
        "one host thread)\n",
        kExtent, kExtent, kExtent, kConfiguration, kRounds, kCtas, kThreads);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "checks_bench: %s\n", error.what());
    return 1;
  }
  return 0;
}
