#pragma once
/// \file
/// Addresses of the shared window, in the 32-bit form that PTX instructions take.

#include <cstdint>

namespace bw::ptx {

/// The 32-bit address in the shared window (`.shared::cta`) of a generic pointer into the
/// shared memory of the executing CTA. It names the same byte when an instruction asks for a
/// `.shared::cluster` address (PTX ISA, "Shared State Space").
__device__ __forceinline__ uint32_t shared_address(const void* pointer) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

/// Bit of a shared-window address that holds the lowest bit of the CTA's rank in its cluster.
constexpr uint32_t kPeerCtaBit = 1u << 24;

/// The address of the same byte in the leader (the CTA of even rank) of the pair.
__device__ __forceinline__ uint32_t leader_address(uint32_t address) {
  return address & ~kPeerCtaBit;
}

}  // namespace bw::ptx
