/// \file
/// The driver's functions about memory.
#include <cuda.h>
#include <cuda_runtime_api.h>

#include <utility>

#include "common/simulator/cudart/driver/driver.hpp"
#include "common/simulator/cudart/graph/capture.hpp"
#include "common/simulator/cudart/runtime/host_races.hpp"
#include "common/simulator/cudart/runtime/streams.hpp"

namespace bw::sim::cudart {
namespace {

cudaStream_t stream_of(CUstream stream) { return stream; }

/// Hands an operation to a stream, or to the default stream and waits for it.
CUresult in_order(const char* api, CUstream stream, Operation operation, bool waits) {
  return driver_call(api, [&] {
    return device_api([&](Runtime& runtime) {
      if (waits) {
        if (const cudaError_t error = refuse_call_in_capture(api); error != cudaSuccess)
          return error;
      }
      const cudaError_t error = submit(runtime, api, stream_of(stream), std::move(operation));
      if (error != cudaSuccess || !waits) return error;
      const CUstream_st& waited_for = *find_stream(stream_of(stream));
      const cudaError_t waited = wait_until(runtime, [&] { return is_done(waited_for); });
      if (waited == cudaSuccess) note_wait(runtime, waited_for);
      return waited;
    });
  });
}

CUresult fill(const char* api, CUstream stream, CUdeviceptr destination, size_t pitch,
              uint32_t bits, size_t element_bytes, size_t width, size_t height) {
  return in_order(api, stream,
                  FillOperation{api,
                                pointer(destination),
                                {pitch},
                                {bits, element_bytes},
                                {width * element_bytes, height}},
                  false);
}

CUresult copy(const char* api, CUstream stream, void* destination, const void* source, size_t bytes,
              cudaMemcpyKind kind, bool waits) {
  return in_order(api, stream,
                  CopyOperation{api, destination, {}, source, {}, {bytes}, kind, nullptr}, waits);
}

/// One side of the driver's pitched copies.
struct Side {
  CUmemorytype type;
  const void* host;
  CUdeviceptr device;
  size_t x_bytes;
  size_t y;
  size_t z;
  size_t pitch;
  size_t rows;

  [[nodiscard]] std::byte* first() const {
    auto* const base = static_cast<std::byte*>(type == CU_MEMORYTYPE_HOST ? const_cast<void*>(host)
                                                                          : pointer(device));
    return base + (z * rows + y) * pitch + x_bytes;
  }
  [[nodiscard]] CopySide shape() const { return {pitch, pitch * rows}; }
};

CUresult copy_pitched(const char* api, CUstream stream, const Side& destination, const Side& source,
                      const CopyShape& shape, bool waits) {
  if (destination.type == CU_MEMORYTYPE_ARRAY || source.type == CU_MEMORYTYPE_ARRAY) {
    explain(FaultCode::call_not_supported, api,
            "CUDA arrays are not supported; use pitched memory");
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  return in_order(api, stream,
                  CopyOperation{api, destination.first(), destination.shape(), source.first(),
                                source.shape(), shape, cudaMemcpyDefault, nullptr},
                  waits);
}

CUresult copy_2d(const char* api, CUstream stream, const CUDA_MEMCPY2D* c, bool waits) {
  if (c == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto pitch = [&](size_t given) { return given == 0 ? c->WidthInBytes : given; };
  return copy_pitched(api, stream,
                      {c->dstMemoryType, c->dstHost, c->dstDevice, c->dstXInBytes, c->dstY, 0,
                       pitch(c->dstPitch), 0},
                      {c->srcMemoryType, c->srcHost, c->srcDevice, c->srcXInBytes, c->srcY, 0,
                       pitch(c->srcPitch), 0},
                      {c->WidthInBytes, c->Height}, waits);
}

CUresult copy_3d(const char* api, CUstream stream, const CUDA_MEMCPY3D* c, bool waits) {
  if (c == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto pitch = [&](size_t given) { return given == 0 ? c->WidthInBytes : given; };
  const auto rows = [&](size_t given) { return given == 0 ? c->Height : given; };
  return copy_pitched(api, stream,
                      {c->dstMemoryType, c->dstHost, c->dstDevice, c->dstXInBytes, c->dstY, c->dstZ,
                       pitch(c->dstPitch), rows(c->dstHeight)},
                      {c->srcMemoryType, c->srcHost, c->srcDevice, c->srcXInBytes, c->srcY, c->srcZ,
                       pitch(c->srcPitch), rows(c->srcHeight)},
                      {c->WidthInBytes, c->Height, c->Depth}, waits);
}

// The driver allocates nothing for 0 bytes but an error.
CUresult allocated(const char* api, CUdeviceptr* address, size_t bytes,
                   cudaError_t (*allocate)(void**, size_t)) {
  if (address == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  return driver_call(api, [&] { return allocate(reinterpret_cast<void**>(address), bytes); });
}

}  // namespace
}  // namespace bw::sim::cudart

using namespace bw::sim::cudart;

BW_CUDART_API CUresult cuMemAlloc_v2(CUdeviceptr* address, size_t bytes) {
  return allocated("cuMemAlloc", address, bytes, cudaMalloc);
}

BW_CUDART_API CUresult cuMemAllocPitch_v2(CUdeviceptr* address, size_t* pitch, size_t width,
                                          size_t height, unsigned) {
  return driver_call("cuMemAllocPitch", [&] {
    return cudaMallocPitch(reinterpret_cast<void**>(address), pitch, width, height);
  });
}

BW_CUDART_API CUresult cuMemFree_v2(CUdeviceptr address) {
  return driver_call("cuMemFree", [&] { return cudaFree(pointer(address)); });
}

BW_CUDART_API CUresult cuMemAllocHost_v2(void** address, size_t bytes) {
  return driver_call("cuMemAllocHost", [&] { return cudaMallocHost(address, bytes); });
}

BW_CUDART_API CUresult cuMemHostAlloc(void** address, size_t bytes, unsigned flags) {
  return driver_call("cuMemHostAlloc", [&] { return cudaHostAlloc(address, bytes, flags); });
}

BW_CUDART_API CUresult cuMemFreeHost(void* address) {
  return driver_call("cuMemFreeHost", [&] { return cudaFreeHost(address); });
}

BW_CUDART_API CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr* device, void* host,
                                                    unsigned flags) {
  return driver_call("cuMemHostGetDevicePointer", [&] {
    return cudaHostGetDevicePointer(reinterpret_cast<void**>(device), host, flags);
  });
}

BW_CUDART_API CUresult cuMemHostGetFlags(unsigned* flags, void* host) {
  return driver_call("cuMemHostGetFlags", [&] { return cudaHostGetFlags(flags, host); });
}

BW_CUDART_API CUresult cuMemHostRegister_v2(void* host, size_t bytes, unsigned flags) {
  return driver_call("cuMemHostRegister", [&] { return cudaHostRegister(host, bytes, flags); });
}

BW_CUDART_API CUresult cuMemHostUnregister(void* host) {
  return driver_call("cuMemHostUnregister", [&] { return cudaHostUnregister(host); });
}

BW_CUDART_API CUresult cuMemAllocManaged(CUdeviceptr* address, size_t bytes, unsigned flags) {
  return driver_call("cuMemAllocManaged", [&] {
    return cudaMallocManaged(reinterpret_cast<void**>(address), bytes, flags);
  });
}

BW_CUDART_API CUresult cuMemAllocAsync(CUdeviceptr* address, size_t bytes, CUstream stream) {
  return driver_call("cuMemAllocAsync", [&] {
    return cudaMallocAsync(reinterpret_cast<void**>(address), bytes, stream);
  });
}
BW_CUDART_TWIN(cuMemAllocAsync, _ptsz)

BW_CUDART_API CUresult cuMemAllocFromPoolAsync(CUdeviceptr* address, size_t bytes,
                                               CUmemoryPool pool, CUstream stream) {
  return driver_call("cuMemAllocFromPoolAsync", [&] {
    return cudaMallocFromPoolAsync(reinterpret_cast<void**>(address), bytes, pool, stream);
  });
}
BW_CUDART_TWIN(cuMemAllocFromPoolAsync, _ptsz)

BW_CUDART_API CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream) {
  return driver_call("cuMemFreeAsync", [&] { return cudaFreeAsync(pointer(address), stream); });
}
BW_CUDART_TWIN(cuMemFreeAsync, _ptsz)

BW_CUDART_API CUresult cuDeviceGetDefaultMemPool(CUmemoryPool* pool, CUdevice device) {
  return driver_code(cudaDeviceGetDefaultMemPool(pool, device));
}

BW_CUDART_API CUresult cuDeviceGetMemPool(CUmemoryPool* pool, CUdevice device) {
  return driver_code(cudaDeviceGetMemPool(pool, device));
}

BW_CUDART_API CUresult cuDeviceSetMemPool(CUdevice device, CUmemoryPool pool) {
  return driver_code(cudaDeviceSetMemPool(device, pool));
}

BW_CUDART_API CUresult cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute,
                                             void* value) {
  return driver_code(cudaMemPoolSetAttribute(pool, static_cast<cudaMemPoolAttr>(attribute), value));
}

BW_CUDART_API CUresult cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute,
                                             void* value) {
  return driver_code(cudaMemPoolGetAttribute(pool, static_cast<cudaMemPoolAttr>(attribute), value));
}

BW_CUDART_API CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t bytes) {
  return driver_code(cudaMemPoolTrimTo(pool, bytes));
}

BW_CUDART_API CUresult cuMemPoolDestroy(CUmemoryPool pool) {
  return driver_code(cudaMemPoolDestroy(pool));
}

BW_CUDART_API CUresult cuMemGetInfo_v2(size_t* free_bytes, size_t* total_bytes) {
  return driver_call("cuMemGetInfo", [&] { return cudaMemGetInfo(free_bytes, total_bytes); });
}

BW_CUDART_API CUresult cuMemGetAddressRange_v2(CUdeviceptr* base, size_t* bytes,
                                               CUdeviceptr address) {
  return driver_call("cuMemGetAddressRange", [&] {
    return device_api([&](Runtime& runtime) {
      const ProgramAllocation* const allocation = runtime.find_allocation(address);
      if (allocation == nullptr) return cudaErrorSymbolNotFound;
      if (base != nullptr) *base = allocation->address;
      if (bytes != nullptr) *bytes = allocation->size_bytes;
      return cudaSuccess;
    });
  });
}

BW_CUDART_API CUresult cuPointerGetAttribute(void* data, CUpointer_attribute attribute,
                                             CUdeviceptr address) {
  return driver_call("cuPointerGetAttribute", [&] {
    if (data == nullptr) return cudaErrorInvalidValue;
    cudaPointerAttributes found{};
    const cudaError_t error = cudaPointerGetAttributes(&found, pointer(address));
    if (error != cudaSuccess) return error;
    if (found.type == cudaMemoryTypeUnregistered) return cudaErrorInvalidValue;
    switch (attribute) {
      case CU_POINTER_ATTRIBUTE_CONTEXT:
        *static_cast<CUcontext*>(data) = current_context();
        return cudaSuccess;
      case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        *static_cast<unsigned*>(data) =
            found.type == cudaMemoryTypeHost ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
        return cudaSuccess;
      case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
        *static_cast<CUdeviceptr*>(data) = address;
        return cudaSuccess;
      case CU_POINTER_ATTRIBUTE_HOST_POINTER:
        if (found.hostPointer == nullptr) return cudaErrorInvalidValue;
        *static_cast<void**>(data) = found.hostPointer;
        return cudaSuccess;
      case CU_POINTER_ATTRIBUTE_IS_MANAGED:
        *static_cast<unsigned*>(data) = found.type == cudaMemoryTypeManaged ? 1 : 0;
        return cudaSuccess;
      case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        *static_cast<int*>(data) = 0;
        return cudaSuccess;
      default:
        explain(FaultCode::call_not_supported, "cuPointerGetAttribute",
                "the simulator does not keep this attribute");
        return cudaErrorNotSupported;
    }
  });
}

BW_CUDART_API CUresult cuMemPrefetchAsync_v2(CUdeviceptr, size_t, CUmemLocation, unsigned,
                                             CUstream) {
  return driver_call("cuMemPrefetchAsync", [] { return cudaSuccess; });
}
BW_CUDART_TWIN(cuMemPrefetchAsync_v2, _ptsz)

BW_CUDART_API CUresult cuMemAdvise_v2(CUdeviceptr, size_t, CUmem_advise, CUmemLocation) {
  return driver_call("cuMemAdvise", [] { return cudaSuccess; });
}

BW_CUDART_API CUresult cuMemcpy(CUdeviceptr destination, CUdeviceptr source, size_t bytes) {
  return copy("cuMemcpy", nullptr, pointer(destination), pointer(source), bytes, cudaMemcpyDefault,
              true);
}
BW_CUDART_TWIN(cuMemcpy, _ptds)

BW_CUDART_API CUresult cuMemcpyAsync(CUdeviceptr destination, CUdeviceptr source, size_t bytes,
                                     CUstream stream) {
  return copy("cuMemcpyAsync", stream, pointer(destination), pointer(source), bytes,
              cudaMemcpyDefault, false);
}
BW_CUDART_TWIN(cuMemcpyAsync, _ptsz)

BW_CUDART_API CUresult cuMemcpyHtoD_v2(CUdeviceptr destination, const void* source, size_t bytes) {
  return copy("cuMemcpyHtoD", nullptr, pointer(destination), source, bytes, cudaMemcpyHostToDevice,
              true);
}
BW_CUDART_TWIN(cuMemcpyHtoD_v2, _ptds)

BW_CUDART_API CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr destination, const void* source,
                                            size_t bytes, CUstream stream) {
  return copy("cuMemcpyHtoDAsync", stream, pointer(destination), source, bytes,
              cudaMemcpyHostToDevice, false);
}
BW_CUDART_TWIN(cuMemcpyHtoDAsync_v2, _ptsz)

BW_CUDART_API CUresult cuMemcpyDtoH_v2(void* destination, CUdeviceptr source, size_t bytes) {
  return copy("cuMemcpyDtoH", nullptr, destination, pointer(source), bytes, cudaMemcpyDeviceToHost,
              true);
}
BW_CUDART_TWIN(cuMemcpyDtoH_v2, _ptds)

BW_CUDART_API CUresult cuMemcpyDtoHAsync_v2(void* destination, CUdeviceptr source, size_t bytes,
                                            CUstream stream) {
  return copy("cuMemcpyDtoHAsync", stream, destination, pointer(source), bytes,
              cudaMemcpyDeviceToHost, false);
}
BW_CUDART_TWIN(cuMemcpyDtoHAsync_v2, _ptsz)

BW_CUDART_API CUresult cuMemcpyDtoD_v2(CUdeviceptr destination, CUdeviceptr source, size_t bytes) {
  return copy("cuMemcpyDtoD", nullptr, pointer(destination), pointer(source), bytes,
              cudaMemcpyDeviceToDevice, true);
}
BW_CUDART_TWIN(cuMemcpyDtoD_v2, _ptds)

BW_CUDART_API CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr destination, CUdeviceptr source,
                                            size_t bytes, CUstream stream) {
  return copy("cuMemcpyDtoDAsync", stream, pointer(destination), pointer(source), bytes,
              cudaMemcpyDeviceToDevice, false);
}
BW_CUDART_TWIN(cuMemcpyDtoDAsync_v2, _ptsz)

BW_CUDART_API CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D* parameters) {
  return copy_2d("cuMemcpy2D", nullptr, parameters, true);
}
BW_CUDART_TWIN(cuMemcpy2D_v2, _ptds)

BW_CUDART_API CUresult cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D* parameters) {
  return copy_2d("cuMemcpy2DUnaligned", nullptr, parameters, true);
}
BW_CUDART_TWIN(cuMemcpy2DUnaligned_v2, _ptds)

BW_CUDART_API CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D* parameters, CUstream stream) {
  return copy_2d("cuMemcpy2DAsync", stream, parameters, false);
}
BW_CUDART_TWIN(cuMemcpy2DAsync_v2, _ptsz)

BW_CUDART_API CUresult cuMemcpy3D_v2(const CUDA_MEMCPY3D* parameters) {
  return copy_3d("cuMemcpy3D", nullptr, parameters, true);
}
BW_CUDART_TWIN(cuMemcpy3D_v2, _ptds)

BW_CUDART_API CUresult cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D* parameters, CUstream stream) {
  return copy_3d("cuMemcpy3DAsync", stream, parameters, false);
}
BW_CUDART_TWIN(cuMemcpy3DAsync_v2, _ptsz)

// Fills in all widths, of a row or of a rectangle, in the default stream or in another.
#define BW_FILL(bits, Value)                                                                    \
  BW_CUDART_API CUresult cuMemsetD##bits##_v2(CUdeviceptr destination, Value value,             \
                                              size_t count) {                                   \
    return fill("cuMemsetD" #bits, nullptr, destination, 0, value, sizeof(Value), count, 1);    \
  }                                                                                             \
  BW_CUDART_TWIN(cuMemsetD##bits##_v2, _ptds)                                                   \
  BW_CUDART_API CUresult cuMemsetD##bits##Async(CUdeviceptr destination, Value value,           \
                                                size_t count, CUstream stream) {                \
    return fill("cuMemsetD" #bits "Async", stream, destination, 0, value, sizeof(Value), count, \
                1);                                                                             \
  }                                                                                             \
  BW_CUDART_TWIN(cuMemsetD##bits##Async, _ptsz)                                                 \
  BW_CUDART_API CUresult cuMemsetD2D##bits##_v2(CUdeviceptr destination, size_t pitch,          \
                                                Value value, size_t width, size_t height) {     \
    return fill("cuMemsetD2D" #bits, nullptr, destination, pitch, value, sizeof(Value), width,  \
                height);                                                                        \
  }                                                                                             \
  BW_CUDART_TWIN(cuMemsetD2D##bits##_v2, _ptds)                                                 \
  BW_CUDART_API CUresult cuMemsetD2D##bits##Async(CUdeviceptr destination, size_t pitch,        \
                                                  Value value, size_t width, size_t height,     \
                                                  CUstream stream) {                            \
    return fill("cuMemsetD2D" #bits "Async", stream, destination, pitch, value, sizeof(Value),  \
                width, height);                                                                 \
  }                                                                                             \
  BW_CUDART_TWIN(cuMemsetD2D##bits##Async, _ptsz)
BW_FILL(8, unsigned char)
BW_FILL(16, unsigned short)
BW_FILL(32, unsigned)
#undef BW_FILL

// Names without a version, which programs that look functions up themselves use. Their parameters
// are the same.
BW_DRIVER_OLD_NAME(cuMemAllocHost_v2, "cuMemAllocHost")
BW_DRIVER_OLD_NAME(cuMemHostRegister_v2, "cuMemHostRegister")
