/// \file
/// Prints what the chip can do at most; `hopper_bench` does the same before it compares.

#include <cstdio>

#include "common/host/hopper_device.hpp"
#include "common/host/program.hpp"
#include "tests/benchmarks/hopper/report.hpp"

int main(int argc, char** argv) {
  bw::CommandLine command_line(
      "Measures what a Hopper GPU can do at most: FP8 wgmma, memory, TMA, accumulated bits.");
  return bw::run_main(command_line, "hopper_floor_bench", argc, argv, [] {
    bw::require_hopper();
    bw::print_machine();
    std::printf("\n%s", bw::floor_markdown(bw::measure_floor()).c_str());
    return bw::kVerified;
  });
}
