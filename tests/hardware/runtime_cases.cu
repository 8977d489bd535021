/// \file
/// What the CUDA runtime answers to wrong calls: the number of the error, and of the one that
/// cudaGetLastError() has afterwards.
#include <cuda_runtime.h>

#include <functional>
#include <string>

#include "tests/hardware/cases.hpp"
#include "tests/hardware/raw_memory.hpp"

namespace bw::conformance::runtime {

__global__ void nothing() {}
__global__ void __launch_bounds__(128) bounded() {}
__global__ void __cluster_dims__(2, 1, 1) pairs() {}
__device__ uint32_t symbol[4];

cudaError_t launch_with(const void* kernel, dim3 grid, dim3 block, size_t shared = 0,
                        dim3 cluster = dim3(0, 0, 0)) {
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim = {cluster.x, cluster.y, cluster.z};
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = block;
  config.dynamicSmemBytes = shared;
  config.attrs = &attribute;
  config.numAttrs = cluster.x != 0 ? 1 : 0;
  return cudaLaunchKernelExC(&config, kernel, nullptr);
}

struct Call {
  const char* name;
  std::function<cudaError_t()> make;
};

const void* address(void (*kernel)()) { return reinterpret_cast<const void*>(kernel); }

const Call kCalls[] = {
    {"launch", [] { return launch_with(address(nothing), 1, 32); }},
    {"launch_1024_threads", [] { return launch_with(address(nothing), 1, 1024); }},
    {"launch_48K_shared", [] { return launch_with(address(nothing), 1, 32, 48 * 1024); }},
    {"launch_49K_shared", [] { return launch_with(address(nothing), 1, 32, 49 * 1024); }},
    {"launch_null", [] { return launch_with(nullptr, 1, 32); }},
    {"cluster_2", [] { return launch_with(address(nothing), 4, 32, 0, dim3(2)); }},
    {"cluster_3_of_4", [] { return launch_with(address(nothing), 4, 32, 0, dim3(3, 1, 1)); }},
    {"cluster_8", [] { return launch_with(address(nothing), 8, 32, 0, dim3(8, 1, 1)); }},
    {"cluster_16", [] { return launch_with(address(nothing), 16, 32, 0, dim3(16, 1, 1)); }},
    {"cluster_32", [] { return launch_with(address(nothing), 32, 32, 0, dim3(32, 1, 1)); }},
    {"cluster_16_allowed",
     [] {
       const cudaError_t set = cudaFuncSetAttribute(
           address(bounded), cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
       return set != cudaSuccess ? set : launch_with(address(bounded), 16, 32, 0, dim3(16, 1, 1));
     }},
    {"compiled_pairs", [] { return launch_with(address(pairs), 4, 32); }},
    {"compiled_pairs_of_3", [] { return launch_with(address(pairs), 3, 32); }},
    {"compiled_pairs_as_2", [] { return launch_with(address(pairs), 4, 32, 0, dim3(2, 1, 1)); }},
    {"compiled_pairs_as_4", [] { return launch_with(address(pairs), 4, 32, 0, dim3(4, 1, 1)); }},
    {"attribute_227K",
     [] {
       return cudaFuncSetAttribute(address(nothing), cudaFuncAttributeMaxDynamicSharedMemorySize,
                                   227 * 1024);
     }},
    {"attribute_228K",
     [] {
       return cudaFuncSetAttribute(address(nothing), cudaFuncAttributeMaxDynamicSharedMemorySize,
                                   228 * 1024);
     }},
    {"attribute_negative",
     [] {
       return cudaFuncSetAttribute(address(nothing), cudaFuncAttributeMaxDynamicSharedMemorySize,
                                   -1);
     }},
    {"launch_227K_shared", [] { return launch_with(address(nothing), 1, 32, 227 * 1024); }},
    {"malloc_2^60",
     [] {
       void* pointer = nullptr;
       return cudaMalloc(&pointer, size_t{1} << 60);
     }},
    {"malloc_0",
     [] {
       void* pointer = &pointer;
       const cudaError_t status = cudaMalloc(&pointer, 0);
       return status != cudaSuccess || pointer == nullptr ? status : cudaErrorUnknown;
     }},
    {"malloc_null", [] { return cudaMalloc(static_cast<void**>(nullptr), 16); }},
    {"free_null", [] { return cudaFree(nullptr); }},
    {"free_twice",
     [] {
       void* pointer = nullptr;
       static_cast<void>(cudaMalloc(&pointer, 64));
       static_cast<void>(cudaFree(pointer));
       return cudaFree(pointer);
     }},
    {"free_inside",
     [] {
       char* pointer = nullptr;
       static_cast<void>(cudaMalloc(reinterpret_cast<void**>(&pointer), 4096));
       const cudaError_t status = cudaFree(pointer + 256);
       static_cast<void>(cudaFree(pointer));
       return status;
     }},
    {"memcpy_direction",
     [] {
       char from[4] = {}, to[4];
       return cudaMemcpy(to, from, 4, static_cast<cudaMemcpyKind>(7));
     }},
    {"memcpy_0_null", [] { return cudaMemcpy(nullptr, nullptr, 0, cudaMemcpyHostToDevice); }},
    {"memcpy_above_allocation",
     [] {
       void* pointer = nullptr;
       static_cast<void>(cudaMalloc(&pointer, 4096));
       static char host[4096];
       const cudaError_t status = cudaMemcpy(host, static_cast<char*>(pointer) + (size_t{1} << 45),
                                             4096, cudaMemcpyDeviceToHost);
       static_cast<void>(cudaFree(pointer));
       return status;
     }},
    {"symbol_above_size",
     [] {
       const char host[17] = {};
       return cudaMemcpyToSymbol(symbol, host, 17);
     }},
    {"symbol_at_end",
     [] {
       const char host[8] = {};
       return cudaMemcpyToSymbol(symbol, host, 8, 8);
     }},
    {"symbol_unknown",
     [] {
       static uint32_t ordinary;
       void* pointer = nullptr;
       return cudaGetSymbolAddress(&pointer, &ordinary);
     }},
    {"set_device_99", [] { return cudaSetDevice(99); }},
    {"set_device_negative", [] { return cudaSetDevice(-1); }},
    {"event_elapsed_unrecorded",
     [] {
       cudaEvent_t first, second;
       static_cast<void>(cudaEventCreate(&first));
       static_cast<void>(cudaEventCreate(&second));
       float milliseconds = 0;
       const cudaError_t status = cudaEventElapsedTime(&milliseconds, first, second);
       static_cast<void>(cudaEventDestroy(first));
       static_cast<void>(cudaEventDestroy(second));
       return status;
     }},
    {"event_elapsed_without_timing",
     [] {
       cudaEvent_t event;
       static_cast<void>(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
       static_cast<void>(cudaEventRecord(event));
       static_cast<void>(cudaEventSynchronize(event));
       float milliseconds = 0;
       const cudaError_t status = cudaEventElapsedTime(&milliseconds, event, event);
       static_cast<void>(cudaEventDestroy(event));
       return status;
     }},
    {"event_query_unrecorded",
     [] {
       cudaEvent_t event;
       static_cast<void>(cudaEventCreate(&event));
       const cudaError_t status = cudaEventQuery(event);
       static_cast<void>(cudaEventDestroy(event));
       return status;
     }},
    {"device_attribute_9999",
     [] {
       int value = 0;
       return cudaDeviceGetAttribute(&value, static_cast<cudaDeviceAttr>(9999), 0);
     }},
    {"properties_of_99",
     [] {
       cudaDeviceProp properties;
       return cudaGetDeviceProperties(&properties, 99);
     }},
    {"entry_point_unknown",
     [] {
       void* function = nullptr;
       cudaDriverEntryPointQueryResult found;
       const cudaError_t status = cudaGetDriverEntryPointByVersion(
           "cuNoSuchFunction", &function, 12000, cudaEnableDefault, &found);
       return status != cudaSuccess ? status : static_cast<cudaError_t>(1000 + found);
     }},
};

const Registration kErrors("runtime.errors", [] {
  Result result;
  static_cast<void>(cudaGetLastError());
  for (const Call& call : kCalls) {
    const auto status = static_cast<uint64_t>(call.make());
    const auto last = static_cast<uint64_t>(cudaGetLastError());
    result.values.push_back(status << 16 | last);
  }
  check_cuda(cudaDeviceSynchronize(), "finish the launches");
  result.describe = [](size_t i) { return std::string(kCalls[i].name); };
  return result;
});

}  // namespace bw::conformance::runtime
