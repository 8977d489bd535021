/// \file
/// New: several K blocks. The scales of the next one are copied while this one is multiplied, if
/// nothing waits that need not. Copies and MMAs of one thread are in order; MMAs and the copies
/// after them are not, and neither are a thread's stores and a copy.

#include "common/host/lab_cycles.hpp"
#include "solutions/07_block_scaled_gemm/labs/scaled_roles.cuh"

namespace bw {

template <BlockFormat format>
ExitStatus run_order(ScaleOrder order, bool by_threads, int64_t k_blocks) {
  const BlockScaledProblem problem = make_lab_problem(format, k_blocks);
  std::printf("shape    m %lld, n %lld, k %lld: %lld K blocks\n", static_cast<long long>(problem.m),
              static_cast<long long>(problem.n), static_cast<long long>(problem.k),
              static_cast<long long>(k_blocks));
  const ScaledRolesRun run = by_threads
                                 ? run_scaled_roles<format, ScaleSource::kThreads>(problem, order)
                                 : run_scaled_roles<format>(problem, order);
  print_cycles(run.milliseconds);
  return report(run.comparison, "D");
}

}  // namespace bw

int main(int argc, char** argv) {
  int format = 0, order = 2, source = 0;
  int64_t k_blocks = 16;
  bw::CommandLine command_line("Copies of scales and MMAs, in three orders.");
  command_line.add("format", format, {"mxfp8", "nvfp4"}, "of the elements and scales");
  command_line.add("order", order, {"wait", "one-set", "set-per-stage"},
                   "wait for the copies, for the MMAs before, or for neither");
  command_line.add("scales", source, {"atoms", "threads"},
                   "copied as atoms, or written by threads from a plain matrix");
  command_line.add("k-blocks", k_blocks, "rows of 128 bytes along K");
  return bw::run_main(command_line, "lab_07_order", argc, argv, [&] {
    bw::require_blackwell();
    bw::require(k_blocks >= 1 && k_blocks <= 1024, "--k-blocks is ", k_blocks, "; give 1 to 1024.");
    bw::print_machine();
    const auto chosen = static_cast<bw::ScaleOrder>(order);
    return format == 0 ? bw::run_order<bw::BlockFormat::kMxfp8>(chosen, source == 1, k_blocks)
                       : bw::run_order<bw::BlockFormat::kNvfp4>(chosen, source == 1, k_blocks);
  });
}
