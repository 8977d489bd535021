#pragma once
/// \file
/// What the simulated device says about itself.

#include <driver_types.h>

#include <optional>

#include "common/simulator/machine/settings.hpp"

namespace bw::sim::cudart {

inline constexpr const char* kPciBusId = "0000:00:00.0";  ///< of a device on no bus

/// The value of a device attribute (cudaDeviceAttr and CUdevice_attribute share their numbers), or
/// nullopt for a number that is not an attribute.
[[nodiscard]] std::optional<int> device_attribute(int attribute, const Settings& settings);

/// The same facts as a cudaDeviceProp.
[[nodiscard]] cudaDeviceProp device_properties(const Settings& settings);

}  // namespace bw::sim::cudart
