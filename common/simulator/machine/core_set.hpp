#pragma once
/// \file
/// The cores that a thread may run on, and a thread that keeps to one of them.

#include <sched.h>

#include <cstdint>

namespace bw::sim {

/// The cores available to the calling thread at construction. Linux only, like the simulator.
class CoreSet {
 public:
  CoreSet() : known_(sched_getaffinity(kCallingThread, sizeof cores_, &cores_) == 0) {}

  /// Keeps the calling thread on one core from here to the end of the scope.
  class Pin {
   public:
    /// The core is the `index`-th of the set, counted round it. Where the system refuses, the
    /// thread stays free: it is only slower.
    Pin(const CoreSet& cores, uint32_t index) : cores_(cores) {
      if (!cores_.known_) return;
      cpu_set_t one;
      CPU_ZERO(&one);
      CPU_SET(cores_.core(index), &one);
      sched_setaffinity(kCallingThread, sizeof one, &one);
    }
    ~Pin() {
      if (cores_.known_) sched_setaffinity(kCallingThread, sizeof cores_.cores_, &cores_.cores_);
    }
    Pin(const Pin&) = delete;
    Pin& operator=(const Pin&) = delete;

   private:
    const CoreSet& cores_;
  };

 private:
  static constexpr pid_t kCallingThread = 0;

  [[nodiscard]] int core(uint32_t index) const {
    auto left = static_cast<int>(index % static_cast<uint32_t>(CPU_COUNT(&cores_)));
    int core = 0;
    while (!CPU_ISSET(core, &cores_) || left-- > 0) ++core;
    return core;
  }

  cpu_set_t cores_{};
  bool known_;
};

}  // namespace bw::sim
