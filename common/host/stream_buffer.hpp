#pragma once
/// \file
/// Device memory that lives between two points of a stream.

#include <cuda_runtime_api.h>

#include <cstddef>

#include "common/host/cuda_check.hpp"

namespace bw {

/// `bytes` of device memory for what is enqueued on `stream` during the object's life: allocated
/// and freed in the order of the stream, so that neither waits. Not copied, not moved.
class StreamBuffer {
 public:
  /// Allocates in the stream's order.
  StreamBuffer(size_t bytes, cudaStream_t stream) : stream_(stream) {
    if (bytes == 0) return;
    check_cuda(cudaMallocAsync(&data_, bytes, stream), "allocate ", bytes,
               " bytes of device memory");
  }
  StreamBuffer(const StreamBuffer&) = delete;
  StreamBuffer& operator=(const StreamBuffer&) = delete;
  /// A destructor can't report; a failed kernel is reported by the call that waits for it.
  ~StreamBuffer() {
    if (data_ != nullptr) static_cast<void>(cudaFreeAsync(data_, stream_));
  }

  /// Null if no bytes were asked for.
  void* data() const { return data_; }

 private:
  void* data_ = nullptr;
  cudaStream_t stream_;
};

}  // namespace bw
