/// \file
/// The driver functions that programs reach through cudaGetDriverEntryPoint (or link directly):
/// tensor maps, error texts, what the device is.
#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstring>
#include <string>
#include <string_view>

#include "common/simulator/cudart/api.hpp"
#include "common/simulator/cudart/device_attributes.hpp"
#include "common/simulator/units/copies/tensor_map.hpp"

namespace bw::sim::cudart {
namespace {

struct DriverErrorName {
  CUresult error;
  const char* name;
};

constexpr DriverErrorName kDriverErrors[] = {
#define BW_DRIVER_ERROR(error) {error, #error},
#include "common/simulator/cudart/driver_error_names.inc"
#undef BW_DRIVER_ERROR
};

// The only context: a mark, nothing is behind it.
CUcontext the_context() { return reinterpret_cast<CUcontext>(&Runtime::instance()); }

CUresult from_status(const char* api, const TensorMapStatus& status) {
  if (!status.ok()) explain(api, status.message);
  return static_cast<CUresult>(status.code);
}

// The driver's codes have the numbers of the runtime's codes.
CUresult from_runtime(cudaError_t error) { return static_cast<CUresult>(error); }

}  // namespace
}  // namespace bw::sim::cudart

using namespace bw::sim;
using namespace bw::sim::cudart;

BW_CUDART_API CUresult cuTensorMapEncodeTiled(
    CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* address,
    const cuuint64_t* extents, const cuuint64_t* strides, const cuuint32_t* box,
    const cuuint32_t* element_strides, CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
    CUtensorMapL2promotion l2_promotion, CUtensorMapFloatOOBfill fill) {
  static_assert(sizeof(CUtensorMap) == kTensorMapBytes, "tensor maps have the driver's size");
  TensorMapArguments arguments;
  arguments.data_type = type;
  arguments.rank = rank;
  arguments.global_address = reinterpret_cast<uint64_t>(address);
  arguments.global_dim = extents;
  arguments.global_strides = strides;
  arguments.box_dim = box;
  arguments.element_strides = element_strides;
  arguments.interleave = interleave;
  arguments.swizzle = swizzle;
  arguments.l2_promotion = l2_promotion;
  arguments.oob_fill = fill;
  return from_status("cuTensorMapEncodeTiled", encode_tensor_map(map, arguments));
}

BW_CUDART_API CUresult cuTensorMapReplaceAddress(CUtensorMap* map, void* address) {
  return from_status("cuTensorMapReplaceAddress",
                     replace_tensor_map_address(map, reinterpret_cast<uint64_t>(address)));
}

BW_CUDART_API CUresult cuTensorMapEncodeIm2col(CUtensorMap*, CUtensorMapDataType, cuuint32_t, void*,
                                               const cuuint64_t*, const cuuint64_t*, const int*,
                                               const int*, cuuint32_t, cuuint32_t,
                                               const cuuint32_t*, CUtensorMapInterleave,
                                               CUtensorMapSwizzle, CUtensorMapL2promotion,
                                               CUtensorMapFloatOOBfill) {
  explain("cuTensorMapEncodeIm2col",
          "the simulator has tiled tensor maps only; im2col maps are not supported");
  return CUDA_ERROR_NOT_SUPPORTED;
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

BW_CUDART_API CUresult cuInit(unsigned flags) {
  return flags == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

BW_CUDART_API CUresult cuDriverGetVersion(int* version) {
  return from_runtime(cudaDriverGetVersion(version));
}

BW_CUDART_API CUresult cuDeviceGetCount(int* count) {
  return from_runtime(cudaGetDeviceCount(count));
}

BW_CUDART_API CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *device = 0;
  return ordinal == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

BW_CUDART_API CUresult cuDeviceGetName(char* name, int length, CUdevice device) {
  if (name == nullptr || length <= 0) return CUDA_ERROR_INVALID_VALUE;
  const std::string_view text = Runtime::instance().device().settings().machine->device_name;
  const size_t count = text.copy(name, static_cast<size_t>(length) - 1);
  name[count] = '\0';
  return device == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

BW_CUDART_API CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute,
                                            CUdevice device) {
  return from_runtime(
      cudaDeviceGetAttribute(value, static_cast<cudaDeviceAttr>(attribute), device));
}

BW_CUDART_API CUresult cuCtxGetCurrent(CUcontext* context) {
  if (context == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *context = the_context();
  return CUDA_SUCCESS;
}

BW_CUDART_API CUresult cuCtxSetCurrent(CUcontext context) {
  return context == the_context() || context == nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

BW_CUDART_API CUresult cuCtxGetDevice(CUdevice* device) { return cuDeviceGet(device, 0); }

BW_CUDART_API CUresult cuCtxSynchronize() { return from_runtime(cudaDeviceSynchronize()); }

BW_CUDART_API CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  return device == 0 ? cuCtxGetCurrent(context) : CUDA_ERROR_INVALID_DEVICE;
}

BW_CUDART_API CUresult cuDevicePrimaryCtxRelease(CUdevice device) {
  return device == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

BW_CUDART_API CUresult cuStreamSynchronize(CUstream stream) {
  return from_runtime(cudaStreamSynchronize(stream));
}

BW_CUDART_API CUresult cuGetProcAddress(const char* symbol, void** function, int version,
                                        cuuint64_t flags, CUdriverProcAddressQueryResult* status);

namespace bw::sim::cudart {
namespace {

struct EntryPoint {
  std::string_view name;
  void* function;
};

template <class Function>
void* address_of(Function* function) {
  return reinterpret_cast<void*>(function);
}

void* find_entry_point(std::string_view name) {
  const EntryPoint points[] = {
      {"cuTensorMapEncodeTiled", address_of(cuTensorMapEncodeTiled)},
      {"cuTensorMapReplaceAddress", address_of(cuTensorMapReplaceAddress)},
      {"cuTensorMapEncodeIm2col", address_of(cuTensorMapEncodeIm2col)},
      {"cuGetErrorName", address_of(cuGetErrorName)},
      {"cuGetErrorString", address_of(cuGetErrorString)},
      {"cuInit", address_of(cuInit)},
      {"cuDriverGetVersion", address_of(cuDriverGetVersion)},
      {"cuDeviceGet", address_of(cuDeviceGet)},
      {"cuDeviceGetCount", address_of(cuDeviceGetCount)},
      {"cuDeviceGetName", address_of(cuDeviceGetName)},
      {"cuDeviceGetAttribute", address_of(cuDeviceGetAttribute)},
      {"cuCtxGetCurrent", address_of(cuCtxGetCurrent)},
      {"cuCtxSetCurrent", address_of(cuCtxSetCurrent)},
      {"cuCtxGetDevice", address_of(cuCtxGetDevice)},
      {"cuCtxSynchronize", address_of(cuCtxSynchronize)},
      {"cuDevicePrimaryCtxRetain", address_of(cuDevicePrimaryCtxRetain)},
      {"cuDevicePrimaryCtxRelease", address_of(cuDevicePrimaryCtxRelease)},
      {"cuStreamSynchronize", address_of(cuStreamSynchronize)},
      {"cuGetProcAddress", address_of(cuGetProcAddress)},
  };
  for (const EntryPoint& point : points)
    if (point.name == name) return point.function;
  return nullptr;
}

cudaError_t driver_entry_point(const char* symbol, void** function,
                               cudaDriverEntryPointQueryResult* status) {
  if (symbol == nullptr || function == nullptr) return record_error(cudaErrorInvalidValue);
  *function = find_entry_point(symbol);
  if (status != nullptr) {
    *status =
        *function != nullptr ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
  }
  if (*function != nullptr) return record_error(cudaSuccess);
  explain("cudaGetDriverEntryPoint",
          "the simulator does not provide the driver function " + std::string(symbol));
  return status != nullptr ? cudaSuccess : record_error(cudaErrorSymbolNotFound);
}

}  // namespace
}  // namespace bw::sim::cudart

BW_CUDART_API CUresult cuGetProcAddress(const char* symbol, void** function, int, cuuint64_t,
                                        CUdriverProcAddressQueryResult* status) {
  cudaDriverEntryPointQueryResult found{};
  const cudaError_t error = driver_entry_point(symbol, function, &found);
  if (status != nullptr) *status = static_cast<CUdriverProcAddressQueryResult>(found);
  if (error != cudaSuccess) return from_runtime(error);
  return found == cudaDriverEntryPointSuccess ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

BW_CUDART_API cudaError_t cudaGetDriverEntryPoint(const char* symbol, void** function,
                                                  unsigned long long,
                                                  cudaDriverEntryPointQueryResult* status) {
  return driver_entry_point(symbol, function, status);
}
BW_CUDART_API cudaError_t cudaGetDriverEntryPoint_ptsz(const char* symbol, void** function,
                                                       unsigned long long,
                                                       cudaDriverEntryPointQueryResult* status) {
  return driver_entry_point(symbol, function, status);
}

BW_CUDART_API cudaError_t
cudaGetDriverEntryPointByVersion(const char* symbol, void** function, unsigned, unsigned long long,
                                 cudaDriverEntryPointQueryResult* status) {
  return driver_entry_point(symbol, function, status);
}
BW_CUDART_TWIN(cudaGetDriverEntryPointByVersion, _ptsz)
