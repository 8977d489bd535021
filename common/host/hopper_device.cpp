#include "common/host/hopper_device.hpp"

#include <cuda_runtime_api.h>

#include <string>

#include "common/host/require.hpp"
#include "common/host/why_not_hopper.hpp"

namespace bw {

std::string why_not_hopper() {
  constexpr int kMajor = 9, kMinor = 0;
  int device = 0, major = 0, minor = 0;
  cudaError_t status = cudaGetDevice(&device);
  if (status == cudaSuccess) {
    status = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
  }
  if (status == cudaSuccess) {
    status = cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device);
  }
  if (status == cudaSuccess && major == kMajor && minor == kMinor) return "";
  cudaDeviceProp properties{};
  if (status == cudaSuccess) status = cudaGetDeviceProperties(&properties, device);
  if (status != cudaSuccess) {
    static_cast<void>(cudaGetLastError());
    if (status == cudaErrorInsufficientDriver) return "no NVIDIA driver, or one that is too old";
    return std::string("no usable GPU (") + cudaGetErrorString(status) + ")";
  }
  return std::string(properties.name) + " of compute capability " + std::to_string(major) + "." +
         std::to_string(minor);
}

void require_hopper() {
  const std::string found = why_not_hopper();
  require(found.empty(), "This code is compiled for Hopper's sm_90a and needs a GPU of compute",
          " capability 9.0 (H100, H200, GH200) with a driver for CUDA 13 (580 or newer); found: ",
          found,
          ". CUDA_VISIBLE_DEVICES chooses among several GPUs. Without such a GPU, chapter 5 runs"
          " the same GEMM, written for Blackwell, in the simulator: ./workbook run 5.");
}

}  // namespace bw
