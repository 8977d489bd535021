#pragma once
/// \file
/// A loop over the host's cores.

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace bw {

/// Calls `body(i)` for i in [0, count), on as many threads as the machine has. The calls must not
/// depend on each other, and must not throw.
template <class Body>
void parallel_for(int64_t count, const Body& body) {
  std::atomic<int64_t> next{0};
  const auto work = [&] {
    for (int64_t i = next++; i < count; i = next++) body(i);
  };
  const int64_t cores = std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::thread> helpers;
  for (int64_t helper = 1; helper < std::min(cores, count); ++helper) helpers.emplace_back(work);
  work();
  for (std::thread& helper : helpers) helper.join();
}

}  // namespace bw
