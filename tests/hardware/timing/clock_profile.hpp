#pragma once
/// \file
/// A part of the group "clock".

#include "tests/hardware/timing/measurement.hpp"

namespace bw::timing {

/// The SM's clock from the first MMA on, and after the last.
void measure_clock_profile(Results& results);

}  // namespace bw::timing
