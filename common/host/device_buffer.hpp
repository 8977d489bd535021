#pragma once
/// \file
/// Device memory as an owned array.

#include <cuda_runtime_api.h>

#include <cstddef>
#include <utility>
#include <vector>

#include "common/host/cuda_check.hpp"

namespace bw {

/// `size()` elements of device memory, freed with the object. Move-only.
template <class T>
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  /// Memory for `size` elements.
  explicit DeviceBuffer(size_t size) : size_(size) {
    if (size == 0) return;
    check_cuda(cudaMalloc(reinterpret_cast<void**>(&data_), bytes()), "allocate ", bytes(),
               " bytes of device memory");
  }
  /// Memory with a copy of `values`.
  explicit DeviceBuffer(const std::vector<T>& values) : DeviceBuffer(values.size()) {
    upload(values);
  }
  DeviceBuffer(DeviceBuffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  /// A destructor can't report: a failed kernel has been reported by the call that waited for it.
  ~DeviceBuffer() { static_cast<void>(cudaFree(data_)); }

  /// The first element, in device memory.
  T* data() { return data_; }
  /// The first element, in device memory.
  const T* data() const { return data_; }
  /// Number of elements.
  size_t size() const { return size_; }
  /// Bytes of all elements.
  size_t bytes() const { return size_ * sizeof(T); }

  /// Copies `values`, which must have `size()` elements, to the device.
  void upload(const std::vector<T>& values) {
    require(values.size() == size_, "A device buffer of ", size_, " elements can't take ",
            values.size(), ".");
    if (size_ == 0) return;
    check_cuda(cudaMemcpy(data_, values.data(), bytes(), cudaMemcpyHostToDevice),
               "copy to the device");
  }

  /// Waits for the default stream and copies everything to the host.
  std::vector<T> download() const {
    std::vector<T> values(size_);
    if (size_ == 0) return values;
    check_cuda(cudaMemcpy(values.data(), data_, bytes(), cudaMemcpyDeviceToHost),
               "copy from the device");
    return values;
  }

  /// Sets every byte, to make what a kernel doesn't write visible.
  void fill_bytes(int byte) {
    if (size_ != 0) check_cuda(cudaMemset(data_, byte, bytes()), "fill device memory");
  }

 private:
  T* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace bw
