/// \file
/// Lab: tiles that straddle two B-scales. B has a scale for 128 of its rows, that is for 128
/// columns of D; tiles of 96 columns don't end where scale blocks do. One scale per tile is wrong,
/// a pair with a boundary is right.
///
/// New compared with the A-scales: two scales a K block, chosen by column.

#include "common/device/min_max.cuh"
#include "solutions/04_per_k_contexts/labs/lab_roles.cuh"

namespace bw {

constexpr int kTileColumns = 96;

/// Without `pair`, the tile's first scale for all of its columns.
template <bool pair>
struct ScalesOfB {
  template <int columns, class Stage>
  static __device__ __forceinline__ void promote(float (&sum)[columns], Stage& stage,
                                                 const float* a_scales,
                                                 const BScalePair& b_scales) {
    const float a_scale = a_scales[threadIdx.x];
    stage.arrive_input();
#pragma unroll
    for (int first = 0; first < columns; first += kPartColumns) {
      float part[kPartColumns];
      (stage.output_stage.tmem().tensor() + first).load_32x32b(part);
      TmemAddress::wait_load(part);
      // Boundaries are multiples of gcd(96, 128) = 32, and so never inside of a part.
      const bool second = pair && first >= b_scales.boundary;
      add_scaled(sum, first, part, a_scale * (second ? b_scales.second : b_scales.first));
    }
  }
};

template <bool pair>
constexpr BlockwiseTileKernel b_scales_kernel() {
  return lab_roles_kernel_of<LabRoles<BlockwiseTileConfig<kTileColumns>, ScalesOfB<pair>>,
                             kTileColumns>();
}

/// Prints which B-scales the columns of each tile have.
inline void print_tiles(int64_t n) {
  for (int64_t column = 0; column < n; column += kTileColumns) {
    const int64_t end = min_of<int64_t>(column + kTileColumns, n);
    const int64_t first = column / kScaleBlock, last = (end - 1) / kScaleBlock;
    std::printf("tile     columns %lld to %lld: scale %lld", static_cast<long long>(column),
                static_cast<long long>(end - 1), static_cast<long long>(first));
    if (last > first) {
      std::printf(" for its first %lld, then %lld",
                  static_cast<long long>((first + 1) * kScaleBlock - column),
                  static_cast<long long>(last));
    }
    std::printf("\n");
  }
}

}  // namespace bw

int main(int argc, char** argv) {
  bw::LabOptions options;
  options.n = 4 * bw::kTileColumns;  // three scale blocks
  bw::CommandLine command_line("Tiles of 96 columns, which straddle two B-scales of 128.");
  options.add_to(command_line);
  return bw::run_main(command_line, "lab_04_b_scales", argc, argv, [&] {
    bw::require(options.n > bw::kScaleBlock, "--n ", options.n,
                ": no tile straddles two B-scales; give more than 128.");
    const bw::BlockwiseProblem problem = bw::begin_lab(options, "tiles of 96 columns");
    bw::print_tiles(options.n);
    bw::show_wrong(
        "one scale per tile",
        bw::compare_lab(problem, bw::run_blockwise_tiles(problem, bw::b_scales_kernel<false>())));
    return bw::run_lab(problem, bw::b_scales_kernel<true>());
  });
}
