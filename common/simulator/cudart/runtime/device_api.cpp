#include <cuda_runtime_api.h>

#include <cstring>
#include <map>
#include <string>

#include <fmt/core.h>

#include "common/simulator/cudart/graph/capture.hpp"
#include "common/simulator/cudart/runtime/api.hpp"
#include "common/simulator/cudart/runtime/device_attributes.hpp"
#include "common/simulator/cudart/runtime/host_races.hpp"
#include "common/simulator/cudart/runtime/streams.hpp"

namespace bw::sim::cudart {
namespace {

unsigned device_flags = cudaDeviceScheduleAuto;

// Limits are kept and reported; device-side heaps and launches do not exist here.
std::map<cudaLimit, size_t>& limits() {
  static auto* const values = new std::map<cudaLimit, size_t>{
      {cudaLimitStackSize, 1024},
      {cudaLimitPrintfFifoSize, size_t{1} << 20},
      {cudaLimitMallocHeapSize, size_t{8} << 20},
      {cudaLimitDevRuntimeSyncDepth, 2},
      {cudaLimitDevRuntimePendingLaunchCount, 2048},
      {cudaLimitMaxL2FetchGranularity, 64},
      {cudaLimitPersistingL2CacheSize, 0},
  };
  return *values;
}

cudaError_t check_device(const char* api, int device) {
  if (device == 0) return cudaSuccess;
  explain(FaultCode::call_argument, api,
          fmt::format("there is one device, number 0; device {} was given", device));
  return cudaErrorInvalidDevice;
}

}  // namespace
}  // namespace bw::sim::cudart

using namespace bw::sim::cudart;

BW_CUDART_API cudaError_t cudaGetDeviceCount(int* count) {
  if (count == nullptr) return record_error(cudaErrorInvalidValue);
  *count = 1;
  return record_error(cudaSuccess);
}

BW_CUDART_API cudaError_t cudaGetDevice(int* device) {
  if (device == nullptr) return record_error(cudaErrorInvalidValue);
  *device = 0;
  return record_error(cudaSuccess);
}

BW_CUDART_API cudaError_t cudaSetDevice(int device) {
  return device_api([&](Runtime& runtime) {
    runtime.device();
    return check_device("cudaSetDevice", device);
  });
}

BW_CUDART_API cudaError_t cudaInitDevice(int device, unsigned, unsigned) {
  return cudaSetDevice(device);
}

BW_CUDART_API cudaError_t cudaSetValidDevices(int* devices, int count) {
  for (int i = 0; i < count; ++i)
    if (devices[i] != 0) return record_error(cudaErrorInvalidDevice);
  return record_error(cudaSuccess);
}

BW_CUDART_API cudaError_t cudaChooseDevice(int* device, const cudaDeviceProp*) {
  if (device == nullptr) return record_error(cudaErrorInvalidValue);
  *device = 0;
  return record_error(cudaSuccess);
}

BW_CUDART_API cudaError_t cudaSetDeviceFlags(unsigned flags) {
  device_flags = flags;
  return record_error(cudaSuccess);
}

BW_CUDART_API cudaError_t cudaGetDeviceFlags(unsigned* flags) {
  if (flags == nullptr) return record_error(cudaErrorInvalidValue);
  *flags = device_flags;
  return record_error(cudaSuccess);
}

BW_CUDART_API cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  return device_api([&](Runtime& runtime) {
    if (properties == nullptr) return cudaErrorInvalidValue;
    if (device != 0) return check_device("cudaGetDeviceProperties", device);
    *properties = device_properties(runtime.device().settings());
    return cudaSuccess;
  });
}

BW_CUDART_API cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  return device_api([&](Runtime& runtime) {
    if (value == nullptr) return cudaErrorInvalidValue;
    if (device != 0) return check_device("cudaDeviceGetAttribute", device);
    const std::optional<int> found = device_attribute(attribute, runtime.device().settings());
    if (!found.has_value()) return cudaErrorInvalidValue;
    *value = *found;
    return cudaSuccess;
  });
}

BW_CUDART_API cudaError_t cudaDeviceGetPCIBusId(char* bus_id, int length, int device) {
  if (bus_id == nullptr || length <= static_cast<int>(std::strlen(kPciBusId)))
    return record_error(cudaErrorInvalidValue);
  std::strcpy(bus_id, kPciBusId);
  return record_error(check_device("cudaDeviceGetPCIBusId", device));
}

BW_CUDART_API cudaError_t cudaDeviceGetByPCIBusId(int* device, const char* bus_id) {
  if (device == nullptr || bus_id == nullptr || std::strcmp(bus_id, kPciBusId) != 0)
    return record_error(cudaErrorInvalidValue);
  *device = 0;
  return record_error(cudaSuccess);
}

BW_CUDART_API cudaError_t cudaDeviceSynchronize() {
  return device_api([](Runtime& runtime) {
    if (const cudaError_t error = refuse_call_in_capture("cudaDeviceSynchronize");
        error != cudaSuccess)
      return error;
    const cudaError_t error = wait_until(runtime, all_done);
    if (error == cudaSuccess) note_wait_for_all(runtime);
    return error;
  });
}

/// Frees the program's memory and forgets an error of the device.
BW_CUDART_API cudaError_t cudaDeviceReset() {
  Runtime& runtime = Runtime::instance();
  const std::lock_guard<std::recursive_mutex> lock(runtime.mutex());
  runtime.sticky_error = cudaSuccess;
  clear_last_error();
  drop_pending();
  if (runtime.has_device()) runtime.release_all();
  return cudaSuccess;
}

BW_CUDART_API cudaError_t cudaDeviceSetLimit(cudaLimit limit, size_t value) {
  return device_api([&](Runtime&) {
    if (limits().count(limit) == 0) return cudaErrorUnsupportedLimit;
    limits()[limit] = value;
    return cudaSuccess;
  });
}

BW_CUDART_API cudaError_t cudaDeviceGetLimit(size_t* value, cudaLimit limit) {
  return device_api([&](Runtime&) {
    if (value == nullptr) return cudaErrorInvalidValue;
    if (limits().count(limit) == 0) return cudaErrorUnsupportedLimit;
    *value = limits()[limit];
    return cudaSuccess;
  });
}

// The split between L1 and shared memory has no effect here.
BW_CUDART_API cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache) {
  return record_error(cudaSuccess);
}

BW_CUDART_API cudaError_t cudaDeviceGetCacheConfig(cudaFuncCache* config) {
  if (config == nullptr) return record_error(cudaErrorInvalidValue);
  *config = cudaFuncCachePreferNone;
  return record_error(cudaSuccess);
}

BW_CUDART_API cudaError_t cudaCtxResetPersistingL2Cache() { return record_error(cudaSuccess); }

BW_CUDART_API cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  if (least != nullptr) *least = kLeastPriority;
  if (greatest != nullptr) *greatest = kGreatestPriority;
  return record_error(cudaSuccess);
}

BW_CUDART_API cudaError_t cudaDeviceCanAccessPeer(int* can_access, int, int) {
  if (can_access == nullptr) return record_error(cudaErrorInvalidValue);
  *can_access = 0;
  return record_error(cudaSuccess);
}

BW_CUDART_API cudaError_t cudaDriverGetVersion(int* version) {
  if (version == nullptr) return record_error(cudaErrorInvalidValue);
  *version = kDriverVersion;
  return record_error(cudaSuccess);
}

BW_CUDART_API cudaError_t cudaRuntimeGetVersion(int* version) {
  if (version == nullptr) return record_error(cudaErrorInvalidValue);
  *version = CUDART_VERSION;
  return record_error(cudaSuccess);
}

// Only describes a texture's element; textures themselves are not supported.
BW_CUDART_API cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w,
                                                          cudaChannelFormatKind kind) {
  return {x, y, z, w, kind};
}

// Profilers see nothing of a simulation.
BW_CUDART_API cudaError_t cudaProfilerStart() { return record_error(cudaSuccess); }
BW_CUDART_API cudaError_t cudaProfilerStop() { return record_error(cudaSuccess); }
