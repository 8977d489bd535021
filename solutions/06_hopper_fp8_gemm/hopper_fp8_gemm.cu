#include "solutions/06_hopper_fp8_gemm/hopper_fp8_gemm.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

#include "common/host/cuda_check.hpp"
#include "common/host/device_attribute.hpp"
#include "common/host/dynamic_shared_memory.hpp"
#include "common/host/hopper_device.hpp"
#include "solutions/05_blockwise_fp8_gemm/make_kernel_arguments.hpp"

namespace bw::hopper {
namespace {

GemmBoxes boxes_of(const GemmTraits& traits) {
  return {.a_rows = traits.tile_m / traits.cluster_n,
          .b_rows = traits.tile_n / traits.cluster_m,
          .a_scales = traits.tile_m,
          .slice_rows = kMmaRows,
          .slice_columns = traits.slice_columns(),
          .cluster_rows = traits.cluster_rows(),
          .cluster_columns = traits.cluster_columns()};
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
  allow_dynamic_shared_memory(kernel.function, kernel.shared_bytes);
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

void require_bf16_output(const BlockwiseFp8GemmArguments& gemm) {
  require(gemm.output == OutputType::kBf16,
          "The arguments ask for fp32 output; the Hopper kernel writes bf16.");
}

/// The last step of both calls, whose arguments and device have been checked.
void enqueue(const BlockwiseFp8GemmArguments& gemm, const GemmKernel& kernel, cudaStream_t stream) {
  launch(make_kernel_arguments(gemm, boxes_of(kernel.traits)), kernel, stream);
}

}  // namespace

void blockwise_fp8_gemm(const BlockwiseFp8GemmArguments& gemm, cudaStream_t stream) {
  validate_gemm_arguments(gemm);
  require_hopper();
  require_bf16_output(gemm);
  const int multiprocessors = device_attribute(cudaDevAttrMultiProcessorCount);
  enqueue(gemm, choose_gemm_kernel(gemm.m, gemm.n, gemm.k, multiprocessors), stream);
}

void blockwise_fp8_gemm(const BlockwiseFp8GemmArguments& gemm, const GemmKernel& kernel,
                        cudaStream_t stream) {
  validate_gemm_arguments(gemm);
  require_bf16_output(gemm);
  require_hopper();
  enqueue(gemm, kernel, stream);
}

}  // namespace bw::hopper
