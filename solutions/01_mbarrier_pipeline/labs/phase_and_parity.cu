/// \file
/// One mbarrier, looked at: after its initialisation and after every arrival the lab asks it for
/// both parities. Nothing is handed over yet.

#include <array>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "common/device/shared_mem_barrier.cuh"
#include "common/host/device_buffer.hpp"
#include "common/host/program.hpp"
#include "common/host/timed_launch.hpp"

namespace bw {

constexpr uint32_t kMaxMoments = 64;

/// What a wait on each parity would do at one moment: 1 passes, 0 would block.
using Answers = std::array<uint8_t, 2>;

struct LookArguments {
  uint32_t count;     ///< arrivals that complete a phase
  uint32_t arrivals;  ///< of the one thread, one after the other
  uint8_t* passes;    ///< [arrivals + 1][parity]
  uint64_t* cycles;
};

/// One thread: no other is needed to see what a barrier says.
__global__ void look_at_a_barrier(const LookArguments args) {
  __shared__ SharedMemBarrier barrier;
  const int64_t begin = clock64();
  barrier.init(args.count);
  for (uint32_t arrived = 0; arrived <= args.arrivals; ++arrived) {
    if (arrived > 0) barrier.arrive();
    for (uint32_t parity = 0; parity < 2; ++parity) {
      args.passes[2 * arrived + parity] = barrier.try_wait(parity);
    }
  }
  *args.cycles = clock64() - begin;
}

/// The rule in the PTX ISA's words: the phase that a barrier is in is not complete, the one before
/// it is, and a parity names whichever of the two has it.
Answers answers_by_the_rule(uint32_t count, uint32_t arrived) {
  const uint32_t current_phase = arrived / count;
  Answers passes{};
  passes[current_phase % 2] = 0;
  passes[(current_phase + 1) % 2] = 1;
  return passes;
}

ExitStatus run_lab(int64_t count, int64_t arrivals) {
  require(count >= 1 && count <= kMaxMoments, "--count ", count, ": give 1 to ", kMaxMoments, ".");
  require(arrivals >= 0 && arrivals < kMaxMoments, "--arrivals ", arrivals, ": give 0 to ",
          kMaxMoments - 1, ".");
  print_machine();
  DeviceBuffer<uint8_t> passes(2 * (arrivals + 1));
  DeviceBuffer<uint64_t> cycles(1);
  run_timed(look_at_a_barrier, {.ctas = 1, .threads = 1, .shared_bytes = 0},
            LookArguments{static_cast<uint32_t>(count), static_cast<uint32_t>(arrivals),
                          passes.data(), cycles.data()});
  const std::vector<uint8_t> got = passes.download();
  std::printf("count    %lld\n                    wait on parity 0   wait on parity 1\n",
              static_cast<long long>(count));
  bool right = true;
  for (int64_t arrived = 0; arrived <= arrivals; ++arrived) {
    const auto word = [&](int parity) { return got[2 * arrived + parity] ? "passes" : "blocks"; };
    std::printf("after %2lld arrivals   %-16s   %s\n", static_cast<long long>(arrived), word(0),
                word(1));
    const Answers expected =
        answers_by_the_rule(static_cast<uint32_t>(count), static_cast<uint32_t>(arrived));
    right = right && got[2 * arrived] == expected[0] && got[2 * arrived + 1] == expected[1];
  }
  std::printf("cycles   %llu\n", static_cast<unsigned long long>(cycles.download().front()));
  std::printf(right ? "verified (%lld elements)\n" : "WRONG    a test of %lld breaks the rule\n",
              static_cast<long long>(2 * (arrivals + 1)));
  return right ? kVerified : kWrongResult;
}

}  // namespace bw

int main(int argc, char** argv) {
  int64_t count = 2, arrivals = 6;
  bw::CommandLine command_line("Asks one mbarrier for both parities after each arrival.");
  command_line.add("count", count, "arrivals that complete a phase");
  command_line.add("arrivals", arrivals, "arrivals, one after the other");
  return bw::run_main(command_line, "lab_01_phase_and_parity", argc, argv,
                      [&] { return bw::run_lab(count, arrivals); });
}
