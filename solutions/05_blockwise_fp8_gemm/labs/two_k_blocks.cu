/// \file
/// Lab: two K blocks a stage. New compared with whole_gemm: an input stage holds two K blocks, so
/// its barriers complete half as many phases, while the accumulators still turn once for each.

#include "solutions/05_blockwise_fp8_gemm/labs/gemm_lab.hpp"

int main(int argc, char** argv) {
  bw::GemmOptions options;
  bw::CommandLine command_line("The GEMM with two K blocks in each input stage, verified.");
  bw::lab::add_gemm_options(command_line, options);
  return bw::run_main(command_line, "lab_05_two_k_blocks", argc, argv, [&] {
    constexpr bw::GemmTraits kTraits{.mma_m = 128, .mma_n = 128, .k_group_size = 2};
    return bw::lab::run_gemm_lab<kTraits>(options);
  });
}
