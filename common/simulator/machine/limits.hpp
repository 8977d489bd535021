#pragma once
/// \file
/// Limits of the machine (NVIDIA CUDA C++ Programming Guide, compute capability 10.0).

#include <cstddef>
#include <cstdint>

namespace bw::sim {

inline constexpr size_t kSharedBytesPerSm = 228 * 1024;     ///< of shared memory
inline constexpr size_t kSharedBytesPerBlock = 227 * 1024;  ///< opt-in maximum
inline constexpr size_t kSharedBytesDefault = 48 * 1024;    ///< without the opt-in attribute
inline constexpr uint32_t kRegistersPerSm = 65536;          ///< of 32 bits
inline constexpr uint32_t kMaxThreadsPerBlock = 1024;       ///< for a CTA
inline constexpr uint32_t kMaxThreadsPerSm = 2048;          ///< of all CTAs on it
inline constexpr uint32_t kMaxCtasPerSm = 32;               ///< at a time
inline constexpr uint32_t kMaxClusterPortable = 8;  ///< CTAs of a cluster that every GPU takes
/// CTAs of a cluster where the kernel asks for it.
inline constexpr uint32_t kMaxClusterNonPortable = 16;

}  // namespace bw::sim
