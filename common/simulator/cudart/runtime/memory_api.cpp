/// \file
/// Allocation, pointer attributes and what goes with them. What is allocated comes from the
/// device's range, which host code can read and write as well, so pinned and managed memory need
/// nothing special. A device address is the host's, so that memory of cudaHostRegister stays where
/// it is.
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include <fmt/core.h>

#include "common/simulator/base/bits.hpp"
#include "common/simulator/cudart/runtime/api.hpp"
#include "common/simulator/cudart/runtime/host_races.hpp"
#include "common/simulator/cudart/runtime/memory.hpp"
#include "common/simulator/cudart/runtime/streams.hpp"

namespace bw::sim::cudart {
namespace {

constexpr size_t kPitchAlignment = 512;

cudaError_t release(const char* api, void* pointer, bool host_memory) {
  return device_api([&](Runtime& runtime) {
    if (pointer == nullptr) return cudaSuccess;
    // Freeing waits for whatever may still use the memory.
    if (!all_done()) {
      if (const cudaError_t error = wait_until(runtime, all_done); error != cudaSuccess)
        return error;
    }
    note_wait_for_all(runtime);
    if (runtime.release(reinterpret_cast<uint64_t>(pointer), host_memory)) {
      forget_in_pools(reinterpret_cast<uint64_t>(pointer));
      return cudaSuccess;
    }
    explain(FaultCode::call_not_an_allocation, api,
            "no live allocation of this kind starts at the address given: it was freed "
            "before, came from another allocator, or points into the middle of one");
    return cudaErrorInvalidValue;
  });
}

cudaError_t allocate_pitched(const char* api, void** result, size_t* pitch, size_t width,
                             size_t rows) {
  if (pitch == nullptr) return record_error(cudaErrorInvalidValue);
  *pitch = align_up(width, kPitchAlignment);
  return allocate(api, result, *pitch * rows, cudaMemoryTypeDevice);
}

}  // namespace

cudaError_t allocate(const char* api, void** result, size_t bytes, cudaMemoryType type,
                     unsigned flags) {
  return device_api([&](Runtime& runtime) {
    if (result == nullptr) return cudaErrorInvalidValue;
    *result = nullptr;
    if (bytes == 0) return cudaSuccess;
    const uint64_t address =
        runtime.allocate(bytes, type, flags, fmt::format("{} of {} bytes", api, bytes));
    if (address == 0) {
      DeviceMemory& memory = runtime.device().memory();
      explain(FaultCode::call_out_of_memory, api,
              fmt::format("{} bytes do not fit: {} of {} bytes of device memory are in use; "
                          "raise BW_SIM_MEMORY_GB or free some",
                          bytes, memory.used_bytes(), memory.capacity_bytes()));
      return cudaErrorMemoryAllocation;
    }
    *result = reinterpret_cast<void*>(address);
    return cudaSuccess;
  });
}

}  // namespace bw::sim::cudart

using namespace bw::sim::cudart;

BW_CUDART_API cudaError_t cudaMalloc(void** pointer, size_t bytes) {
  return allocate("cudaMalloc", pointer, bytes, cudaMemoryTypeDevice);
}

BW_CUDART_API cudaError_t cudaMallocManaged(void** pointer, size_t bytes, unsigned flags) {
  constexpr const char* kApi = "cudaMallocManaged";
  if (bytes == 0 || (flags != cudaMemAttachGlobal && flags != cudaMemAttachHost)) {
    explain(
        FaultCode::call_argument, kApi,
        fmt::format("{} bytes with the flags {} were asked for; it allocates at least one byte, "
                    "with cudaMemAttachGlobal or cudaMemAttachHost",
                    bytes, flags));
    return record_error(cudaErrorInvalidValue);
  }
  return allocate(kApi, pointer, bytes, cudaMemoryTypeManaged, flags);
}

BW_CUDART_API cudaError_t cudaMallocHost(void** pointer, size_t bytes) {
  return allocate("cudaMallocHost", pointer, bytes, cudaMemoryTypeHost);
}

BW_CUDART_API cudaError_t cudaHostAlloc(void** pointer, size_t bytes, unsigned flags) {
  return allocate("cudaHostAlloc", pointer, bytes, cudaMemoryTypeHost, flags);
}

BW_CUDART_API cudaError_t cudaMallocPitch(void** pointer, size_t* pitch, size_t width,
                                          size_t height) {
  return allocate_pitched("cudaMallocPitch", pointer, pitch, width, height);
}

BW_CUDART_API cudaError_t cudaMalloc3D(cudaPitchedPtr* pointer, cudaExtent extent) {
  if (pointer == nullptr) return record_error(cudaErrorInvalidValue);
  pointer->xsize = extent.width;
  pointer->ysize = extent.height;
  return allocate_pitched("cudaMalloc3D", &pointer->ptr, &pointer->pitch, extent.width,
                          extent.height * extent.depth);
}

BW_CUDART_API cudaError_t cudaFree(void* pointer) { return release("cudaFree", pointer, false); }

BW_CUDART_API cudaError_t cudaFreeHost(void* pointer) {
  return release("cudaFreeHost", pointer, true);
}

BW_CUDART_API cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned) {
  return device_api([&](Runtime& runtime) {
    if (device == nullptr) return cudaErrorInvalidValue;
    const ProgramAllocation* const allocation =
        runtime.find_allocation(reinterpret_cast<uint64_t>(host));
    if (allocation == nullptr || allocation->type != cudaMemoryTypeHost) {
      explain(FaultCode::call_not_an_allocation, "cudaHostGetDevicePointer",
              "the address is not in memory of cudaMallocHost, cudaHostAlloc or cudaHostRegister; "
              "kernels cannot reach other host memory");
      return cudaErrorInvalidValue;
    }
    *device = host;
    return cudaSuccess;
  });
}

BW_CUDART_API cudaError_t cudaHostGetFlags(unsigned* flags, void* host) {
  return device_api([&](Runtime& runtime) {
    const ProgramAllocation* const allocation =
        runtime.find_allocation(reinterpret_cast<uint64_t>(host));
    if (flags == nullptr || allocation == nullptr || allocation->type != cudaMemoryTypeHost)
      return cudaErrorInvalidValue;
    *flags = allocation->flags;
    return cudaSuccess;
  });
}

BW_CUDART_API cudaError_t cudaHostRegister(void* pointer, size_t bytes, unsigned flags) {
  return device_api([&](Runtime& runtime) {
    if (pointer == nullptr || bytes == 0) return cudaErrorInvalidValue;
    if (runtime.register_host(reinterpret_cast<uint64_t>(pointer), bytes, flags))
      return cudaSuccess;
    explain(FaultCode::call_not_an_allocation, "cudaHostRegister",
            "some of the bytes are registered already, or come from the simulator's own memory; "
            "call cudaHostUnregister first, and register no memory of cudaMallocHost");
    return cudaErrorHostMemoryAlreadyRegistered;
  });
}

BW_CUDART_API cudaError_t cudaHostUnregister(void* pointer) {
  return device_api([&](Runtime& runtime) {
    if (pointer == nullptr) return cudaErrorInvalidValue;
    // Kernels may still use the memory.
    if (!all_done()) {
      if (const cudaError_t error = wait_until(runtime, all_done); error != cudaSuccess)
        return error;
    }
    return runtime.unregister_host(reinterpret_cast<uint64_t>(pointer))
               ? cudaSuccess
               : cudaErrorHostMemoryNotRegistered;
  });
}

BW_CUDART_API cudaError_t cudaMemGetInfo(size_t* free_bytes, size_t* total_bytes) {
  return device_api([&](Runtime& runtime) {
    const bw::sim::DeviceMemory& memory = runtime.device().memory();
    if (total_bytes != nullptr) *total_bytes = memory.capacity_bytes();
    if (free_bytes != nullptr) *free_bytes = memory.capacity_bytes() - memory.used_bytes();
    return cudaSuccess;
  });
}

BW_CUDART_API cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes,
                                                   const void* pointer) {
  return device_api([&](Runtime& runtime) {
    if (attributes == nullptr) return cudaErrorInvalidValue;
    const auto address = reinterpret_cast<uint64_t>(pointer);
    void* const same = const_cast<void*>(pointer);
    *attributes = {};
    if (const ProgramAllocation* const allocation = runtime.find_allocation(address)) {
      attributes->type = allocation->type;
      attributes->devicePointer = same;
      attributes->hostPointer = allocation->type == cudaMemoryTypeDevice ? nullptr : same;
    } else if (runtime.device().memory().find(address) != nullptr) {
      attributes->type = cudaMemoryTypeDevice;  // a variable of the program
      attributes->devicePointer = same;
    } else {
      attributes->type = cudaMemoryTypeUnregistered;
      attributes->device = cudaInvalidDeviceId;
      attributes->hostPointer = same;
    }
    return cudaSuccess;
  });
}

// Hints about where managed memory should be: there is one place.
BW_CUDART_API cudaError_t cudaMemPrefetchAsync(const void*, size_t, cudaMemLocation, unsigned,
                                               cudaStream_t) {
  return record_error(cudaSuccess);
}
BW_CUDART_TWIN(cudaMemPrefetchAsync, _ptsz)

BW_CUDART_API cudaError_t cudaMemAdvise(const void*, size_t, cudaMemoryAdvise, cudaMemLocation) {
  return record_error(cudaSuccess);
}

// Nothing was advised, and everything is where it was last prefetched to: nowhere in particular.
BW_CUDART_API cudaError_t cudaMemRangeGetAttribute(void* data, size_t bytes, cudaMemRangeAttribute,
                                                   const void*, size_t) {
  if (data == nullptr || bytes < sizeof(int)) return record_error(cudaErrorInvalidValue);
  const int unknown = cudaInvalidDeviceId;
  std::memset(data, 0, bytes);
  std::memcpy(data, &unknown, sizeof unknown);
  return record_error(cudaSuccess);
}

BW_CUDART_API cudaError_t cudaStreamAttachMemAsync(cudaStream_t, void*, size_t, unsigned) {
  return record_error(cudaSuccess);
}
BW_CUDART_TWIN(cudaStreamAttachMemAsync, _ptsz)
