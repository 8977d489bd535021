#include "solutions/06_hopper_fp8_gemm/grouped_gemm.hpp"

#include <limits>

#include "common/host/ceil_div.hpp"
#include "common/host/device_attribute.hpp"
#include "common/host/hopper_device.hpp"
#include "solutions/05_blockwise_fp8_gemm/make_kernel_arguments.hpp"
#include "solutions/06_hopper_fp8_gemm/gemm_kernel_groups.hpp"
#include "solutions/06_hopper_fp8_gemm/gemm_launch.hpp"

namespace bw::hopper {
namespace {

/// Like prepare_gemm(), for the tiles of all products.
PreparedGemm prepare_grouped_gemm(const GroupedFp8GemmArguments& arguments,
                                  const GemmKernel& kernel) {
  const BlockwiseFp8GemmArguments& gemm = arguments.gemm;
  PreparedGemm prepared = prepare_gemm(gemm, kernel);
  HopperGemmArguments& own = prepared.arguments;
  own.b = bw::detail::operand_map("B", gemm.b, arguments.groups * gemm.n, gemm.k, gemm.ldb,
                                  kernel.traits.tile_n);
  const bool is_masked = arguments.layout == GroupLayout::kMasked;
  const int64_t rows = is_masked ? gemm.m / arguments.groups : gemm.m;
  own.groups = {.layout = arguments.layout,
                .numbers = arguments.numbers,
                .count = static_cast<uint32_t>(arguments.groups),
                .row_blocks = static_cast<uint32_t>(ceil_div(rows, kernel.traits.tile_m)),
                .tile_m = static_cast<uint32_t>(kernel.traits.tile_m),
                .n_tiles = static_cast<uint32_t>(ceil_div(gemm.n, kernel.traits.tile_n)),
                .n = static_cast<uint32_t>(gemm.n),
                .scale_rows = own.b_scales.rows};
  return prepared;
}

}  // namespace

void validate_grouped_gemm_arguments(const GroupedFp8GemmArguments& arguments) {
  const BlockwiseFp8GemmArguments& gemm = arguments.gemm;
  require(arguments.groups >= 1, "There are ", arguments.groups,
          " groups; give at least one product.");
  validate_gemm_arguments(gemm);
  require(gemm.output == OutputType::kBf16,
          "The arguments ask for fp32 output; the Hopper kernel writes bf16.");
  constexpr int64_t kMostRows = std::numeric_limits<int32_t>::max();
  require(arguments.groups <= kMostRows / gemm.n, arguments.groups, " products of ", gemm.n,
          " rows of B each have more than the 2^31 - 1 rows that TMA's coordinates reach; split "
          "the groups over several launches.");
  require(arguments.numbers != nullptr,
          "The groups' numbers are a null pointer; give a device address.");
  require(reinterpret_cast<uintptr_t>(arguments.numbers) % alignof(int32_t) == 0,
          "The groups' numbers start at ", static_cast<const void*>(arguments.numbers),
          "; int32 lie at multiples of 4 bytes.");
  if (arguments.layout == GroupLayout::kContiguous) return;
  require(gemm.m % arguments.groups == 0 && gemm.m / arguments.groups % kGroupRows == 0,
          "The masked layout has m = ", gemm.m, " rows for ", arguments.groups,
          " products; each needs the same room, a multiple of ", kGroupRows, " rows.");
}

const std::vector<GemmKernel>& grouped_gemm_kernels() {
  static const std::vector<GemmKernel> kernels = detail::grouped_tiles();
  return kernels;
}

const GemmKernel& choose_grouped_gemm_kernel(const GroupedFp8GemmArguments& arguments,
                                             int multiprocessors) {
  const std::vector<GemmKernel>& kernels = grouped_gemm_kernels();
  if (arguments.layout == GroupLayout::kMasked && arguments.expected_rows > 0) {
    // The tile that has room for them; from the narrowest on.
    for (const GemmKernel& kernel : kernels) {
      if (kernel.traits.swap_ab && arguments.expected_rows <= kernel.traits.tile_m) return kernel;
    }
  }
  const GemmTraits& wide = kernels.back().traits;
  const int64_t wide_tiles =
      ceil_div(arguments.gemm.m, wide.tile_m) * ceil_div(arguments.gemm.n, wide.tile_n);
  return wide_tiles >= multiprocessors ? kernels.back() : kernels[kernels.size() - 2];
}

void grouped_fp8_gemm(const GroupedFp8GemmArguments& arguments, cudaStream_t stream) {
  validate_grouped_gemm_arguments(arguments);
  require_hopper();
  grouped_fp8_gemm(
      arguments,
      choose_grouped_gemm_kernel(arguments, device_attribute(cudaDevAttrMultiProcessorCount)),
      stream);
}

void grouped_fp8_gemm(const GroupedFp8GemmArguments& arguments, const GemmKernel& kernel,
                      cudaStream_t stream) {
  validate_grouped_gemm_arguments(arguments);
  require_hopper();
  require(kernel.traits.grouped, "The configuration ", kernel.name,
          " computes one product; take one of grouped_gemm_kernels().");
  launch_gemm(prepare_grouped_gemm(arguments, kernel), stream);
}

ContiguousRows contiguous_rows(const std::vector<int64_t>& rows_of_groups) {
  ContiguousRows result;
  for (size_t group = 0; group < rows_of_groups.size(); ++group) {
    const int64_t rows = rows_of_groups[group];
    require(rows >= 0, "Product ", group, " has ", rows, " rows; give 0 or more.");
    result.first_row.push_back(result.rows);
    const int64_t blocks = ceil_div(rows, kGroupRows);
    result.numbers.insert(result.numbers.end(), static_cast<size_t>(blocks),
                          static_cast<int32_t>(group));
    result.rows += blocks * kGroupRows;
  }
  return result;
}

}  // namespace bw::hopper
