#pragma once
/// \file
/// The observers that only some runs request: the race detector, the exploration of schedules, and
/// whatever writes launches to a file. A plain run neither builds nor loads them: where the
/// simulator is a shared library, they are another one, libsimulator_observers.so, in the same
/// folder. Static forms of the simulator hold them.

namespace bw::sim {
class Device;
struct Settings;
}  // namespace bw::sim

/// Adds the requested observers to a device, before its first launch, and returns whether launches
/// are written to a file. Throws SimulationError for a setting that can't be read and for a file
/// that can't be written. The library exports it by this name.
extern "C" bool bw_add_requested_observers(bw::sim::Device& device);

namespace bw::sim::session {

/// What requests one of them, a setting ("BW_SIM_CHECKS=races") or an environment variable's name;
/// nullptr for a plain run.
[[nodiscard]] const char* request_for_observers(const Settings& settings);

/// bw_add_requested_observers: linked (observers_linked.cpp) or loaded now (observers_loaded.cpp).
/// `request` is named in the SimulationError that says that the library can't be loaded.
[[nodiscard]] decltype(&bw_add_requested_observers) find_requested_observers(const char* request);

}  // namespace bw::sim::session
