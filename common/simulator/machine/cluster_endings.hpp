#pragma once
/// \file
/// Results of ended clusters, passed on in cluster order whatever order they end in: the text of
/// device-side printf, and their observers.

#include <cstdint>
#include <cstdio>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "common/simulator/machine/observer.hpp"

namespace bw::sim {

/// Passes on the results of clusters, in their order.
class ClusterEndings {
 public:
  /// Results of a cluster.
  struct Ending {
    std::string output;      ///< what its threads printed
    ObserverList observers;  ///< to be notified
    RunStatus status = RunStatus::finished;
  };

  /// `independent`: clusters cannot see each other. Then it depends on the host's threads which
  /// clusters after a failed one have run, so none of their results are passed on.
  explicit ClusterEndings(bool independent) : independent_(independent) {}
  ClusterEndings(const ClusterEndings&) = delete;
  ClusterEndings& operator=(const ClusterEndings&) = delete;
  /// A launch that a fault ends early still passes on its clusters' results.
  ~ClusterEndings() {
    for (const auto& [cluster, ending] : waiting_) hand_on(ending);
    std::fflush(stdout);
  }

  /// Prints a running cluster's output so far, if every cluster before it has ended: endless output
  /// is noticed while it grows. Any host thread.
  void print_early(uint64_t cluster, std::string& output) {
    const std::lock_guard lock(mutex_);
    if (cluster != next_ || failed_) return;
    std::fwrite(output.data(), 1, output.size(), stdout);
    std::fflush(stdout);
    output.clear();
  }

  /// A cluster has ended. It is passed on when every cluster before it has ended too. Any host
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
    std::fwrite(ending.output.data(), 1, ending.output.size(), stdout);
    ending.observers.notify_end(ending.status);
    if (independent_ && ending.status != RunStatus::finished) failed_ = true;
  }

  bool independent_;
  std::mutex mutex_;
  std::map<uint64_t, Ending> waiting_;
  uint64_t next_ = 0;
  bool failed_ = false;
};

}  // namespace bw::sim
