#pragma once
/// \file
/// BW_SIM_REPORT: the reports of a process as JSON, for programs. common/simulator/README.md
/// describes the fields.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/simulator/machine/warnings.hpp"

namespace bw::sim::cudart {

/// The file that BW_SIM_REPORT names. It is whole after each report, so that a process that ends in
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

/// A report as a JSON object. `count`: how often there was reason for it.
[[nodiscard]] std::string report_json(const Report& report, uint64_t count);

}  // namespace bw::sim::cudart
