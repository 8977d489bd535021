#pragma once
/// \file
/// What the chapters' programs have in common: exit status, the machine's line, the time's line,
/// the verdict, and the way of an error to the reader.

#include <cstdint>
#include <vector>

#include "common/host/command_line.hpp"
#include "common/host/comparison.hpp"
#include "common/host/compute_capability.hpp"
#include "common/host/cuda_check.hpp"
#include "common/host/device_attribute.hpp"

namespace bw {

/// What a program returns to the shell.
enum ExitStatus { kVerified = 0, kWrongResult = 1, kFailure = 2 };

namespace detail {

/// run_main() of any body.
int run_program(const CommandLine& command_line, const char* name, int argc,
                const char* const* argv, const void* body, ExitStatus (*call)(const void* body));

}  // namespace detail

/// Parses the options and runs `body`, which returns an ExitStatus; errors go to stderr and give
/// kFailure. `--help` prints the options of the program called `name`.
template <class Body>
int run_main(const CommandLine& command_line, const char* name, int argc, const char* const* argv,
             const Body& body) {
  return detail::run_program(
      command_line, name, argc, argv, &body,
      [](const void* any) -> ExitStatus { return (*static_cast<const Body*>(any))(); });
}

/// Prints the current device's line.
void print_machine();

/// Whether the current device is the simulator's, whose time is the same in every launch.
bool is_simulated();

/// Throws Error when `bytes`, the host memory that a problem takes, aren't there.
void require_host_memory(double bytes);

/// Wall-clock seconds since it was made.
class WallTimer {
 public:
  WallTimer();
  /// Wall time since the start.
  double seconds() const;

 private:
  int64_t begin_;  ///< ns of the steady clock
};

/// The device's clock in Hz.
double device_clock_hz();

/// Prints the time of work that took `milliseconds` between two events on the device, launching it
/// included, with its rate when `flops` isn't 0.
void print_time(float milliseconds, double flops, double wall_seconds);

/// The most of `cycles`, those of the CTAs or warps of a launch.
uint64_t most_cycles(const std::vector<uint64_t>& cycles);

/// Prints the line of cycles: most_cycles().
void print_most_cycles(const std::vector<uint64_t>& cycles);

/// Prints the error figures. `result` is the name of what was compared, such as "D".
void print_error_figures(const Comparison& comparison, const char* result);

/// Prints the verdict, with the first bad element.
ExitStatus print_verdict(const Comparison& comparison, const char* result);

/// Prints the error figures and the verdict.
ExitStatus report(const Comparison& comparison, const char* result);

}  // namespace bw
