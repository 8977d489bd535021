#include "common/simulator/machine/settings.hpp"

#include <cstdlib>
#include <string>
#include <string_view>

#include <fmt/core.h>

#include "common/simulator/base/error.hpp"
#include "common/simulator/machine/ignored_codes.hpp"

namespace bw::sim {
namespace {

[[noreturn]] void refuse(const char* name, const char* value, const std::string& allowed) {
  throw SimulationError(Report{.code = FaultCode::setting_invalid,
                               .what = std::string("the environment variable ") + name + " is \"" +
                                       value + "\", which is not " + allowed,
                               .fix = "set it to an allowed value or unset it"});
}

uint64_t read_number(const char* name, uint64_t fallback, uint64_t least, uint64_t most) {
  const char* text = std::getenv(name);
  if (text == nullptr || *text == '\0') return fallback;
  char* end = nullptr;
  const unsigned long long value = std::strtoull(text, &end, 10);
  if (*end != '\0' || *text == '-' || value < least || value > most)
    refuse(name, text, fmt::format("a number from {} to {}", least, most));
  return value;
}

std::optional<EventNumber> read_event(const char* name) {
  const char* const text = std::getenv(name);
  if (text == nullptr || *text == '\0') return std::nullopt;
  const std::optional<EventNumber> number = EventNumber::parse(text);
  if (!number)
    refuse(name, text, "LAUNCH.CLUSTER.EVENT, as a report or the event log has it: 0.3.1250");
  return number;
}

constexpr SummationModel kSummationModels[] = {SummationModel::machine, SummationModel::sequential,
                                               SummationModel::hopper, SummationModel::blackwell,
                                               SummationModel::none};

SummationModel read_summation(const char* name) {
  const char* text = std::getenv(name);
  if (text == nullptr || *text == '\0') return SummationModel::machine;
  for (const SummationModel model : kSummationModels)
    if (std::string_view(text) == summation_name(model)) return model;
  refuse(name, text, "\"machine\", \"sequential\", \"hopper\" or \"none\"");
}

struct NamedChecks {
  std::string_view name;
  Checks checks;
};
constexpr NamedChecks kChecks[] = {
    {"off", Checks::off}, {"contract", Checks::contract}, {"races", Checks::races}};

Checks read_checks(const char* name, Checks fallback) {
  const char* text = std::getenv(name);
  if (text == nullptr || *text == '\0') return fallback;
  for (const NamedChecks& known : kChecks)
    if (text == known.name) return known.checks;
  refuse(name, text, "\"off\", \"contract\" or \"races\"");
}

TimingModel read_timing(const char* name, TimingModel fallback) {
  const char* text = std::getenv(name);
  if (text == nullptr || *text == '\0') return fallback;
  if (std::string_view(text) == "simple") return TimingModel::simple;
  if (std::string_view(text) == "model") return TimingModel::model;
  refuse(name, text, "\"simple\" or \"model\"");
}

bool read_poison(const char* name) {
  const char* const text = std::getenv(name);
  if (text == nullptr || *text == '\0') return false;
  if (std::string_view(text) == "nan") return true;
  refuse(name, text, "\"nan\"");
}

/// Names separated by commas.
void read_memory_checks(const char* name, Settings& settings) {
  const char* const text = std::getenv(name);
  if (text == nullptr) return;
  std::string_view rest = text;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find(','), rest.size());
    const std::string_view one = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (one == "unwritten")
      settings.checks_unwritten = true;
    else if (one == "leaks")
      settings.checks_leaks = true;
    else
      refuse(name, text, "\"unwritten\", \"leaks\" or both, separated by a comma");
  }
}

}  // namespace

const char* summation_name(SummationModel model) {
  switch (model) {
    case SummationModel::machine:
      return "machine";
    case SummationModel::sequential:
      return "sequential";
    case SummationModel::hopper:
      return "hopper";
    case SummationModel::none:
      return "none";
    case SummationModel::blackwell:
      return "blackwell";
  }
  return "";
}

SummationModel Settings::resolved_summation() const {
  constexpr uint32_t kHopper = 9;
  if (summation != SummationModel::machine) return summation;
  return machine->major == kHopper ? SummationModel::hopper : SummationModel::sequential;
}

Settings Settings::from_environment(const MachineDescription& fallback) {
  constexpr uint64_t kMostThreads = 1024;
  constexpr uint64_t kMostSms = 4096;
  constexpr uint64_t kMostGigabytes = 16384;
  constexpr uint64_t kMostRequests = 100;
  constexpr uint64_t kMostCycles = 1ull << 60;
  Settings settings;
  settings.seed = read_number("BW_SIM_SEED", settings.seed, 0, ~0ull);
  const char* const seed = std::getenv("BW_SIM_SEED");
  settings.seed_is_chosen = seed != nullptr && *seed != '\0';
  settings.host_threads =
      static_cast<uint32_t>(read_number("BW_SIM_THREADS", settings.host_threads, 0, kMostThreads));
  settings.pin_threads = read_number("BW_SIM_PIN_THREADS", 0, 0, 1) != 0;
  settings.machine = &fallback;
  if (const char* text = std::getenv("BW_SIM_MACHINE"); text != nullptr && *text != '\0') {
    settings.machine = find_machine(text);
    if (settings.machine == nullptr) {
      refuse("BW_SIM_MACHINE", text, "a machine that the simulator knows: " + machine_names());
    }
  }
  settings.sm_count = settings.machine->sm_count;
  settings.sm_count =
      static_cast<uint32_t>(read_number("BW_SIM_SMS", settings.sm_count, 1, kMostSms));
  settings.memory_bytes =
      read_number("BW_SIM_MEMORY_GB", settings.memory_bytes >> 30, 1, kMostGigabytes) << 30;
  settings.livelock_cycles =
      read_number("BW_SIM_LIVELOCK_CYCLES", settings.livelock_cycles, 1000, kMostCycles);
  settings.cycle_limit = read_number("BW_SIM_CYCLE_LIMIT", settings.cycle_limit, 0, kMostCycles);
  settings.until_event = read_event("BW_SIM_UNTIL_EVENT");
  settings.print_statistics = read_number("BW_SIM_STATS", 0, 0, 1) != 0;
  settings.checks = read_checks("BW_SIM_CHECKS", settings.checks);
  read_memory_checks("BW_SIM_MEMORY_CHECKS", settings);
  settings.poisons_with_nan = read_poison("BW_SIM_POISON");
  settings.cancel_fails =
      static_cast<uint8_t>(read_number("BW_SIM_CANCEL_FAILS", 0, 0, kMostRequests));
  settings.summation = read_summation("BW_SIM_ACCUMULATION");
  settings.timing = read_timing("BW_SIM_TIMING", settings.timing);
  if (const char* text = std::getenv("BW_SIM_IGNORE"); text != nullptr)
    if (const std::string allowed = IgnoredCodes().add(text); !allowed.empty())
      refuse("BW_SIM_IGNORE", text, allowed);
  if (const char* text = std::getenv("BW_SIM_FOCUS"); text != nullptr) settings.focus = text;
  if (const char* text = std::getenv("BW_SIM_STRICTNESS"); text != nullptr && *text != '\0') {
    const std::string_view level = text;
    // The second names are those of earlier versions.
    if (level == "isa" || level == "strict") {
      settings.strictness = Strictness::isa;
    } else if (level == "hardware" || level == "lenient") {
      settings.strictness = Strictness::hardware;
    } else {
      refuse("BW_SIM_STRICTNESS", text, "\"isa\" or \"hardware\"");
    }
  }
  return settings;
}

}  // namespace bw::sim
