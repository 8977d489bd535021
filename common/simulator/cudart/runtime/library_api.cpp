/// \file
/// Libraries: kernels and variables that a program loads while it runs, from PTX or a fat binary.
#include <cuda_runtime_api.h>

#include <string>
#include <vector>

#include <fmt/core.h>

#include "common/simulator/cudart/image/image.hpp"
#include "common/simulator/cudart/runtime/api.hpp"

namespace bw::sim::cudart {
namespace {

cudaLibrary_t handle_of(Image& image) { return reinterpret_cast<cudaLibrary_t>(&image); }

// Calls `use` with a live library.
template <class Use>
cudaError_t with_library(const char* api, cudaLibrary_t library, Use&& use) {
  return device_api([&](Runtime& runtime) {
    if (!runtime.has_image(library)) {
      explain(FaultCode::call_dead_handle, api,
              "the library does not exist: it was unloaded or never loaded");
      return cudaErrorInvalidResourceHandle;
    }
    return use(runtime, *reinterpret_cast<Image*>(library));
  });
}

cudaError_t find_variable(const char* api, cudaLibrary_t library, const char* name, void** address,
                          size_t* bytes) {
  return with_library(api, library, [&](Runtime& runtime, Image& image) {
    if (name == nullptr) return cudaErrorInvalidValue;
    const LoadedModule& module = runtime.module(image);
    const uint64_t place = module.variable_address(name);
    if (place == 0) {
      explain(FaultCode::call_unknown_symbol, api,
              fmt::format("{} has no variable `{}`", image.name, name));
      return cudaErrorSymbolNotFound;
    }
    if (address != nullptr) *address = reinterpret_cast<void*>(place);
    if (bytes != nullptr) *bytes = module.variable(name)->size_bytes;
    return cudaSuccess;
  });
}

std::vector<std::string> kernel_names(const LoadedModule& module) {
  std::vector<std::string> names;
  for (const auto& function : module.ptx().functions)
    if (function->is_entry && function->is_defined) names.push_back(function->name);
  return names;
}

}  // namespace
}  // namespace bw::sim::cudart

using namespace bw::sim::cudart;

BW_CUDART_API cudaError_t cudaLibraryLoadData(cudaLibrary_t* library, const void* code,
                                              cudaJitOption*, void**, unsigned, cudaLibraryOption*,
                                              void**, unsigned) {
  return device_api([&](Runtime& runtime) {
    if (library == nullptr || code == nullptr) return cudaErrorInvalidValue;
    Image& image = add_loaded_image(runtime, code);
    runtime.module(image);
    *library = handle_of(image);
    return cudaSuccess;
  });
}

BW_CUDART_API cudaError_t cudaLibraryLoadFromFile(cudaLibrary_t* library, const char* path,
                                                  cudaJitOption*, void**, unsigned,
                                                  cudaLibraryOption*, void**, unsigned) {
  return device_api([&](Runtime& runtime) {
    if (library == nullptr || path == nullptr) return cudaErrorInvalidValue;
    Image* image = nullptr;
    const cudaError_t error = add_image_of_file(runtime, "cudaLibraryLoadFromFile", path, image);
    if (error != cudaSuccess) return error;
    runtime.module(*image);
    *library = handle_of(*image);
    return cudaSuccess;
  });
}

BW_CUDART_API cudaError_t cudaLibraryUnload(cudaLibrary_t library) {
  return with_library("cudaLibraryUnload", library, [](Runtime& runtime, Image& image) {
    runtime.remove_image(image);
    return cudaSuccess;
  });
}

BW_CUDART_API cudaError_t cudaLibraryGetKernel(cudaKernel_t* kernel, cudaLibrary_t library,
                                               const char* name) {
  return with_library("cudaLibraryGetKernel", library, [&](Runtime& runtime, Image& image) {
    if (kernel == nullptr || name == nullptr) return cudaErrorInvalidValue;
    Function* const function = runtime.find_function(image, name);
    if (function == nullptr) {
      explain(
          FaultCode::call_unknown_symbol, "cudaLibraryGetKernel",
          fmt::format("{} has no kernel `{}`; kernels of C++ have mangled names, unless they are "
                      "declared `extern \"C\"`",
                      image.name, name));
      return cudaErrorSymbolNotFound;
    }
    *kernel = reinterpret_cast<cudaKernel_t>(function);
    return cudaSuccess;
  });
}

BW_CUDART_API cudaError_t cudaLibraryGetGlobal(void** address, size_t* bytes, cudaLibrary_t library,
                                               const char* name) {
  return find_variable("cudaLibraryGetGlobal", library, name, address, bytes);
}

BW_CUDART_API cudaError_t cudaLibraryGetManaged(void** address, size_t* bytes,
                                                cudaLibrary_t library, const char* name) {
  return find_variable("cudaLibraryGetManaged", library, name, address, bytes);
}

BW_CUDART_API cudaError_t cudaLibraryGetKernelCount(unsigned* count, cudaLibrary_t library) {
  return with_library("cudaLibraryGetKernelCount", library, [&](Runtime& runtime, Image& image) {
    if (count == nullptr) return cudaErrorInvalidValue;
    *count = static_cast<unsigned>(kernel_names(runtime.module(image)).size());
    return cudaSuccess;
  });
}

BW_CUDART_API cudaError_t cudaLibraryEnumerateKernels(cudaKernel_t* kernels, unsigned count,
                                                      cudaLibrary_t library) {
  return with_library("cudaLibraryEnumerateKernels", library, [&](Runtime& runtime, Image& image) {
    if (kernels == nullptr) return cudaErrorInvalidValue;
    unsigned at = 0;
    for (const std::string& name : kernel_names(runtime.module(image))) {
      if (at == count) break;
      kernels[at++] = reinterpret_cast<cudaKernel_t>(runtime.find_function(image, name));
    }
    return cudaSuccess;
  });
}
