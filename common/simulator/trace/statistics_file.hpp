#pragma once
/// \file
/// A file of statistics (BW_SIM_STATISTICS): a JSON object a line for each launch, the input of
/// profiles. common/simulator/README.md describes the fields.

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

#include "common/simulator/machine/observer.hpp"
#include "common/simulator/trace/statistics.hpp"

namespace bw::sim::trace {

/// Adds up every launch of a device, and writes a line at its end. The same for any number of host
/// threads.
class StatisticsFile final : public LaunchObserver {
 public:
  /// Changes when a field is removed or changes its meaning.
  static constexpr int kVersion = 1;

  /// Creates (or empties) the file. Throws SimulationError{launch} if that is not possible.
  explicit StatisticsFile(const std::string& path);

  /// The file that BW_SIM_STATISTICS names, or nullptr.
  [[nodiscard]] static std::unique_ptr<StatisticsFile> from_environment();

  /// A launch begins.
  void on_launch(Grid& grid) override;
  [[nodiscard]] std::unique_ptr<Observer> observe(Cluster& cluster) override;
  void on_launch_end(const LaunchResult& result) override;

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::unique_ptr<std::FILE, Close> file_;
  uint64_t launches_ = 0;
  Grid* grid_ = nullptr;  ///< of the running launch
  Sums sums_;             ///< of its clusters that have ended
};

}  // namespace bw::sim::trace
