/// \file
/// The driver's functions about the driver, the device, contexts and errors.
#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "common/simulator/cudart/driver/driver.hpp"
#include "common/simulator/cudart/runtime/device_attributes.hpp"

// The driver's header declares this structure without defining it.
struct CUctx_st {
  bool is_primary = false;
  bool is_live = true;
};

namespace bw::sim::cudart {
namespace {

struct DriverErrorName {
  CUresult error;
  const char* name;
};

constexpr DriverErrorName kDriverErrors[] = {
#define BW_DRIVER_ERROR(error) {error, #error},
#include "driver_error_names.inc"  // made from cuda.h at configure time
#undef BW_DRIVER_ERROR
};

/// Which runtime's codes have another number in the driver.
constexpr struct {
  cudaError_t runtime;
  CUresult driver;
} kOtherCodes[] = {
    {cudaErrorInvalidConfiguration, CUDA_ERROR_INVALID_VALUE},
    {cudaErrorInvalidPitchValue, CUDA_ERROR_INVALID_VALUE},
    {cudaErrorInvalidMemcpyDirection, CUDA_ERROR_INVALID_VALUE},
    {cudaErrorInvalidSymbol, CUDA_ERROR_NOT_FOUND},
    {cudaErrorInvalidDeviceFunction, CUDA_ERROR_INVALID_HANDLE},
    {cudaErrorUnsupportedLimit, CUDA_ERROR_UNSUPPORTED_LIMIT},
};

bool is_initialised = false;
CUctx_st primary{.is_primary = true};
thread_local std::vector<CUcontext> contexts;  ///< the current one is the last

CUresult make_context(CUcontext* context, CUdevice device) {
  if (const CUresult missing = check_initialised("cuCtxCreate"); missing != CUDA_SUCCESS)
    return missing;
  if (context == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (device != 0) return CUDA_ERROR_INVALID_DEVICE;
  *context = new CUctx_st;
  contexts.push_back(*context);
  return CUDA_SUCCESS;
}

CUresult check_device(CUdevice device) {
  return device == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

}  // namespace

CUresult driver_code(cudaError_t error) noexcept {
  for (const auto& row : kOtherCodes)
    if (row.runtime == error) return row.driver;
  return static_cast<CUresult>(error);
}

CUcontext current_context() noexcept {
  if (!contexts.empty()) return contexts.back();
  return uses_runtime() ? &primary : nullptr;
}

CUresult check_initialised(const char* api) {
  if (is_initialised || uses_runtime()) return CUDA_SUCCESS;
  explain(FaultCode::call_context, api, "the driver is not initialised; call cuInit(0) first");
  return CUDA_ERROR_NOT_INITIALIZED;
}

CUresult check_context(const char* api) {
  if (const CUresult missing = check_initialised(api); missing != CUDA_SUCCESS) return missing;
  const CUcontext context = current_context();
  if (context != nullptr && context->is_live) return CUDA_SUCCESS;
  explain(FaultCode::call_context, api,
          "no context is current in this thread; call cuDevicePrimaryCtxRetain and "
          "cuCtxSetCurrent, or cuCtxCreate");
  return CUDA_ERROR_INVALID_CONTEXT;
}

}  // namespace bw::sim::cudart

using namespace bw::sim::cudart;

BW_CUDART_API CUresult cuInit(unsigned flags) {
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  is_initialised = true;
  return CUDA_SUCCESS;
}

BW_CUDART_API CUresult cuDriverGetVersion(int* version) {
  return driver_code(cudaDriverGetVersion(version));
}

BW_CUDART_API CUresult cuGetErrorName(CUresult error, const char** name) {
  if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *name = nullptr;
  for (const DriverErrorName& row : kDriverErrors)
    if (row.error == error) *name = row.name;
  return *name == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

BW_CUDART_API CUresult cuGetErrorString(CUresult error, const char** text) {
  const char* name = nullptr;
  if (text == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *text = nullptr;
  if (cuGetErrorName(error, &name) != CUDA_SUCCESS) return CUDA_ERROR_INVALID_VALUE;
  *text = cudaGetErrorString(static_cast<cudaError_t>(error));
  return CUDA_SUCCESS;
}

BW_CUDART_API CUresult cuDeviceGetCount(int* count) {
  if (const CUresult missing = check_initialised("cuDeviceGetCount"); missing != CUDA_SUCCESS)
    return missing;
  if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *count = 1;
  return CUDA_SUCCESS;
}

BW_CUDART_API CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  if (const CUresult missing = check_initialised("cuDeviceGet"); missing != CUDA_SUCCESS)
    return missing;
  if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *device = 0;
  return check_device(ordinal);
}

BW_CUDART_API CUresult cuDeviceGetName(char* name, int length, CUdevice device) {
  if (name == nullptr || length <= 0) return CUDA_ERROR_INVALID_VALUE;
  cudaDeviceProp properties;
  const DriverScope scope;
  if (const cudaError_t error = cudaGetDeviceProperties(&properties, device); error != cudaSuccess)
    return driver_code(error);
  const size_t count =
      std::string_view(properties.name).copy(name, static_cast<size_t>(length) - 1);
  name[count] = '\0';
  return CUDA_SUCCESS;
}

BW_CUDART_API CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice device) {
  if (uuid == nullptr) return CUDA_ERROR_INVALID_VALUE;
  cudaDeviceProp properties;
  const DriverScope scope;
  const cudaError_t error = cudaGetDeviceProperties(&properties, device);
  if (error == cudaSuccess) std::memcpy(uuid->bytes, properties.uuid.bytes, sizeof uuid->bytes);
  return driver_code(error);
}

BW_CUDART_API CUresult cuDeviceTotalMem(size_t* bytes, CUdevice device) {
  if (bytes == nullptr) return CUDA_ERROR_INVALID_VALUE;
  cudaDeviceProp properties;
  const DriverScope scope;
  const cudaError_t error = cudaGetDeviceProperties(&properties, device);
  if (error == cudaSuccess) *bytes = properties.totalGlobalMem;
  return driver_code(error);
}

BW_CUDART_API CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute,
                                            CUdevice device) {
  const DriverScope scope;
  return driver_code(cudaDeviceGetAttribute(value, static_cast<cudaDeviceAttr>(attribute), device));
}

BW_CUDART_API CUresult cuDeviceComputeCapability(int* major, int* minor, CUdevice device) {
  const CUresult result =
      cuDeviceGetAttribute(major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
  if (result != CUDA_SUCCESS) return result;
  return cuDeviceGetAttribute(minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
}

BW_CUDART_API CUresult cuDeviceGetPCIBusId(char* bus_id, int length, CUdevice device) {
  return driver_code(cudaDeviceGetPCIBusId(bus_id, length, device));
}

BW_CUDART_API CUresult cuDeviceGetByPCIBusId(CUdevice* device, const char* bus_id) {
  return driver_code(cudaDeviceGetByPCIBusId(device, bus_id));
}

BW_CUDART_API CUresult cuDeviceCanAccessPeer(int* can_access, CUdevice device, CUdevice peer) {
  return driver_code(cudaDeviceCanAccessPeer(can_access, device, peer));
}

BW_CUDART_API CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  if (const CUresult missing = check_initialised("cuDevicePrimaryCtxRetain");
      missing != CUDA_SUCCESS)
    return missing;
  if (context == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *context = &primary;
  return check_device(device);
}

BW_CUDART_API CUresult cuDevicePrimaryCtxRelease(CUdevice device) { return check_device(device); }

BW_CUDART_API CUresult cuDevicePrimaryCtxSetFlags(CUdevice device, unsigned) {
  return check_device(device);
}

BW_CUDART_API CUresult cuDevicePrimaryCtxReset(CUdevice device) {
  if (device != 0) return CUDA_ERROR_INVALID_DEVICE;
  return driver_code(cudaDeviceReset());
}

BW_CUDART_API CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned* flags, int* active) {
  if (flags != nullptr) *flags = 0;
  if (active != nullptr) *active = 1;
  return check_device(device);
}

BW_CUDART_API CUresult cuCtxCreate(CUcontext* context, CUctxCreateParams*, unsigned,
                                   CUdevice device) {
  return make_context(context, device);
}
// The versions of CUDA 12 and before, which programs that ask for them by name still call.
BW_CUDART_API CUresult cuCtxCreate_v3(CUcontext* context, CUexecAffinityParam*, int, unsigned,
                                      CUdevice device) {
  return make_context(context, device);
}
BW_CUDART_API CUresult cuCtxCreate_v2(CUcontext* context, unsigned, CUdevice device) {
  return make_context(context, device);
}

BW_CUDART_API CUresult cuCtxDestroy(CUcontext context) {
  if (context == nullptr || !context->is_live) return CUDA_ERROR_INVALID_CONTEXT;
  if (context->is_primary) return CUDA_ERROR_INVALID_CONTEXT;
  context->is_live = false;  // the mark itself stays: other threads may name it
  std::erase(contexts, context);
  return CUDA_SUCCESS;
}

BW_CUDART_API CUresult cuCtxGetCurrent(CUcontext* context) {
  if (context == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *context = current_context();
  return CUDA_SUCCESS;
}

BW_CUDART_API CUresult cuCtxSetCurrent(CUcontext context) {
  if (const CUresult missing = check_initialised("cuCtxSetCurrent"); missing != CUDA_SUCCESS)
    return missing;
  if (!contexts.empty()) contexts.pop_back();
  if (context != nullptr) contexts.push_back(context);
  return CUDA_SUCCESS;
}

BW_CUDART_API CUresult cuCtxPushCurrent(CUcontext context) {
  if (context == nullptr || !context->is_live) return CUDA_ERROR_INVALID_CONTEXT;
  contexts.push_back(context);
  return CUDA_SUCCESS;
}

BW_CUDART_API CUresult cuCtxPopCurrent(CUcontext* context) {
  if (current_context() == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (context != nullptr) *context = current_context();
  if (!contexts.empty()) contexts.pop_back();
  return CUDA_SUCCESS;
}

BW_CUDART_API CUresult cuCtxGetDevice(CUdevice* device) {
  if (const CUresult missing = check_context("cuCtxGetDevice"); missing != CUDA_SUCCESS)
    return missing;
  if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *device = 0;
  return CUDA_SUCCESS;
}

BW_CUDART_API CUresult cuCtxGetFlags(unsigned* flags) {
  return driver_call("cuCtxGetFlags", [&] { return cudaGetDeviceFlags(flags); });
}

BW_CUDART_API CUresult cuCtxGetId(CUcontext context, unsigned long long* id) {
  if (id == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *id = reinterpret_cast<unsigned long long>(context == nullptr ? current_context() : context);
  return CUDA_SUCCESS;
}

BW_CUDART_API CUresult cuCtxGetApiVersion(CUcontext, unsigned* version) {
  if (version == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *version = CUDA_VERSION;
  return CUDA_SUCCESS;
}

BW_CUDART_API CUresult cuCtxSynchronize() {
  return driver_call("cuCtxSynchronize", [] { return cudaDeviceSynchronize(); });
}

BW_CUDART_API CUresult cuCtxSetLimit(CUlimit limit, size_t value) {
  return driver_call("cuCtxSetLimit",
                     [&] { return cudaDeviceSetLimit(static_cast<cudaLimit>(limit), value); });
}

BW_CUDART_API CUresult cuCtxGetLimit(size_t* value, CUlimit limit) {
  return driver_call("cuCtxGetLimit",
                     [&] { return cudaDeviceGetLimit(value, static_cast<cudaLimit>(limit)); });
}

BW_CUDART_API CUresult cuCtxSetCacheConfig(CUfunc_cache config) {
  return driver_call("cuCtxSetCacheConfig",
                     [&] { return cudaDeviceSetCacheConfig(static_cast<cudaFuncCache>(config)); });
}

BW_CUDART_API CUresult cuCtxGetCacheConfig(CUfunc_cache* config) {
  return driver_call("cuCtxGetCacheConfig", [&] {
    return cudaDeviceGetCacheConfig(reinterpret_cast<cudaFuncCache*>(config));
  });
}

BW_CUDART_API CUresult cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  return driver_call("cuCtxGetStreamPriorityRange",
                     [&] { return cudaDeviceGetStreamPriorityRange(least, greatest); });
}

BW_CUDART_API CUresult cuCtxResetPersistingL2Cache() {
  return driver_call("cuCtxResetPersistingL2Cache", [] { return cudaCtxResetPersistingL2Cache(); });
}

BW_CUDART_API CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  return driver_call("cuThreadExchangeStreamCaptureMode", [&] {
    return cudaThreadExchangeStreamCaptureMode(reinterpret_cast<cudaStreamCaptureMode*>(mode));
  });
}

// Names without a version, which programs that look functions up themselves use. Their parameters
// are the same.
BW_DRIVER_OLD_NAME(cuCtxDestroy_v2, "cuCtxDestroy")
BW_DRIVER_OLD_NAME(cuCtxPopCurrent_v2, "cuCtxPopCurrent")
BW_DRIVER_OLD_NAME(cuCtxPushCurrent_v2, "cuCtxPushCurrent")
BW_DRIVER_OLD_NAME(cuDevicePrimaryCtxRelease_v2, "cuDevicePrimaryCtxRelease")
BW_DRIVER_OLD_NAME(cuDevicePrimaryCtxReset_v2, "cuDevicePrimaryCtxReset")
BW_DRIVER_OLD_NAME(cuDevicePrimaryCtxSetFlags_v2, "cuDevicePrimaryCtxSetFlags")
BW_DRIVER_OLD_NAME(cuDeviceGetUuid_v2, "cuDeviceGetUuid")
