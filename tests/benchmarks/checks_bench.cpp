/// \file
/// What checking costs: chapter 5's GEMM at the levels off, contract and races, in turn.
#include <cstdio>
#include <exception>

#include "common/simulator/cudart/runtime/runtime.hpp"
#include "common/simulator/diagnosis/races/watch.hpp"
#include "tests/benchmarks/duel.hpp"
#include "tests/benchmarks/simulated_gemm.hpp"

namespace {

constexpr int kExtent = 512;
constexpr const char* kConfiguration = "cta1_128x128_1x1";
// What was promised for them.
constexpr double kMostForContract = 1.10, kMostForRaces = 6, kMostBytesForAByte = 12;

/// Of level `later` against `earlier`; prints a line.
void compare(bw::bench::SimulatedGemm& gemm, bw::sim::Settings& settings, const char* names,
             bw::sim::Checks later, bw::sim::Checks earlier, double most) {
  const auto at = [&](bw::sim::Checks checks) {
    return [&gemm, &settings, checks] {
      settings.checks = checks;
      gemm.run();
    };
  };
  const bw::bench::Duel times = bw::bench::duel(at(later), at(earlier));
  std::printf("%-24s %10.2f %10.2f %8.2f %8.2f\n", names, times.first * 1e3, times.second * 1e3,
              times.ratio, most);
  std::fflush(stdout);
}

}  // namespace

int main() {
  try {
    bw::sim::Device& device = bw::sim::cudart::Runtime::instance().device();
    bw::sim::Settings& settings = device.settings();
    bw::bench::SimulatedGemm gemm(kExtent, kExtent, kExtent, kConfiguration);
    std::printf("%-24s %10s %10s %8s %8s\n", "BW_SIM_CHECKS", "ms", "ms", "ratio", "at most");
    using bw::sim::Checks;
    compare(gemm, settings, "contract against off", Checks::contract, Checks::off,
            kMostForContract);
    compare(gemm, settings, "races against contract", Checks::races, Checks::contract,
            kMostForRaces);
    settings.checks = Checks::races;
    const bw::sim::races::ShadowUse use = bw::sim::races::watch_of(device)->shared_memory();
    std::printf("%-24s %10zu %10zu %8.2f %8.2f\n", "shadow of shared memory", use.shadow_bytes,
                use.bytes, static_cast<double>(use.shadow_bytes) / static_cast<double>(use.bytes),
                kMostBytesForAByte);
    std::printf(
        "(at %dx%dx%d, %s, in turn, medians; the shadow's bytes, and the bytes that a "
        "cluster used)\n",
        kExtent, kExtent, kExtent, kConfiguration);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "checks_bench: %s\n", error.what());
    return 1;
  }
  return 0;
}
