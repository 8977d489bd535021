#pragma once
/// \file
/// How many SMs the current device has.

#include <cstdint>

#include "common/host/device_attribute.hpp"

namespace bw::timing {

/// SMs of the current device.
inline uint32_t sm_count() {
  return static_cast<uint32_t>(device_attribute(cudaDevAttrMultiProcessorCount));
}

}  // namespace bw::timing
