#pragma once
/// \file
/// The numbers of the timing model, a table for each machine. docs/timing.md is made from them.

#include <span>
#include <string_view>

#include "common/simulator/base/types.hpp"

namespace bw::sim {

struct MachineDescription;

/// Whether simulated time follows the model.
enum class TimingModel : uint8_t {
  simple,  ///< the constants of clock/costs.hpp: an operation takes the same time always
  model,  ///< the tables here: instructions, units and memory that others use have to be waited for
};

/// How far a number can be trusted.
enum class TimingSource : uint8_t {
  measured,   ///< by a program of tests/hardware/timing on that machine
  fitted,     ///< chosen so that named measurements come out in the simulator
  published,  ///< by others, cited next to it
  assumed,    ///< a guess, justified next to it
};

/// "measured", "fitted", "published", "assumed".
[[nodiscard]] const char* timing_source_name(TimingSource source) noexcept;

/// The numbers of one machine: rows of timing_numbers.inc.
struct TimingTable {
/// A row of the list: here its member.
#define BW_TIMING_NUMBER(type, name, unit, sentence) type name;
#include "common/simulator/clock/timing_numbers.inc"
#undef BW_TIMING_NUMBER
};

/// A number with what is to be known of it.
struct TimingNumber {
  std::string_view name;                        ///< of the member
  std::string_view unit;                        ///< "cycles", "bytes/cycle", ...
  std::string_view sentence;                    ///< what it is
  double value = 0;                             ///< in that unit
  TimingSource source = TimingSource::assumed;  ///< how far it can be trusted
  std::string_view origin;                      ///< where it comes from
};

/// The times of a machine of machine_description.hpp.
[[nodiscard]] const TimingTable& times_of(const MachineDescription& machine);
/// The same as a list, for pages and tools.
[[nodiscard]] std::span<const TimingNumber> timing_numbers_of(const MachineDescription& machine);

}  // namespace bw::sim
