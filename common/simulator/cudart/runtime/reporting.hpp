#pragma once
/// \file
/// How a report reaches the reader: on stderr, and in the file that BW_SIM_REPORT names.

#include <cstdint>
#include <string>
#include <utility>
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

/// The file that BW_SIM_REPORT names: reports as JSON, for programs; common/simulator/README.md
/// describes the fields. It is whole after each report, so that a process that ends in
/// a fault leaves all of them.
class ReportFile {
 public:
  /// The process's file, or nullptr if none is requested. Created on first use, without a report in
  /// it. Not thread-safe: called under the runtime's lock.
  [[nodiscard]] static ReportFile* instance();

  /// For `path`. A file that can't be written is said by `problem`.
  explicit ReportFile(std::string path);

  /// Adds what ended the program or a call.
  void add(const Report& report);
  /// Replaces the warnings by these, which hold all so far.
  void set_warnings(const std::vector<Warning>& warnings);
  /// Why the file can't be written, once; else empty.
  [[nodiscard]] std::string take_problem() { return std::move(problem_); }

 private:
  void write();

  std::string path_;
  std::vector<std::string> errors_;    ///< as JSON
  std::vector<std::string> warnings_;  ///< as JSON
  std::string problem_;
  bool is_broken_ = false;
  bool is_complete_ = true;  ///< no error was left out
};

}  // namespace bw::sim::cudart
