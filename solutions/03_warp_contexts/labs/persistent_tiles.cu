/// \file
/// Lab: CTAs that outlive their tile. Twice as many tiles as SMs: as one CTA per tile, or as one
/// CTA per SM that walks the tiles blockIdx.x, blockIdx.x + gridDim.x, …
///
/// New compared with the overlap: the grid does not depend on the number of tiles. The start of a
/// CTA (barriers, tensor memory, an empty ring) is paid once, and the epilogue of one tile overlaps
/// the loads and the MMAs of the CTA's next.

#include "common/device/min_max.cuh"
#include "common/host/device_attribute.hpp"
#include "solutions/03_warp_contexts/labs/hand_written_roles.cuh"

namespace {

const std::vector<const char*> kGrids = {"tiles", "sms"};
constexpr int kCtaPerTile = 0, kCtaPerSm = 1;

}  // namespace

int main(int argc, char** argv) {
  using Roles = bw::HandWrittenRoles<4, 2, bw::Release::kAfterTheLoad>;
  bw::LabOptions options;
  options.m = 37 * bw::Fp8GemmTile::kM;  // 37 x 8 tiles: two for each of 148 SMs
  options.n = 8 * bw::Fp8GemmTile::kN;
  options.k = 2 * bw::Fp8GemmTile::kK;
  int grid = kCtaPerSm;
  bw::CommandLine command_line("A CTA per tile, or a CTA per SM that walks the tiles.");
  options.add_to(command_line);
  command_line.add("grid", grid, kGrids, "CTAs: as many as tiles, or at most as many as SMs");
  return bw::run_main(command_line, "lab_03_persistent_tiles", argc, argv, [&] {
    const int64_t sms = bw::device_attribute(cudaDevAttrMultiProcessorCount);
    const int64_t ctas = grid == kCtaPerTile ? options.tiles() : bw::min_of(sms, options.tiles());
    const bw::BlockwiseProblem problem = bw::begin_lab(options, ctas, " CTAs");
    return bw::run_lab(problem, bw::role_kernel<Roles>(), ctas);
  });
}
