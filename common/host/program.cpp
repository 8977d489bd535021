#include "common/host/program.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <iostream>
#include <new>

namespace bw {
namespace {

/// Bytes of physical memory; 0 when the system doesn't say.
double physical_memory_bytes() {
  const long pages = sysconf(_SC_PHYS_PAGES);
  const long page_bytes = sysconf(_SC_PAGESIZE);
  return pages > 0 && page_bytes > 0 ? static_cast<double>(pages) * page_bytes : 0.0;
}

int64_t steady_nanoseconds() {
  return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

int detail::run_program(const CommandLine& command_line, const char* name, int argc,
                        const char* const* argv, const void* body,
                        ExitStatus (*call)(const void* body)) {
  try {
    if (!command_line.parse(argc, argv)) {
      command_line.print_help(std::cout, name);
      return kVerified;
    }
    return call(body);
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "error: The host ran out of memory; give smaller sizes.\n");
  } catch (const std::exception& error) {
    std::fflush(stdout);
    std::fprintf(stderr, "error: %s\n", error.what());
  }
  return kFailure;
}

void require_host_memory(double bytes) {
  constexpr double kGibibyte = 1 << 30;
  const double available = physical_memory_bytes();
  require(available == 0 || bytes < available, "This problem takes ", bytes / kGibibyte,
          " GiB for its matrices and their reference; this machine has ", available / kGibibyte,
          " GiB: give smaller sizes.");
}

WallTimer::WallTimer() : begin_(steady_nanoseconds()) {}

double WallTimer::seconds() const {
  return static_cast<double>(steady_nanoseconds() - begin_) * 1e-9;
}

uint64_t most_cycles(const std::vector<uint64_t>& cycles) {
  return *std::max_element(cycles.begin(), cycles.end());
}

void print_most_cycles(const std::vector<uint64_t>& cycles) {
  std::printf("cycles   %llu\n", static_cast<unsigned long long>(most_cycles(cycles)));
}

void print_error_figures(const Comparison& comparison, const char* result) {
  std::printf(
      "error    max |%s - reference| %.3g, worst share of the allowed error %.3f, "
      "relative rms %.3g\n",
      result, comparison.max_error, comparison.max_error_to_allowed, comparison.relative_rms_error);
}

ExitStatus print_verdict(const Comparison& comparison, const char* result) {
  if (comparison.verified()) {
    std::printf("verified (%lld elements)\n", static_cast<long long>(comparison.elements));
    return kVerified;
  }
  std::printf("WRONG    %lld of %lld elements are off by more than is allowed",
              static_cast<long long>(comparison.bad_elements),
              static_cast<long long>(comparison.elements));
  if (comparison.first_bad) {
    const BadElement& bad = *comparison.first_bad;
    std::printf("; the first is %s[%lld][%lld] = %.9g, expected %.9g, allowed error %.3g", result,
                static_cast<long long>(bad.row), static_cast<long long>(bad.column), bad.got,
                bad.expected, bad.allowed);
  }
  std::printf("\n");
  return kWrongResult;
}

ExitStatus report(const Comparison& comparison, const char* result) {
  print_error_figures(comparison, result);
  return print_verdict(comparison, result);
}

}  // namespace bw
