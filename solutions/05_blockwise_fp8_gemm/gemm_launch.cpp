#include "solutions/05_blockwise_fp8_gemm/gemm_launch.hpp"

#include <algorithm>
#include <iterator>

#include "common/host/compute_capability.hpp"
#include "common/host/cuda_check.hpp"
#include "common/host/device_attribute.hpp"
#include "common/host/dynamic_shared_memory.hpp"
#include "solutions/05_blockwise_fp8_gemm/launch_control_grid.hpp"

namespace bw {
namespace {

/// Refuses a device or a kernel that can't do it.
void validate_device(const GemmKernel& kernel) {
  require_architecture(kBlackwell, "this kernel needs");
  const auto shared_bytes =
      static_cast<uint32_t>(device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin));
  require(kernel.shared_bytes <= shared_bytes, "The configuration ", kernel.name, " needs ",
          kernel.shared_bytes, " bytes of shared memory, but a CTA of this device can have ",
          shared_bytes, ": choose one with smaller tiles.");
  const int multiprocessors = device_attribute(cudaDevAttrMultiProcessorCount);
  require(kernel.traits.cluster_size() <= multiprocessors, "The configuration ", kernel.name,
          " has clusters of ", kernel.traits.cluster_size(), " CTAs, but this device has ",
          multiprocessors, " multiprocessors: choose one with smaller clusters.");
}

/// What the runtime must know about the kernel before its first launch.
void set_attributes(const GemmKernel& kernel) {
  constexpr int kMostPortableClusterSize = 8;
  allow_dynamic_shared_memory(kernel.function, kernel.shared_bytes);
  if (kernel.traits.cluster_size() > kMostPortableClusterSize) {
    check_cuda(
        cudaFuncSetAttribute(kernel.function, cudaFuncAttributeNonPortableClusterSizeAllowed, 1),
        "allow clusters of ", kernel.traits.cluster_size(), " CTAs");
  }
  // CUDA loads a kernel when it is first asked about it.
  cudaFuncAttributes attributes{};
  check_cuda(cudaFuncGetAttributes(&attributes, kernel.function), "load the configuration ",
             kernel.name);
}

/// How a kernel is launched. It points into itself, so that it is made where it is used.
class LaunchConfiguration {
 public:
  explicit LaunchConfiguration(const GemmKernel& kernel) {
    attributes_[0].id = cudaLaunchAttributeClusterDimension;
    attributes_[0].val.clusterDim.x = static_cast<uint32_t>(kernel.traits.cluster_m);
    attributes_[0].val.clusterDim.y = static_cast<uint32_t>(kernel.traits.cluster_n);
    attributes_[0].val.clusterDim.z = 1;
    attributes_[1].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attributes_[1].val.programmaticStreamSerializationAllowed = 1;
    configuration_.blockDim = dim3(kernel.threads, 1, 1);
    configuration_.dynamicSmemBytes = kernel.shared_bytes;
    configuration_.attrs = attributes_;
    configuration_.numAttrs = std::size(attributes_);
    set_grid(dim3(static_cast<uint32_t>(kernel.traits.cluster_m),
                  static_cast<uint32_t>(kernel.traits.cluster_n), 1));
  }
  LaunchConfiguration(const LaunchConfiguration&) = delete;
  LaunchConfiguration& operator=(const LaunchConfiguration&) = delete;

  void set_grid(dim3 grid) { configuration_.gridDim = grid; }
  void set_stream(cudaStream_t stream) { configuration_.stream = stream; }
  void set_dependent(bool is_dependent) {
    attributes_[1].val.programmaticStreamSerializationAllowed = is_dependent ? 1 : 0;
  }
  const cudaLaunchConfig_t& get() const { return configuration_; }

 private:
  cudaLaunchAttribute attributes_[2]{};
  cudaLaunchConfig_t configuration_{};
};

}  // namespace

void prepare_gemm_kernel(const GemmKernel& kernel) {
  validate_device(kernel);
  set_attributes(kernel);
}

dim3 grid_to_launch(const GemmKernel& kernel, const TileRaster& raster) {
  const auto cluster_m = static_cast<uint32_t>(kernel.traits.cluster_m);
  const auto cluster_n = static_cast<uint32_t>(kernel.traits.cluster_n);
  if (kernel.traits.scheduling == TileScheduling::kLaunchControl) {
    const LaunchControlGrid grid = LaunchControlGrid::of(raster);
    require(grid.is_possible(cluster_n), "The configuration ", kernel.name,
            " would need a grid of ", uint64_t{grid.y} * cluster_n, " CTAs along N and ", grid.z,
            " bands along M, but a grid has at most ", LaunchControlGrid::kMostInYOrZ,
            " of each: choose one without launch control.");
    return dim3(grid.x * cluster_m, grid.y * cluster_n, grid.z);
  }
  const LaunchConfiguration configuration(kernel);
  int resident = 0;
  check_cuda(cudaOccupancyMaxActiveClusters(&resident, kernel.function, &configuration.get()),
             "ask how many clusters of ", kernel.name, " fit");
  require(resident > 0, "No cluster of ", kernel.traits.cluster_size(),
          " CTAs of the configuration ", kernel.name,
          " fits on this device: choose one with smaller clusters.");
  const uint32_t clusters = std::min(raster.size(), static_cast<uint32_t>(resident));
  return dim3(clusters * cluster_m, cluster_n, 1);
}

void launch_gemm_kernel(const GemmKernel& kernel, dim3 grid, const void* arguments,
                        cudaStream_t stream, bool is_dependent) {
  LaunchConfiguration configuration(kernel);
  configuration.set_dependent(is_dependent);
  configuration.set_grid(grid);
  configuration.set_stream(stream);
  void* parameters[] = {const_cast<void*>(arguments)};
  check_cuda(cudaLaunchKernelExC(&configuration.get(), kernel.function, parameters),
             "launch the configuration ", kernel.name);
}

}  // namespace bw
