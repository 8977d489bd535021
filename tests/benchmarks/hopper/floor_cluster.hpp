#pragma once
/// \file
/// Host side of the measurements whose CTAs get boxes by TMA: launches in clusters, the matrix.

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "common/host/cuda_check.hpp"
#include "common/host/device_attribute.hpp"
#include "common/host/device_buffer.hpp"
#include "common/host/dynamic_shared_memory.hpp"
#include "common/host/tensor_map.hpp"
#include "tests/benchmarks/hopper/floor_operands.hpp"
#include "tests/benchmarks/hopper/floor_ring.cuh"

namespace bw {

/// A kernel with one CTA per multiprocessor, in clusters.
class ClusterLaunch {
 public:
  /// On all multiprocessors that hold such clusters (some GPCs have odd numbers of them), but on no
  /// more than `most_ctas`, if that isn't 0.
  ClusterLaunch(const void* kernel, int threads, int shared_bytes, int cluster, int most_ctas)
      : kernel_(kernel) {
    allow_dynamic_shared_memory(kernel, static_cast<uint32_t>(shared_bytes));
    attribute_.id = cudaLaunchAttributeClusterDimension;
    attribute_.val.clusterDim = {static_cast<unsigned>(cluster), 1, 1};
    launch_.blockDim = dim3(static_cast<unsigned>(threads));
    launch_.dynamicSmemBytes = static_cast<size_t>(shared_bytes);
    launch_.attrs = &attribute_;
    launch_.numAttrs = 1;
    const int multiprocessors = device_attribute(cudaDevAttrMultiProcessorCount);
    const int wanted = most_ctas == 0 ? multiprocessors : std::min(most_ctas, multiprocessors);
    launch_.gridDim = dim3(static_cast<unsigned>(wanted / cluster * cluster));
    int resident = 0;
    check_cuda(cudaOccupancyMaxActiveClusters(&resident, kernel, &launch_),
               "ask how many clusters fit");
    ctas_ = std::min(resident * cluster, static_cast<int>(launch_.gridDim.x));
    require(ctas_ > 0, "No cluster of ", cluster, " CTAs of the measurement fits on this device.");
    launch_.gridDim = dim3(static_cast<unsigned>(ctas_));
  }
  ClusterLaunch(const ClusterLaunch&) = delete;
  ClusterLaunch& operator=(const ClusterLaunch&) = delete;

  int ctas() const { return ctas_; }

  template <class... Arguments>
  void run(Arguments... arguments) const {
    void* pointers[] = {&arguments...};
    check_cuda(cudaLaunchKernelExC(&launch_, kernel_, pointers), "launch the measurement");
  }

 private:
  const void* kernel_;
  cudaLaunchAttribute attribute_{};
  cudaLaunchConfig_t launch_{};
  int ctas_;
};

/// The matrix that the boxes come from, of random e4m3 that repeat.
class BoxMatrix {
 public:
  BoxMatrix() : matrix_(repeated()) {}

  /// For boxes that `cluster` CTAs share.
  CUtensorMap map(int cluster) const {
    return make_tensor_map({.name = "boxes",
                            .data = matrix_.data(),
                            .type = CU_TENSOR_MAP_DATA_TYPE_UINT8,
                            .element_bytes = 1,
                            .inner = kMatrixColumns,
                            .outer = kMatrixRows,
                            .stride_bytes = kMatrixColumns,
                            .box_inner = kRowBytes,
                            .box_outer = static_cast<uint32_t>(kBoxRows / cluster),
                            .swizzle = CU_TENSOR_MAP_SWIZZLE_128B});
  }

 private:
  static std::vector<Fp8E4m3> repeated() {
    constexpr size_t kCount = size_t{kMatrixRows} * kMatrixColumns, kDistinct = kCount / 64;
    std::vector<Fp8E4m3> values = random_operands(kDistinct);
    values.resize(kCount);
    for (size_t i = kDistinct; i < kCount; ++i) values[i] = values[i - kDistinct];
    return values;
  }

  DeviceBuffer<Fp8E4m3> matrix_;
};

}  // namespace bw
