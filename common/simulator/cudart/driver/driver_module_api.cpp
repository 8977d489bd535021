/// \file
/// The driver's functions about modules, libraries, kernels and their occupancy.
#include <cuda.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <string>

#include <fmt/core.h>

#include "common/simulator/cudart/driver/driver.hpp"
#include "common/simulator/cudart/image/image.hpp"
#include "common/simulator/cudart/runtime/launch.hpp"

namespace bw::sim::cudart {
namespace {

cudaLibrary_t library_of(CUmodule module) { return reinterpret_cast<cudaLibrary_t>(module); }
const void* function_of(CUfunction function) { return reinterpret_cast<const void*>(function); }

CUresult load(const char* api, CUmodule* module, const void* image) {
  if (module == nullptr || image == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return driver_call(api, [&] {
    return cudaLibraryLoadData(reinterpret_cast<cudaLibrary_t*>(module), image, nullptr, nullptr, 0,
                               nullptr, nullptr, 0);
  });
}

CUresult get_attribute(const char* api, int* value, CUfunction_attribute attribute,
                       const void* function) {
  return driver_call(api, [&] {
    cudaFuncAttributes found{};
    const cudaError_t error = cudaFuncGetAttributes(&found, function);
    if (error != cudaSuccess) return error;
    if (value == nullptr) return cudaErrorInvalidValue;
    switch (attribute) {
      case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
        *value = found.maxThreadsPerBlock;
        return cudaSuccess;
      case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
        *value = static_cast<int>(found.sharedSizeBytes);
        return cudaSuccess;
      case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
        *value = static_cast<int>(found.constSizeBytes);
        return cudaSuccess;
      case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
        *value = static_cast<int>(found.localSizeBytes);
        return cudaSuccess;
      case CU_FUNC_ATTRIBUTE_NUM_REGS:
        *value = found.numRegs;
        return cudaSuccess;
      case CU_FUNC_ATTRIBUTE_PTX_VERSION:
        *value = found.ptxVersion;
        return cudaSuccess;
      case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
        *value = found.binaryVersion;
        return cudaSuccess;
      case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA:
        *value = found.cacheModeCA;
        return cudaSuccess;
      case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
        *value = found.maxDynamicSharedSizeBytes;
        return cudaSuccess;
      case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
        *value = found.preferredShmemCarveout;
        return cudaSuccess;
      case CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET:
        *value = found.clusterDimMustBeSet;
        return cudaSuccess;
      case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
        *value = found.requiredClusterWidth;
        return cudaSuccess;
      case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
        *value = found.requiredClusterHeight;
        return cudaSuccess;
      case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
        *value = found.requiredClusterDepth;
        return cudaSuccess;
      case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
        *value = found.nonPortableClusterSizeAllowed;
        return cudaSuccess;
      case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
        *value = found.clusterSchedulingPolicyPreference;
        return cudaSuccess;
      default:
        return cudaErrorInvalidValue;
    }
  });
}

// The runtime's attributes have the driver's numbers.
cudaFuncAttribute runtime_attribute(CUfunction_attribute attribute) {
  return static_cast<cudaFuncAttribute>(attribute);
}

CUresult max_potential_block(const char* api, int* grid, int* block, CUfunction function,
                             CUoccupancyB2DSize shared_of_block, size_t shared_bytes, int most) {
  return driver_call(api, [&] {
    cudaFuncAttributes found{};
    cudaError_t error = cudaFuncGetAttributes(&found, function_of(function));
    if (error != cudaSuccess) return error;
    if (grid == nullptr || block == nullptr) return cudaErrorInvalidValue;
    constexpr int kStep = 32;
    int threads = most == 0 ? found.maxThreadsPerBlock : std::min(most, found.maxThreadsPerBlock);
    threads = std::max(kStep, threads / kStep * kStep);
    int best_threads = 0;
    *block = 0;
    *grid = 0;
    int multiprocessors = 0;
    error = cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0);
    for (; threads > 0 && error == cudaSuccess; threads -= kStep) {
      const size_t bytes = shared_of_block == nullptr ? shared_bytes : shared_of_block(threads);
      int blocks = 0;
      error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function_of(function), threads,
                                                            bytes);
      if (blocks * threads <= best_threads) continue;
      best_threads = blocks * threads;
      *block = threads;
      *grid = blocks * multiprocessors;
    }
    return error;
  });
}

cudaLaunchConfig_t runtime_config(const CUlaunchConfig& config) {
  static_assert(sizeof(CUlaunchAttribute) == sizeof(cudaLaunchAttribute),
                "the two interfaces share their launch attributes");
  cudaLaunchConfig_t same{};
  same.gridDim = {config.gridDimX, config.gridDimY, config.gridDimZ};
  same.blockDim = {config.blockDimX, config.blockDimY, config.blockDimZ};
  same.dynamicSmemBytes = config.sharedMemBytes;
  same.stream = config.hStream;
  same.attrs = reinterpret_cast<cudaLaunchAttribute*>(config.attrs);
  same.numAttrs = config.numAttrs;
  return same;
}

/// Arguments in one buffer, as `extra` gives them: pointers to each parameter in it.
cudaError_t unpack(const char* api, const Kernel& kernel, void** extra,
                   std::vector<void*>& arguments) {
  std::byte* buffer = nullptr;
  size_t bytes = 0;
  for (; *extra != CU_LAUNCH_PARAM_END; extra += 2) {
    if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER) buffer = static_cast<std::byte*>(extra[1]);
    if (*extra == CU_LAUNCH_PARAM_BUFFER_SIZE) bytes = *static_cast<size_t*>(extra[1]);
  }
  if (buffer == nullptr || bytes < kernel.parameter_bytes()) {
    explain(FaultCode::call_argument, api,
            fmt::format("the buffer of arguments has {} bytes, {} takes {}", bytes, kernel.name(),
                        kernel.parameter_bytes()));
    return cudaErrorInvalidValue;
  }
  for (const ParameterLayout& parameter : kernel.parameters())
    arguments.push_back(buffer + parameter.offset_bytes);
  return cudaSuccess;
}

CUresult launch_kernel(const char* api, const cudaLaunchConfig_t& config, CUfunction function,
                       void** parameters, void** extra) {
  return driver_call(api, [&] {
    std::vector<void*> arguments;
    if (extra != nullptr) {
      const cudaError_t error = device_api([&](Runtime& runtime) {
        Function* const found = runtime.find_function(function_of(function));
        if (found == nullptr) return cudaErrorInvalidResourceHandle;
        return unpack(api, runtime.kernel(*found), extra, arguments);
      });
      if (error != cudaSuccess) return error;
      parameters = arguments.data();
    }
    return cudaLaunchKernelExC(&config, function_of(function), parameters);
  });
}

cudaLaunchConfig_t plain_config(unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                                unsigned block_y, unsigned block_z, unsigned shared_bytes,
                                CUstream stream) {
  cudaLaunchConfig_t config{};
  config.gridDim = {grid_x, grid_y, grid_z};
  config.blockDim = {block_x, block_y, block_z};
  config.dynamicSmemBytes = shared_bytes;
  config.stream = stream;
  return config;
}

}  // namespace
}  // namespace bw::sim::cudart

using namespace bw::sim::cudart;

BW_CUDART_API CUresult cuModuleLoadData(CUmodule* module, const void* image) {
  return load("cuModuleLoadData", module, image);
}

// Options of the compiler that a driver holds have no meaning here.
BW_CUDART_API CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned,
                                          CUjit_option*, void**) {
  return load("cuModuleLoadDataEx", module, image);
}

BW_CUDART_API CUresult cuModuleLoadFatBinary(CUmodule* module, const void* image) {
  return load("cuModuleLoadFatBinary", module, image);
}

BW_CUDART_API CUresult cuModuleLoad(CUmodule* module, const char* path) {
  if (module == nullptr || path == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return driver_call("cuModuleLoad", [&] {
    return cudaLibraryLoadFromFile(reinterpret_cast<cudaLibrary_t*>(module), path, nullptr, nullptr,
                                   0, nullptr, nullptr, 0);
  });
}

BW_CUDART_API CUresult cuModuleUnload(CUmodule module) {
  return driver_call("cuModuleUnload", [&] {
    return device_api([&](Runtime& runtime) {
      if (runtime.has_image(module)) {
        runtime.remove_image(*reinterpret_cast<Image*>(module));
        return cudaSuccess;
      }
      explain(FaultCode::call_dead_handle, "cuModuleUnload",
              "the module does not exist: it was unloaded before or never loaded");
      return cudaErrorInvalidResourceHandle;
    });
  });
}

BW_CUDART_API CUresult cuModuleGetFunction(CUfunction* function, CUmodule module,
                                           const char* name) {
  return driver_call("cuModuleGetFunction", [&] {
    return cudaLibraryGetKernel(reinterpret_cast<cudaKernel_t*>(function), library_of(module),
                                name);
  });
}

BW_CUDART_API CUresult cuModuleGetFunctionCount(unsigned* count, CUmodule module) {
  return driver_call("cuModuleGetFunctionCount",
                     [&] { return cudaLibraryGetKernelCount(count, library_of(module)); });
}

BW_CUDART_API CUresult cuModuleEnumerateFunctions(CUfunction* functions, unsigned count,
                                                  CUmodule module) {
  return driver_call("cuModuleEnumerateFunctions", [&] {
    return cudaLibraryEnumerateKernels(reinterpret_cast<cudaKernel_t*>(functions), count,
                                       library_of(module));
  });
}

BW_CUDART_API CUresult cuModuleGetGlobal_v2(CUdeviceptr* address, size_t* bytes, CUmodule module,
                                            const char* name) {
  return driver_call("cuModuleGetGlobal", [&] {
    return cudaLibraryGetGlobal(reinterpret_cast<void**>(address), bytes, library_of(module), name);
  });
}

BW_CUDART_API CUresult cuModuleGetLoadingMode(CUmoduleLoadingMode* mode) {
  if (mode == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *mode = CU_MODULE_LAZY_LOADING;
  return CUDA_SUCCESS;
}

BW_CUDART_API CUresult cuLibraryLoadData(CUlibrary* library, const void* code, CUjit_option*,
                                         void**, unsigned, CUlibraryOption*, void**, unsigned) {
  return load("cuLibraryLoadData", reinterpret_cast<CUmodule*>(library), code);
}

BW_CUDART_API CUresult cuLibraryLoadFromFile(CUlibrary* library, const char* path, CUjit_option*,
                                             void**, unsigned, CUlibraryOption*, void**, unsigned) {
  return cuModuleLoad(reinterpret_cast<CUmodule*>(library), path);
}

BW_CUDART_API CUresult cuLibraryUnload(CUlibrary library) {
  return cuModuleUnload(reinterpret_cast<CUmodule>(library));
}

BW_CUDART_API CUresult cuLibraryGetKernel(CUkernel* kernel, CUlibrary library, const char* name) {
  return cuModuleGetFunction(reinterpret_cast<CUfunction*>(kernel),
                             reinterpret_cast<CUmodule>(library), name);
}

BW_CUDART_API CUresult cuLibraryGetModule(CUmodule* module, CUlibrary library) {
  if (module == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *module = reinterpret_cast<CUmodule>(library);
  return CUDA_SUCCESS;
}

BW_CUDART_API CUresult cuLibraryGetGlobal(CUdeviceptr* address, size_t* bytes, CUlibrary library,
                                          const char* name) {
  return cuModuleGetGlobal_v2(address, bytes, reinterpret_cast<CUmodule>(library), name);
}

BW_CUDART_API CUresult cuLibraryGetManaged(CUdeviceptr* address, size_t* bytes, CUlibrary library,
                                           const char* name) {
  return cuModuleGetGlobal_v2(address, bytes, reinterpret_cast<CUmodule>(library), name);
}

BW_CUDART_API CUresult cuLibraryGetKernelCount(unsigned* count, CUlibrary library) {
  return cuModuleGetFunctionCount(count, reinterpret_cast<CUmodule>(library));
}

BW_CUDART_API CUresult cuLibraryEnumerateKernels(CUkernel* kernels, unsigned count,
                                                 CUlibrary library) {
  return cuModuleEnumerateFunctions(reinterpret_cast<CUfunction*>(kernels), count,
                                    reinterpret_cast<CUmodule>(library));
}

BW_CUDART_API CUresult cuKernelGetFunction(CUfunction* function, CUkernel kernel) {
  if (function == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *function = reinterpret_cast<CUfunction>(kernel);
  return CUDA_SUCCESS;
}

BW_CUDART_API CUresult cuKernelGetAttribute(int* value, CUfunction_attribute attribute,
                                            CUkernel kernel, CUdevice) {
  return get_attribute("cuKernelGetAttribute", value, attribute, kernel);
}

BW_CUDART_API CUresult cuKernelSetAttribute(CUfunction_attribute attribute, int value,
                                            CUkernel kernel, CUdevice) {
  return driver_call("cuKernelSetAttribute", [&] {
    return cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel), runtime_attribute(attribute),
                                value);
  });
}

BW_CUDART_API CUresult cuKernelGetName(const char** name, CUkernel kernel) {
  return driver_call("cuKernelGetName", [&] { return cudaFuncGetName(name, kernel); });
}

BW_CUDART_API CUresult cuFuncGetAttribute(int* value, CUfunction_attribute attribute,
                                          CUfunction function) {
  return get_attribute("cuFuncGetAttribute", value, attribute, function_of(function));
}

BW_CUDART_API CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute,
                                          int value) {
  return driver_call("cuFuncSetAttribute", [&] {
    return cudaFuncSetAttribute(function_of(function), runtime_attribute(attribute), value);
  });
}

BW_CUDART_API CUresult cuFuncSetCacheConfig(CUfunction function, CUfunc_cache config) {
  return driver_call("cuFuncSetCacheConfig", [&] {
    return cudaFuncSetCacheConfig(function_of(function), static_cast<cudaFuncCache>(config));
  });
}

BW_CUDART_API CUresult cuFuncGetName(const char** name, CUfunction function) {
  return driver_call("cuFuncGetName", [&] { return cudaFuncGetName(name, function_of(function)); });
}

BW_CUDART_API CUresult cuFuncGetParamInfo(CUfunction function, size_t index, size_t* offset,
                                          size_t* size) {
  return driver_call("cuFuncGetParamInfo", [&] {
    return cudaFuncGetParamInfo(function_of(function), index, offset, size);
  });
}

BW_CUDART_API CUresult cuFuncGetModule(CUmodule* module, CUfunction function) {
  return driver_call("cuFuncGetModule", [&] {
    return device_api([&](Runtime& runtime) {
      Function* const found = runtime.find_function(function_of(function));
      if (found == nullptr) return cudaErrorInvalidResourceHandle;
      if (module == nullptr) return cudaErrorInvalidValue;
      *module = reinterpret_cast<CUmodule>(found->image);
      return cudaSuccess;
    });
  });
}

BW_CUDART_API CUresult cuFuncLoad(CUfunction function) {
  const char* name = nullptr;  // decodes the kernel
  return cuFuncGetName(&name, function);
}

BW_CUDART_API CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y,
                                      unsigned grid_z, unsigned block_x, unsigned block_y,
                                      unsigned block_z, unsigned shared_bytes, CUstream stream,
                                      void** parameters, void** extra) {
  return launch_kernel(
      "cuLaunchKernel",
      plain_config(grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes, stream),
      function, parameters, extra);
}
BW_CUDART_TWIN(cuLaunchKernel, _ptsz)

BW_CUDART_API CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function,
                                        void** parameters, void** extra) {
  if (config == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return launch_kernel("cuLaunchKernelEx", runtime_config(*config), function, parameters, extra);
}
BW_CUDART_TWIN(cuLaunchKernelEx, _ptsz)

BW_CUDART_API CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned grid_x,
                                                 unsigned grid_y, unsigned grid_z, unsigned block_x,
                                                 unsigned block_y, unsigned block_z,
                                                 unsigned shared_bytes, CUstream stream,
                                                 void** parameters) {
  cudaLaunchConfig_t config =
      plain_config(grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes, stream);
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeCooperative;
  attribute.val.cooperative = 1;
  config.attrs = &attribute;
  config.numAttrs = 1;
  return launch_kernel("cuLaunchCooperativeKernel", config, function, parameters, nullptr);
}
BW_CUDART_TWIN(cuLaunchCooperativeKernel, _ptsz)

BW_CUDART_API CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction function,
                                                                   int threads,
                                                                   size_t dynamic_bytes) {
  return driver_call("cuOccupancyMaxActiveBlocksPerMultiprocessor", [&] {
    return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function_of(function), threads,
                                                         dynamic_bytes);
  });
}

BW_CUDART_API CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int* blocks, CUfunction function, int threads, size_t dynamic_bytes, unsigned) {
  return cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, threads, dynamic_bytes);
}

BW_CUDART_API CUresult cuOccupancyMaxPotentialBlockSize(int* grid, int* block, CUfunction function,
                                                        CUoccupancyB2DSize shared_of_block,
                                                        size_t shared_bytes, int most) {
  return max_potential_block("cuOccupancyMaxPotentialBlockSize", grid, block, function,
                             shared_of_block, shared_bytes, most);
}

BW_CUDART_API CUresult cuOccupancyMaxPotentialBlockSizeWithFlags(int* grid, int* block,
                                                                 CUfunction function,
                                                                 CUoccupancyB2DSize shared_of_block,
                                                                 size_t shared_bytes, int most,
                                                                 unsigned) {
  return max_potential_block("cuOccupancyMaxPotentialBlockSizeWithFlags", grid, block, function,
                             shared_of_block, shared_bytes, most);
}

BW_CUDART_API CUresult cuOccupancyAvailableDynamicSMemPerBlock(size_t* bytes, CUfunction function,
                                                               int blocks, int threads) {
  return driver_call("cuOccupancyAvailableDynamicSMemPerBlock", [&] {
    return cudaOccupancyAvailableDynamicSMemPerBlock(bytes, function_of(function), blocks, threads);
  });
}

BW_CUDART_API CUresult cuOccupancyMaxActiveClusters(int* clusters, CUfunction function,
                                                    const CUlaunchConfig* config) {
  if (config == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return driver_call("cuOccupancyMaxActiveClusters", [&] {
    const cudaLaunchConfig_t same = runtime_config(*config);
    return cudaOccupancyMaxActiveClusters(clusters, function_of(function), &same);
  });
}

BW_CUDART_API CUresult cuOccupancyMaxPotentialClusterSize(int* size, CUfunction function,
                                                          const CUlaunchConfig* config) {
  if (config == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return driver_call("cuOccupancyMaxPotentialClusterSize", [&] {
    const cudaLaunchConfig_t same = runtime_config(*config);
    return cudaOccupancyMaxPotentialClusterSize(size, function_of(function), &same);
  });
}
