#include "tests/benchmarks/hopper/timing.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <thread>
#include <utility>

#include "common/host/cuda_check.hpp"
#include "tests/benchmarks/hopper/floor_device.cuh"

namespace bw {
namespace {

/// Longer than the host takes to enqueue a launch and its two events.
constexpr uint64_t kHeadStartNanoseconds = 40'000;

/// Before the first launch of a contestant that is timed alone.
constexpr std::chrono::milliseconds kRest{200};

__global__ void do_nothing() {}

__global__ void wait_a_while(uint64_t nanoseconds) {
  const uint64_t begin = global_nanoseconds();
  while (global_nanoseconds() - begin < nanoseconds) __nanosleep(500);
}

/// Events around one launch.
class Span {
 public:
  Span() {
    check_cuda(cudaEventCreate(&begin_), "create an event");
    check_cuda(cudaEventCreate(&end_), "create an event");
  }
  Span(const Span&) = delete;
  Span& operator=(const Span&) = delete;
  ~Span() {
    static_cast<void>(cudaEventDestroy(begin_));
    static_cast<void>(cudaEventDestroy(end_));
  }
  void enqueue(const Launch& launch) {
    check_cuda(cudaEventRecord(begin_, nullptr), "record an event");
    launch();
    check_cuda(cudaEventRecord(end_, nullptr), "record an event");
  }
  double microseconds() const {
    float milliseconds = 0;
    check_cuda(cudaEventElapsedTime(&milliseconds, begin_, end_), "read the elapsed time");
    return 1e3 * milliseconds;
  }

 private:
  cudaEvent_t begin_{}, end_{};
};

}  // namespace

Times::Times(std::vector<double> microseconds) : sorted_(std::move(microseconds)) {
  std::sort(sorted_.begin(), sorted_.end());
}

double Times::quantile(double share) const {
  const double place = share * static_cast<double>(sorted_.size() - 1);
  const auto below = static_cast<size_t>(place);
  const size_t above = std::min(below + 1, sorted_.size() - 1);
  return std::lerp(sorted_[below], sorted_[above], place - static_cast<double>(below));
}

Times time_single_launches(const Launch& contestant, int warm_ups, int repeats) {
  std::this_thread::sleep_for(kRest);
  for (int i = 0; i < warm_ups; ++i) contestant();
  check_cuda(cudaDeviceSynchronize(), "finish the warm-ups");
  Span span;
  std::vector<double> microseconds;
  for (int i = 0; i < repeats; ++i) {
    span.enqueue(contestant);
    check_cuda(cudaDeviceSynchronize(), "finish a launch");
    microseconds.push_back(span.microseconds());
  }
  return Times(std::move(microseconds));
}

std::vector<Times> time_queued_launches(const std::vector<Launch>& contestants, int warm_ups,
                                        int repeats, CacheFlush* flush) {
  for (int i = 0; i < warm_ups; ++i) {
    for (const Launch& launch : contestants) launch();
  }
  std::vector<std::vector<Span>> spans(contestants.size());
  for (auto& of_contestant : spans) of_contestant = std::vector<Span>(repeats);
  for (int i = 0; i < repeats; ++i) {
    for (size_t turn = 0; turn < contestants.size(); ++turn) {
      const size_t j = (static_cast<size_t>(i) + turn) % contestants.size();
      if (flush != nullptr) flush->enqueue();
      wait_a_while<<<1, 1>>>(kHeadStartNanoseconds);
      check_cuda(cudaGetLastError(), "launch the waiting kernel");
      spans[j][i].enqueue(contestants[j]);
    }
  }
  check_cuda(cudaDeviceSynchronize(), "finish the launches");
  std::vector<Times> times;
  for (const auto& of_contestant : spans) {
    std::vector<double> microseconds;
    for (const Span& span : of_contestant) microseconds.push_back(span.microseconds());
    times.emplace_back(std::move(microseconds));
  }
  return times;
}

void launch_empty(cudaStream_t stream) {
  do_nothing<<<1, 1, 0, stream>>>();
  check_cuda(cudaGetLastError(), "launch an empty kernel");
}

}  // namespace bw
