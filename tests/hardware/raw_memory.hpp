#pragma once
/// \file
/// Values of 1 to 8 bytes in device memory, and kernels by address.

#include <cuda_runtime_api.h>

#include <cstdint>
#include <cstring>
#include <vector>

#include "common/host/device_buffer.hpp"

namespace bw::conformance {

/// Each of `values` as `bytes` bytes.
inline DeviceBuffer<uint8_t> to_device(const std::vector<uint64_t>& values, unsigned bytes) {
  std::vector<uint8_t> raw(values.size() * bytes);
  for (size_t i = 0; i < values.size(); ++i)
    std::memcpy(raw.data() + i * bytes, &values[i], bytes);  // little endian
  return DeviceBuffer<uint8_t>(raw);
}

/// The reverse: waits for the kernel.
inline std::vector<uint64_t> from_device(const DeviceBuffer<uint8_t>& buffer, unsigned bytes) {
  const std::vector<uint8_t> raw = buffer.download();
  std::vector<uint64_t> values(raw.size() / bytes);
  for (size_t i = 0; i < values.size(); ++i) std::memcpy(&values[i], raw.data() + i * bytes, bytes);
  return values;
}

/// Launches a kernel whose parameters are `arguments`, each of exactly its parameter's type.
template <class... Arguments>
void launch(const void* kernel, unsigned blocks, unsigned threads, Arguments... arguments) {
  void* pointers[] = {&arguments...};
  check_cuda(cudaLaunchKernel(kernel, dim3(blocks), dim3(threads), pointers, 0, nullptr),
             "launch the kernel");
}

}  // namespace bw::conformance
