/// \file
/// Lab: the division of work when the last round of pieces is divided along K. A thread replaces
/// each cluster and marks the K blocks that StreamKSchedule gives it; nothing is multiplied, so
/// that it runs anywhere. What the schedule says is printed with `--show` only: exercise 6.6
/// asks for it.

#include <cstdint>
#include <cstdio>
#include <vector>

#include "common/device/min_max.cuh"
#include "common/host/comparison.hpp"
#include "common/host/device_buffer.hpp"
#include "common/host/lab_cycles.hpp"
#include "common/host/program.hpp"
#include "common/host/timed_launch.hpp"
#include "solutions/06_hopper_fp8_gemm/stream_k.cuh"

namespace bw::hopper::lab {

/// Kernel arguments. Thread c is cluster c.
struct LastRoundArguments {
  StreamKSchedule schedule;
  uint32_t* computed;  ///< [pieces, k_blocks]: how often
  uint32_t* by;        ///< the same: the cluster that did so last
  uint32_t* written;   ///< [pieces]
  uint32_t* empty;     ///< [1]: parts without a K block, whose loop the kernel could not count down
};

__global__ void last_round_kernel(LastRoundArguments args) {
  const uint32_t cluster = threadIdx.x;
  const StreamKSchedule& schedule = args.schedule;
  schedule.for_each_part(cluster, [&](const PiecePart& part) {
    if (part.first >= part.end) atomicAdd(args.empty, 1);
    for (uint32_t block = part.first; block < part.end; ++block) {
      const uint32_t i = part.piece * schedule.k_blocks + block;
      atomicAdd(&args.computed[i], 1);
      atomicExch(&args.by[i], cluster);  // a wrong schedule is counted, and no race
    }
  });
  schedule.for_each_output_piece(cluster,
                                 [&](uint32_t piece) { atomicAdd(&args.written[piece], 1); });
}

/// Prints the parts of the last round's first pieces, as the device has marked them.
void print_parts(const StreamKSchedule& schedule, const std::vector<uint32_t>& by) {
  constexpr uint32_t kShown = 4;
  for (uint32_t i = 0; i < min_of(schedule.split, kShown); ++i) {
    const uint32_t piece = schedule.whole + i;
    std::printf("piece    %u:", piece);
    const uint32_t* row = by.data() + piece * schedule.k_blocks;
    for (uint32_t begin = 0, end = 0; begin < schedule.k_blocks; begin = end) {
      while (end < schedule.k_blocks && row[end] == row[begin]) ++end;
      std::printf(" cluster %u: K blocks %u to %u;", row[begin], begin, end - 1);
    }
    std::printf("\n");
  }
}

ExitStatus run(int64_t pieces, int64_t clusters, int64_t k_blocks, bool shows) {
  constexpr int64_t kMostClusters = 256, kMostPieces = 4096, kMostBlocks = 1024;
  require(pieces >= 1 && pieces <= kMostPieces, "--pieces ", pieces, ": give 1 to ", kMostPieces,
          ".");
  require(clusters >= 1 && clusters <= kMostClusters, "--clusters ", clusters, ": give 1 to ",
          kMostClusters, ".");
  require(k_blocks >= 1 && k_blocks <= kMostBlocks, "--k-blocks ", k_blocks, ": give 1 to ",
          kMostBlocks, ".");
  print_machine();
  const StreamKSchedule schedule =
      make_stream_k_schedule(static_cast<uint32_t>(pieces), static_cast<uint32_t>(clusters),
                             static_cast<uint32_t>(k_blocks));
  if (shows) {
    std::printf("rounds   %u pieces whole, %u divided\n", schedule.whole, schedule.split);
    std::printf("owners   %u, each keeps %u of %u K blocks\n", schedule.split, schedule.owned,
                schedule.k_blocks);
    std::printf("helpers  %u share the other %u\n", schedule.helpers,
                schedule.split * schedule.helped());
  }
  DeviceBuffer<uint32_t> computed(pieces * k_blocks), by(pieces * k_blocks), written(pieces),
      empty(1);
  computed.fill_bytes(0);
  by.fill_bytes(0);
  written.fill_bytes(0);
  empty.fill_bytes(0);
  const float milliseconds = run_timed(
      last_round_kernel, {.ctas = 1, .threads = static_cast<uint32_t>(clusters), .shared_bytes = 0},
      LastRoundArguments{schedule, computed.data(), by.data(), written.data(), empty.data()});
  if (shows) print_parts(schedule, by.download());
  print_cycles(milliseconds);

  const auto counted = [](const std::vector<uint32_t>& counts, int64_t columns, double expected) {
    return compare_elements(
        static_cast<int64_t>(counts.size()) / columns, columns,
        [&](int64_t i) { return counts[i]; }, [&](int64_t) { return expected; },
        [](int64_t) { return 0.0; });
  };
  const Comparison outputs = counted(written.download(), 1, 1);
  if (!outputs.verified()) return print_verdict(outputs, "written");
  const Comparison blocks = counted(computed.download(), k_blocks, 1);
  if (!blocks.verified()) return print_verdict(blocks, "computed");
  const Comparison parts = counted(empty.download(), 1, 0);
  if (!parts.verified()) return print_verdict(parts, "parts without a K block");
  return print_verdict(blocks, "computed");
}

}  // namespace bw::hopper::lab

int main(int argc, char** argv) {
  int64_t pieces = 176, clusters = 66, k_blocks = 56;
  bool shows = false;
  bw::CommandLine command_line("The last round of pieces, divided along K; each K block once.");
  command_line.add("pieces", pieces, "pieces of the output");
  command_line.add("clusters", clusters, "clusters at work");
  command_line.add("k-blocks", k_blocks, "K blocks of a piece");
  command_line.add_flag("show", shows, "print who computes what");
  return bw::run_main(command_line, "lab_06_last_round", argc, argv,
                      [&] { return bw::hopper::lab::run(pieces, clusters, k_blocks, shows); });
}
