/// \file
/// The driver's functions about streams, events and the launch of graphs. Streams, events and
/// graphs are the same objects in both interfaces.
#include <cuda.h>
#include <cuda_runtime_api.h>

#include "common/simulator/cudart/driver/driver.hpp"
#include "common/simulator/cudart/runtime/streams.hpp"

using namespace bw::sim::cudart;

BW_CUDART_API CUresult cuStreamCreate(CUstream* stream, unsigned flags) {
  return driver_call("cuStreamCreate", [&] { return cudaStreamCreateWithFlags(stream, flags); });
}

BW_CUDART_API CUresult cuStreamCreateWithPriority(CUstream* stream, unsigned flags, int priority) {
  return driver_call("cuStreamCreateWithPriority",
                     [&] { return cudaStreamCreateWithPriority(stream, flags, priority); });
}

BW_CUDART_API CUresult cuStreamDestroy_v2(CUstream stream) {
  return driver_call("cuStreamDestroy", [&] { return cudaStreamDestroy(stream); });
}

BW_CUDART_API CUresult cuStreamSynchronize(CUstream stream) {
  return driver_call("cuStreamSynchronize", [&] { return cudaStreamSynchronize(stream); });
}
BW_CUDART_TWIN(cuStreamSynchronize, _ptsz)

BW_CUDART_API CUresult cuStreamQuery(CUstream stream) {
  return driver_call("cuStreamQuery", [&] { return cudaStreamQuery(stream); });
}
BW_CUDART_TWIN(cuStreamQuery, _ptsz)

BW_CUDART_API CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags) {
  return driver_call("cuStreamWaitEvent",
                     [&] { return cudaStreamWaitEvent(stream, event, flags); });
}
BW_CUDART_TWIN(cuStreamWaitEvent, _ptsz)

BW_CUDART_API CUresult cuStreamGetPriority(CUstream stream, int* priority) {
  return driver_call("cuStreamGetPriority",
                     [&] { return cudaStreamGetPriority(stream, priority); });
}
BW_CUDART_TWIN(cuStreamGetPriority, _ptsz)

BW_CUDART_API CUresult cuStreamGetFlags(CUstream stream, unsigned* flags) {
  return driver_call("cuStreamGetFlags", [&] { return cudaStreamGetFlags(stream, flags); });
}
BW_CUDART_TWIN(cuStreamGetFlags, _ptsz)

BW_CUDART_API CUresult cuStreamGetId(CUstream stream, unsigned long long* id) {
  return driver_call("cuStreamGetId", [&] { return cudaStreamGetId(stream, id); });
}
BW_CUDART_TWIN(cuStreamGetId, _ptsz)

BW_CUDART_API CUresult cuStreamGetCtx(CUstream, CUcontext* context) {
  return cuCtxGetCurrent(context);
}
BW_CUDART_TWIN(cuStreamGetCtx, _ptsz)

BW_CUDART_API CUresult cuStreamAddCallback(CUstream stream, CUstreamCallback callback,
                                           void* user_data, unsigned flags) {
  return driver_call("cuStreamAddCallback", [&] {
    return cudaStreamAddCallback(stream, reinterpret_cast<cudaStreamCallback_t>(callback),
                                 user_data, flags);
  });
}
BW_CUDART_TWIN(cuStreamAddCallback, _ptsz)

BW_CUDART_API CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void* user_data) {
  return driver_call("cuLaunchHostFunc",
                     [&] { return cudaLaunchHostFunc(stream, function, user_data); });
}
BW_CUDART_TWIN(cuLaunchHostFunc, _ptsz)

BW_CUDART_API CUresult cuEventCreate(CUevent* event, unsigned flags) {
  return driver_call("cuEventCreate", [&] { return cudaEventCreateWithFlags(event, flags); });
}

BW_CUDART_API CUresult cuEventRecord(CUevent event, CUstream stream) {
  return driver_call("cuEventRecord", [&] { return cudaEventRecord(event, stream); });
}
BW_CUDART_TWIN(cuEventRecord, _ptsz)

BW_CUDART_API CUresult cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned flags) {
  return driver_call("cuEventRecordWithFlags",
                     [&] { return cudaEventRecordWithFlags(event, stream, flags); });
}
BW_CUDART_TWIN(cuEventRecordWithFlags, _ptsz)

BW_CUDART_API CUresult cuEventQuery(CUevent event) {
  return driver_call("cuEventQuery", [&] { return cudaEventQuery(event); });
}

BW_CUDART_API CUresult cuEventSynchronize(CUevent event) {
  return driver_call("cuEventSynchronize", [&] { return cudaEventSynchronize(event); });
}

BW_CUDART_API CUresult cuEventDestroy_v2(CUevent event) {
  return driver_call("cuEventDestroy", [&] { return cudaEventDestroy(event); });
}

BW_CUDART_API CUresult cuEventElapsedTime_v2(float* milliseconds, CUevent start, CUevent end) {
  return driver_call("cuEventElapsedTime",
                     [&] { return cudaEventElapsedTime(milliseconds, start, end); });
}

BW_CUDART_API CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode) {
  return driver_call("cuStreamBeginCapture", [&] {
    return cudaStreamBeginCapture(stream, static_cast<cudaStreamCaptureMode>(mode));
  });
}
BW_CUDART_TWIN(cuStreamBeginCapture_v2, _ptsz)

BW_CUDART_API CUresult cuStreamEndCapture(CUstream stream, CUgraph* graph) {
  return driver_call("cuStreamEndCapture", [&] { return cudaStreamEndCapture(stream, graph); });
}
BW_CUDART_TWIN(cuStreamEndCapture, _ptsz)

BW_CUDART_API CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status) {
  return driver_call("cuStreamIsCapturing", [&] {
    return cudaStreamIsCapturing(stream, reinterpret_cast<cudaStreamCaptureStatus*>(status));
  });
}
BW_CUDART_TWIN(cuStreamIsCapturing, _ptsz)

// Names without a version, which programs that look functions up themselves use. Their parameters
// are the same.
BW_DRIVER_OLD_NAME(cuStreamDestroy_v2, "cuStreamDestroy")
BW_DRIVER_OLD_NAME(cuEventDestroy_v2, "cuEventDestroy")
BW_DRIVER_OLD_NAME(cuEventElapsedTime_v2, "cuEventElapsedTime")
