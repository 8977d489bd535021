#pragma once
/// \file
/// From a launch that is stuck to the report that says why. Called by whoever launches.

#include "common/simulator/machine/device.hpp"

namespace bw::sim {

/// Lets the reports about a device's launches tell who did what, unless its settings say
/// Checks::off. To be called once, before the first launch.
void watch(Device& device);

/// The result of a launch that has finished. Throws SimulationError{deadlock or livelock} with the
/// report of one that is stuck.
LaunchResult explained(LaunchResult result);

}  // namespace bw::sim
