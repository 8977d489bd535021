#pragma once
/// \file
/// One launch of a kernel, and its time: what the programs of chapters 1 to 4 do with theirs.

#include <cuda_runtime_api.h>

#include <cstdint>

#include "common/host/cuda_check.hpp"
#include "common/host/dynamic_shared_memory.hpp"
#include "common/host/event_timer.hpp"

namespace bw {

/// A one-dimensional grid and the dynamic shared memory of each CTA.
struct LaunchShape {
  uint32_t ctas;          ///< of the grid
  uint32_t threads;       ///< of each CTA
  uint32_t shared_bytes;  ///< bytes of dynamic shared memory
};

/// Lets `kernel` have its shared memory, runs it on the default stream, and waits for its end; its
/// milliseconds on the device's clock. Throws Error where the device can't launch it or it fails.
template <class Arguments>
float run_timed(void (*kernel)(Arguments), const LaunchShape& shape, Arguments arguments) {
  constexpr cudaStream_t kDefaultStream = nullptr;
  const void* const function = reinterpret_cast<const void*>(kernel);
  allow_dynamic_shared_memory(function, shape.shared_bytes);
  void* parameters[] = {&arguments};
  EventTimer timer;
  timer.start(kDefaultStream);
  check_cuda(cudaLaunchKernel(function, dim3(shape.ctas), dim3(shape.threads), parameters,
                              shape.shared_bytes, kDefaultStream),
             "launch the kernel");
  return timer.stop(kDefaultStream);
}

}  // namespace bw
