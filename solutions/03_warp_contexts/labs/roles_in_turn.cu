/// \file
/// Lab: three roles that take turns. A warp loads, a warp multiplies, four warps write; but there
/// is one input stage and one accumulator, and the epilogue hands the accumulator back last of all:
/// two of the three roles always wait for the third.
///
/// New compared with the K loop: every wait of the one thread is now a hand-over between roles.

#include "solutions/03_warp_contexts/labs/hand_written_roles.cuh"

int main(int argc, char** argv) {
  using Roles = bw::HandWrittenRoles<1, 1, bw::Release::kAfterTheStore>;
  bw::LabOptions options;
  bw::CommandLine command_line("Load, MMA and epilogue warps that take turns.");
  options.add_to(command_line);
  return bw::run_main(command_line, "lab_03_roles_in_turn", argc, argv, [&] {
    const bw::BlockwiseProblem problem =
        bw::begin_lab(options, "one CTA, 1 input stage, 1 accumulator");
    return bw::run_lab(problem, bw::role_kernel<Roles>(), /*ctas=*/1);
  });
}
