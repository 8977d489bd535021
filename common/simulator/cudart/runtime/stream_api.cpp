#include <cuda_runtime_api.h>

#include <algorithm>
#include <memory>
#include <unordered_map>
#include <utility>

#include "common/simulator/cudart/graph/capture.hpp"
#include "common/simulator/cudart/runtime/api.hpp"
#include "common/simulator/cudart/runtime/host_races.hpp"
#include "common/simulator/cudart/runtime/streams.hpp"

namespace bw::sim::cudart {
namespace {

// The streams of the process; guarded by the runtime's mutex.
struct Streams {
  CUstream_st legacy;
  CUstream_st per_thread;
  std::unordered_map<cudaStream_t, std::unique_ptr<CUstream_st>> live;
  std::vector<std::unique_ptr<CUstream_st>> destroyed;  ///< whose work has not ended
  unsigned long long next_id = 3;                       ///< after the default streams

  Streams() {
    legacy.id = reinterpret_cast<unsigned long long>(cudaStreamLegacy);
    per_thread.id = reinterpret_cast<unsigned long long>(cudaStreamPerThread);
  }
};

Streams& streams() {
  static auto* const all = new Streams;
  return *all;
}

// Calls `use` with the stream; cudaErrorInvalidResourceHandle when it does not exist.
template <class Use>
cudaError_t with_stream(cudaStream_t handle, Use&& use) {
  return device_api([&](Runtime& runtime) {
    CUstream_st* const stream = find_stream(handle);
    return stream == nullptr ? cudaErrorInvalidResourceHandle : use(runtime, *stream);
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

CUstream_st* find_stream(cudaStream_t stream) {
  if (stream == nullptr || stream == cudaStreamLegacy) return &streams().legacy;
  if (stream == cudaStreamPerThread) return &streams().per_thread;
  if (stream == &streams().legacy || stream == &streams().per_thread) return stream;
  const auto found = streams().live.find(stream);
  return found == streams().live.end() ? nullptr : found->second.get();
}

void for_each_stream(const std::function<void(CUstream_st&)>& use) {
  use(streams().legacy);
  use(streams().per_thread);
  for (const auto& [handle, stream] : streams().live) use(*stream);
  for (const auto& stream : streams().destroyed) use(*stream);
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

// What the stream still has to do is done.
BW_CUDART_API cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  return device_api([&](Runtime& runtime) {
    const auto found = streams().live.find(stream);
    if (found == streams().live.end()) return cudaErrorInvalidResourceHandle;
    note_end(runtime, *found->second);
    std::erase_if(streams().destroyed, [](const auto& other) { return is_done(*other); });
    if (!is_done(*found->second)) streams().destroyed.push_back(std::move(found->second));
    streams().live.erase(found);
    return cudaSuccess;
  });
}

BW_CUDART_API cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return with_stream(stream, [](Runtime& runtime, CUstream_st& found) {
    if (const cudaError_t error = refuse_wait_in_capture("cudaStreamSynchronize", found);
        error != cudaSuccess)
      return error;
    // The legacy stream's turn comes when the streams that block with it are done.
    const bool is_legacy = &found == find_stream(nullptr);
    const cudaError_t error = wait_until(runtime, [&] {
      bool done = is_done(found);
      if (is_legacy) {
        for_each_stream([&](CUstream_st& other) {
          if ((other.flags & cudaStreamNonBlocking) == 0) done = done && is_done(other);
        });
      }
      return done;
    });
    if (error == cudaSuccess) note_wait(runtime, found);
    return error;
  });
}
BW_CUDART_TWIN(cudaStreamSynchronize, _ptsz)

BW_CUDART_API cudaError_t cudaStreamQuery(cudaStream_t stream) {
  return with_stream(stream, [](Runtime& runtime, CUstream_st& found) {
    if (const cudaError_t error = refuse_wait_in_capture("cudaStreamQuery", found);
        error != cudaSuccess)
      return error;
    if (!is_done(found)) make_progress(runtime);
    if (!is_done(found)) return cudaErrorNotReady;
    note_wait(runtime, found);
    return cudaSuccess;
  });
}
BW_CUDART_TWIN(cudaStreamQuery, _ptsz)

BW_CUDART_API cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t handle,
                                              unsigned flags) {
  return with_stream(stream, [&](Runtime& runtime, CUstream_st& found) {
    CUevent_st* const event = find_event(handle);
    if (event == nullptr) return cudaErrorInvalidResourceHandle;
    const bool in_capture = found.capture != nullptr || !event->capture_tail.nodes.empty() ||
                            event->capture.lock() != nullptr;
    if (in_capture && flags != cudaEventWaitExternal) return wait_in_capture(found, *event);
    return submit(runtime, "cudaStreamWaitEvent", stream, WaitOperation{handle, event->records});
  });
}
BW_CUDART_TWIN(cudaStreamWaitEvent, _ptsz)

BW_CUDART_API cudaError_t cudaStreamGetPriority(cudaStream_t stream, int* priority) {
  return with_stream(stream, [&](Runtime&, CUstream_st& attributes) {
    if (priority == nullptr) return cudaErrorInvalidValue;
    *priority = attributes.priority;
    return cudaSuccess;
  });
}
BW_CUDART_TWIN(cudaStreamGetPriority, _ptsz)

BW_CUDART_API cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned* flags) {
  return with_stream(stream, [&](Runtime&, CUstream_st& attributes) {
    if (flags == nullptr) return cudaErrorInvalidValue;
    *flags = attributes.flags;
    return cudaSuccess;
  });
}
BW_CUDART_TWIN(cudaStreamGetFlags, _ptsz)

BW_CUDART_API cudaError_t cudaStreamGetId(cudaStream_t stream, unsigned long long* id) {
  return with_stream(stream, [&](Runtime&, CUstream_st& attributes) {
    if (id == nullptr) return cudaErrorInvalidValue;
    *id = attributes.id;
    return cudaSuccess;
  });
}
BW_CUDART_TWIN(cudaStreamGetId, _ptsz)

BW_CUDART_API cudaError_t cudaStreamGetDevice(cudaStream_t stream, int* device) {
  return with_stream(stream, [&](Runtime&, CUstream_st&) {
    if (device == nullptr) return cudaErrorInvalidValue;
    *device = 0;
    return cudaSuccess;
  });
}
BW_CUDART_TWIN(cudaStreamGetDevice, _ptsz)

// Attributes (access policy, synchronisation policy, memory domain) have no effect on results.
BW_CUDART_API cudaError_t cudaStreamSetAttribute(cudaStream_t stream, cudaLaunchAttributeID,
                                                 const cudaLaunchAttributeValue*) {
  return with_stream(stream, [](Runtime&, CUstream_st&) { return cudaSuccess; });
}
BW_CUDART_TWIN(cudaStreamSetAttribute, _ptsz)

BW_CUDART_API cudaError_t cudaStreamCopyAttributes(cudaStream_t, cudaStream_t source) {
  return with_stream(source, [](Runtime&, CUstream_st&) { return cudaSuccess; });
}
BW_CUDART_TWIN(cudaStreamCopyAttributes, _ptsz)

BW_CUDART_API cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function,
                                             void* user_data) {
  if (function == nullptr) return record_error(cudaErrorInvalidValue);
  return device_api([&](Runtime& runtime) {
    return submit(runtime, "cudaLaunchHostFunc", stream,
                  HostOperation{[=] { function(user_data); }, function, user_data});
  });
}
BW_CUDART_TWIN(cudaLaunchHostFunc, _ptsz)

BW_CUDART_API cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback,
                                                void* user_data, unsigned) {
  if (callback == nullptr) return record_error(cudaErrorInvalidValue);
  const cudaError_t error = device_api([&](Runtime& runtime) {
    if (CUstream_st* const found = find_stream(stream); found != nullptr) {
      if (const cudaError_t refused = refuse_wait_in_capture("cudaStreamAddCallback", *found);
          refused != cudaSuccess)
        return refused;
    }
    return submit(
        runtime, "cudaStreamAddCallback", stream,
        HostOperation{[=] { callback(stream, cudaSuccess, user_data); }, nullptr, nullptr});
  });
  // A callback is told of a fault of the device.
  if (error == Runtime::instance().sticky_error && error != cudaSuccess)
    callback(stream, error, user_data);
  return error;
}
BW_CUDART_TWIN(cudaStreamAddCallback, _ptsz)
