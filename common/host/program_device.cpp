/// \file
/// What the programs ask of the device: apart from the rest of program.hpp, so that host code that
/// asks it nothing does without a CUDA runtime.
#include <cuda_runtime_api.h>

#include <cstdio>
#include <string_view>

#include "common/host/program.hpp"

namespace bw {

void print_machine() {
  cudaDeviceProp properties{};
  int device = 0;
  check_cuda(cudaGetDevice(&device), "find the current device");
  check_cuda(cudaGetDeviceProperties(&properties, device), "read the device's properties");
  std::printf("machine  %s (compute capability %d.%d, %d SMs)\n", properties.name, properties.major,
              properties.minor, properties.multiProcessorCount);
}

bool is_simulated() {
  constexpr std::string_view kBeginning = "Simulated ";
  cudaDeviceProp properties{};
  int device = 0;
  check_cuda(cudaGetDevice(&device), "find the current device");
  check_cuda(cudaGetDeviceProperties(&properties, device), "read the device's properties");
  return std::string_view(properties.name).starts_with(kBeginning);
}

double device_clock_hz() { return device_attribute(cudaDevAttrClockRate) * 1e3; }

void print_time(float milliseconds, double flops, double wall_seconds) {
  const double seconds = milliseconds * 1e-3;
  const double clock_hz = device_clock_hz();
  std::printf("time     %.3f us on the device, launch included (%.0f cycles at %.2f GHz",
              seconds * 1e6, seconds * clock_hz, clock_hz * 1e-9);
  if (flops > 0 && seconds > 0) std::printf(", %.2f TFLOP/s", flops / seconds * 1e-12);
  std::printf("), wall %.3f s\n", wall_seconds);
}

}  // namespace bw
