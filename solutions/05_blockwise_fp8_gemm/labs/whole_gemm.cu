/// \file
/// Lab: all roles of one CTA. The whole kernel with tiles of 128 × 128, one CTA each, no cluster:
/// the ring of C, the load order and the store by TMA around chapter 4's two rings.
///
/// New against tma_store: the operands are real, and the epilogue promotes before it writes.

#include "solutions/05_blockwise_fp8_gemm/labs/gemm_lab.hpp"

int main(int argc, char** argv) {
  bw::GemmOptions options;
  bw::CommandLine command_line("The GEMM with tiles of 128 x 128, one CTA each, verified.");
  bw::lab::add_gemm_options(command_line, options);
  return bw::run_main(command_line, "lab_05_whole_gemm", argc, argv, [&] {
    constexpr bw::GemmTraits kTraits{.mma_m = 128, .mma_n = 128};
    return bw::lab::run_gemm_lab<kTraits>(options);
  });
}
