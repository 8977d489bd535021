/// \file
/// Lab: roles that work at the same time. More input stages let the load warp run ahead of the MMA
/// warp; an early release lets the MMA warp go on while the epilogue stores; a second accumulator
/// lets it go on while the epilogue reads.
///
/// New compared with roles in turn: the depth of both rings and the position of one arrival.

#include "solutions/03_warp_contexts/labs/hand_written_roles.cuh"

namespace {

const std::vector<const char*> kSteps = {"inputs", "release", "accumulators"};
constexpr int kInputStages = 4;

using Inputs = bw::HandWrittenRoles<kInputStages, 1, bw::Release::kAfterTheStore>;
using EarlyRelease = bw::HandWrittenRoles<kInputStages, 1, bw::Release::kAfterTheLoad>;
using Accumulators = bw::HandWrittenRoles<kInputStages, 2, bw::Release::kAfterTheLoad>;

}  // namespace

int main(int argc, char** argv) {
  constexpr bw::Fp8GemmKernel kKernels[] = {
      bw::role_kernel<Inputs>(), bw::role_kernel<EarlyRelease>(), bw::role_kernel<Accumulators>()};
  bw::LabOptions options;
  int step = 2;  // index into kSteps
  bw::CommandLine command_line("Load, MMA and epilogue warps that work at the same time.");
  options.add_to(command_line);
  command_line.add("step", step, kSteps,
                   "4 input stages; and an early release of the accumulator; and a second one");
  return bw::run_main(command_line, "lab_03_overlap", argc, argv, [&] {
    const bw::BlockwiseProblem problem =
        bw::begin_lab(options, "one CTA, up to the step ", kSteps[step]);
    return bw::run_lab(problem, kKernels[step], /*ctas=*/1);
  });
}
