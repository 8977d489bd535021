#include <cuda_runtime_api.h>

#include <memory>
#include <unordered_map>

#include "common/simulator/cudart/graph/capture.hpp"
#include "common/simulator/cudart/runtime/api.hpp"
#include "common/simulator/cudart/runtime/host_races.hpp"
#include "common/simulator/cudart/runtime/streams.hpp"

namespace bw::sim::cudart {
namespace {

constexpr double kMillisecondsPerNanosecond = 1e-6;

using EventMap = std::unordered_map<cudaEvent_t, std::unique_ptr<CUevent_st>>;

// Live events; guarded by the runtime's mutex.
EventMap& events() {
  static auto* const live = new EventMap;
  return *live;
}

cudaError_t create(cudaEvent_t* event, unsigned flags) {
  return device_api([&](Runtime&) {
    constexpr unsigned kAll =
        cudaEventBlockingSync | cudaEventDisableTiming | cudaEventInterprocess;
    // An event that processes share has no times.
    const bool shared_with_times =
        (flags & (cudaEventInterprocess | cudaEventDisableTiming)) == cudaEventInterprocess;
    if (event == nullptr || (flags & ~kAll) != 0 || shared_with_times) return cudaErrorInvalidValue;
    auto created = std::make_unique<CUevent_st>();
    created->flags = flags;
    *event = created.get();
    events().emplace(*event, std::move(created));
    return cudaSuccess;
  });
}

cudaError_t record(cudaEvent_t handle, cudaStream_t stream, unsigned flags) {
  return device_api([&](Runtime& runtime) {
    CUevent_st* const event = find_event(handle);
    CUstream_st* const found = find_stream(stream);
    if (event == nullptr || found == nullptr) return cudaErrorInvalidResourceHandle;
    event->capture.reset();
    event->capture_tail.clear();
    if (found->capture != nullptr) {
      if (flags == cudaEventRecordExternal)
        return submit(runtime, "cudaEventRecord", stream, RecordOperation{handle});
      record_in_capture(*found, *event);
      return cudaSuccess;
    }
    return submit(runtime, "cudaEventRecord", stream, RecordOperation{handle, ++event->records});
  });
}

bool is_reached(const CUevent_st& event) { return event.reached >= event.records; }

cudaError_t refuse_captured(const char* api, const CUevent_st& event) {
  if (event.capture.lock() == nullptr) return cudaSuccess;
  explain(FaultCode::call_capture, api,
          "the event was recorded in a stream that is being captured, so it is never reached");
  return cudaErrorCapturedEvent;
}

}  // namespace

CUevent_st* find_event(cudaEvent_t event) {
  const auto found = events().find(event);
  return found == events().end() ? nullptr : found->second.get();
}

}  // namespace bw::sim::cudart

using namespace bw::sim::cudart;

BW_CUDART_API cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return create(event, cudaEventDefault);
}

BW_CUDART_API cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  return create(event, flags);
}

BW_CUDART_API cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return record(event, stream, cudaEventRecordDefault);
}
BW_CUDART_TWIN(cudaEventRecord, _ptsz)

BW_CUDART_API cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream,
                                                   unsigned flags) {
  return record(event, stream, flags);
}
BW_CUDART_TWIN(cudaEventRecordWithFlags, _ptsz)

BW_CUDART_API cudaError_t cudaEventQuery(cudaEvent_t handle) {
  return device_api([&](Runtime& runtime) {
    const CUevent_st* const event = find_event(handle);
    if (event == nullptr) return cudaErrorInvalidResourceHandle;
    if (const cudaError_t error = refuse_captured("cudaEventQuery", *event); error != cudaSuccess)
      return error;
    if (!is_reached(*event)) make_progress(runtime);
    if (!is_reached(*event)) return cudaErrorNotReady;
    note_wait(runtime, handle);
    return cudaSuccess;
  });
}

BW_CUDART_API cudaError_t cudaEventSynchronize(cudaEvent_t handle) {
  return device_api([&](Runtime& runtime) {
    const CUevent_st* const event = find_event(handle);
    if (event == nullptr) return cudaErrorInvalidResourceHandle;
    if (const cudaError_t error = refuse_captured("cudaEventSynchronize", *event);
        error != cudaSuccess)
      return error;
    const cudaError_t error = wait_until(runtime, [=] {
      const CUevent_st* const live = find_event(handle);
      return live == nullptr || is_reached(*live) || all_done();
    });
    if (error == cudaSuccess) note_wait(runtime, handle);
    return error;
  });
}

BW_CUDART_API cudaError_t cudaEventDestroy(cudaEvent_t event) {
  return device_api([&](Runtime& runtime) {
    note_end(runtime, event);
    return events().erase(event) != 0 ? cudaSuccess : cudaErrorInvalidResourceHandle;
  });
}

/// Simulated time between two events, by the clock of the machine.
BW_CUDART_API cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start,
                                               cudaEvent_t end) {
  return device_api([&](Runtime& runtime) {
    const CUevent_st* const first = find_event(start);
    const CUevent_st* const last = find_event(end);
    if (milliseconds == nullptr) return cudaErrorInvalidValue;
    for (const CUevent_st* const event : {first, last}) {
      if (event == nullptr || event->records == 0 || (event->flags & cudaEventDisableTiming) != 0)
        return cudaErrorInvalidResourceHandle;
      if (!is_reached(*event)) return cudaErrorNotReady;
    }
    const double cycles = static_cast<double>(last->time) - static_cast<double>(first->time);
    *milliseconds = static_cast<float>(runtime.device().settings().nanoseconds_of(cycles) *
                                       kMillisecondsPerNanosecond);
    return cudaSuccess;
  });
}
