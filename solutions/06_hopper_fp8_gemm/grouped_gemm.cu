#include "solutions/06_hopper_fp8_gemm/grouped_gemm.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

#include "common/host/ceil_div.hpp"
#include "common/host/device_attribute.hpp"
#include "common/host/hopper_device.hpp"
#include "solutions/05_blockwise_fp8_gemm/make_kernel_arguments.hpp"
#include "solutions/06_hopper_fp8_gemm/gemm_kernel_groups.hpp"
#include "solutions/06_hopper_fp8_gemm/gemm_launch.hpp"
#include "solutions/06_hopper_fp8_gemm/memory_time.hpp"

namespace bw::hopper {
namespace {

/// Like prepare_gemm(), for the tiles of all products.
PreparedGemm prepare_grouped_gemm(const GroupedFp8GemmArguments& arguments,
                                  const GemmChoice& choice) {
  const BlockwiseFp8GemmArguments& gemm = arguments.gemm;
  const GemmTraits& traits = choice.kernel->traits;
  PreparedGemm prepared = prepare_gemm(gemm, choice);
  HopperGemmArguments& own = prepared.arguments;
  own.b = bw::detail::operand_map("B", gemm.b, arguments.groups * gemm.n, gemm.k, gemm.ldb,
                                  traits.tile_n);
  const bool is_masked = arguments.layout == GroupLayout::kMasked;
  const int64_t rows = is_masked ? gemm.m / arguments.groups : gemm.m;
  own.groups = {.layout = arguments.layout,
                .numbers = arguments.numbers,
                .count = static_cast<uint32_t>(arguments.groups),
                .row_blocks = static_cast<uint32_t>(ceil_div(rows, traits.tile_m)),
                .tile_m = static_cast<uint32_t>(traits.tile_m),
                .n_tiles = static_cast<uint32_t>(ceil_div(gemm.n, traits.tile_n)),
                .n = static_cast<uint32_t>(gemm.n),
                .scale_rows = own.b_scales.rows};
  return prepared;
}

/// Microseconds that one multiprocessor takes for a K block of a tile, all of them at work, and for
/// the rest of the tile.
struct GroupedTimes {
  std::string_view name;  ///< of a choice
  double block, tile;
};
/// The choices that take part: tiles with B on wgmma's M side across the GPCs, the others GPC by
/// GPC. Where memory limits several of them, the first is taken. Measured on an H100, 2026-11-26,
/// with 8 and 32 products of at most 16 to 1024 rows, in both layouts.
constexpr GroupedTimes kGroupedTimes[] = {
    // (0.18 where it is the only limit; but a product's second tile of 16 rows reads B again.)
    {"16x64_swap_grouped", 0.30, 0},
    {"64x64_swap2_grouped", 0.265, 0},
    {"128x192_grouped/gpc", 0.60, 0.5},
    {"128x256_grouped/gpc", 0.78, 2.4},
    {"128x64_grouped/gpc", 0.36, 0.1}};

/// A choice that takes part.
struct Candidate {
  GemmChoice choice;
  GroupedTimes times;
};

/// Those of kGroupedTimes, looked up once.
const std::vector<Candidate>& candidates() {
  static const std::vector<Candidate> all = [] {
    std::vector<Candidate> found;
    for (const GroupedTimes& times : kGroupedTimes) {
      found.push_back({find_gemm_choice(times.name, grouped_gemm_choices()), times});
    }
    return found;
  }();
  return all;
}

/// Blocks of `tile_m` rows that all products have, as far as the host can know.
double expected_blocks(const GroupedFp8GemmArguments& arguments, int tile_m) {
  const auto rows = static_cast<double>(arguments.gemm.m);
  if (arguments.layout == GroupLayout::kContiguous || arguments.expected_rows <= 0) {
    return std::ceil(rows / tile_m);
  }
  const auto groups = static_cast<double>(arguments.groups);
  const double of_room = std::ceil(rows / groups / tile_m);
  // A product's last block is half full on average, unless each product has one.
  const double of_each = static_cast<double>(arguments.expected_rows) / tile_m + 0.5;
  return groups * std::clamp(of_each, 1.0, of_room);
}

/// Microseconds of a launch but for what all choices have in common: those of the tiles, or those
/// that memory takes to bring every product's B. (Tiles of few rows are for masked products: in the
/// contiguous layout a product has whole blocks of 128.)
double predicted_time(const GroupedFp8GemmArguments& arguments, const Candidate& candidate,
                      int multiprocessors) {
  const GemmTraits& traits = candidate.choice.kernel->traits;
  const GroupedTimes& times = candidate.times;
  if (traits.swap_ab && arguments.layout == GroupLayout::kContiguous) {
    return std::numeric_limits<double>::infinity();
  }
  const BlockwiseFp8GemmArguments& gemm = arguments.gemm;
  const double tiles = expected_blocks(arguments, traits.tile_m) *
                       static_cast<double>(ceil_div(gemm.n, traits.tile_n));
  // Small CTAs share a multiprocessor, and the last of them share the rest.
  const double share = tiles / multiprocessors;
  const double rounds = traits.swap_ab ? std::max(share, 1.0) : std::ceil(share);
  const auto k_blocks = static_cast<double>(ceil_div(gemm.k, kScaleBlock));
  return std::max(rounds * (k_blocks * times.block + times.tile),
                  time_to_read_b(static_cast<double>(arguments.groups) *
                                 static_cast<double>(gemm.n) * static_cast<double>(gemm.k)));
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
          "; the address of an int32 is a multiple of 4.");
  if (arguments.layout == GroupLayout::kContiguous) return;
  require(gemm.m % arguments.groups == 0 && gemm.m / arguments.groups % kGroupRows == 0,
          "The masked layout has m = ", gemm.m, " rows for ", arguments.groups,
          " products; each needs the same room, a multiple of ", kGroupRows, " rows.");
}

const std::vector<GemmKernel>& grouped_gemm_kernels() {
  static const std::vector<GemmKernel> kernels = detail::grouped_tiles();
  return kernels;
}

const std::vector<GemmChoice>& grouped_gemm_choices() {
  static const std::vector<GemmChoice> choices = choices_of(grouped_gemm_kernels());
  return choices;
}

GemmChoice choose_grouped_gemm(const GroupedFp8GemmArguments& arguments, int multiprocessors) {
  const auto time = [&](const Candidate& candidate) {
    return predicted_time(arguments, candidate, multiprocessors);
  };
  return std::min_element(candidates().begin(), candidates().end(),
                          [&](const Candidate& x, const Candidate& y) { return time(x) < time(y); })
      ->choice;
}

void grouped_fp8_gemm(const GroupedFp8GemmArguments& arguments, cudaStream_t stream) {
  validate_grouped_gemm_arguments(arguments);
  require_hopper();
  grouped_fp8_gemm(arguments,
                   choose_grouped_gemm(arguments, device_attribute(cudaDevAttrMultiProcessorCount)),
                   stream);
}

void grouped_fp8_gemm(const GroupedFp8GemmArguments& arguments, const GemmChoice& choice,
                      cudaStream_t stream) {
  validate_grouped_gemm_arguments(arguments);
  require_hopper();
  require(choice.kernel->traits.grouped, "The configuration ", choice.kernel->name,
          " computes one product; take one of grouped_gemm_kernels().");
  launch_gemm(prepare_grouped_gemm(arguments, choice), stream);
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
