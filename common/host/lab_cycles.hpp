#pragma once
/// \file
/// The line of cycles that labs end with: those of their kernel alone.

#include <cuda_runtime_api.h>

#include <cmath>
#include <cstdio>

#include "common/host/cuda_check.hpp"
#include "common/host/event_timer.hpp"
#include "common/host/program.hpp"

namespace bw {

/// Does nothing. A template, so that each program that launches it has its own.
template <class Nothing = void>
__global__ void empty_kernel() {}

/// Milliseconds between two events on an idle device with an empty launch between them: what the
/// host and the device take for any launch, some microseconds.
inline float empty_launch_milliseconds() {
  // On a GPU the first launch loads the kernel, and what disturbs a launch makes it longer.
  const int launches = is_simulated() ? 1 : 8;
  float least = 0;
  for (int i = 0; i < launches; ++i) {
    void* no_parameters[] = {nullptr};
    EventTimer timer;
    timer.start(nullptr);
    check_cuda(cudaLaunchKernel(reinterpret_cast<const void*>(&empty_kernel<>), dim3(1), dim3(1),
                                no_parameters, 0, nullptr),
               "launch an empty kernel");
    const float milliseconds = timer.stop(nullptr);
    least = i == 0 ? milliseconds : std::fmin(least, milliseconds);
  }
  return least;
}

/// Prints the cycles of kernels that took `milliseconds` between two events on an idle device,
/// less those of an empty launch: variants of a kernel differ in what is left.
inline void print_cycles(float milliseconds) {
  const double own = std::fmax(milliseconds - empty_launch_milliseconds(), 0.0f);
  std::printf("cycles   %.0f\n", own * 1e-3 * device_clock_hz());
}

}  // namespace bw
