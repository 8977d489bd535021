#pragma once
/// \file
/// Properties of the current device, one at a time.

#include <cuda_runtime_api.h>

#include "common/host/cuda_check.hpp"

namespace bw {

/// The value of `attribute` for the current device. Without a GPU, the error names the programs
/// that run without one.
inline int device_attribute(cudaDeviceAttr attribute) {
  int device = 0, value = 0;
  const cudaError_t found = cudaGetDevice(&device);
  require(
      found != cudaErrorInsufficientDriver && found != cudaErrorNoDevice,
      "No GPU with a driver for CUDA 13 (580 or newer) was found. This program is linked with the"
      " CUDA Toolkit's runtime; the same one with the simulator's runs on any CPU: ./workbook"
      " run, with the chapter's number and --sim.");
  check_cuda(found, "find the current device");
  check_cuda(cudaDeviceGetAttribute(&value, attribute, device), "ask for a device attribute");
  return value;
}

}  // namespace bw
