/// \file
/// Measures what the timing model of the simulator is made of and tested on, and compares two
/// machines: the one that runs this (a GPU or the simulator) and a recorded one.

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "common/host/program.hpp"
#include "common/host/progress_line.hpp"
#include "tests/hardware/timing/measurement.hpp"
#include "tests/hardware/timing/results_file.hpp"

namespace bw::timing {
namespace {

struct Options {
  const char* groups = "all";
  const char* write = "";    ///< empty: nowhere
  const char* against = "";  ///< empty: nothing is compared
  double within = 0;
  bool list = false;
};

std::vector<Group> chosen(const std::string& names) {
  if (names == "all") return {groups().begin(), groups().end()};
  std::vector<Group> result;
  size_t begin = 0;
  while (begin <= names.size()) {
    const size_t end = std::min(names.find(',', begin), names.size());
    const std::string name = names.substr(begin, end - begin);
    const auto found = std::find_if(groups().begin(), groups().end(),
                                    [&](const Group& group) { return group.name == name; });
    require(found != groups().end(), "There is no group ", name, "; --list shows them all.");
    result.push_back(*found);
    begin = end + 1;
  }
  return result;
}

std::string describe_machine() {
  cudaDeviceProp properties{};
  int driver = 0;
  check_cuda(cudaGetDeviceProperties(&properties, 0), "describe device 0");
  check_cuda(cudaDriverGetVersion(&driver), "ask for the driver's version");
  char date[sizeof("2000-01-01")];
  const std::time_t now = std::time(nullptr);
  std::strftime(date, sizeof(date), "%Y-%m-%d", std::gmtime(&now));
  return std::string(properties.name) + " with " + std::to_string(properties.multiProcessorCount) +
         " SMs at most " + std::to_string(device_attribute(cudaDevAttrClockRate) / 1000) +
         " MHz; driver for CUDA " + std::to_string(driver / 1000) + "." +
         std::to_string(driver % 1000 / 10) + "; " + date;
}

/// How far numbers are from the recorded ones.
struct Deviation {
  int compared = 0;  ///< numbers that have a record
  double worst = 0;  ///< as a part of the record
};

/// Prints a group's numbers next to the recorded ones; returns the mean and the worst deviation.
Deviation compare(const Group& group, const std::vector<Measurement>& rows,
                  const std::map<std::pair<std::string, std::string>, double>& recorded) {
  double sum = 0, worst = 0;
  int compared = 0;
  for (const Measurement& row : rows) {
    std::printf("%-44s %-44s %10.4g", row.name.c_str(), row.parameter.c_str(), row.value);
    const auto found = recorded.find({row.name, row.parameter});
    if (found == recorded.end()) {
      std::printf("  %10s  %8s  %s\n", "-", "", row.unit.c_str());
      continue;
    }
    const double deviation = row.value / found->second - 1;
    std::printf("  %10.4g  %+7.1f%%  %s\n", found->second, 100 * deviation, row.unit.c_str());
    sum += std::fabs(deviation);
    worst = std::max(worst, std::fabs(deviation));
    ++compared;
  }
  if (compared > 0) {
    std::printf("%s (%s): %d numbers, mean deviation %.1f%%, worst %.1f%%\n\n", group.name,
                group.fits ? "for fitting" : "for tests", compared, 100 * sum / compared,
                100 * worst);
  }
  return {compared, worst};
}

ExitStatus run(const Options& options) {
  if (options.list) {
    for (const Group& group : groups()) std::printf("%-16s %s\n", group.name, group.what);
    return kVerified;
  }
  require_device();
  const bool writes = *options.write != '\0', compares = *options.against != '\0';
  std::map<std::pair<std::string, std::string>, double> recorded;
  if (compares) {
    const ResultsFile file = read_results(options.against);
    for (const Measurement& row : file.rows) recorded[{row.name, row.parameter}] = row.value;
    std::printf("here      %s\nrecorded  %s\n\n", describe_machine().c_str(), file.machine.c_str());
    std::printf("%-44s %-44s %10s  %10s  %8s\n", "name", "parameter", "here", "recorded",
                "deviation");
  }
  wake_up();
  Deviation all;
  ResultsFile file{describe_machine(), {}};
  for (const Group& group : chosen(options.groups)) {
    Results results;
    group.measure(results);
    file.rows.insert(file.rows.end(), results.rows().begin(), results.rows().end());
    if (!writes || compares) {
      const Deviation of_group = compare(group, results.rows(), recorded);
      all = {all.compared + of_group.compared, std::max(all.worst, of_group.worst)};
    } else {
      std::printf("%s: %zu numbers\n", group.name, results.rows().size());
    }
    std::fflush(stdout);
  }
  if (writes) write_results(options.write, file);
  if (options.within == 0) return kVerified;
  require(all.compared > 0, "--within needs recorded numbers of these groups: --against FILE.");
  if (100 * all.worst <= options.within) return kVerified;
  std::printf("a number deviates by %.1f%%, which is more than the %g%% of --within\n",
              100 * all.worst, options.within);
  return kWrongResult;
}

}  // namespace
}  // namespace bw::timing

int main(int argc, char** argv) {
  bw::timing::Options options;
  bw::CommandLine command_line(
      "Measures latencies, throughputs and kernels on the current device, a GPU or the "
      "simulator's, "
      "and compares them with recorded numbers.");
  command_line.add("groups", options.groups, "which groups, with commas between them");
  command_line.add("write", options.write, "a file for the numbers");
  command_line.add("against", options.against, "a file of recorded numbers to compare with");
  command_line.add("within", options.within,
                   "per cent that no number may deviate more from its record");
  command_line.add_flag("list", options.list, "the groups, and nothing else");
  return bw::run_main(command_line, "timing_bench", argc, argv,
                      [&] { return bw::timing::run(options); });
}
