#pragma once
/// \file
/// CUDA runtime status codes as errors.

#include <cuda_runtime_api.h>

#include <string>

#include "common/host/error.hpp"

namespace bw {

/// Throws Error when `status` isn't success. `action` completes "could not …".
inline void check_cuda(cudaError_t status, const std::string& action) {
  require(status == cudaSuccess, "Could not ", action, ": ", cudaGetErrorString(status), " (",
          cudaGetErrorName(status), ").");
}

}  // namespace bw
