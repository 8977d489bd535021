/// \file
/// Attributes and occupancy of kernels.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstddef>
#include <string>

#include <fmt/core.h>

#include "common/simulator/cudart/runtime/api.hpp"
#include "common/simulator/cudart/runtime/launch.hpp"
#include "common/simulator/machine/address_space.hpp"
#include "common/simulator/machine/grid.hpp"
#include "common/simulator/machine/limits.hpp"

namespace bw::sim::cudart {
namespace {

size_t static_shared_bytes(const Kernel& kernel) {
  return kernel.static_shared_bytes() - kReservedSharedBytes;
}

// Calls `use` with a decoded kernel.
template <class Use>
cudaError_t with_kernel(const char* api, const void* host_function, Use&& use) {
  return device_api([&](Runtime& runtime) {
    Function* const function = runtime.find_function(host_function);
    if (function == nullptr) {
      explain(FaultCode::call_unknown_symbol, api,
              "the function given is not a kernel of this program");
      return cudaErrorInvalidDeviceFunction;
    }
    return use(runtime, *function, runtime.kernel(*function));
  });
}

// "sm_100a" -> 100.
int max_threads(const Kernel& kernel) {
  const uint32_t* const bound = kernel.function().directives.max_threads;
  if (bound[0] == 0) return kMaxThreadsPerBlock;
  return static_cast<int>(bound[0] * std::max(1u, bound[1]) * std::max(1u, bound[2]));
}

cudaError_t get_attributes(cudaFuncAttributes& attributes, const Function& function,
                           const Kernel& kernel) {
  attributes = {};
  attributes.sharedSizeBytes = static_shared_bytes(kernel);
  attributes.localSizeBytes = kernel.local_bytes();
  attributes.maxThreadsPerBlock = max_threads(kernel);
  attributes.numRegs = static_cast<int>(kernel.registers_per_thread());
  attributes.ptxVersion = static_cast<int>(parse_target(kernel.module().ptx().target).architecture);
  attributes.binaryVersion = static_cast<int>(kernel.module().machine().architecture());
  attributes.maxDynamicSharedSizeBytes = static_cast<int>(dynamic_shared_limit(function, kernel));
  attributes.preferredShmemCarveout = function.shared_carveout;
  const ptx::EntryDirectives& directives = kernel.function().directives;
  attributes.clusterDimMustBeSet = directives.explicit_cluster ? 1 : 0;
  const Dim3 required = required_cluster(function, kernel);
  attributes.requiredClusterWidth = static_cast<int>(required.x);
  attributes.requiredClusterHeight = static_cast<int>(required.y);
  attributes.requiredClusterDepth = static_cast<int>(required.z);
  attributes.clusterSchedulingPolicyPreference = function.cluster_scheduling_policy;
  attributes.nonPortableClusterSizeAllowed = function.non_portable_cluster ? 1 : 0;
  return cudaSuccess;
}

cudaError_t set_dynamic_shared(Function& function, const Kernel& kernel, int value) {
  const size_t most =
      kSharedBytesPerBlock - std::min(kSharedBytesPerBlock, static_shared_bytes(kernel));
  if (value < 0 || static_cast<size_t>(value) > most) {
    explain(
        FaultCode::launch_shared_memory, "cudaFuncSetAttribute",
        fmt::format("{} bytes of dynamic shared memory do not fit: a block has {} bytes and {} "
                    "uses {} statically, so at most {} are left; use fewer stages or smaller tiles",
                    value, kSharedBytesPerBlock, kernel.name(), static_shared_bytes(kernel), most));
    return cudaErrorInvalidValue;
  }
  function.max_dynamic_shared_bytes = value;
  return cudaSuccess;
}

cudaError_t set_attribute(Function& function, const Kernel& kernel, cudaFuncAttribute attribute,
                          int value) {
  switch (attribute) {
    case cudaFuncAttributeMaxDynamicSharedMemorySize:
      return set_dynamic_shared(function, kernel, value);
    case cudaFuncAttributePreferredSharedMemoryCarveout:
      if (value < -1 || value > 100) return cudaErrorInvalidValue;
      function.shared_carveout = value;
      return cudaSuccess;
    case cudaFuncAttributeNonPortableClusterSizeAllowed:
      function.non_portable_cluster = value != 0;
      return cudaSuccess;
    case cudaFuncAttributeClusterSchedulingPolicyPreference:
      function.cluster_scheduling_policy = value;
      return cudaSuccess;
    case cudaFuncAttributeRequiredClusterWidth:
      function.required_cluster.x = static_cast<uint32_t>(value);
      return cudaSuccess;
    case cudaFuncAttributeRequiredClusterHeight:
      function.required_cluster.y = static_cast<uint32_t>(value);
      return cudaSuccess;
    case cudaFuncAttributeRequiredClusterDepth:
      function.required_cluster.z = static_cast<uint32_t>(value);
      return cudaSuccess;
    default:
      explain(FaultCode::call_argument, "cudaFuncSetAttribute",
              fmt::format("attribute {} cannot be set", static_cast<int>(attribute)));
      return cudaErrorInvalidValue;
  }
}

cudaError_t max_active_blocks(const char* api, int* blocks, const void* function, int threads,
                              size_t dynamic_bytes) {
  return with_kernel(api, function, [&](Runtime& runtime, Function& found, const Kernel& kernel) {
    if (blocks == nullptr || threads <= 0) return cudaErrorInvalidValue;
    *blocks = 0;
    if (threads > max_threads(kernel)) return cudaSuccess;
    if (dynamic_bytes > dynamic_shared_limit(found, kernel)) return cudaSuccess;
    *blocks = static_cast<int>(runtime.device()
                                   .occupancy(kernel, static_cast<uint32_t>(threads), dynamic_bytes)
                                   .ctas_per_sm);
    return cudaSuccess;
  });
}

// Clusters of that many CTAs that the whole machine holds; 0 when a block does not fit.
uint64_t machine_clusters(Runtime& runtime, const Kernel& kernel, const cudaLaunchConfig_t& config,
                          uint64_t cluster_ctas) {
  const Dim3 block{config.blockDim.x, config.blockDim.y, config.blockDim.z};
  if (block.volume() == 0 || block.volume() > static_cast<unsigned>(max_threads(kernel))) return 0;
  const Occupancy occupancy = runtime.device().occupancy(
      kernel, static_cast<uint32_t>(block.volume()), config.dynamicSmemBytes);
  return runtime.device().resident_clusters(occupancy.ctas_per_sm, cluster_ctas);
}

}  // namespace
}  // namespace bw::sim::cudart

using namespace bw::sim;
using namespace bw::sim::cudart;

BW_CUDART_API cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes,
                                                const void* function) {
  return with_kernel("cudaFuncGetAttributes", function,
                     [&](Runtime&, Function& found, const Kernel& kernel) {
                       return attributes == nullptr ? cudaErrorInvalidValue
                                                    : get_attributes(*attributes, found, kernel);
                     });
}

BW_CUDART_API cudaError_t cudaFuncSetAttribute(const void* function, cudaFuncAttribute attribute,
                                               int value) {
  return with_kernel("cudaFuncSetAttribute", function,
                     [&](Runtime&, Function& found, const Kernel& kernel) {
                       return set_attribute(found, kernel, attribute, value);
                     });
}

BW_CUDART_API cudaError_t cudaKernelSetAttributeForDevice(cudaKernel_t kernel,
                                                          cudaFuncAttribute attribute, int value,
                                                          int) {
  return cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel), attribute, value);
}

BW_CUDART_API cudaError_t cudaFuncSetCacheConfig(const void* function, cudaFuncCache) {
  return with_kernel("cudaFuncSetCacheConfig", function,
                     [](Runtime&, Function&, const Kernel&) { return cudaSuccess; });
}

BW_CUDART_API cudaError_t cudaFuncGetName(const char** name, const void* function) {
  return with_kernel("cudaFuncGetName", function, [&](Runtime&, Function& found, const Kernel&) {
    if (name == nullptr) return cudaErrorInvalidValue;
    *name = found.name.c_str();
    return cudaSuccess;
  });
}

BW_CUDART_API cudaError_t cudaFuncGetParamInfo(const void* function, size_t index, size_t* offset,
                                               size_t* size) {
  return with_kernel("cudaFuncGetParamInfo", function,
                     [&](Runtime&, Function&, const Kernel& kernel) {
                       if (offset == nullptr || index >= kernel.parameters().size())
                         return cudaErrorInvalidValue;
                       *offset = kernel.parameters()[index].offset_bytes;
                       if (size != nullptr) *size = kernel.parameters()[index].size_bytes;
                       return cudaSuccess;
                     });
}

BW_CUDART_API cudaError_t cudaGetFuncBySymbol(cudaFunction_t* result, const void* function) {
  return device_api([&](Runtime& runtime) {
    Function* const found = runtime.find_function(function);
    if (found == nullptr) return cudaErrorInvalidDeviceFunction;
    if (result == nullptr) return cudaErrorInvalidValue;
    *result = reinterpret_cast<cudaFunction_t>(found);
    return cudaSuccess;
  });
}

BW_CUDART_API cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks,
                                                                        const void* function,
                                                                        int threads,
                                                                        size_t dynamic_bytes) {
  return max_active_blocks("cudaOccupancyMaxActiveBlocksPerMultiprocessor", blocks, function,
                           threads, dynamic_bytes);
}

BW_CUDART_API cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int* blocks, const void* function, int threads, size_t dynamic_bytes, unsigned) {
  return max_active_blocks("cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags", blocks,
                           function, threads, dynamic_bytes);
}

BW_CUDART_API cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t* bytes,
                                                                    const void* function,
                                                                    int blocks, int) {
  return with_kernel("cudaOccupancyAvailableDynamicSMemPerBlock", function,
                     [&](Runtime&, Function&, const Kernel& kernel) {
                       if (bytes == nullptr || blocks <= 0) return cudaErrorInvalidValue;
                       const size_t each = kSharedBytesPerSm / static_cast<size_t>(blocks);
                       const size_t used = kernel.static_shared_bytes();
                       const size_t left = each > used ? each - used : 0;
                       *bytes = std::min(left, kSharedBytesPerBlock - static_shared_bytes(kernel));
                       return cudaSuccess;
                     });
}

BW_CUDART_API cudaError_t cudaOccupancyMaxActiveClusters(int* clusters, const void* function,
                                                         const cudaLaunchConfig_t* config) {
  return with_kernel("cudaOccupancyMaxActiveClusters", function,
                     [&](Runtime& runtime, Function& found, const Kernel& kernel) {
                       if (clusters == nullptr || config == nullptr) return cudaErrorInvalidValue;
                       const uint64_t size = cluster_of(*config, found, kernel).volume();
                       const uint64_t most = found.non_portable_cluster ? kMaxClusterNonPortable
                                                                        : kMaxClusterPortable;
                       if (size == 0 || size > most) return cudaErrorInvalidClusterSize;
                       *clusters =
                           static_cast<int>(machine_clusters(runtime, kernel, *config, size));
                       return cudaSuccess;
                     });
}

BW_CUDART_API cudaError_t cudaOccupancyMaxPotentialClusterSize(int* size, const void* function,
                                                               const cudaLaunchConfig_t* config) {
  return with_kernel("cudaOccupancyMaxPotentialClusterSize", function,
                     [&](Runtime& runtime, Function& found, const Kernel& kernel) {
                       if (size == nullptr || config == nullptr) return cudaErrorInvalidValue;
                       uint64_t most = found.non_portable_cluster ? kMaxClusterNonPortable
                                                                  : kMaxClusterPortable;
                       while (most > 1 && machine_clusters(runtime, kernel, *config, most) == 0)
                         most /= 2;
                       *size = static_cast<int>(most);
                       return cudaSuccess;
                     });
}
