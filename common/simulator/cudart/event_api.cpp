#include <cuda_runtime_api.h>

#include <memory>
#include <unordered_map>

#include "common/simulator/cudart/api.hpp"
#include "common/simulator/cudart/streams.hpp"

namespace bw::sim::cudart {
namespace {

constexpr double kMillisecondsPerNanosecond = 1e-6;

using EventMap = std::unordered_map<cudaEvent_t, std::unique_ptr<CUevent_st>>;

// Live events; guarded by the runtime's mutex.
EventMap& events() {
  static auto* const live = new EventMap;
  return *live;
}

CUevent_st* find(cudaEvent_t event) {
  const auto found = events().find(event);
  return found == events().end() ? nullptr : found->second.get();
}

cudaError_t create(cudaEvent_t* event, unsigned flags) {
  return device_api([&](Runtime&) {
    if (event == nullptr) return cudaErrorInvalidValue;
    auto created = std::make_unique<CUevent_st>();
    created->flags = flags;
    *event = created.get();
    events().emplace(*event, std::move(created));
    return cudaSuccess;
  });
}

cudaError_t record(cudaEvent_t event, cudaStream_t stream) {
  return device_api([&](Runtime& runtime) {
    CUevent_st* const found = find(event);
    if (found == nullptr || !is_stream(stream)) return cudaErrorInvalidResourceHandle;
    found->recorded = true;
    found->time = runtime.device().clock();
    return cudaSuccess;
  });
}

// All work before an event is done when the call that records it returns.
cudaError_t query(cudaEvent_t event) {
  return device_api([&](Runtime&) {
    return find(event) == nullptr ? cudaErrorInvalidResourceHandle : cudaSuccess;
  });
}

}  // namespace
}  // namespace bw::sim::cudart

using namespace bw::sim::cudart;

BW_CUDART_API cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return create(event, cudaEventDefault);
}

BW_CUDART_API cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  return create(event, flags);
}

BW_CUDART_API cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return record(event, stream);
}
BW_CUDART_TWIN(cudaEventRecord, _ptsz)

BW_CUDART_API cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream,
                                                   unsigned) {
  return record(event, stream);
}
BW_CUDART_TWIN(cudaEventRecordWithFlags, _ptsz)

BW_CUDART_API cudaError_t cudaEventQuery(cudaEvent_t event) { return query(event); }

BW_CUDART_API cudaError_t cudaEventSynchronize(cudaEvent_t event) { return query(event); }

BW_CUDART_API cudaError_t cudaEventDestroy(cudaEvent_t event) {
  return device_api([&](Runtime&) {
    return events().erase(event) != 0 ? cudaSuccess : cudaErrorInvalidResourceHandle;
  });
}

/// Simulated time between two events, by the clock of the machine.
BW_CUDART_API cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start,
                                               cudaEvent_t end) {
  return device_api([&](Runtime& runtime) {
    const CUevent_st* const first = find(start);
    const CUevent_st* const last = find(end);
    if (milliseconds == nullptr) return cudaErrorInvalidValue;
    for (const CUevent_st* const event : {first, last}) {
      if (event == nullptr || !event->recorded || (event->flags & cudaEventDisableTiming) != 0)
        return cudaErrorInvalidResourceHandle;
    }
    const double cycles = static_cast<double>(last->time) - static_cast<double>(first->time);
    *milliseconds = static_cast<float>(runtime.device().settings().nanoseconds_of(cycles) *
                                       kMillisecondsPerNanosecond);
    return cudaSuccess;
  });
}
