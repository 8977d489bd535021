#pragma once
/// \file
/// How every API function runs: under the runtime's lock, with faults turned into what the user
/// asked for and the error remembered for cudaGetLastError.

#include <mutex>
#include <new>
#include <utility>

#include "common/simulator/cudart/runtime/runtime.hpp"

/// Marks a function of the CUDA runtime's C interface.
#define BW_CUDART_API extern "C" __attribute__((visibility("default")))

/// The per-thread-default-stream twin of an API function. All streams run in order here, so it is
/// the same function under another name (suffix _ptsz for streams, _ptds for the default stream).
#define BW_CUDART_TWIN(name, suffix) \
  BW_CUDART_API decltype(name) name##suffix __attribute__((alias(#name), nothrow));

namespace bw::sim::cudart {

/// Whether this host thread has called the runtime itself: the primary context is current then.
[[nodiscard]] bool uses_runtime() noexcept;
/// Remembers that the program calls the runtime.
void note_runtime_use() noexcept;
/// While it lives, calls of the runtime's functions are the driver's own.
class DriverScope {
 public:
  DriverScope() noexcept;
  ~DriverScope();
  DriverScope(const DriverScope&) = delete;
  DriverScope& operator=(const DriverScope&) = delete;
};

/// Remembers an error for cudaGetLastError of this host thread, and returns it.
cudaError_t record_error(cudaError_t error) noexcept;
/// Of this host thread; stays until it is cleared.
[[nodiscard]] cudaError_t last_error() noexcept;
/// Forgets it.
void clear_last_error() noexcept;

/// What a fault leads to. By default the report is printed on stderr and the process ends with exit
/// status 70 (EX_SOFTWARE), so that nothing is printed as a result. With BW_SIM_ON_ERROR=return,
/// and for launch configuration errors always, the report is printed and the CUDA error code is
/// returned; faults of a running kernel make it sticky, as on a device.
cudaError_t on_fault(const Report& report);

/// The CUDA error of a fault.
[[nodiscard]] cudaError_t error_of(const Report& report) noexcept;

/// Calls `body`, which returns a cudaError_t, as an API function that uses the device.
template <class Body>
cudaError_t device_api(Body&& body) noexcept {
  note_runtime_use();
  Runtime& runtime = Runtime::instance();
  const std::lock_guard<std::recursive_mutex> lock(runtime.mutex());
  if (runtime.sticky_error != cudaSuccess) return record_error(runtime.sticky_error);
  try {
    return record_error(std::forward<Body>(body)(runtime));
  } catch (const SimulationError& error) {
    return record_error(on_fault(error.report()));
  } catch (const std::bad_alloc&) {
    return record_error(cudaErrorMemoryAllocation);
  }
}

}  // namespace bw::sim::cudart
