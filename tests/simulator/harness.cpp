#include "tests/simulator/harness.hpp"

#include "common/simulator/diagnosis/races/watch.hpp"

namespace bw::sim::test {

std::string entry(std::string_view parameters, std::string_view body, std::string_view module_text,
                  std::string_view directives) {
  std::string text = ".version 9.0\n.target sm_100a\n.address_size 64\n";
  text += module_text;
  text += "\n.visible .entry k(";
  text += parameters;
  text += ")\n";
  text += directives;
  text += "\n{\n";
  text += body;
  text += "\n}\n";
  return text;
}

Settings test_settings(uint64_t seed) {
  Settings settings;
  settings.seed = seed;
  settings.host_threads = 1;
  settings.sm_count = 8;
  settings.memory_bytes = size_t{1} << 30;
  // Tests that count cycles count constants; those of the timing model ask for it.
  settings.timing = TimingModel::simple;
  return settings;
}

void watch_with_races(Device& device) {
  watch(device);
  races::watch_races(device);
}

LaunchConfiguration threads(uint32_t count) {
  LaunchConfiguration configuration;
  configuration.block = {count, 1, 1};
  return configuration;
}

LaunchConfiguration grid(uint32_t ctas, uint32_t threads_per_cta, uint32_t cluster) {
  LaunchConfiguration configuration = threads(threads_per_cta);
  configuration.grid = {ctas, 1, 1};
  configuration.cluster = {cluster, 1, 1};
  configuration.non_portable_cluster = true;
  return configuration;
}

}  // namespace bw::sim::test
