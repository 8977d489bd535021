/// \file
/// Producer and consumer programs (pipeline_program.hpp): right ones finish with the right numbers,
/// wrong ones end in the fault that they have, whatever the seed, the number of host threads and
/// the level of strictness.
#include <fmt/core.h>

#include "tests/fuzz/choices.hpp"
#include "tests/fuzz/pipeline_program.hpp"
#include "tests/fuzz/simulation.hpp"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace bw::sim;
  using namespace bw::sim::fuzz;
  Choices choices({data, size});
  const PipelineProgram program = pipeline_program(choices);
  if (std::getenv("BW_FUZZ_PRINT") != nullptr) std::fputs(program.task.text.c_str(), stderr);
  // Hardware carries out what the PTX ISA leaves undefined there.
  const bool differs_by_level = program.mistake == Mistake::initialised_again;
  const auto judge = [&](const Outcome& outcome, const std::string& run) {
    if (outcome.fault != program.verdict)
      found(fmt::format("{}, {}: {}", program.description, run, outcome.describe()));
    if (!outcome.fault && outcome.memory != program.expected)
      found(fmt::format("{}, {}: wrong numbers", program.description, run));
  };
  const uint64_t seeds[] = {0, 1 + choices.word() % 1000, choices.word()};
  for (const uint64_t seed : seeds) {
    Settings settings = short_settings();
    // Time enough for every waiting warp's try_wait to return without success a few times.
    settings.livelock_cycles = 300'000;
    settings.cycle_limit = 0;
    settings.seed = seed;
    const Outcome outcome = simulate(program.task, settings);
    judge(outcome, fmt::format("seed {}", seed));
    constexpr uint32_t kThreads = 3;  // host threads
    settings.host_threads = kThreads;
    if (simulate(program.task, settings) != outcome)
      found(fmt::format("{}, seed {}: {} host threads give another run than one, which has {}",
                        program.description, seed, kThreads, outcome.describe()));
    settings.host_threads = 1;
    settings.strictness = Strictness::hardware;
    const Outcome on_hardware = simulate(program.task, settings);
    if (!differs_by_level) judge(on_hardware, fmt::format("seed {}, level hardware", seed));
    if (!outcome.fault && on_hardware != outcome)
      found(fmt::format("{}, seed {}: {} cycles at level isa, {} at level hardware, memory {}",
                        program.description, seed, outcome.cycles, on_hardware.cycles,
                        on_hardware.memory == outcome.memory ? "the same" : "different"));
  }
  if (program.verdict) return 0;
  Settings settings = short_settings();
  settings.seed = seeds[1];
  constexpr uint64_t kStates = 100'000;
  if (const Outcome outcome = simulate(program.task, settings, kStates); outcome.fault)
    found(fmt::format("{}: exploration finds {}", program.description, outcome.describe()));
  settings.checks = Checks::races;
  const Outcome outcome = simulate(program.task, settings);
  if (outcome.fault.has_value() != program.races)
    found(fmt::format("{}, level races, seed {}: {}", program.description, settings.seed,
                      outcome.describe()));
  return 0;
}
