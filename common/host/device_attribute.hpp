#pragma once
/// \file
/// Properties of the current device, one at a time.

#include <cuda_runtime_api.h>

#include "common/host/cuda_check.hpp"

namespace bw {

/// The value of `attribute` for the current device.
inline int device_attribute(cudaDeviceAttr attribute) {
  int device = 0, value = 0;
  check_cuda(cudaGetDevice(&device), "find the current device");
  check_cuda(cudaDeviceGetAttribute(&value, attribute, device), "ask for a device attribute");
  return value;
}

}  // namespace bw
