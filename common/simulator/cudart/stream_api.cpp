#include <cuda_runtime_api.h>

#include <algorithm>
#include <memory>
#include <unordered_map>

#include "common/simulator/cudart/api.hpp"
#include "common/simulator/cudart/streams.hpp"

namespace bw::sim::cudart {
namespace {

// Live streams; guarded by the runtime's mutex.
struct Streams {
  std::unordered_map<cudaStream_t, std::unique_ptr<CUstream_st>> live;
  unsigned long long next_id = 3;  // behind the default streams
};

Streams& streams() {
  static auto* const all = new Streams;
  return *all;
}

bool is_default(cudaStream_t stream) {
  return stream == nullptr || stream == cudaStreamLegacy || stream == cudaStreamPerThread;
}

// Calls `use` with the stream's attributes; cudaErrorInvalidResourceHandle when it does not exist.
template <class Use>
cudaError_t with_stream(cudaStream_t stream, Use&& use) {
  return device_api([&](Runtime&) {
    if (is_default(stream)) {
      CUstream_st attributes;
      attributes.id = reinterpret_cast<unsigned long long>(stream);
      return use(attributes);
    }
    const auto found = streams().live.find(stream);
    return found == streams().live.end() ? cudaErrorInvalidResourceHandle : use(*found->second);
  });
}

cudaError_t create(cudaStream_t* stream, unsigned flags, int priority) {
  return device_api([&](Runtime&) {
    if (stream == nullptr || (flags & ~unsigned{cudaStreamNonBlocking}) != 0)
      return cudaErrorInvalidValue;
    auto created = std::make_unique<CUstream_st>();
    created->flags = flags;
    created->priority = std::clamp(priority, kGreatestPriority, kLeastPriority);
    created->id = streams().next_id++;
    *stream = created.get();
    streams().live.emplace(*stream, std::move(created));
    return cudaSuccess;
  });
}

}  // namespace

bool is_stream(cudaStream_t stream) {
  return is_default(stream) || streams().live.count(stream) != 0;
}

}  // namespace bw::sim::cudart

using namespace bw::sim::cudart;

BW_CUDART_API cudaError_t cudaStreamCreate(cudaStream_t* stream) { return create(stream, 0, 0); }

BW_CUDART_API cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  return create(stream, flags, 0);
}

BW_CUDART_API cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags,
                                                       int priority) {
  return create(stream, flags, priority);
}

BW_CUDART_API cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  return device_api([&](Runtime&) {
    return streams().live.erase(stream) != 0 ? cudaSuccess : cudaErrorInvalidResourceHandle;
  });
}

BW_CUDART_API cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return with_stream(stream, [](CUstream_st&) { return cudaSuccess; });
}
BW_CUDART_TWIN(cudaStreamSynchronize, _ptsz)

BW_CUDART_API cudaError_t cudaStreamQuery(cudaStream_t stream) {
  return with_stream(stream, [](CUstream_st&) { return cudaSuccess; });
}
BW_CUDART_TWIN(cudaStreamQuery, _ptsz)

BW_CUDART_API cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  return with_stream(stream, [&](CUstream_st&) {
    return event == nullptr ? cudaErrorInvalidResourceHandle : cudaSuccess;
  });
}
BW_CUDART_TWIN(cudaStreamWaitEvent, _ptsz)

BW_CUDART_API cudaError_t cudaStreamGetPriority(cudaStream_t stream, int* priority) {
  return with_stream(stream, [&](CUstream_st& attributes) {
    *priority = attributes.priority;
    return cudaSuccess;
  });
}
BW_CUDART_TWIN(cudaStreamGetPriority, _ptsz)

BW_CUDART_API cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned* flags) {
  return with_stream(stream, [&](CUstream_st& attributes) {
    *flags = attributes.flags;
    return cudaSuccess;
  });
}
BW_CUDART_TWIN(cudaStreamGetFlags, _ptsz)

BW_CUDART_API cudaError_t cudaStreamGetId(cudaStream_t stream, unsigned long long* id) {
  return with_stream(stream, [&](CUstream_st& attributes) {
    *id = attributes.id;
    return cudaSuccess;
  });
}
BW_CUDART_TWIN(cudaStreamGetId, _ptsz)

BW_CUDART_API cudaError_t cudaStreamGetDevice(cudaStream_t stream, int* device) {
  return with_stream(stream, [&](CUstream_st&) {
    *device = 0;
    return cudaSuccess;
  });
}
BW_CUDART_TWIN(cudaStreamGetDevice, _ptsz)

BW_CUDART_API cudaError_t cudaStreamIsCapturing(cudaStream_t stream,
                                                cudaStreamCaptureStatus* status) {
  return with_stream(stream, [&](CUstream_st&) {
    *status = cudaStreamCaptureStatusNone;
    return cudaSuccess;
  });
}
BW_CUDART_TWIN(cudaStreamIsCapturing, _ptsz)

BW_CUDART_API cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream,
                                                   cudaStreamCaptureStatus* status,
                                                   unsigned long long* id, cudaGraph_t* graph,
                                                   const cudaGraphNode_t** dependencies,
                                                   const cudaGraphEdgeData** edges,
                                                   size_t* dependency_count) {
  return with_stream(stream, [&](CUstream_st&) {
    *status = cudaStreamCaptureStatusNone;
    if (id != nullptr) *id = 0;
    if (graph != nullptr) *graph = nullptr;
    if (dependencies != nullptr) *dependencies = nullptr;
    if (edges != nullptr) *edges = nullptr;
    if (dependency_count != nullptr) *dependency_count = 0;
    return cudaSuccess;
  });
}
BW_CUDART_TWIN(cudaStreamGetCaptureInfo, _ptsz)

// Attributes (access policy, synchronisation policy, memory domain) have no effect on results.
BW_CUDART_API cudaError_t cudaStreamSetAttribute(cudaStream_t stream, cudaLaunchAttributeID,
                                                 const cudaLaunchAttributeValue*) {
  return with_stream(stream, [](CUstream_st&) { return cudaSuccess; });
}
BW_CUDART_TWIN(cudaStreamSetAttribute, _ptsz)

// Host functions run at once: everything before them in the stream is done. They may call the
// runtime, so it is not locked.
BW_CUDART_API cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function,
                                             void* user_data) {
  if (function == nullptr) return record_error(cudaErrorInvalidValue);
  const cudaError_t error = cudaStreamSynchronize(stream);
  if (error != cudaSuccess) return error;
  function(user_data);
  return cudaSuccess;
}
BW_CUDART_TWIN(cudaLaunchHostFunc, _ptsz)

BW_CUDART_API cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback,
                                                void* user_data, unsigned) {
  if (callback == nullptr) return record_error(cudaErrorInvalidValue);
  const cudaError_t error = cudaStreamSynchronize(stream);
  if (error == cudaErrorInvalidResourceHandle) return error;
  callback(stream, error, user_data);
  return cudaSuccess;
}
BW_CUDART_TWIN(cudaStreamAddCallback, _ptsz)
