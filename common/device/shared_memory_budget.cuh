#pragma once
/// \file
/// Shared memory that a CTA can have.

#include <cstdint>

namespace bw {

/// Bytes of static and dynamic shared memory that one CTA can opt into on sm_90 and sm_100 (CUDA
/// Programming Guide, "Compute Capabilities").
constexpr uint32_t kMaxSharedBytesPerCta = 227 * 1024;

}  // namespace bw
