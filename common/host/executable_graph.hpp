#pragma once
/// \file
/// Work for a stream, recorded once as an executable graph.

#include <cuda_runtime_api.h>

#include <concepts>
#include <utility>

#include "common/host/cuda_check.hpp"
#include "common/host/stream.hpp"

namespace bw {

/// What the runtime has been told once and needn't be told again: enqueuing a graph of one kernel
/// takes the host about half the time of launching the kernel (chapter 6 has the figures).
/// Move-only.
///
/// Launches of one object run in sequence, in whatever streams they are enqueued. Only one
/// thread at a time may use it (CUDA Runtime API, "Graph object thread safety").
class ExecutableGraph {
 public:
  /// Records what `enqueue(stream)` enqueues on the stream it is given. Nothing runs. Throws Error
  /// for what CUDA reports, and what `enqueue` throws.
  template <class Enqueue>
  requires std::invocable<const Enqueue&, cudaStream_t>
  explicit ExecutableGraph(const Enqueue& enqueue) {
    const Stream stream;
    Capture capture(stream.get());
    enqueue(stream.get());
    capture.end();
    check_cuda(cudaGraphInstantiateWithFlags(&executable_, capture.graph, 0),
               "instantiate a graph");
  }
  ExecutableGraph(ExecutableGraph&& other) noexcept
      : executable_(std::exchange(other.executable_, nullptr)) {}
  ExecutableGraph& operator=(ExecutableGraph&& other) noexcept {
    std::swap(executable_, other.executable_);
    return *this;
  }
  /// A destructor can't report; a failed kernel is reported by the call that waits for it.
  ~ExecutableGraph() {
    if (executable_ != nullptr) static_cast<void>(cudaGraphExecDestroy(executable_));
  }

  /// Enqueues it on `stream`, which isn't being captured. Throws Error for what CUDA reports.
  void launch(cudaStream_t stream) const {
    check_cuda(cudaGraphLaunch(executable_, stream), "launch a graph");
  }

 private:
  /// A stream in capture, which ends in any case; and the graph that comes of it.
  struct Capture {
    explicit Capture(cudaStream_t captured) : stream(captured) {
      check_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal),
                 "begin to capture a stream");
    }
    Capture(const Capture&) = delete;
    Capture& operator=(const Capture&) = delete;
    ~Capture() {
      if (!has_ended) static_cast<void>(cudaStreamEndCapture(stream, &graph));
      if (graph != nullptr) static_cast<void>(cudaGraphDestroy(graph));
    }
    void end() {
      has_ended = true;
      check_cuda(cudaStreamEndCapture(stream, &graph), "end the capture of a stream");
    }

    cudaStream_t stream;
    cudaGraph_t graph{};
    bool has_ended = false;
  };

  cudaGraphExec_t executable_{};
};

}  // namespace bw
