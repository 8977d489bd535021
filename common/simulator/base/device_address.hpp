#pragma once
/// \file
/// Addresses of device memory, which have 64 bits, and the host's pointers to the same bytes.

#include <cstddef>
#include <cstdint>

namespace bw::sim {

/// With pointers of 64 bits a device address is the host address of the same byte. Otherwise device
/// memory is one range of the host's, at a fixed distance from its addresses on the device.
inline constexpr bool kSharesAddresses = sizeof(void*) == sizeof(uint64_t);
/// That distance, which the device memory sets.
inline uint64_t device_memory_distance = 0;

/// The host's byte at a device address.
[[nodiscard]] inline std::byte* host_pointer(uint64_t address) {
  if constexpr (!kSharesAddresses) address -= device_memory_distance;
  return reinterpret_cast<std::byte*>(static_cast<uintptr_t>(address));
}

/// The device address of a byte of device memory.
[[nodiscard]] inline uint64_t device_address(const void* pointer) {
  const auto address = static_cast<uint64_t>(reinterpret_cast<uintptr_t>(pointer));
  return kSharesAddresses ? address : address + device_memory_distance;
}

}  // namespace bw::sim
