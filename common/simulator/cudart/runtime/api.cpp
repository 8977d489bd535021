#include "common/simulator/cudart/runtime/api.hpp"

#include <sysexits.h>

#include <cstdlib>
#include <string>
#include <string_view>

#include "common/simulator/cudart/runtime/reporting.hpp"

namespace bw::sim::cudart {
namespace {

thread_local cudaError_t thread_last_error = cudaSuccess;
thread_local bool thread_uses_runtime = false;
thread_local int driver_calls = 0;

/// What follows a fault (BW_SIM_ON_ERROR).
enum class OnError : uint8_t { exit, return_code, resume };

// Nothing but these three is accepted.
OnError after_fault() {
  const char* const value = std::getenv("BW_SIM_ON_ERROR");
  if (value == nullptr || std::string_view(value) == "exit") return OnError::exit;
  if (std::string_view(value) == "return") return OnError::return_code;
  if (std::string_view(value) == "continue") return OnError::resume;
  show({.code = FaultCode::setting_invalid,
        .what = std::string("BW_SIM_ON_ERROR is \"") + value + "\"",
        .fix = "set it to `exit` (end the process after a fault, the default), to `return` "
               "(return the CUDA error code) or to `continue` (return it once, and let the program "
               "go on using the device)"});
  std::_Exit(EX_USAGE);
}

bool ends_use_of_device(FaultKind kind) {
  return kind == FaultKind::contract || kind == FaultKind::deadlock ||
         kind == FaultKind::livelock || kind == FaultKind::trap;
}

// CUDA distinguishes the reasons for refusing a launch.
cudaError_t launch_error(FaultCode code) noexcept {
  switch (code) {
    case FaultCode::launch_cluster:
      return cudaErrorInvalidClusterSize;
    case FaultCode::launch_shared_memory:
      return cudaErrorInvalidValue;
    case FaultCode::launch_cooperative:
      return cudaErrorCooperativeLaunchTooLarge;
    case FaultCode::launch_resources:
      return cudaErrorLaunchOutOfResources;
    default:
      return cudaErrorInvalidConfiguration;
  }
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
  switch (report.kind()) {
    case FaultKind::parse:
      return cudaErrorInvalidPtx;
    case FaultKind::unsupported:
      return cudaErrorUnsupportedPtxVersion;
    case FaultKind::launch:
      return launch_error(report.code);
    case FaultKind::call:
      return cudaErrorInvalidValue;
    case FaultKind::contract:
      return device_error(report.device_error);
    case FaultKind::deadlock:
    case FaultKind::livelock:
      return cudaErrorLaunchTimeout;
    case FaultKind::trap:
      return report.code == FaultCode::assertion_failed ? cudaErrorAssert : cudaErrorLaunchFailure;
  }
  return cudaErrorUnknown;
}

cudaError_t on_fault(const Report& report) {
  show(report);
  if (report.kind() != FaultKind::launch && after_fault() == OnError::exit) {
    // Neither exit handlers nor destructors: they could print a result or use the device.
    std::_Exit(EX_SOFTWARE);
  }
  const cudaError_t error = error_of(report);
  if (ends_use_of_device(report.kind()) && after_fault() == OnError::return_code)
    Runtime::instance().sticky_error = error;
  return error;
}

}  // namespace bw::sim::cudart
