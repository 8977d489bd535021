#pragma once
/// \file
/// Kernels with more dynamic shared memory than every kernel may have.

#include <cuda_runtime_api.h>

#include <cstdint>

#include "common/host/cuda_check.hpp"

namespace bw {

/// Lets launches of `kernel` on the current device have `bytes` of dynamic shared memory. Throws
/// Error where a CTA of the device can't have as much.
inline void allow_dynamic_shared_memory(const void* kernel, uint32_t bytes) {
  check_cuda(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  static_cast<int>(bytes)),
             "give the kernel ", bytes, " bytes of shared memory");
}

}  // namespace bw
