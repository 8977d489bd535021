#pragma once
/// \file
/// Allocation for the API functions that allocate.

#include <driver_types.h>

#include <cstddef>
#include <cstdint>

namespace bw::sim::cudart {

/// Allocates `bytes` bytes of a kind for the program; 0 bytes give a null pointer. `api` is the
/// caller's name. Explains on stderr before it returns cudaErrorMemoryAllocation.
cudaError_t allocate(const char* api, void** result, size_t bytes, cudaMemoryType type,
                     unsigned flags = 0);

/// Takes what was allocated at `address` out of its pool's figures, if a pool gave it.
void forget_in_pools(uint64_t address);

}  // namespace bw::sim::cudart
