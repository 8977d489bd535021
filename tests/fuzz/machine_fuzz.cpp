/// \file
/// Random kernels (random_kernel.hpp): a run ends, finished or with a report that names the
/// rule; a second run of it, with an observer, ends the same and has reported all writes.
#include <string>

#include "tests/fuzz/choices.hpp"
#include "tests/fuzz/random_kernel.hpp"
#include "tests/fuzz/simulation.hpp"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace bw::sim;
  using namespace bw::sim::fuzz;
  Choices choices({data, size});
  Settings settings = short_settings();
  settings.seed = choices.below(4);
  settings.strictness = choices.below(4) == 0 ? Strictness::hardware : Strictness::isa;
  const bool twice = choices.below(4) == 0;
  const Task task = random_kernel(choices);
  if (std::getenv("BW_FUZZ_PRINT") != nullptr) std::fputs(task.text.c_str(), stderr);
  const Outcome outcome = simulate(task, settings);
  if (outcome.fault == FaultKind::parse || outcome.fault == FaultKind::unsupported)
    found("a kernel whose instructions decode one by one is refused:\n" + outcome.report);
  if (!twice) return 0;
  const Outcome second = simulate_observed(task, settings);
  if (!second.unobserved.empty())
    found("no observer was notified of this write: " + second.unobserved);
  if (second != outcome)
    found("two runs of one kernel differ; the first has " + outcome.describe());
  return 0;
}
