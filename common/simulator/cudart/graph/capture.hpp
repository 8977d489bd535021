#pragma once
/// \file
/// Capture of streams into graphs.

#include <driver_types.h>

#include <memory>

#include "common/simulator/cudart/graph/graph.hpp"
#include "common/simulator/cudart/runtime/streams.hpp"

namespace bw::sim::cudart {

/// One capture: the stream that began it and those that have joined it through events.
struct Capture {
  CUstream_st* origin = nullptr;          ///< who did it, and where
  CUgraph_st* graph = nullptr;            ///< the graph that grows
  std::unique_ptr<CUgraph_st> own_graph;  ///< `graph`, unless it was given
  /// What other threads may call during the capture.
  cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;
  unsigned long long id = 0;  ///< number that joins the events of one
  bool invalid = false;       ///< something was done that cannot be captured
};

/// Makes an operation of a captured stream a node.
cudaError_t capture_operation(const char* api, CUstream_st& stream, Operation operation);
/// Makes a graph that a captured stream launches a node.
cudaError_t capture_graph(const char* api, CUstream_st& stream, const CUgraph_st& graph);

/// Whether a stream must not be waited for, or its work be asked about, because it is captured:
/// says so, ends the capture as invalid and returns cudaErrorStreamCaptureUnsupported.
cudaError_t refuse_wait_in_capture(const char* api, CUstream_st& stream);
/// The same for calls that wait for every stream, or that work on none: a capture in the global
/// mode allows none of them.
cudaError_t refuse_call_in_capture(const char* api);
/// Work in the legacy stream would wait for captured streams: cudaErrorStreamCaptureImplicit.
cudaError_t refuse_legacy_in_capture(const char* api, CUstream_st& stream);

/// An event is recorded in a captured stream.
void record_in_capture(CUstream_st& stream, CUevent_st& event);
/// A stream waits for an event that was recorded in a capture: it joins the capture.
cudaError_t wait_in_capture(CUstream_st& stream, const CUevent_st& event);

}  // namespace bw::sim::cudart
