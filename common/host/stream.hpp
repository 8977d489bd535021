#pragma once
/// \file
/// A stream as an owned object.

#include <cuda_runtime_api.h>

#include "common/host/cuda_check.hpp"

namespace bw {

/// A stream that doesn't wait for the legacy default stream, nor it for this one. Not copied, not
/// moved.
class Stream {
 public:
  Stream() {
    check_cuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "create a stream");
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() { static_cast<void>(cudaStreamDestroy(stream_)); }

  /// The stream.
  cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_{};
};

/// Whether what is enqueued on `stream` is recorded instead of executed.
inline bool is_being_captured(cudaStream_t stream) {
  cudaStreamCaptureStatus status{};
  check_cuda(cudaStreamIsCapturing(stream, &status), "ask whether a stream is being captured");
  return status != cudaStreamCaptureStatusNone;
}

}  // namespace bw
