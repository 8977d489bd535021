/// \file
/// Memory pools: what they hand out, and the figures that they keep. All memory comes from the
/// device's range; a pool keeps nothing back, so what it has reserved is what it has handed out.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <unordered_map>

#include "common/simulator/cudart/graph/capture.hpp"
#include "common/simulator/cudart/runtime/api.hpp"
#include "common/simulator/cudart/runtime/memory.hpp"
#include "common/simulator/cudart/runtime/streams.hpp"

// The runtime's headers declare this structure without defining it.
struct CUmemPoolHandle_st {
  uint64_t release_threshold = 0;
  uint64_t used_high = 0;
  int reuse_follow_events = 1;
  int reuse_opportunistic = 1;
  int reuse_dependencies = 1;
  std::unordered_map<uint64_t, size_t> allocations;  ///< address to bytes

  [[nodiscard]] uint64_t used() const {
    uint64_t bytes = 0;
    for (const auto& [address, size] : allocations) bytes += size;
    return bytes;
  }
};

namespace bw::sim::cudart {
namespace {

// Guarded by the runtime's mutex.
struct Pools {
  CUmemPoolHandle_st of_device;
  cudaMemPool_t current = &of_device;
  std::unordered_map<cudaMemPool_t, std::unique_ptr<CUmemPoolHandle_st>> live;
};

Pools& pools() {
  static auto* const all = new Pools;
  return *all;
}

CUmemPoolHandle_st* find(cudaMemPool_t pool) {
  if (pool == &pools().of_device) return pool;
  const auto found = pools().live.find(pool);
  return found == pools().live.end() ? nullptr : found->second.get();
}

// Calls `use` with a live pool.
template <class Use>
cudaError_t with_pool(cudaMemPool_t handle, Use&& use) {
  return device_api([&](Runtime& runtime) {
    CUmemPoolHandle_st* const pool = find(handle);
    return pool == nullptr ? cudaErrorInvalidValue : use(runtime, *pool);
  });
}

cudaError_t allocate_from(const char* api, void** pointer, size_t bytes, CUmemPoolHandle_st& pool,
                          cudaStream_t stream) {
  CUstream_st* const found = find_stream(stream);
  if (found == nullptr) return cudaErrorInvalidResourceHandle;
  // Memory that a graph would allocate in each launch.
  if (found->capture != nullptr) return capture_operation(api, *found, FreeOperation{});
  const cudaError_t error = allocate(api, pointer, bytes, cudaMemoryTypeDevice);
  if (error != cudaSuccess || *pointer == nullptr) return error;
  pool.allocations[reinterpret_cast<uint64_t>(*pointer)] = bytes;
  pool.used_high = std::max(pool.used_high, pool.used());
  return cudaSuccess;
}

template <class Value>
cudaError_t read(void* to, Value value) {
  std::memcpy(to, &value, sizeof value);
  return cudaSuccess;
}

template <class Value>
cudaError_t write(Value& value, const void* from) {
  std::memcpy(&value, from, sizeof value);
  return cudaSuccess;
}

}  // namespace

void forget_in_pools(uint64_t address) {
  pools().of_device.allocations.erase(address);
  for (const auto& [handle, pool] : pools().live) pool->allocations.erase(address);
}

}  // namespace bw::sim::cudart

using namespace bw::sim::cudart;

BW_CUDART_API cudaError_t cudaMallocAsync(void** pointer, size_t bytes, cudaStream_t stream) {
  return device_api([&](Runtime&) {
    return allocate_from("cudaMallocAsync", pointer, bytes, *pools().current, stream);
  });
}
BW_CUDART_TWIN(cudaMallocAsync, _ptsz)

BW_CUDART_API cudaError_t cudaMallocFromPoolAsync(void** pointer, size_t bytes,
                                                  cudaMemPool_t handle, cudaStream_t stream) {
  return with_pool(handle, [&](Runtime&, CUmemPoolHandle_st& pool) {
    return allocate_from("cudaMallocFromPoolAsync", pointer, bytes, pool, stream);
  });
}
BW_CUDART_TWIN(cudaMallocFromPoolAsync, _ptsz)

BW_CUDART_API cudaError_t cudaFreeAsync(void* pointer, cudaStream_t stream) {
  return device_api([&](Runtime& runtime) {
    if (pointer == nullptr) return cudaSuccess;
    const ProgramAllocation* const allocation =
        runtime.find_allocation(reinterpret_cast<uint64_t>(pointer));
    if (allocation == nullptr || reinterpret_cast<void*>(allocation->address) != pointer ||
        allocation->type != cudaMemoryTypeDevice) {
      explain(FaultCode::call_not_an_allocation, "cudaFreeAsync",
              "no live allocation of this kind starts at the address given: it was freed before, "
              "came from another allocator, or points into the middle of one");
      return cudaErrorInvalidValue;
    }
    const cudaError_t error = submit(runtime, "cudaFreeAsync", stream, FreeOperation{pointer});
    if (error != cudaSuccess) return error;
    forget_in_pools(reinterpret_cast<uint64_t>(pointer));
    return cudaSuccess;
  });
}
BW_CUDART_TWIN(cudaFreeAsync, _ptsz)

BW_CUDART_API cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps* props) {
  return device_api([&](Runtime&) {
    if (pool == nullptr || props == nullptr) return cudaErrorInvalidValue;
    if (props->handleTypes != cudaMemHandleTypeNone) {
      explain(FaultCode::call_not_supported, "cudaMemPoolCreate",
              "memory that other processes can open is not supported");
      return cudaErrorNotSupported;
    }
    auto made = std::make_unique<CUmemPoolHandle_st>();
    *pool = made.get();
    pools().live.emplace(*pool, std::move(made));
    return cudaSuccess;
  });
}

// Allocations that are still in use stay until they are freed.
BW_CUDART_API cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool) {
  return device_api([&](Runtime&) {
    if (pools().live.erase(pool) == 0) return cudaErrorInvalidValue;
    if (pools().current == pool) pools().current = &pools().of_device;
    return cudaSuccess;
  });
}

BW_CUDART_API cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device) {
  if (pool == nullptr) return record_error(cudaErrorInvalidValue);
  *pool = &pools().of_device;
  return record_error(device == 0 ? cudaSuccess : cudaErrorInvalidDevice);
}

BW_CUDART_API cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* pool, int device) {
  if (pool == nullptr) return record_error(cudaErrorInvalidValue);
  *pool = pools().current;
  return record_error(device == 0 ? cudaSuccess : cudaErrorInvalidDevice);
}

BW_CUDART_API cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t handle) {
  return with_pool(handle, [&](Runtime&, CUmemPoolHandle_st& pool) {
    if (device != 0) return cudaErrorInvalidDevice;
    pools().current = &pool;
    return cudaSuccess;
  });
}

BW_CUDART_API cudaError_t cudaMemPoolTrimTo(cudaMemPool_t handle, size_t) {
  return with_pool(handle, [](Runtime&, CUmemPoolHandle_st&) { return cudaSuccess; });
}

BW_CUDART_API cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t handle, cudaMemPoolAttr attribute,
                                                  void* value) {
  return with_pool(handle, [&](Runtime&, CUmemPoolHandle_st& pool) {
    if (value == nullptr) return cudaErrorInvalidValue;
    switch (attribute) {
      case cudaMemPoolReuseFollowEventDependencies:
        return read(value, pool.reuse_follow_events);
      case cudaMemPoolReuseAllowOpportunistic:
        return read(value, pool.reuse_opportunistic);
      case cudaMemPoolReuseAllowInternalDependencies:
        return read(value, pool.reuse_dependencies);
      case cudaMemPoolAttrReleaseThreshold:
        return read(value, pool.release_threshold);
      case cudaMemPoolAttrReservedMemCurrent:
      case cudaMemPoolAttrUsedMemCurrent:
        return read(value, pool.used());
      case cudaMemPoolAttrReservedMemHigh:
      case cudaMemPoolAttrUsedMemHigh:
        return read(value, pool.used_high);
      default:
        return cudaErrorInvalidValue;
    }
  });
}

BW_CUDART_API cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t handle, cudaMemPoolAttr attribute,
                                                  void* value) {
  return with_pool(handle, [&](Runtime&, CUmemPoolHandle_st& pool) {
    if (value == nullptr) return cudaErrorInvalidValue;
    switch (attribute) {
      case cudaMemPoolReuseFollowEventDependencies:
        return write(pool.reuse_follow_events, value);
      case cudaMemPoolReuseAllowOpportunistic:
        return write(pool.reuse_opportunistic, value);
      case cudaMemPoolReuseAllowInternalDependencies:
        return write(pool.reuse_dependencies, value);
      case cudaMemPoolAttrReleaseThreshold:
        return write(pool.release_threshold, value);
      case cudaMemPoolAttrReservedMemHigh:
      case cudaMemPoolAttrUsedMemHigh:
        pool.used_high = pool.used();  // only 0 may be written: the mark starts again
        return cudaSuccess;
      default:
        return cudaErrorInvalidValue;
    }
  });
}

// There is one device, and it may use its own memory.
BW_CUDART_API cudaError_t cudaMemPoolSetAccess(cudaMemPool_t handle, const cudaMemAccessDesc*,
                                               size_t) {
  return with_pool(handle, [](Runtime&, CUmemPoolHandle_st&) { return cudaSuccess; });
}

BW_CUDART_API cudaError_t cudaMemPoolGetAccess(cudaMemAccessFlags* flags, cudaMemPool_t handle,
                                               cudaMemLocation*) {
  return with_pool(handle, [&](Runtime&, CUmemPoolHandle_st&) {
    if (flags == nullptr) return cudaErrorInvalidValue;
    *flags = cudaMemAccessFlagsProtReadWrite;
    return cudaSuccess;
  });
}
