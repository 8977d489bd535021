/// \file
/// Lab: how many input stages are enough. The roles that take turns, with a ring of one to eight
/// input stages between the load warp and the MMA warp.
///
/// New compared with roles in turn: the depth of the input ring is an option, and the accumulators
/// overlap.

#include <vector>

#include "solutions/03_warp_contexts/labs/hand_written_roles.cuh"

namespace bw {

template <int stages>
ExitStatus run_with_stages(const LabOptions& options) {
  using Roles = HandWrittenRoles<stages, 2, Release::kAfterTheLoad>;
  const BlockwiseProblem problem =
      begin_lab(options, "one CTA, ", stages, " input stages, 2 accumulators");
  return run_lab(problem, role_kernel<Roles>(), /*ctas=*/1);
}

}  // namespace bw

int main(int argc, char** argv) {
  const std::vector<const char*> names = {"1", "2", "3", "4", "5", "6"};
  bw::LabOptions options;
  options.m = bw::Fp8GemmTile::kM;
  options.k = 32 * bw::Fp8GemmTile::kK;
  int stages = 3;
  bw::CommandLine command_line("One tile with many K blocks, through one to six input stages.");
  options.add_to(command_line);
  command_line.add("stages", stages, names, "input stages");
  return bw::run_main(command_line, "lab_03_input_stages", argc, argv, [&] {
    constexpr bw::ExitStatus (*kRunners[])(const bw::LabOptions&) = {
        bw::run_with_stages<1>, bw::run_with_stages<2>, bw::run_with_stages<3>,
        bw::run_with_stages<4>, bw::run_with_stages<5>, bw::run_with_stages<6>};
    return kRunners[stages](options);
  });
}
