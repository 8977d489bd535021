#pragma once
/// \file
/// Runs small kernels under the race detector.

#include <string>
#include <string_view>
#include <vector>

#include "tests/simulator/harness.hpp"

namespace bw::sim::test {

/// The settings of the race detector.
inline Settings race_settings(uint64_t seed = 0) {
  Settings settings = test_settings(seed);
  settings.checks = Checks::races;
  return settings;
}

/// A kernel `k(.param .u64 out, .param .u64 in)`: %out and %in are its parameters, %t is the
/// thread's number, %warp its warp's, %lane its lane, %rank the CTA's in the cluster; %p<8>, %r<16>
/// and %rd<8> are free. Shared memory contains `data` (4096 bytes), `bar` and `bar2` (mbarriers)
/// and `word`.
inline std::string race_kernel(std::string_view body) {
  std::string text = R"(
  .reg .pred %p<8>;
  .reg .b32 %r<16>, %t, %warp, %lane, %rank, %d;
  .reg .b64 %rd<8>, %out, %in;
  ld.param.u64 %out, [out];
  ld.param.u64 %in, [in];
  mov.u32 %t, %tid.x;
  shr.u32 %warp, %t, 5;
  and.b32 %lane, %t, 31;
  mov.u32 %rank, %cluster_ctarank;
  mov.u32 %d, data;
)";
  text += body;
  text += "\n  ret;\n";
  return entry(".param .u64 out, .param .u64 in", text,
               ".shared .align 128 .b8 data[4096];\n.shared .align 8 .b64 bar;\n"
               ".shared .align 8 .b64 bar2;\n.shared .align 4 .b32 word;\n");
}

/// Runs it on a grid of one cluster.
inline void run_races(std::string_view body, uint32_t threads_per_cta, uint32_t ctas = 1,
                      Settings settings = race_settings()) {
  Runner runner(settings);
  const auto out = runner.buffer(std::vector<uint32_t>(4096, 0));
  const auto in = runner.buffer(std::vector<uint32_t>(4096, 0));
  runner.run(race_kernel(body), grid(ctas, threads_per_cta, ctas), out, in);
}

/// Expects that the detector finds nothing, with several seeds.
inline void expect_no_race(std::string_view body, uint32_t threads_per_cta, uint32_t ctas = 1) {
  for (const uint64_t seed : {0, 1, 2, 3}) {
    try {
      run_races(body, threads_per_cta, ctas, race_settings(seed));
    } catch (const SimulationError& error) {
      ADD_FAILURE() << "seed " << seed << ":\n" << error.what();
    }
  }
}

/// Expects a race whose report has these parts, with several seeds.
inline Report expect_race(const std::vector<std::string>& parts, std::string_view body,
                          uint32_t threads_per_cta, uint32_t ctas = 1) {
  Report report{.code = FaultCode::race_shared};
  for (const uint64_t seed : {0, 1, 2, 3})
    report = expect_fault(FaultKind::contract, parts,
                          [&] { run_races(body, threads_per_cta, ctas, race_settings(seed)); });
  return report;
}

}  // namespace bw::sim::test
