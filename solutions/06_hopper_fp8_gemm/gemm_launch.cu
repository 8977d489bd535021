#include "solutions/06_hopper_fp8_gemm/gemm_launch.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

#include "common/host/ceil_div.hpp"
#include "common/host/cuda_check.hpp"
#include "common/host/device_attribute.hpp"
#include "common/host/dynamic_shared_memory.hpp"
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

/// Everything about a launch but its grid and stream; `attribute` outlives the configuration. (One
/// that asks for clusters, be they of one CTA, puts neighbours into different GPCs.)
cudaLaunchConfig_t launch_configuration(const GemmChoice& choice, cudaLaunchAttribute& attribute) {
  const GemmKernel& kernel = *choice.kernel;
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim = {static_cast<uint32_t>(kernel.traits.cluster_size()), 1, 1};
  cudaLaunchConfig_t configuration{};
  configuration.blockDim = dim3(kernel.traits.threads(), 1, 1);
  configuration.dynamicSmemBytes = kernel.shared_bytes;
  configuration.attrs = &attribute;
  configuration.numAttrs = choice.order == LaunchOrder::kGpcByGpc ? 0 : 1;
  return configuration;
}

/// Configures the kernel before its first launch, and returns the number of clusters that the
/// device holds at once: GPCs don't all have the same number of multiprocessors.
uint32_t prepare_kernel(const GemmKernel& kernel) {
  // All that there is: configurations that share a function need different amounts.
  allow_dynamic_shared_memory(kernel.function,
                              device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin));
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
  static std::map<std::pair<int, const GemmKernel*>, uint32_t> known;
  int device = 0;
  check_cuda(cudaGetDevice(&device), "find the current device");
  const std::scoped_lock lock(mutex);
  const auto key = std::pair(device, &kernel);
  if (const auto found = known.find(key); found != known.end()) return found->second;
  return known[key] = prepare_kernel(kernel);
}

/// The tiles that A doesn't fill, and the map by which they are loaded.
void set_last_rows(HopperGemmArguments& arguments, const BlockwiseFp8GemmArguments& gemm,
                   const GemmTraits& traits) {
  constexpr int64_t kSwizzleRows = 8;
  const int64_t left = gemm.m % traits.tile_m;
  LastRows& last = arguments.last_rows;
  last.first = static_cast<uint32_t>(gemm.m - left);
  if (gemm.m % traits.cluster_rows() == 0) return;
  const int64_t rows = std::max(round_up(left, kSwizzleRows), kSwizzleRows);
  last.rows = static_cast<uint32_t>(rows);
  last.behind = static_cast<uint32_t>(left > 0 ? gemm.m - left : gemm.m - rows);
  arguments.last_a =
      bw::detail::operand_map("A", gemm.a, gemm.m, gemm.k, gemm.lda, static_cast<int>(rows));
}

/// What is the same as in chapter 5.
HopperGemmArguments arguments_of(const BlockwiseFp8GemmArguments& gemm, const GemmTraits& traits) {
  const GemmKernelArguments common = make_kernel_arguments(gemm, boxes_of(traits));
  HopperGemmArguments arguments{};
  arguments.a = common.a;
  arguments.b = common.b;
  arguments.a_scales = common.a_scales;
  arguments.c = common.c;
  arguments.d = common.d;
  arguments.b_scales = common.b_scales;
  arguments.raster = common.raster;
  arguments.fast_raster = FastRaster(common.raster);
  arguments.k_blocks = common.k_blocks;
  arguments.beta = common.beta;
  arguments.has_residual = common.has_residual;
  return arguments;
}

/// Sizes of the consecutive parts of a StreamKWorkspace.
size_t partial_sums_bytes(const PreparedGemm& prepared) {
  const GemmTraits& traits = prepared.kernel().traits;
  return sizeof(float) * prepared.clusters * traits.cluster_size() * traits.tile_m * traits.tile_n;
}
size_t flags_bytes(const PreparedGemm& prepared) {
  return sizeof(uint32_t) * prepared.clusters * prepared.kernel().traits.cluster_size() *
         kMathWarps;
}

}  // namespace

PreparedGemm prepare_gemm(const BlockwiseFp8GemmArguments& gemm, const GemmChoice& choice) {
  const GemmKernel& kernel = *choice.kernel;
  PreparedGemm prepared{arguments_of(gemm, kernel.traits), choice, 0};
  set_last_rows(prepared.arguments, gemm, kernel.traits);
  prepared.arguments.direct = {.d = static_cast<uint16_t*>(gemm.d),
                               .ldd = static_cast<uint64_t>(gemm.ldd),
                               .c = reinterpret_cast<const uint16_t*>(gemm.c),
                               .ldc = static_cast<uint64_t>(gemm.ldc),
                               .m = static_cast<uint32_t>(gemm.m),
                               .n = static_cast<uint32_t>(gemm.n)};
  const uint32_t pieces = prepared.arguments.raster.size();
  const uint32_t resident = resident_clusters(kernel) * kernel.traits.resident_ctas;
  // A cluster that splits K, or has few rows of one product, lives for one tile; the others stay
  // for all they get.
  const bool is_for_one_tile =
      kernel.traits.split_k > 1 || (kernel.traits.swap_ab && !kernel.traits.grouped);
  prepared.clusters = is_for_one_tile ? pieces : std::min(pieces, resident);
  if (kernel.traits.stream_k) {
    StreamKSchedule& schedule = prepared.arguments.stream_k.schedule;
    schedule = make_stream_k_schedule(pieces, resident, prepared.arguments.k_blocks);
    if (schedule.split > 0) prepared.clusters = resident;
  }
  return prepared;
}

SummationOrder summation_order(const PreparedGemm& prepared) {
  const HopperGemmArguments& arguments = prepared.arguments;
  return {prepared.kernel().traits, arguments.k_blocks, arguments.raster,
          arguments.stream_k.schedule};
}

size_t workspace_bytes(const PreparedGemm& prepared) {
  if (prepared.arguments.stream_k.schedule.split == 0) return 0;
  return partial_sums_bytes(prepared) + flags_bytes(prepared);
}

void attach_workspace(PreparedGemm& prepared, void* memory, cudaStream_t stream) {
  auto* const bytes = static_cast<uint8_t*>(memory);
  uint8_t* const flags = bytes + partial_sums_bytes(prepared);
  prepared.arguments.stream_k.workspace = {reinterpret_cast<float*>(bytes),
                                           reinterpret_cast<uint32_t*>(flags)};
  check_cuda(cudaMemsetAsync(flags, 0, flags_bytes(prepared), stream), "clear the flags");
}

void launch_gemm(const PreparedGemm& prepared, cudaStream_t stream) {
  const GemmKernel& kernel = prepared.kernel();
  cudaLaunchAttribute attribute{};
  cudaLaunchConfig_t configuration = launch_configuration(prepared.choice, attribute);
  configuration.gridDim = dim3(prepared.clusters * attribute.val.clusterDim.x, 1, 1);
  configuration.stream = stream;
  void* parameters[] = {const_cast<HopperGemmArguments*>(&prepared.arguments)};
  check_cuda(cudaLaunchKernelExC(&configuration, kernel.function, parameters),
             "launch the configuration ", kernel.name);
}

}  // namespace bw::hopper
