#include "solutions/06_hopper_fp8_gemm/hopper_fp8_gemm.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "common/host/cuda_check.hpp"
#include "common/host/device_attribute.hpp"
#include "common/host/hopper_device.hpp"
#include "common/host/tensor_map.hpp"
#include "solutions/06_hopper_fp8_gemm/gemm_kernel_arguments.cuh"

namespace bw::hopper {
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

/// The swizzle whose width is a row of a slice.
CUtensorMapSwizzle slice_swizzle(int columns) {
  switch (columns * sizeof(Bf16)) {
    case 128:
      return CU_TENSOR_MAP_SWIZZLE_128B;
    case 64:
      return CU_TENSOR_MAP_SWIZZLE_64B;
    default:
      return CU_TENSOR_MAP_SWIZZLE_32B;
  }
}

CUtensorMap slice_map(const char* name, const void* data, const BlockwiseFp8GemmArguments& g,
                      int64_t stride, const GemmTraits& traits) {
  return make_tensor_map({name, data, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, sizeof(Bf16),
                          static_cast<uint64_t>(g.n), static_cast<uint64_t>(g.m),
                          static_cast<uint64_t>(stride) * sizeof(Bf16),
                          static_cast<uint32_t>(traits.slice_columns()), kMmaRows,
                          slice_swizzle(traits.slice_columns())});
}

GemmKernelArguments make_kernel_arguments(const BlockwiseFp8GemmArguments& g,
                                          const GemmTraits& traits) {
  GemmKernelArguments arguments{};
  arguments.k_blocks = pieces(g.k, kTileK);
  arguments.a = operand_map("A", g.a, g.m, g.k, g.lda, traits.tile_m / traits.cluster_n);
  arguments.b = operand_map("B", g.b, g.n, g.k, g.ldb, traits.tile_n / traits.cluster_m);
  arguments.a_scales = make_tensor_map(
      {"A-scales", g.a_scales, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, sizeof(float),
       static_cast<uint64_t>(g.m), arguments.k_blocks, g.lda_scales * sizeof(float),
       static_cast<uint32_t>(traits.tile_m), /*box_outer=*/1, CU_TENSOR_MAP_SWIZZLE_NONE});
  arguments.has_residual = g.beta != 0;
  if (arguments.has_residual) arguments.c = slice_map("C", g.c, g, g.ldc, traits);
  arguments.d = slice_map("D", g.d, g, g.ldd, traits);
  arguments.b_scales = BScales{g.b_scales, g.ldb_scales, pieces(g.n, kScaleBlock)};
  arguments.raster =
      TileRaster{pieces(g.m, traits.cluster_rows()), pieces(g.n, traits.cluster_columns())};
  arguments.beta = g.beta;
  return arguments;
}

/// Everything about a launch but its grid and stream; `attribute` outlives the configuration.
cudaLaunchConfig_t launch_configuration(const GemmKernel& kernel, cudaLaunchAttribute& attribute) {
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim = {static_cast<uint32_t>(kernel.traits.cluster_size()), 1, 1};
  cudaLaunchConfig_t configuration{};
  configuration.blockDim = dim3(kThreads, 1, 1);
  configuration.dynamicSmemBytes = kernel.shared_bytes;
  configuration.attrs = &attribute;
  configuration.numAttrs = 1;
  return configuration;
}

/// Tells the runtime what it must know before the first launch, and returns how many clusters the
/// device holds at once: GPCs don't all have the same number of multiprocessors.
uint32_t prepare_kernel(const GemmKernel& kernel) {
  check_cuda(cudaFuncSetAttribute(kernel.function, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  static_cast<int>(kernel.shared_bytes)),
             "give the kernel ", kernel.shared_bytes, " bytes of shared memory");
  const auto cluster_size = static_cast<uint32_t>(kernel.traits.cluster_size());
  const auto multiprocessors =
      static_cast<uint32_t>(device_attribute(cudaDevAttrMultiProcessorCount));
  if (cluster_size == 1) return multiprocessors;

  cudaLaunchAttribute attribute{};
  cudaLaunchConfig_t configuration = launch_configuration(kernel, attribute);
  configuration.gridDim = dim3(multiprocessors / cluster_size * cluster_size, 1, 1);
  int resident = 0;
  check_cuda(cudaOccupancyMaxActiveClusters(&resident, kernel.function, &configuration),
             "ask how many clusters of ", kernel.name, " fit");
  require(resident > 0, "No cluster of ", cluster_size, " CTAs of the configuration ", kernel.name,
          " fits on this device: choose one with smaller clusters.");
  return static_cast<uint32_t>(resident);
}

/// The same, once for each kernel and device: the questions take longer than a small GEMM.
uint32_t resident_clusters(const GemmKernel& kernel) {
  static std::mutex mutex;
  static std::map<std::pair<int, const void*>, uint32_t> known;
  int device = 0;
  check_cuda(cudaGetDevice(&device), "find the current device");
  const std::scoped_lock lock(mutex);
  const auto key = std::pair(device, kernel.function);
  if (const auto found = known.find(key); found != known.end()) return found->second;
  return known[key] = prepare_kernel(kernel);
}

void launch(const GemmKernelArguments& arguments, const GemmKernel& kernel, cudaStream_t stream) {
  // A cluster that splits K lives for one tile; the others stay for all they get.
  const uint32_t resident = resident_clusters(kernel);
  const uint32_t clusters = kernel.traits.split_k > 1 ? arguments.raster.size()
                                                      : std::min(arguments.raster.size(), resident);
  cudaLaunchAttribute attribute{};
  cudaLaunchConfig_t configuration = launch_configuration(kernel, attribute);
  configuration.gridDim = dim3(clusters * attribute.val.clusterDim.x, 1, 1);
  configuration.stream = stream;
  void* parameters[] = {const_cast<GemmKernelArguments*>(&arguments)};
  check_cuda(cudaLaunchKernelExC(&configuration, kernel.function, parameters),
             "launch the configuration ", kernel.name);
}

}  // namespace

void blockwise_fp8_gemm(const BlockwiseFp8GemmArguments& gemm, cudaStream_t stream) {
  validate_gemm_arguments(gemm);
  require_hopper();
  const int multiprocessors = device_attribute(cudaDevAttrMultiProcessorCount);
  blockwise_fp8_gemm(gemm, choose_gemm_kernel(gemm.m, gemm.n, gemm.k, multiprocessors), stream);
}

void blockwise_fp8_gemm(const BlockwiseFp8GemmArguments& gemm, const GemmKernel& kernel,
                        cudaStream_t stream) {
  validate_gemm_arguments(gemm);
  require(gemm.output == OutputType::kBf16,
          "The arguments ask for fp32 output; the Hopper kernel writes bf16.");
  require_hopper();
  launch(make_kernel_arguments(gemm, kernel.traits), kernel, stream);
}

}  // namespace bw::hopper
