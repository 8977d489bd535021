/// \file
/// Prints the kernels' raster and where the simulator puts the clusters of a launch, for the test
/// of the site's page about the raster.
///
/// Standard input: a line a question: `raster m n`, answered by the m and n of each piece in order;
/// `dealt machine ctas`, by the first SM, GPC and port of each cluster; `filled machine ctas`, by
/// the same of CTAs without clusters.
#include <iostream>
#include <string>
#include <vector>

#include "common/simulator/isa/machine_description.hpp"
#include "solutions/05_blockwise_fp8_gemm/tile_raster.cuh"

namespace {

void print_raster(uint32_t m, uint32_t n) {
  const bw::TileRaster raster{m, n};
  for (uint32_t index = 0; index < raster.size(); ++index) {
    const bw::WorkTile tile = raster.tile(index);
    std::cout << tile.m << ' ' << tile.n << ' ';
  }
}

void print_places(const std::vector<bw::sim::Place>& places) {
  for (const bw::sim::Place& place : places)
    std::cout << place.first_sm << ' ' << place.gpc << ' ' << place.port << ' ';
}

}  // namespace

int main() {
  std::string question, machine;
  uint32_t m = 0, n = 0;
  while (std::cin >> question) {
    if (question == "raster" && std::cin >> m >> n) {
      print_raster(m, n);
    } else if (std::cin >> machine >> n) {
      const bw::sim::MachineDescription* const found = bw::sim::find_machine(machine);
      if (found == nullptr) return 1;
      print_places(question == "dealt" ? bw::sim::places_of(*found, found->sm_count, n)
                                       : bw::sim::places_by_gpc(*found, found->sm_count, n));
    }
    std::cout << '\n';
  }
  return 0;
}
