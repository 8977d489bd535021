#include "common/simulator/cudart/graph/capture.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "common/simulator/cudart/runtime/api.hpp"

namespace bw::sim::cudart {
namespace {

thread_local cudaStreamCaptureMode thread_mode = cudaStreamCaptureModeGlobal;
unsigned long long next_capture_id = 1;

cudaGraphNodeType type_of(const Operation& operation) {
  struct Type {
    cudaGraphNodeType operator()(const EmptyOperation&) const { return cudaGraphNodeTypeEmpty; }
    cudaGraphNodeType operator()(const KernelOperation&) const { return cudaGraphNodeTypeKernel; }
    cudaGraphNodeType operator()(const CopyOperation&) const { return cudaGraphNodeTypeMemcpy; }
    cudaGraphNodeType operator()(const FillOperation&) const { return cudaGraphNodeTypeMemset; }
    cudaGraphNodeType operator()(const HostOperation&) const { return cudaGraphNodeTypeHost; }
    cudaGraphNodeType operator()(const RecordOperation&) const {
      return cudaGraphNodeTypeEventRecord;
    }
    cudaGraphNodeType operator()(const WaitOperation&) const { return cudaGraphNodeTypeWaitEvent; }
    cudaGraphNodeType operator()(const FreeOperation&) const { return cudaGraphNodeTypeMemFree; }
  };
  return std::visit(Type{}, operation);
}

cudaError_t invalidate(const char* api, Capture& capture, const std::string& what,
                       cudaError_t error) {
  capture.invalid = true;
  explain(FaultCode::call_capture, api, what + "; the capture is invalid from here on");
  return error;
}

constexpr cudaGraphEdgeData kProgrammaticEdge{
    cudaGraphKernelNodePortProgrammatic, 0, cudaGraphDependencyTypeProgrammatic, {}};

bool begins_early(const KernelOperation& kernel) {
  return std::any_of(kernel.attributes.begin(), kernel.attributes.end(), [](const auto& attribute) {
    return attribute.id == cudaLaunchAttributeProgrammaticStreamSerialization &&
           attribute.val.programmaticStreamSerializationAllowed != 0;
  });
}

/// The event that a captured launch records itself, if the attribute names one.
void record_by_launch(CUstream_st& stream, const cudaLaunchAttribute& attribute,
                      cudaGraphNode_t node) {
  cudaGraphEdgeData edge = kProgrammaticEdge;
  cudaEvent_t handle = nullptr;
  if (attribute.id == cudaLaunchAttributeProgrammaticEvent) {
    handle = attribute.val.programmaticEvent.event;
    if (attribute.val.programmaticEvent.triggerAtBlockStart != 0)
      edge.from_port = cudaGraphKernelNodePortLaunchCompletion;
  } else if (attribute.id == cudaLaunchAttributeLaunchCompletionEvent) {
    handle = attribute.val.launchCompletionEvent.event;
    edge.from_port = cudaGraphKernelNodePortLaunchCompletion;
  }
  CUevent_st* const event = handle == nullptr ? nullptr : find_event(handle);
  if (event == nullptr) return;
  event->capture = stream.capture;
  event->capture_tail.clear();
  event->capture_tail.add(node, edge);
}

cudaError_t add_node(const char* api, CUstream_st& stream, cudaGraphNodeType type,
                     Operation operation, std::unique_ptr<CUgraph_st> child) {
  Capture& capture = *stream.capture;
  if (capture.invalid) {
    explain(FaultCode::call_capture, api,
            "the stream's capture is invalid because of an earlier call");
    return cudaErrorStreamCaptureInvalidated;
  }
  // Only a launch with the attribute begins before the launch in front of it has ended; events that
  // launches record are programmatic edges of any launch, and ordinary ones of anything else.
  std::vector<cudaGraphEdgeData> edges = stream.capture_tail.edges;
  const auto* const kernel = std::get_if<KernelOperation>(&operation);
  for (size_t i = 0; i < edges.size(); ++i) {
    if (kernel == nullptr)
      edges[i] = {};
    else if (begins_early(*kernel) && stream.capture_tail.nodes[i] == stream.capture_last &&
             stream.capture_last->type == cudaGraphNodeTypeKernel)
      edges[i] = kProgrammaticEdge;
  }
  std::vector<cudaLaunchAttribute> attributes;
  if (kernel != nullptr) attributes = kernel->attributes;
  CUgraphNode_st& node =
      capture.graph->add(type, std::move(operation), stream.capture_tail.nodes, std::move(edges));
  node.child = std::move(child);
  stream.capture_tail.clear();
  stream.capture_tail.add(&node, {});
  stream.capture_last = &node;
  for (const cudaLaunchAttribute& attribute : attributes)
    record_by_launch(stream, attribute, &node);
  return cudaSuccess;
}

void collect_ancestors(const CUgraphNode_st* node, std::set<const CUgraphNode_st*>& seen) {
  if (!seen.insert(node).second) return;
  for (const CUgraphNode_st* const before : node->dependencies) collect_ancestors(before, seen);
}

CaptureTail tail_of(const cudaGraphNode_t* nodes, const cudaGraphEdgeData* edges, size_t count) {
  CaptureTail tail;
  for (size_t i = 0; i < count; ++i)
    tail.add(nodes[i], edges == nullptr ? cudaGraphEdgeData{} : edges[i]);
  return tail;
}

cudaError_t begin_capture(cudaStream_t handle, cudaStreamCaptureMode mode, CUgraph_st* graph,
                          CaptureTail tail) {
  return device_api([&](Runtime&) {
    CUstream_st* const stream = find_stream(handle);
    if (stream == nullptr) return cudaErrorInvalidResourceHandle;
    if (stream == find_stream(nullptr)) {
      explain(FaultCode::call_capture, "cudaStreamBeginCapture",
              "the legacy default stream cannot be captured; make a stream with cudaStreamCreate");
      return cudaErrorStreamCaptureUnsupported;
    }
    if (stream->capture != nullptr) {
      explain(FaultCode::call_capture, "cudaStreamBeginCapture",
              "the stream is being captured already");
      return cudaErrorIllegalState;
    }
    auto capture = std::make_shared<Capture>();
    capture->origin = stream;
    capture->mode = mode;
    capture->id = next_capture_id++;
    capture->graph = graph;
    if (graph == nullptr) {
      capture->own_graph = std::make_unique<CUgraph_st>();
      capture->graph = capture->own_graph.get();
    }
    stream->capture = std::move(capture);
    stream->capture_tail = std::move(tail);
    stream->capture_last = nullptr;
    return cudaSuccess;
  });
}

cudaError_t end(cudaStream_t handle, cudaGraph_t* graph) {
  return device_api([&](Runtime&) {
    CUstream_st* const stream = find_stream(handle);
    if (stream == nullptr || graph == nullptr) return cudaErrorInvalidValue;
    *graph = nullptr;
    const std::shared_ptr<Capture> capture = stream->capture;
    if (capture == nullptr) {
      explain(FaultCode::call_capture, "cudaStreamEndCapture", "the stream is not being captured");
      return cudaErrorIllegalState;
    }
    if (capture->origin != stream) {
      explain(FaultCode::call_capture, "cudaStreamEndCapture",
              "the capture began on another stream and must end there");
      capture->invalid = true;
      return cudaErrorStreamCaptureUnmatched;
    }
    std::set<const CUgraphNode_st*> joined;
    for (const cudaGraphNode_t node : stream->capture_tail.nodes) collect_ancestors(node, joined);
    bool all_joined = true;
    for_each_stream([&](CUstream_st& other) {
      if (other.capture != capture) return;
      for (const cudaGraphNode_t node : other.capture_tail.nodes)
        all_joined = all_joined && joined.count(node) != 0;
      other.capture = nullptr;
      other.capture_tail.clear();
      other.capture_last = nullptr;
    });
    if (capture->invalid) return cudaErrorStreamCaptureInvalidated;
    if (!all_joined) {
      explain(FaultCode::call_capture, "cudaStreamEndCapture",
              "a stream that joined the capture has work that the first stream does not wait for; "
              "record an event after it and let the first stream wait for it");
      return cudaErrorStreamCaptureUnjoined;
    }
    *graph = capture->own_graph ? &keep_graph(std::move(capture->own_graph)) : capture->graph;
    return cudaSuccess;
  });
}

}  // namespace

void CaptureTail::add(cudaGraphNode_t node, const cudaGraphEdgeData& edge) {
  if (std::find(nodes.begin(), nodes.end(), node) != nodes.end()) return;
  nodes.push_back(node);
  edges.push_back(edge);
}

void CaptureTail::join(const CaptureTail& other) {
  for (size_t i = 0; i < other.nodes.size(); ++i) add(other.nodes[i], other.edges[i]);
}

cudaError_t capture_operation(const char* api, CUstream_st& stream, Operation operation) {
  if (std::holds_alternative<FreeOperation>(operation)) {
    return invalidate(api, *stream.capture,
                      "graphs hold kernels, copies, memsets, host functions, events and graphs, "
                      "but no allocations; allocate before the capture",
                      cudaErrorNotSupported);
  }
  const cudaGraphNodeType type = type_of(operation);
  return add_node(api, stream, type, std::move(operation), nullptr);
}

cudaError_t capture_graph(const char* api, CUstream_st& stream, const CUgraph_st& graph) {
  return add_node(api, stream, cudaGraphNodeTypeGraph, EmptyOperation{}, graph.clone());
}

cudaError_t refuse_wait_in_capture(const char* api, CUstream_st& stream) {
  if (stream.capture == nullptr) return cudaSuccess;
  return invalidate(api, *stream.capture,
                    "the stream is being captured, so nothing of it runs that could be waited for",
                    cudaErrorStreamCaptureUnsupported);
}

cudaError_t refuse_call_in_capture(const char* api) {
  if (thread_mode == cudaStreamCaptureModeRelaxed) return cudaSuccess;
  cudaError_t error = cudaSuccess;
  for_each_stream([&](CUstream_st& stream) {
    if (error != cudaSuccess || stream.capture == nullptr || stream.capture->invalid ||
        stream.capture->mode == cudaStreamCaptureModeRelaxed)
      return;
    error = invalidate(api, *stream.capture,
                       "this call is not allowed while a stream is being captured in the global "
                       "or thread-local mode; call it before, or capture in the relaxed mode",
                       cudaErrorStreamCaptureUnsupported);
  });
  return error;
}

cudaError_t refuse_legacy_in_capture(const char* api, CUstream_st& stream) {
  if (&stream != find_stream(nullptr)) return cudaSuccess;
  cudaError_t error = cudaSuccess;
  for_each_stream([&](CUstream_st& other) {
    if (error != cudaSuccess || other.capture == nullptr || other.capture->invalid ||
        (other.flags & cudaStreamNonBlocking) != 0)
      return;
    error = invalidate(api, *other.capture,
                       "work in the legacy default stream waits for the stream that is being "
                       "captured; use another stream, or make that one with cudaStreamNonBlocking",
                       cudaErrorStreamCaptureImplicit);
  });
  return error;
}

void record_in_capture(CUstream_st& stream, CUevent_st& event) {
  event.capture = stream.capture;
  event.capture_tail = stream.capture_tail;
}

cudaError_t wait_in_capture(CUstream_st& stream, const CUevent_st& event) {
  const std::shared_ptr<Capture> capture = event.capture.lock();
  if (stream.capture != nullptr && stream.capture != capture) {
    return invalidate("cudaStreamWaitEvent", *stream.capture,
                      "the event was recorded outside the capture of this stream",
                      cudaErrorStreamCaptureIsolation);
  }
  if (capture == nullptr) {
    explain(FaultCode::call_capture, "cudaStreamWaitEvent",
            "the event was recorded in a capture that has ended");
    return cudaErrorCapturedEvent;
  }
  stream.capture = capture;
  stream.capture_tail.join(event.capture_tail);
  return cudaSuccess;
}

}  // namespace bw::sim::cudart

using namespace bw::sim::cudart;

BW_CUDART_API cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  return begin_capture(stream, mode, nullptr, {});
}
BW_CUDART_TWIN(cudaStreamBeginCapture, _ptsz)

BW_CUDART_API cudaError_t cudaStreamBeginCaptureToGraph(cudaStream_t stream, cudaGraph_t graph,
                                                        const cudaGraphNode_t* dependencies,
                                                        const cudaGraphEdgeData* edges,
                                                        size_t count, cudaStreamCaptureMode mode) {
  if (find_graph(graph) == nullptr) return record_error(cudaErrorInvalidValue);
  return begin_capture(stream, mode, graph, tail_of(dependencies, edges, count));
}
BW_CUDART_TWIN(cudaStreamBeginCaptureToGraph, _ptsz)

BW_CUDART_API cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  return end(stream, graph);
}
BW_CUDART_TWIN(cudaStreamEndCapture, _ptsz)

BW_CUDART_API cudaError_t cudaStreamGetCaptureInfo(cudaStream_t handle,
                                                   cudaStreamCaptureStatus* status,
                                                   unsigned long long* id, cudaGraph_t* graph,
                                                   const cudaGraphNode_t** dependencies,
                                                   const cudaGraphEdgeData** edges,
                                                   size_t* dependency_count) {
  return device_api([&](Runtime&) {
    const CUstream_st* const stream = find_stream(handle);
    if (stream == nullptr) return cudaErrorInvalidResourceHandle;
    if (status == nullptr) return cudaErrorInvalidValue;
    const Capture* const capture = stream->capture.get();
    *status = cudaStreamCaptureStatusNone;
    if (capture != nullptr)
      *status =
          capture->invalid ? cudaStreamCaptureStatusInvalidated : cudaStreamCaptureStatusActive;
    if (id != nullptr) *id = capture == nullptr ? 0 : capture->id;
    if (graph != nullptr) *graph = capture == nullptr ? nullptr : capture->graph;
    if (dependencies != nullptr)
      *dependencies = capture == nullptr ? nullptr : stream->capture_tail.nodes.data();
    if (edges != nullptr) *edges = capture == nullptr ? nullptr : stream->capture_tail.edges.data();
    if (dependency_count != nullptr)
      *dependency_count = capture == nullptr ? 0 : stream->capture_tail.nodes.size();
    return cudaSuccess;
  });
}
BW_CUDART_TWIN(cudaStreamGetCaptureInfo, _ptsz)

BW_CUDART_API cudaError_t cudaStreamIsCapturing(cudaStream_t handle,
                                                cudaStreamCaptureStatus* status) {
  return cudaStreamGetCaptureInfo(handle, status, nullptr, nullptr, nullptr, nullptr, nullptr);
}
BW_CUDART_TWIN(cudaStreamIsCapturing, _ptsz)

BW_CUDART_API cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t handle,
                                                              cudaGraphNode_t* dependencies,
                                                              const cudaGraphEdgeData* edges,
                                                              size_t count, unsigned flags) {
  return device_api([&](Runtime&) {
    CUstream_st* const stream = find_stream(handle);
    if (stream == nullptr) return cudaErrorInvalidResourceHandle;
    if (stream->capture == nullptr) return cudaErrorIllegalState;
    if (flags == cudaStreamSetCaptureDependencies) stream->capture_tail.clear();
    stream->capture_tail.join(tail_of(dependencies, edges, count));
    return cudaSuccess;
  });
}
BW_CUDART_TWIN(cudaStreamUpdateCaptureDependencies, _ptsz)

BW_CUDART_API cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  if (mode == nullptr) return record_error(cudaErrorInvalidValue);
  std::swap(*mode, thread_mode);
  return record_error(cudaSuccess);
}
