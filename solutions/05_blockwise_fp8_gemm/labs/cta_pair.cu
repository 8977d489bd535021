/// \file
/// Lab: a pair of CTAs multiplies together. The whole kernel twice: one CTA with tiles of
/// 128 × 128, or a pair whose one MMA is 256 × 128 and takes half of B's rows from each CTA.
///
/// New compared with whole_gemm: cta_group 2. Each CTA loads and holds half of B; the leader's
/// barriers serve both, its MMA warp issues for both, and its commit signals both epilogues. Four
/// pairs in a cluster of 4 × 2 also share A and B by multicast.

#include "solutions/05_blockwise_fp8_gemm/labs/gemm_lab.hpp"

int main(int argc, char** argv) {
  bw::GemmOptions options;
  int ctas = 1;
  bw::CommandLine command_line("The GEMM by single CTAs or by pairs, verified.");
  bw::lab::add_gemm_options(command_line, options);
  command_line.add(
      "ctas", ctas, {"1", "2", "8"},
      "CTAs of a cluster: one, a pair that shares an MMA, four pairs that share A and B");
  return bw::run_main(command_line, "lab_05_cta_pair", argc, argv, [&] {
    constexpr bw::GemmTraits kSingle{.mma_m = 128, .mma_n = 128};
    constexpr bw::GemmTraits kPair{.mma_m = 256, .mma_n = 128, .cta_group = 2, .cluster_m = 2};
    constexpr bw::GemmTraits kFourPairs{
        .mma_m = 256, .mma_n = 128, .cta_group = 2, .cluster_m = 4, .cluster_n = 2};
    constexpr bw::ExitStatus (*kRunners[])(const bw::GemmOptions&) = {
        bw::lab::run_gemm_lab<kSingle>, bw::lab::run_gemm_lab<kPair>,
        bw::lab::run_gemm_lab<kFourPairs>};
    return kRunners[ctas](options);
  });
}
