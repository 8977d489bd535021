#pragma once
/// \file
/// A file that holds recordings (BW_SIM_RECORDING): what timelines and profiles are made from.
///
/// The eight bytes "BWREC001", then parts: a tag of four letters, four zero bytes, the part's size
/// in bytes (uint64_t) and its content. All numbers are little-endian.
///
///     kind  JSON: the table of kinds of rows (kind_of), with which a reader knows what it can
///     expect lnch  JSON: a launch begins (as in the event log), and what of it is recorded clst  a
///     cluster: sizes of the three parts that follow (uint64_t each: bytes, rows, values),
///           JSON (CTAs, barriers, texts, where it was cut), rows (Row), values (int64_t)
///     plac  JSON: the places of the launch's instructions
///     lend  JSON: the launch has ended
///
/// A program that is killed leaves a file whose last part may be cut off.

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/simulator/machine/observer.hpp"
#include "common/simulator/trace/recorder.hpp"

namespace bw::sim::trace {

/// Reads "A-B" or "A", the setting `name`; leaves the bounds unchanged for "". Throws
/// SimulationError{launch} for anything else.
void read_window(std::string_view name, std::string_view text, uint64_t& first, uint64_t& last);

/// Records every launch of a device into a file. Clusters are in ascending order.
class RecordingFile final : public LaunchObserver {
 public:
  /// Creates (or empties) the file. `clusters` and `cycles` are "A-B", "A" or "" (see
  /// common/simulator/README.md). Throws SimulationError{launch} if the file can't be written or a
  /// window is invalid.
  RecordingFile(const std::string& path, std::string_view clusters, std::string_view cycles);

  /// Of BW_SIM_RECORDING (a file), BW_SIM_RECORDING_CLUSTERS and BW_SIM_RECORDING_CYCLES; nullptr
  /// if they are not set.
  [[nodiscard]] static std::unique_ptr<RecordingFile> from_environment();

  /// A launch begins.
  void on_launch(Grid& grid) override;
  [[nodiscard]] std::unique_ptr<Observer> observe(Cluster& cluster) override;
  void on_launch_end(const LaunchResult& result) override;

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  void begin_part(std::string_view tag, uint64_t size);
  void write_part(std::string_view tag, std::string_view content);
  void write(const void* bytes, size_t size);
  void write_cluster(const ClusterRecording& recording, const Kernel& kernel);

  RowKinds kinds_;
  RecordingWindow window_;  ///< of the running launch
  RecordingWindow asked_;
  bool chooses_clusters_;
  std::unique_ptr<std::FILE, Close> file_;
  uint64_t launches_ = 0;
  const Kernel* kernel_ = nullptr;  ///< of the running launch
  std::vector<bool> is_named_;      ///< whether a row names the instruction
};

}  // namespace bw::sim::trace
