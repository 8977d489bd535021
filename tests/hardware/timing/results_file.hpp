#pragma once
/// \file
/// The file of a machine's numbers: CSV with the machine in its head.

#include <string>
#include <vector>

#include "tests/hardware/timing/measurement.hpp"

namespace bw::timing {

/// Version of the rows; a file of another one is refused.
constexpr int kFileVersion = 1;

/// A file's content.
struct ResultsFile {
  std::string machine;  ///< what it was measured on, in words
  std::vector<Measurement> rows;
};

/// Reads a file. Throws Error for one that can't be read, has another version or a bad row.
[[nodiscard]] ResultsFile read_results(const std::string& path);
/// Writes one. Throws Error where it can't be written.
void write_results(const std::string& path, const ResultsFile& file);

}  // namespace bw::timing
