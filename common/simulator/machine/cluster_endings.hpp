#pragma once
/// \file
/// What clusters leave behind when they end, handed on cluster by cluster whatever order they end
/// in: the text of device-side printf, and their observers.

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "common/simulator/base/error.hpp"
#include "common/simulator/machine/observer.hpp"

namespace bw::sim {

/// Where device-side printf writes to: the file that BW_SIM_PRINTF names, else standard output.
/// With such a file, what the process prints is the host's alone. Throws SimulationError where the
/// file can't be written.
inline std::FILE* printf_file() {
  static std::FILE* const file = [] {
    const char* const path = std::getenv("BW_SIM_PRINTF");
    if (path == nullptr || *path == '\0') return stdout;
    std::FILE* const opened = std::fopen(path, "w");
    if (opened == nullptr)
      throw SimulationError(
          {.code = FaultCode::output_file,
           .what = std::string("the file ") + path +
                   ", which BW_SIM_PRINTF names, can't be written: " + std::strerror(errno),
           .fix = "name a file in a folder that exists and may be written to"});
    return opened;
  }();
  return file;
}

/// Hands on what clusters leave behind, in their order.
class ClusterEndings {
 public:
  /// What a cluster leaves behind.
  struct Ending {
    std::string output;                      ///< what its threads printed
    ObserverList observers;                  ///< who is told what happens
    RunStatus status = RunStatus::finished;  ///< how it ended
  };

  /// `independent`: clusters cannot see each other. Then which clusters after a failed one have run
  /// depends on the host's threads, so nothing of them is handed on.
  explicit ClusterEndings(bool independent) : independent_(independent), file_(printf_file()) {}
  ClusterEndings(const ClusterEndings&) = delete;
  ClusterEndings& operator=(const ClusterEndings&) = delete;
  /// A launch that ends early by a fault still hands on what its clusters left.
  ~ClusterEndings() {
    for (const auto& [cluster, ending] : waiting_) hand_on(ending);
    std::fflush(file_);
  }

  /// What a cluster that goes on has printed so far is printed now if every cluster before it has
  /// ended: one that prints without end is seen to. Any host thread.
  void print_early(uint64_t cluster, std::string& output) {
    const std::lock_guard lock(mutex_);
    if (cluster != next_ || failed_) return;
    std::fwrite(output.data(), 1, output.size(), file_);
    std::fflush(file_);
    output.clear();
  }

  /// A cluster has ended. It is handed on when every cluster before it has ended too. Any host
  /// thread.
  void finish(uint64_t cluster, Ending ending) {
    const std::lock_guard lock(mutex_);
    waiting_.emplace(cluster, std::move(ending));
    for (auto first = waiting_.begin(); first != waiting_.end() && first->first == next_;
         first = waiting_.erase(first), ++next_)
      hand_on(first->second);
  }

 private:
  void hand_on(const Ending& ending) {
    if (failed_) return;
    std::fwrite(ending.output.data(), 1, ending.output.size(), file_);
    ending.observers.tell_end(ending.status);
    if (independent_ && ending.status != RunStatus::finished) failed_ = true;
  }

  bool independent_;
  std::FILE* file_;
  std::mutex mutex_;
  std::map<uint64_t, Ending> waiting_;
  uint64_t next_ = 0;
  bool failed_ = false;
};

}  // namespace bw::sim
