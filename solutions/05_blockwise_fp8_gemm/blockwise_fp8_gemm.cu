#include "solutions/05_blockwise_fp8_gemm/blockwise_fp8_gemm.hpp"

#include <algorithm>
#include <iterator>
#include <memory>

#include "common/host/compute_capability.hpp"
#include "common/host/cuda_check.hpp"
#include "common/host/device_attribute.hpp"
#include "common/host/dynamic_shared_memory.hpp"
#include "solutions/05_blockwise_fp8_gemm/kernel_config.cuh"
#include "solutions/05_blockwise_fp8_gemm/make_kernel_arguments.hpp"

namespace bw {
namespace {

GemmBoxes boxes_of(const GemmKernel& kernel) {
  const GemmTraits& traits = kernel.traits;
  return {.a_rows = traits.cta_rows() / traits.a_slices(),
          .b_rows = traits.cta_b_rows() / traits.b_slices(),
          .a_scales = traits.cta_rows(),
          .slice_rows = traits.cta_rows(),
          .slice_columns = kernel.slice_columns,
          .cluster_rows = traits.cluster_rows(),
          .cluster_columns = traits.cluster_columns()};
}

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
    set_clusters(kernel, 1);
  }
  LaunchConfiguration(const LaunchConfiguration&) = delete;
  LaunchConfiguration& operator=(const LaunchConfiguration&) = delete;

  void set_clusters(const GemmKernel& kernel, uint32_t clusters) {
    configuration_.gridDim = dim3(clusters * static_cast<uint32_t>(kernel.traits.cluster_m),
                                  static_cast<uint32_t>(kernel.traits.cluster_n), 1);
  }
  void set_stream(cudaStream_t stream) { configuration_.stream = stream; }
  const cudaLaunchConfig_t& get() const { return configuration_; }

 private:
  cudaLaunchAttribute attributes_[2]{};
  cudaLaunchConfig_t configuration_{};
};

/// Clusters of the grid: with static scheduling what the device holds at once, else all pieces.
/// A cluster lies in one GPC, so that fewer can fit than the multiprocessors would hold.
uint32_t clusters_to_launch(const GemmKernel& kernel, const TileRaster& raster) {
  if (kernel.traits.scheduling == TileScheduling::kLaunchControl) return raster.size();
  const LaunchConfiguration configuration(kernel);
  int resident = 0;
  check_cuda(cudaOccupancyMaxActiveClusters(&resident, kernel.function, &configuration.get()),
             "ask how many clusters of ", kernel.name, " fit");
  require(resident > 0, "No cluster of ", kernel.traits.cluster_size(),
          " CTAs of the configuration ", kernel.name,
          " fits on this device: choose one with smaller clusters.");
  return std::min(raster.size(), static_cast<uint32_t>(resident));
}

}  // namespace

struct PreparedGemm::State {
  const GemmKernel& kernel;
  GemmKernelArguments arguments;
  uint32_t clusters;
};

PreparedGemm::PreparedGemm(const BlockwiseFp8GemmArguments& gemm, const GemmKernel& kernel) {
  validate_gemm_arguments(gemm);
  require(kernel.traits.output == gemm.output, "The configuration ", kernel.name, " writes ",
          kernel.traits.output == OutputType::kBf16 ? "bf16" : "fp32",
          ", but the arguments ask for the other type: choose one whose output they name.");
  validate_device(kernel);
  set_attributes(kernel);
  const GemmKernelArguments arguments = make_kernel_arguments(gemm, boxes_of(kernel));
  state_ = std::make_shared<const State>(
      State{kernel, arguments, clusters_to_launch(kernel, arguments.raster)});
}

void PreparedGemm::launch(cudaStream_t stream) const {
  LaunchConfiguration configuration(state_->kernel);
  configuration.set_clusters(state_->kernel, state_->clusters);
  configuration.set_stream(stream);
  void* parameters[] = {const_cast<GemmKernelArguments*>(&state_->arguments)};
  check_cuda(cudaLaunchKernelExC(&configuration.get(), state_->kernel.function, parameters),
             "launch the configuration ", state_->kernel.name);
}

void blockwise_fp8_gemm(const BlockwiseFp8GemmArguments& gemm, const GemmKernel& kernel,
                        cudaStream_t stream) {
  PreparedGemm(gemm, kernel).launch(stream);
}

}  // namespace bw
