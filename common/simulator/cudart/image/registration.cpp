/// \file
/// The functions that the code which nvcc generates calls: it registers fat binaries, kernels and
/// variables before main() and launches kernels written with <<<>>>.
#include <cuda_runtime_api.h>

#include <cstddef>
#include <vector>

#include "common/simulator/cudart/image/image.hpp"
#include "common/simulator/cudart/runtime/api.hpp"

namespace bw::sim::cudart {
namespace {

struct CallConfiguration {
  dim3 grid;
  dim3 block;
  size_t dynamic_shared_bytes;
  cudaStream_t stream;
};

std::vector<CallConfiguration>& call_configurations() {
  thread_local std::vector<CallConfiguration> stack;
  return stack;
}

Image& image_of(void** handle) { return *reinterpret_cast<Image*>(handle); }

}  // namespace
}  // namespace bw::sim::cudart

using bw::sim::cudart::CallConfiguration;
using bw::sim::cudart::device_api;
using bw::sim::cudart::Image;
using bw::sim::cudart::Runtime;

BW_CUDART_API void** __cudaRegisterFatBinary(void* wrapper_address) {
  using namespace bw::sim::cudart;
  const auto* const wrapper = static_cast<const FatBinaryWrapper*>(wrapper_address);
  Runtime& runtime = Runtime::instance();
  const std::lock_guard<std::recursive_mutex> lock(runtime.mutex());
  // Damage is reported when something of the image is used: no one catches an error here.
  const void* const data = wrapper->magic == kWrapperMagic ? wrapper->data : wrapper_address;
  Image& image = runtime.add_image(data);
  if (wrapper->magic == kWrapperMagic && wrapper->version == kLinkedVersion) {
    // The linked machine code carries no PTX, but the object files that it was made of do.
    for (auto* object = static_cast<void**>(wrapper->objects); *object != nullptr; ++object)
      image.objects.push_back(*object);
  }
  return reinterpret_cast<void**>(&image);
}

BW_CUDART_API void __cudaRegisterFatBinaryEnd(void** /*handle*/) {}

BW_CUDART_API void __cudaUnregisterFatBinary(void** handle) {
  bw::sim::cudart::image_of(handle).registered = false;
}

BW_CUDART_API void __cudaRegisterFunction(void** handle, const char* host_function,
                                          char* /*device_function*/, const char* device_name,
                                          int /*thread_limit*/, uint3* /*tid*/, uint3* /*bid*/,
                                          dim3* /*block*/, dim3* /*grid*/, int* /*warp_size*/) {
  Runtime& runtime = Runtime::instance();
  const std::lock_guard<std::recursive_mutex> lock(runtime.mutex());
  runtime.add_function(bw::sim::cudart::image_of(handle), host_function, device_name);
}

BW_CUDART_API void __cudaRegisterVar(void** handle, char* host_variable, char* /*device_address*/,
                                     const char* device_name, int /*is_extern*/, size_t size,
                                     int /*is_constant*/, int /*is_global*/) {
  Runtime& runtime = Runtime::instance();
  const std::lock_guard<std::recursive_mutex> lock(runtime.mutex());
  runtime.add_symbol(bw::sim::cudart::image_of(handle), host_variable, device_name, size);
}

BW_CUDART_API void __cudaRegisterHostVar(void** /*handle*/, const char* /*device_name*/,
                                         char* /*host_variable*/, size_t /*size*/) {}

BW_CUDART_API void __cudaRegisterManagedVar(void** handle, void** host_pointer,
                                            char* /*device_address*/, const char* device_name,
                                            int /*is_extern*/, size_t size, int /*is_constant*/,
                                            int /*is_global*/) {
  Runtime& runtime = Runtime::instance();
  const std::lock_guard<std::recursive_mutex> lock(runtime.mutex());
  Image& image = bw::sim::cudart::image_of(handle);
  image.managed.push_back({host_pointer, device_name});
  runtime.add_symbol(image, host_pointer, device_name, size);
}

// Called before host code touches a __managed__ variable.
BW_CUDART_API char __cudaInitModule(void** handle) {
  return device_api([&](Runtime& runtime) {
           runtime.module(bw::sim::cudart::image_of(handle));
           return cudaSuccess;
         }) == cudaSuccess
             ? 1
             : 0;
}

// Static registration of link-time optimised lists; nothing that the simulator runs needs it.
BW_CUDART_API cudaError_t __cudaRegisterUnifiedTable(void** /*handle*/, void* /*table*/) {
  return cudaSuccess;
}

BW_CUDART_API unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes,
                                                   CUstream_st* stream) {
  bw::sim::cudart::call_configurations().push_back({grid, block, shared_bytes, stream});
  return 0;
}

BW_CUDART_API cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared_bytes,
                                                     void* stream) {
  auto& stack = bw::sim::cudart::call_configurations();
  if (stack.empty()) return bw::sim::cudart::record_error(cudaErrorMissingConfiguration);
  const CallConfiguration& top = stack.back();
  *grid = top.grid;
  *block = top.block;
  *shared_bytes = top.dynamic_shared_bytes;
  *static_cast<cudaStream_t*>(stream) = top.stream;
  stack.pop_back();
  return cudaSuccess;
}

BW_CUDART_API cudaError_t cudaGetKernel(cudaKernel_t* kernel, const void* host_function) {
  return device_api([&](Runtime& runtime) {
    bw::sim::cudart::Function* const function = runtime.find_function(host_function);
    if (function == nullptr) return cudaErrorInvalidDeviceFunction;
    *kernel = reinterpret_cast<cudaKernel_t>(function);
    return cudaSuccess;
  });
}

BW_CUDART_API cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* host_function) {
  return cudaGetKernel(kernel, host_function);
}

BW_CUDART_API cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block,
                                             void** arguments, size_t shared_bytes,
                                             cudaStream_t stream) {
  return cudaLaunchKernel(reinterpret_cast<const void*>(kernel), grid, block, arguments,
                          shared_bytes, stream);
}
BW_CUDART_TWIN(__cudaLaunchKernel, _ptsz)
