#pragma once
/// \file
/// How a report reaches the reader: on stderr, and in the file that BW_SIM_REPORT names.

#include <vector>

#include "common/simulator/base/error.hpp"
#include "common/simulator/machine/warnings.hpp"

namespace bw::sim::cudart {

/// Makes the file of reports, if one is asked for, so that a run without any leaves one that says
/// so. A file that can't be written is said, and the run goes on. All three: under the runtime's
/// lock.
void begin_reports();

/// Prints a report on stderr, after what the program has printed so far. A terminal gets lines
/// that fit it and, unless NO_COLOR is set, colours.
void show(const Report& report);

/// Prints what launches have let pass, each code and line once in the life of the process.
void show_warnings(std::vector<Warning>& warnings);

}  // namespace bw::sim::cudart
