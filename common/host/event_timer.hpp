#pragma once
/// \file
/// Time on the device's clock.

#include <cuda_runtime_api.h>

#include "common/host/cuda_check.hpp"

namespace bw {

/// Measures what a stream does between `start` and `stop`, on the device's own clock.
class EventTimer {
 public:
  EventTimer() {
    check_cuda(cudaEventCreate(&begin_), "create an event");
    check_cuda(cudaEventCreate(&end_), "create an event");
  }
  EventTimer(const EventTimer&) = delete;
  EventTimer& operator=(const EventTimer&) = delete;
  ~EventTimer() {
    static_cast<void>(cudaEventDestroy(begin_));
    static_cast<void>(cudaEventDestroy(end_));
  }

  /// Begins to measure the launches that follow.
  void start(cudaStream_t stream) {
    check_cuda(cudaEventRecord(begin_, stream), "record an event");
  }
  /// Waits for the work since `start`; its time in milliseconds. Reports a kernel that failed.
  float stop(cudaStream_t stream) {
    check_cuda(cudaEventRecord(end_, stream), "record an event");
    check_cuda(cudaEventSynchronize(end_), "finish the kernel");
    float milliseconds = 0;
    check_cuda(cudaEventElapsedTime(&milliseconds, begin_, end_), "read the elapsed time");
    return milliseconds;
  }

 private:
  cudaEvent_t begin_{};
  cudaEvent_t end_{};
};

}  // namespace bw
