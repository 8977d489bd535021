/// \file
/// Lab: the raster without divisions. Every thread finds the place of one piece by FastRaster; the
/// host compares it with chapter 5's TileRaster, which divides.

#include <cstdint>
#include <vector>

#include "common/host/ceil_div.hpp"
#include "common/host/comparison.hpp"
#include "common/host/device_buffer.hpp"
#include "common/host/lab_cycles.hpp"
#include "common/host/program.hpp"
#include "common/host/timed_launch.hpp"
#include "solutions/06_hopper_fp8_gemm/fast_raster.cuh"

namespace bw::hopper::lab {

constexpr uint32_t kThreads = 128;
constexpr uint32_t kNumbers = 3;  ///< of a piece

/// Kernel arguments.
struct FastRasterArguments {
  FastRaster raster;
  uint32_t* places;  ///< [pieces, kNumbers]: m, n, valid
};

__global__ void fast_raster_kernel(FastRasterArguments args) {
  const uint32_t index = blockIdx.x * kThreads + threadIdx.x;
  if (index >= args.raster.size()) return;
  const WorkTile tile = args.raster.tile(index);
  args.places[kNumbers * index] = tile.m;
  args.places[kNumbers * index + 1] = tile.n;
  args.places[kNumbers * index + 2] = tile.valid;
}

ExitStatus run(int64_t m, int64_t n) {
  constexpr int64_t kMostPieces = 1 << 20;
  require(m >= 1 && n >= 1 && m <= kMostPieces && n <= kMostPieces && m * n <= kMostPieces, "--m ",
          m, " x --n ", n, " pieces: give 1 to ", kMostPieces, " in all.");
  print_machine();
  const TileRaster divides{static_cast<uint32_t>(m), static_cast<uint32_t>(n)};
  DeviceBuffer<uint32_t> places(kNumbers * m * n);
  constexpr int kPoisonByte = 0xff;
  places.fill_bytes(kPoisonByte);
  const float milliseconds =
      run_timed(fast_raster_kernel,
                {.ctas = static_cast<uint32_t>(ceil_div(m * n, int64_t{kThreads})),
                 .threads = kThreads,
                 .shared_bytes = 0},
                FastRasterArguments{FastRaster(divides), places.data()});
  print_cycles(milliseconds);
  const std::vector<uint32_t> found = places.download();
  return print_verdict(compare_elements(
                           m * n, kNumbers, [&](int64_t i) { return found[i]; },
                           [&](int64_t i) {
                             const auto tile = divides.tile(static_cast<uint32_t>(i / kNumbers));
                             const uint32_t numbers[kNumbers] = {tile.m, tile.n, tile.valid};
                             return static_cast<double>(numbers[i % kNumbers]);
                           },
                           [](int64_t) { return 0.0; }),
                       "places");
}

}  // namespace bw::hopper::lab

int main(int argc, char** argv) {
  int64_t m = 19, n = 40;
  bw::CommandLine command_line("Places of the raster's pieces without a division, verified.");
  command_line.add("m", m, "pieces along M; a last band of less than 8 is lower");
  command_line.add("n", n, "pieces along N");
  return bw::run_main(command_line, "lab_06_fast_raster", argc, argv,
                      [&] { return bw::hopper::lab::run(m, n); });
}
