/// \file
/// Lab: all roles of one CTA. The whole kernel with one CTA a tile, no cluster: the ring of C, the
/// load order and the store by TMA around chapter 4's two rings.
///
/// New compared with tma_store: the operands are real, and the epilogue promotes before it writes.
/// With tiles of 128 × 256 two threads share a row, so a slice is two boxes.

#include "solutions/05_blockwise_fp8_gemm/labs/gemm_lab.hpp"

int main(int argc, char** argv) {
  bw::GemmOptions options;
  int tile_columns = 0;
  bw::CommandLine command_line("The GEMM with one CTA a tile of 128 rows, verified.");
  bw::lab::add_gemm_options(command_line, options);
  command_line.add("tile-columns", tile_columns, {"128", "256"},
                   "columns of a tile; of 256 a thread of the epilogue takes half a row");
  return bw::run_main(command_line, "lab_05_whole_gemm", argc, argv, [&] {
    constexpr bw::GemmTraits kSquare{.mma_m = 128, .mma_n = 128};
    constexpr bw::GemmTraits kWide{.mma_m = 128, .mma_n = 256};
    return tile_columns == 0 ? bw::lab::run_gemm_lab<kSquare>(options)
                             : bw::lab::run_gemm_lab<kWide>(options);
  });
}
