#include "common/host/parallel_for.hpp"

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace bw::detail {

void run_on_all_cores(int64_t count, const void* body, void (*call)(const void* body, int64_t i)) {
  std::atomic<int64_t> next{0};
  const auto work = [&] {
    for (int64_t i = next++; i < count; i = next++) call(body, i);
  };
  const int64_t cores = std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::thread> helpers;
  for (int64_t helper = 1; helper < std::min(cores, count); ++helper) helpers.emplace_back(work);
  work();
  for (std::thread& helper : helpers) helper.join();
}

}  // namespace bw::detail
