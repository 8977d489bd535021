/// \file
/// The conformance program: measures what instructions, tensor maps and the runtime do, writes it
/// to a file, or compares it with a file that another machine has written. See README.md.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <exception>
#include <fstream>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "common/host/cuda_check.hpp"
#include "tests/hardware/records.hpp"

namespace bw::conformance {
namespace {

constexpr const char* kUsage =
    "Usage: conformance [--match PREFIX] [--note TEXT] ACTION\n"
    "  --list               the names of the cases\n"
    "  --case NAME          every value of one case and what led to it\n"
    "  --write FILE         measure all cases; large ones as hashes\n"
    "  --write-values FILE  the same with every value\n"
    "  --check              measure and compare with what the cases themselves expect\n"
    "  --compare FILE       measure and compare with a file; exit status 1 when they differ\n"
    "  --match PREFIX       only the cases whose names start so\n"
    "  --note TEXT          a line for the head of the file, such as the driver's version\n";

struct Options {
  std::string action;
  std::string argument;
  std::string prefix;
  std::string note;
};

Options parse(int count, char** arguments) {
  Options options;
  for (int i = 1; i < count; ++i) {
    const std::string name = arguments[i];
    const bool is_action =
        name == "--case" || name == "--write" || name == "--write-values" || name == "--compare";
    if (name == "--list" || name == "--check") {
      options.action = name;
      continue;
    }
    require(is_action || name == "--match" || name == "--note", "Unknown argument ", name, ".\n",
            kUsage);
    require(i + 1 < count, name, " needs a value.\n", kUsage);
    const std::string value = arguments[++i];
    if (is_action) {
      options.action = name;
      options.argument = value;
    } else {
      (name == "--match" ? options.prefix : options.note) = value;
    }
  }
  require(!options.action.empty(), kUsage);
  return options;
}

std::vector<Case> chosen(const Options& options) {
  std::vector<Case> cases;
  for (Case& candidate : all_cases())
    if (options.action == "--case" ? candidate.name == options.argument
                                   : candidate.name.starts_with(options.prefix))
      cases.push_back(std::move(candidate));
  require(!cases.empty(), "No case has this name; --list shows them all.");
  return cases;
}

std::string version(int number) {
  return std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10);
}

/// What was measured on, for the head of a results file.
std::string description(const std::string& note) {
  cudaDeviceProp properties{};
  int runtime = 0;
  int driver = 0;
  check_cuda(cudaGetDeviceProperties(&properties, 0), "describe device 0");
  check_cuda(cudaRuntimeGetVersion(&runtime), "ask for the runtime's version");
  check_cuda(cudaDriverGetVersion(&driver), "ask for the driver's version");
  char date[sizeof("2000-01-01")];
  const std::time_t now = std::time(nullptr);
  std::strftime(date, sizeof(date), "%Y-%m-%d", std::gmtime(&now));
  return "# Measured by tests/hardware (see its README.md) on " + std::string(date) +
         "\n# GPU: " + properties.name + ", compute capability " +
         std::to_string(properties.major) + "." + std::to_string(properties.minor) + "\n# CUDA " +
         version(runtime) + ", driver for CUDA " + version(driver) +
         (note.empty() ? "" : ", " + note) + "\n";
}

/// After a fault every further call fails; with a new context the other cases can be measured.
void start_over() { static_cast<void>(cudaDeviceReset()); }

int print(const Case& one) {
  const Result result = one.measure();
  for (size_t i = 0; i < result.values.size(); ++i)
    std::printf("%zu: %llx   %s\n", i, static_cast<unsigned long long>(result.values[i]),
                result.describe(i).c_str());
  return 0;
}

int write(const std::vector<Case>& cases, const Options& options) {
  std::ofstream file(options.argument);
  file << description(options.note);
  size_t failed = 0;
  for (const Case& one : cases) {
    try {
      const Result result = one.measure();
      file << to_line(one.name, make_record(result.values, options.action == "--write-values"))
           << '\n';
    } catch (const std::exception& error) {
      ++failed;
      std::printf("%s could not be measured: %s\n", one.name.c_str(), error.what());
      start_over();
    }
  }
  require(file.flush().good(), "Could not write ", options.argument, ".");
  std::printf("%zu cases written to %s\n", cases.size() - failed, options.argument.c_str());
  return failed == 0 ? 0 : 1;
}

/// One line about a difference: where it is, its operands, and both values where both are known.
std::string difference(const Record& reference, const Result& result, size_t index) {
  if (index >= result.values.size() || result.values.size() != reference.count)
    return "has " + std::to_string(result.values.size()) + " values here and " +
           std::to_string(reference.count) + " in the file";
  char text[160];
  if (reference.complete) {
    std::snprintf(text, sizeof(text), "element %zu is %llx here and %llx in the file: ", index,
                  static_cast<unsigned long long>(result.values[index]),
                  static_cast<unsigned long long>(reference.words[index]));
    return text + result.describe(index);
  }
  std::snprintf(text, sizeof(text),
                "differs in the block of %zu elements from element %zu (there %llx here): ",
                result.values.size() / kBlocks, index,
                static_cast<unsigned long long>(result.values[index]));
  return text + result.describe(index);
}

int compare(const std::vector<Case>& cases, const Options& options) {
  const std::map<std::string, Record> reference = read_records(options.argument);
  size_t different = 0;
  for (const Case& one : cases) {
    const auto found = reference.find(one.name);
    std::string problem;
    if (found == reference.end()) {
      problem = "is not in the file";
    } else {
      try {
        const Result result = one.measure();
        const size_t index = first_difference(found->second, result.values);
        if (index != result.values.size() || index != found->second.count)
          problem = difference(found->second, result, index);
      } catch (const std::exception& error) {
        problem = std::string("could not be measured: ") + error.what();
        start_over();
      }
    }
    if (problem.empty()) continue;
    ++different;
    std::printf("%s %s\n", one.name.c_str(), problem.c_str());
  }
  if (options.prefix.empty() && reference.size() != cases.size()) {
    ++different;
    std::printf("The file has %zu cases, this program %zu.\n", reference.size(), cases.size());
  }
  std::printf("%zu of %zu cases differ from %s\n", different, cases.size(),
              options.argument.c_str());
  return different == 0 ? 0 : 1;
}

/// Cases that say what they expect. What is open is told, and counts as no difference.
int check(const std::vector<Case>& cases) {
  size_t different = 0, open = 0;
  for (const Case& one : cases) {
    try {
      const Result result = one.measure();
      require(result.expected.size() == result.values.size(), "The case ", one.name,
              " doesn't say what it expects; compare it with a file of results.");
      const auto [value, expected] =
          std::mismatch(result.values.begin(), result.values.end(), result.expected.begin());
      if (value == result.values.end()) continue;
      (result.open ? open : different) += 1;
      std::printf("%s%s: %llx here, expected %llx: %s\n", one.name.c_str(),
                  result.open ? " (open)" : "", static_cast<unsigned long long>(*value),
                  static_cast<unsigned long long>(*expected),
                  result.describe(static_cast<size_t>(value - result.values.begin())).c_str());
    } catch (const std::exception& error) {
      ++different;
      std::printf("%s could not be measured: %s\n", one.name.c_str(), error.what());
      start_over();
    }
  }
  std::printf(
      "%zu of %zu cases differ from what they expect, %zu more in what the ISA leaves open\n",
      different, cases.size(), open);
  return different == 0 ? 0 : 1;
}

int run(const Options& options) {
  if (options.action == "--list") {
    for (const Case& one : all_cases()) std::printf("%s\n", one.name.c_str());
    return 0;
  }
  const std::vector<Case> cases = chosen(options);
  if (options.action == "--check") return check(cases);
  if (options.action == "--case") return print(cases.front());
  return options.action == "--compare" ? compare(cases, options) : write(cases, options);
}

}  // namespace
}  // namespace bw::conformance

int main(int count, char** arguments) {
  try {
    return bw::conformance::run(bw::conformance::parse(count, arguments));
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 2;
  }
}
