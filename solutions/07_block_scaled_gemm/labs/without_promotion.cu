/// \file
/// New: an epilogue that works once a tile. The tensor core has applied the scales, so the products
/// of all K blocks add up in one accumulator, and no K block goes through registers. What a K block
/// takes then is what its four MMAs take: the difference of two lengths of K shows it.

#include <cstdio>

#include "common/host/lab_cycles.hpp"
#include "solutions/07_block_scaled_gemm/labs/scaled_roles.cuh"

namespace bw {

template <BlockFormat format>
ExitStatus run_without_promotion(int64_t k_blocks) {
  const auto run = [](int64_t blocks) {
    return run_scaled_roles<format>(make_lab_problem(format, blocks), ScaleOrder::kSetPerStage);
  };
  const ScaledRolesRun once = run(k_blocks), twice = run(2 * k_blocks);
  const double cycles_per_block = (twice.milliseconds - once.milliseconds) * 1e-3 *
                                  device_clock_hz() / static_cast<double>(k_blocks);
  std::printf("shape    m %d, n %d, k %lld: %lld K blocks of %d\n", kLabTile, kLabTile,
              static_cast<long long>(k_blocks * block_k(format)), static_cast<long long>(k_blocks),
              block_k(format));
  std::printf("K block  %.0f cycles each, for %d multiplications and additions a cycle\n",
              cycles_per_block,
              static_cast<int>(kLabTile * kLabTile * block_k(format) / cycles_per_block));
  print_cycles(once.milliseconds);
  if (!twice.comparison.verified()) return report(twice.comparison, "D of the longer K");
  return report(once.comparison, "D");
}

}  // namespace bw

int main(int argc, char** argv) {
  int format = 0;
  int64_t k_blocks = 16;
  bw::CommandLine command_line("One accumulator for the whole of K.");
  command_line.add("format", format, {"mxfp8", "mxfp4", "nvfp4"}, "of the elements and scales");
  command_line.add("k-blocks", k_blocks, "rows of 128 bytes along K");
  return bw::run_main(command_line, "lab_07_without_promotion", argc, argv, [&] {
    bw::require_blackwell();
    bw::require(k_blocks >= 1 && k_blocks <= 512, "--k-blocks is ", k_blocks, "; give 1 to 512.");
    bw::print_machine();
    if (format == 0) return bw::run_without_promotion<bw::BlockFormat::kMxfp8>(k_blocks);
    if (format == 1) return bw::run_without_promotion<bw::BlockFormat::kMxfp4>(k_blocks);
    return bw::run_without_promotion<bw::BlockFormat::kNvfp4>(k_blocks);
  });
}
