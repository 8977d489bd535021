#pragma once
/// \file
/// CUDA runtime status codes as errors.

#include <cuda_runtime_api.h>

#include "common/host/require.hpp"

namespace bw {

/// Throws Error when `status` isn't success. The parts of `action` complete "could not …"; they are
/// put together only then.
template <class... Action>
void check_cuda(cudaError_t status, const Action&... action) {
  if (status == cudaSuccess) return;
  require(false, "Could not ", action..., ": ", cudaGetErrorString(status), " (",
          cudaGetErrorName(status), ").");
}

}  // namespace bw
