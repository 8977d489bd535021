#pragma once
/// \file
/// A sign of life for work that takes longer than a reader waits without one.

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <utility>

namespace bw {

/// A line on stderr that shows the progress of some work: only where stderr is a terminal, and
/// only once the work has taken two seconds. It is wiped when the work ends.
class ProgressLine {
 public:
  /// `what`: the work, as in "verifying"; `total`: its steps.
  ProgressLine(const char* what, int64_t total) : what_(what), total_(total) {}
  ~ProgressLine() {
    if (shown_) std::fputs("\r\033[K", stderr);
  }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// One step is done. Any thread.
  void advance() {
    const int64_t done = ++done_;
    if (!visible_) return;
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock.owns_lock() || Clock::now() < next_) return;
    next_ = Clock::now() + kBetweenUpdates;
    shown_ = true;
    constexpr int64_t kPercent = 100;
    std::fprintf(stderr, "\r%s: %lld %%", what_, static_cast<long long>(kPercent * done / total_));
    std::fflush(stderr);
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds kPatience{2};
  static constexpr std::chrono::milliseconds kBetweenUpdates{250};

  const char* what_;
  int64_t total_;
  bool visible_ = isatty(STDERR_FILENO) != 0;
  std::atomic<int64_t> done_{0};
  std::mutex mutex_;
  Clock::time_point next_ = Clock::now() + kPatience;
  bool shown_ = false;
};

}  // namespace bw
