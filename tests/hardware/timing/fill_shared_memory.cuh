#pragma once
/// \file
/// What copies out of shared memory store.

#include <cstdint>

#include "common/device/fence.cuh"

namespace bw::timing {

/// Writes the words of `memory` [bytes], for copies that a thread issues behind a barrier with the
/// others. All threads of the CTA call it.
__device__ inline void fill_shared_memory(uint8_t* memory, uint32_t bytes) {
  for (uint32_t i = threadIdx.x; i < bytes / sizeof(uint32_t); i += blockDim.x) {
    reinterpret_cast<uint32_t*>(memory)[i] = i;
  }
  ptx::fence_proxy_async_shared();
}

}  // namespace bw::timing
