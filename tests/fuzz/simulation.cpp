#include "tests/fuzz/simulation.hpp"

#include <array>
#include <cstdio>
#include <cstring>
#include <memory>

#include "common/simulator/diagnosis/explain.hpp"
#include "common/simulator/diagnosis/exploration/watch.hpp"
#include "common/simulator/diagnosis/races/watch.hpp"
#include "common/simulator/machine/device.hpp"
#include "common/simulator/units/copies/tensor_map.hpp"
#include "common/simulator/units/units.hpp"
#include "tests/fuzz/observed_writes.hpp"

namespace bw::sim::fuzz {
namespace {

/// A matrix of words, its rows 32 words wide, copied in boxes of 8 rows.
constexpr uint64_t kMapColumns = 32;
constexpr uint32_t kMapBoxRows = 8;

struct alignas(64) OpaqueMap {
  std::array<std::byte, kTensorMapBytes> bytes{};
};

OpaqueMap map_of(uint64_t address, size_t words) {
  const uint64_t extents[] = {kMapColumns, words / kMapColumns};
  const uint64_t strides[] = {kMapColumns * sizeof(uint32_t)};
  const uint32_t box[] = {kMapColumns, kMapBoxRows};
  const uint32_t element_strides[] = {1, 1};
  TensorMapArguments arguments;
  arguments.data_type = static_cast<int>(TensorMapType::u32);
  arguments.rank = 2;
  arguments.global_address = address;
  arguments.global_dim = extents;
  arguments.global_strides = strides;
  arguments.box_dim = box;
  arguments.element_strides = element_strides;
  OpaqueMap map;
  if (!encode_tensor_map(map.bytes.data(), arguments).ok()) map = {};
  return map;
}

Outcome run(const Task& task, const Settings& settings, uint64_t explored_states,
            bool looks_at_writes, size_t* changed_bytes) {
  Outcome outcome;
  Device device(settings, all_units());
  watch(device);
  races::watch_races(device);
  // The lines on what was explored are discarded.
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> nowhere(std::fopen("/dev/null", "w"),
                                                                &std::fclose);
  if (explored_states != 0)
    device.observe(std::make_unique<exploration::ExplorationWatch>(explored_states, nowhere.get()));
  const size_t bytes = task.memory.size() * sizeof(uint32_t);
  const uint64_t address = device.memory().allocate(bytes, "memory of the task");
  void* const memory = reinterpret_cast<void*>(address);
  std::memcpy(memory, task.memory.data(), bytes);
  ObservedWrites* observed = nullptr;
  if (looks_at_writes) {
    auto watch = std::make_unique<ObservedWrites>(address, bytes);
    observed = watch.get();
    device.observe(std::move(watch));
  }
  const OpaqueMap map = map_of(address, task.memory.size());
  try {
    const Kernel& kernel = device.kernel(device.load(task.text, "fuzz.ptx"), "k");
    const void* const arguments[] = {&address, &map};
    const LaunchResult result = explained(device.launch(kernel, task.configuration, arguments));
    outcome.cycles = result.cycles;
    outcome.warp_instructions = result.warp_instructions;
  } catch (const SimulationError& error) {
    outcome.fault = error.report().kind();
    outcome.report = error.what();
    return outcome;
  }
  outcome.memory.resize(task.memory.size());
  std::memcpy(outcome.memory.data(), memory, bytes);
  if (observed != nullptr) {
    const auto before = std::as_bytes(std::span(task.memory));
    const auto after = std::as_bytes(std::span(outcome.memory));
    outcome.unobserved = observed->unobserved(before, after);
    if (changed_bytes != nullptr) *changed_bytes = observed->changed(before, after);
  }
  return outcome;
}

}  // namespace

Settings short_settings() {
  Settings settings;
  settings.host_threads = 1;
  settings.sm_count = 8;
  settings.memory_bytes = size_t{1} << 30;
  settings.cycle_limit = 100'000;
  settings.livelock_cycles = 20'000;
  return settings;
}

Outcome simulate(const Task& task, const Settings& settings, uint64_t explored_states) {
  return run(task, settings, explored_states, /*looks_at_writes=*/false, nullptr);
}

Outcome simulate_observed(const Task& task, const Settings& settings, size_t* changed_bytes) {
  return run(task, settings, 0, /*looks_at_writes=*/true, changed_bytes);
}

}  // namespace bw::sim::fuzz
