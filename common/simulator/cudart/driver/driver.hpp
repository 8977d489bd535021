#pragma once
/// \file
/// What the driver's functions (the driver_*.cpp files) share. Each is a thin layer over a function
/// of the runtime; contexts are marks, since there is one device with one address space.

#include <cuda.h>
#include <driver_types.h>

#include <utility>

#include "common/simulator/cudart/runtime/api.hpp"

/// The older name of a driver's function whose parameters have not changed.
#define BW_DRIVER_OLD_NAME(function, old)                      \
  BW_CUDART_API decltype(function) function##_old __asm__(old) \
      __attribute__((alias(#function), nothrow));

namespace bw::sim::cudart {

/// The driver's code for a runtime's: most have the same number.
[[nodiscard]] CUresult driver_code(cudaError_t error) noexcept;

/// The host thread's current context, or nullptr. The runtime's functions make the primary one
/// current.
[[nodiscard]] CUcontext current_context() noexcept;

/// CUDA_ERROR_NOT_INITIALIZED before cuInit, CUDA_ERROR_INVALID_CONTEXT without a current context;
/// says what is missing.
[[nodiscard]] CUresult check_context(const char* api);
/// The first of the two alone.
[[nodiscard]] CUresult check_initialised(const char* api);

/// Calls `body`, which returns a cudaError_t, for a driver's function that needs a context.
template <class Body>
CUresult driver_call(const char* api, Body&& body) {
  if (const CUresult missing = check_context(api); missing != CUDA_SUCCESS) return missing;
  const DriverScope scope;
  return driver_code(std::forward<Body>(body)());
}

/// A device address as the runtime's functions take it.
[[nodiscard]] inline void* pointer(CUdeviceptr address) { return reinterpret_cast<void*>(address); }

}  // namespace bw::sim::cudart
