#pragma once
/// \file
/// A team of host threads that run the same function and wait for each other.

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "common/simulator/base/system.hpp"

namespace bw::sim {

/// Host threads that run clusters.
class HostPool {
 public:
  /// `threads` in all, the calling one included. If `pinned`, each keeps to a core of its own while
  /// it works: some schedulers leave threads that have just begun on one core for a while.
  HostPool(uint32_t threads, bool pinned) : pinned_(pinned) {
    for (uint32_t index = 1; index < threads; ++index)
      workers_.emplace_back([this, index] { work(index); });
  }
  ~HostPool() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    start_.notify_all();
    for (std::thread& worker : workers_) worker.join();
  }
  HostPool(const HostPool&) = delete;
  HostPool& operator=(const HostPool&) = delete;

  /// Calls `task(thread index)` on every thread and returns when all are done. The task must not
  /// throw.
  void run(const std::function<void(uint32_t)>& task) {
    {
      const std::lock_guard lock(mutex_);
      task_ = &task;
      busy_ = workers_.size();
      ++round_;
    }
    start_.notify_all();
    call(task, 0);
    std::unique_lock lock(mutex_);
    done_.wait(lock, [this] { return busy_ == 0; });
  }

 private:
  void call(const std::function<void(uint32_t)>& task, uint32_t index) const {
    std::optional<system::CorePin> pin;
    if (pinned_) pin.emplace(index);
    task(index);
  }

  void work(uint32_t index) {
    uint64_t seen = 0;
    while (true) {
      const std::function<void(uint32_t)>* task = nullptr;
      {
        std::unique_lock lock(mutex_);
        start_.wait(lock, [&] { return stopping_ || round_ != seen; });
        if (stopping_) return;
        seen = round_;
        task = task_;
      }
      call(*task, index);
      const std::lock_guard lock(mutex_);
      if (--busy_ == 0) done_.notify_one();
    }
  }

  bool pinned_;
  std::vector<std::thread> workers_;
  std::mutex mutex_;
  std::condition_variable start_, done_;
  const std::function<void(uint32_t)>* task_ = nullptr;
  uint64_t round_ = 0;
  size_t busy_ = 0;
  bool stopping_ = false;
};

}  // namespace bw::sim
