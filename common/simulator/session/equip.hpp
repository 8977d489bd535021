#pragma once
/// \file
/// What a device is watched by: the observers that reports need, and those that the environment
/// asks for.

#include "common/simulator/diagnosis/written_bytes.hpp"
#include "common/simulator/machine/device.hpp"

namespace bw::sim::session {

/// What was added to a device.
struct Equipment {
  /// Launches are written to a file, one after the other (BW_SIM_EVENTS, BW_SIM_RECORDING,
  /// BW_SIM_STATISTICS).
  bool records_launches = false;
  /// The written bytes of device memory, if reads of others are faults. The device owns them.
  WrittenBytes* written = nullptr;
};

/// Adds the observers, before the first launch. Throws SimulationError for a setting that can't be
/// read and for a file that can't be written.
[[nodiscard]] Equipment equip(Device& device);

}  // namespace bw::sim::session
