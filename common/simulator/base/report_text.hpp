#pragma once
/// \file
/// A report for a human reader: with the lines of source, fitted to the terminal, in colour.

#include <cstddef>
#include <string>

#include "common/simulator/base/error.hpp"

namespace bw::sim {

/// How a report is shown.
struct Presentation {
  size_t columns = 0;       ///< of the terminal; 0: no wrapping
  bool colours = false;     ///< ANSI escape sequences
  bool shows_code = false;  ///< the lines of source, where their files can be read
};

/// The report's lines, without a newline at the end.
[[nodiscard]] std::string present(const Report& report, const Presentation& how);

/// The line of source of a location and a caret below its column, each line with a leading newline;
/// empty if the file can't be read or has no such line.
[[nodiscard]] std::string excerpt(const ReportPlace& place, const Presentation& how);

}  // namespace bw::sim
