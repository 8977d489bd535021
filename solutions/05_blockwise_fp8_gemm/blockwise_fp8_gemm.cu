#include "solutions/05_blockwise_fp8_gemm/blockwise_fp8_gemm.hpp"

#include <algorithm>
#include <string>

#include "common/host/cuda_check.hpp"
#include "common/host/device_attribute.hpp"
#include "common/host/tensor_map.hpp"
#include "solutions/05_blockwise_fp8_gemm/gemm_kernel_arguments.cuh"
#include "solutions/05_blockwise_fp8_gemm/kernel_config.cuh"

namespace bw {
namespace {

constexpr int kTileK = kScaleBlock;

uint32_t pieces(int64_t extent, int64_t piece) {
  return static_cast<uint32_t>((extent + piece - 1) / piece);
}

CUtensorMap operand_map(const char* name, const Fp8E4m3* data, int64_t rows, int64_t k,
                        int64_t stride, int box_rows) {
  return make_tensor_map({name, data, CU_TENSOR_MAP_DATA_TYPE_UINT8, sizeof(Fp8E4m3),
                          static_cast<uint64_t>(k), static_cast<uint64_t>(rows),
                          static_cast<uint64_t>(stride), kTileK, static_cast<uint32_t>(box_rows),
                          CU_TENSOR_MAP_SWIZZLE_128B});
}

/// The swizzle whose width is a row of the box.
CUtensorMapSwizzle swizzle_of_row(int row_bytes) {
  switch (row_bytes) {
    case 128:
      return CU_TENSOR_MAP_SWIZZLE_128B;
    case 64:
      return CU_TENSOR_MAP_SWIZZLE_64B;
    case 32:
      return CU_TENSOR_MAP_SWIZZLE_32B;
    default:
      return CU_TENSOR_MAP_SWIZZLE_NONE;
  }
}

CUtensorMap output_map(const char* name, const void* data, OutputType type,
                       const BlockwiseFp8GemmArguments& g, int64_t stride,
                       const GemmKernel& kernel) {
  const bool is_bf16 = type == OutputType::kBf16;
  const uint32_t element_bytes = is_bf16 ? sizeof(Bf16) : sizeof(float);
  const auto columns = static_cast<uint32_t>(kernel.slice_columns);
  return make_tensor_map(
      {name, data, is_bf16 ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 : CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
       element_bytes, static_cast<uint64_t>(g.n), static_cast<uint64_t>(g.m),
       static_cast<uint64_t>(stride) * element_bytes, columns,
       static_cast<uint32_t>(kernel.traits.cta_rows()), swizzle_of_row(columns * element_bytes)});
}

GemmKernelArguments make_kernel_arguments(const BlockwiseFp8GemmArguments& g,
                                          const GemmKernel& kernel) {
  const GemmTraits& traits = kernel.traits;
  GemmKernelArguments arguments{};
  arguments.k_blocks = pieces(g.k, kTileK);
  arguments.a = operand_map("A", g.a, g.m, g.k, g.lda, traits.cta_rows() / traits.a_slices());
  arguments.b = operand_map("B", g.b, g.n, g.k, g.ldb, traits.cta_b_rows() / traits.b_slices());
  arguments.a_scales = make_tensor_map(
      {"A-scales", g.a_scales, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, sizeof(float),
       static_cast<uint64_t>(g.m), arguments.k_blocks, g.lda_scales * sizeof(float),
       static_cast<uint32_t>(traits.cta_rows()), /*box_outer=*/1, CU_TENSOR_MAP_SWIZZLE_NONE});
  arguments.has_residual = g.beta != 0;
  if (arguments.has_residual) {
    arguments.c = output_map("C", g.c, OutputType::kBf16, g, g.ldc, kernel);
  }
  arguments.d = output_map("D", g.d, g.output, g, g.ldd, kernel);
  arguments.b_scales = BScaleMatrix{g.b_scales, g.ldb_scales, pieces(g.n, kScaleBlock)};
  arguments.raster =
      TileRaster{pieces(g.m, traits.cluster_rows()), pieces(g.n, traits.cluster_columns())};
  arguments.beta = g.beta;
  return arguments;
}

/// Refuses a device or a kernel that can't do it.
void validate_device(const GemmKernel& kernel) {
  constexpr int kBlackwellMajor = 10;
  const int major = device_attribute(cudaDevAttrComputeCapabilityMajor);
  require(major == kBlackwellMajor, "The current device has compute capability ", major,
          ".x; this kernel needs 10.x (Blackwell), or the simulator's runtime, which runs on any"
          " CPU.");
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
  check_cuda(cudaFuncSetAttribute(kernel.function, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  static_cast<int>(kernel.shared_bytes)),
             "give the kernel " + std::to_string(kernel.shared_bytes) + " bytes of shared memory");
  if (kernel.traits.cluster_size() > kMostPortableClusterSize) {
    check_cuda(
        cudaFuncSetAttribute(kernel.function, cudaFuncAttributeNonPortableClusterSizeAllowed, 1),
        "allow clusters of " + std::to_string(kernel.traits.cluster_size()) + " CTAs");
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
             "launch the configuration " + kernel.name);
}

}  // namespace

void blockwise_fp8_gemm(const BlockwiseFp8GemmArguments& gemm, cudaStream_t stream) {
  validate_gemm_arguments(gemm);
  const int multiprocessors = device_attribute(cudaDevAttrMultiProcessorCount);
  blockwise_fp8_gemm(gemm, choose_gemm_kernel(gemm.m, gemm.n, gemm.k, gemm.output, multiprocessors),
                     stream);
}

void blockwise_fp8_gemm(const BlockwiseFp8GemmArguments& gemm, const GemmKernel& kernel,
                        cudaStream_t stream) {
  validate_gemm_arguments(gemm);
  require(kernel.traits.output == gemm.output, "The configuration ", kernel.name, " writes ",
          kernel.traits.output == OutputType::kBf16 ? "bf16" : "fp32",
          ", but the arguments ask for the other type: choose one whose output they name.");
  validate_device(kernel);
  set_attributes(kernel);
  launch(make_kernel_arguments(gemm, kernel), kernel, stream);
}

}  // namespace bw
