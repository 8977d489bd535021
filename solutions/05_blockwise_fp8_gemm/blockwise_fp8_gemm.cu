#include "solutions/05_blockwise_fp8_gemm/blockwise_fp8_gemm.hpp"

#include <algorithm>
#include <iterator>

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
}

/// Clusters of the grid: with static scheduling what the device holds at once, else all pieces.
uint32_t clusters_to_launch(const GemmTraits& traits, const TileRaster& raster) {
  if (traits.scheduling == TileScheduling::kLaunchControl) return raster.size();
  const uint32_t resident =
      static_cast<uint32_t>(device_attribute(cudaDevAttrMultiProcessorCount)) /
      traits.cluster_size();
  return std::min(raster.size(), resident);
}

void launch(const GemmKernelArguments& arguments, const GemmKernel& kernel, cudaStream_t stream) {
  const GemmTraits& traits = kernel.traits;
  const auto cluster_m = static_cast<uint32_t>(traits.cluster_m);
  const auto cluster_n = static_cast<uint32_t>(traits.cluster_n);
  cudaLaunchAttribute attributes[2]{};
  attributes[0].id = cudaLaunchAttributeClusterDimension;
  attributes[0].val.clusterDim.x = cluster_m;
  attributes[0].val.clusterDim.y = cluster_n;
  attributes[0].val.clusterDim.z = 1;
  attributes[1].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attributes[1].val.programmaticStreamSerializationAllowed = 1;

  cudaLaunchConfig_t configuration{};
  configuration.gridDim =
      dim3(clusters_to_launch(traits, arguments.raster) * cluster_m, cluster_n, 1);
  configuration.blockDim = dim3(kernel.threads, 1, 1);
  configuration.dynamicSmemBytes = kernel.shared_bytes;
  configuration.stream = stream;
  configuration.attrs = attributes;
  configuration.numAttrs = std::size(attributes);
  void* parameters[] = {const_cast<GemmKernelArguments*>(&arguments)};
  check_cuda(cudaLaunchKernelExC(&configuration, kernel.function, parameters),
             "launch the configuration ", kernel.name);
}

}  // namespace

void blockwise_fp8_gemm(const BlockwiseFp8GemmArguments& gemm, const GemmKernel& kernel,
                        cudaStream_t stream) {
  validate_gemm_arguments(gemm);
  require(kernel.traits.output == gemm.output, "The configuration ", kernel.name, " writes ",
          kernel.traits.output == OutputType::kBf16 ? "bf16" : "fp32",
          ", but the arguments ask for the other type: choose one whose output they name.");
  validate_device(kernel);
  set_attributes(kernel);
  launch(make_kernel_arguments(gemm, boxes_of(kernel)), kernel, stream);
}

}  // namespace bw
