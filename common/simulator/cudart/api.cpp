#include "common/simulator/cudart/api.hpp"

#include <sys/ioctl.h>
#include <sysexits.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "common/simulator/base/text_wrap.hpp"
#include "common/simulator/units/control/device_calls.hpp"

namespace bw::sim::cudart {
namespace {

thread_local cudaError_t thread_last_error = cudaSuccess;
thread_local bool thread_uses_runtime = false;
thread_local int driver_calls = 0;

// BW_SIM_ON_ERROR; nothing but `exit` (the default) and `return` is accepted.
bool returns_on_fault() {
  const char* const value = std::getenv("BW_SIM_ON_ERROR");
  if (value == nullptr || std::string_view(value) == "exit") return false;
  if (std::string_view(value) == "return") return true;
  std::fprintf(stderr,
               "simulator: BW_SIM_ON_ERROR is \"%s\"; it can be `exit` (end the process after a "
               "fault, the default) or `return` (return the CUDA error code)\n",
               value);
  std::_Exit(EX_USAGE);
}

// Columns of the terminal that stderr is, 0 when it is none: logs keep whole lines.
size_t terminal_columns() {
  winsize size{};
  return isatty(STDERR_FILENO) != 0 && ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col
                                                                                    : 0;
}

bool ends_use_of_device(FaultKind kind) {
  return kind == FaultKind::contract || kind == FaultKind::deadlock ||
         kind == FaultKind::livelock || kind == FaultKind::trap;
}

// CUDA distinguishes the reasons for refusing a launch.
cudaError_t launch_error(LaunchCause cause) noexcept {
  switch (cause) {
    case LaunchCause::configuration:
      return cudaErrorInvalidConfiguration;
    case LaunchCause::cluster:
      return cudaErrorInvalidClusterSize;
    case LaunchCause::shared_memory:
      return cudaErrorInvalidValue;
    case LaunchCause::cooperative:
      return cudaErrorCooperativeLaunchTooLarge;
    case LaunchCause::resources:
      return cudaErrorLaunchOutOfResources;
  }
  return cudaErrorInvalidConfiguration;
}

cudaError_t device_error(DeviceError error) noexcept {
  switch (error) {
    case DeviceError::illegal_address:
      return cudaErrorIllegalAddress;
    case DeviceError::misaligned_address:
      return cudaErrorMisalignedAddress;
    case DeviceError::invalid_address_space:
      return cudaErrorInvalidAddressSpace;
    case DeviceError::launch_failure:
      break;
  }
  return cudaErrorLaunchFailure;
}

}  // namespace

bool uses_runtime() noexcept { return thread_uses_runtime; }

void note_runtime_use() noexcept {
  if (driver_calls == 0) thread_uses_runtime = true;
}

DriverScope::DriverScope() noexcept { ++driver_calls; }
DriverScope::~DriverScope() { --driver_calls; }

cudaError_t record_error(cudaError_t error) noexcept {
  // cudaErrorNotReady is an answer, not an error.
  if (error != cudaSuccess && error != cudaErrorNotReady) thread_last_error = error;
  return error;
}

cudaError_t last_error() noexcept { return thread_last_error; }

void clear_last_error() noexcept { thread_last_error = cudaSuccess; }

cudaError_t error_of(const Report& report) noexcept {
  switch (report.kind) {
    case FaultKind::parse:
      return cudaErrorInvalidPtx;
    case FaultKind::unsupported:
      return cudaErrorUnsupportedPtxVersion;
    case FaultKind::launch:
      return launch_error(report.cause);
    case FaultKind::contract:
      return device_error(report.device_error);
    case FaultKind::deadlock:
    case FaultKind::livelock:
      return cudaErrorLaunchTimeout;
    case FaultKind::trap:
      return is_assertion(report) ? cudaErrorAssert : cudaErrorLaunchFailure;
  }
  return cudaErrorUnknown;
}

cudaError_t on_fault(const Report& report) {
  // What the program has printed so far stands before the report.
  std::fflush(stdout);
  std::fprintf(stderr, "%s\n", wrap_lines(report.format(), terminal_columns()).c_str());
  std::fflush(stderr);
  if (report.kind != FaultKind::launch && !returns_on_fault()) {
    // Neither exit handlers nor destructors: they could print a result or use the device.
    std::_Exit(EX_SOFTWARE);
  }
  const cudaError_t error = error_of(report);
  if (ends_use_of_device(report.kind)) Runtime::instance().sticky_error = error;
  return error;
}

}  // namespace bw::sim::cudart
