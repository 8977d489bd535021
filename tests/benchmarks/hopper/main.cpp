/// \file
/// Measures the chip's floor and compares the Hopper GEMM with cuBLASLt's blockwise-scaled FP8
/// matmul. Exit status: 0, or 2 for bad input, a wrong result or a failure on the way.

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "common/host/hopper_device.hpp"
#include "common/host/program.hpp"
#include "solutions/06_hopper_fp8_gemm/hopper_fp8_gemm.hpp"
#include "tests/benchmarks/hopper/grid_report.hpp"
#include "tests/benchmarks/hopper/report.hpp"

namespace {

struct BenchOptions {
  const char* shapes = "standard";
  double residual = 0;
  const char* config = "auto";
  int64_t repeats = 30;
  int64_t seed = 1;
  int parts = 0;   ///< index into kParts
  int timing = 2;  ///< index into kTimings
  const char* output_dir = "hopper_bench";
  const char* peer = "";  ///< path of a table; empty: none

  bool measures_floor() const { return parts == 0 || parts == 1; }
  bool compares() const { return parts == 0 || parts == 2; }
  bool measures_grid() const { return parts == 3; }
};
const std::vector<const char*> kParts = {"all", "floor", "comparison", "grid"};
const std::vector<const char*> kTimings = {"single", "queued", "both"};
static_assert(static_cast<int>(bw::Timing::kSingle) == 0 &&
                  static_cast<int>(bw::Timing::kQueued) == 1 &&
                  static_cast<int>(bw::Timing::kBoth) == 2,
              "the option's choices are in the order of the enumerators");

void print_comparison(const char* timing, const bw::ContestResult& result,
                      const bw::TimePair& comparison) {
  const auto tflops = [&](const bw::MedianTime& time) {
    return result.shape.flops() / time.microseconds * 1e-6;
  };
  std::printf("    %-7s %8.1f us %6.0f TFLOP/s (spread %.1f %%)", timing,
              comparison.ours.microseconds, tflops(comparison.ours), 100 * comparison.ours.spread);
  if (result.has_peer()) {
    std::printf(" | cuBLASLt %8.1f us %6.0f TFLOP/s (spread %.1f %%, algorithm %d of %d) | %.3f",
                comparison.peer.microseconds, tflops(comparison.peer), 100 * comparison.peer.spread,
                comparison.peer_algorithm, result.peer_algorithms + result.peer_failures,
                comparison.ratio());
  }
  std::printf("\n");
}

void print_result(const bw::ContestResult& result) {
  std::printf("%-18s %-16s error %.3e", result.shape.name().c_str(), result.config.c_str(),
              result.our_error);
  if (result.has_peer()) {
    std::printf(", cuBLASLt's %.3e\n", result.peer_error);
  } else {
    std::printf(", cuBLASLt finds no algorithm for this shape\n");
  }
  if (result.single) print_comparison("single", result, *result.single);
  if (result.graph && result.has_peer()) print_comparison("graph", result, *result.graph);
  if (result.queued) print_comparison("queued", result, *result.queued);
  for (const bw::ConfigTime& config : result.all_configs) {
    std::printf("        %-24s %8.1f us\n", config.name.c_str(), config.microseconds);
  }
  std::fflush(stdout);
}

void write_file(const std::filesystem::path& path, const std::string& text) {
  std::ofstream file(path);
  file << text;
  file.close();
  bw::require(file.good(), "Could not write ", path.string(),
              "; give a folder that can be written with --output-dir.");
  std::printf("written  %s\n", path.c_str());
}

void validate(const BenchOptions& options) {
  constexpr int64_t kMostRepeats = 10000;
  bw::require(options.repeats >= 1 && options.repeats <= kMostRepeats, "--repeats is ",
              options.repeats, "; give 1 to 10000.");
  bw::require(std::isfinite(static_cast<float>(options.residual)), "--residual ", options.residual,
              " is not an fp32 number.");
  const std::string config = options.config;
  if (config != "auto" && config != "all") {
    static_cast<void>(bw::hopper::find_gemm_choice(config));
  }
}

/// Measures every shape of the grid, prints a line for each and writes the tables.
bw::ExitStatus run_grid(const std::vector<bw::GridMatrix>& grid, const bw::ContestOptions& contest,
                        const std::filesystem::path& folder,
                        const std::optional<bw::PeerTimes>& peer) {
  std::vector<bw::GridResult> results;
  std::printf("%s\n", bw::grid_row_header().c_str());
  for (const bw::GridMatrix& matrix : grid) {
    bw::measure_matrix(matrix, contest, [&](const bw::GridResult& result) {
      std::printf("%s\n", bw::grid_row(result).c_str());
      std::fflush(stdout);
      results.push_back(result);
    });
  }
  if (peer) std::printf("\n%s", bw::grid_peer_text(results, *peer).c_str());
  std::printf("\n%s\n", bw::grid_summary(results).c_str());
  const bw::MachineInfo machine = bw::read_machine_info();
  write_file(folder / "results_grid.csv", bw::grid_csv(results, contest.beta, machine));
  if (contest.config == "all") {
    write_file(folder / "results_grid_configs.csv",
               bw::grid_configs_csv(results, contest.beta, machine));
  }
  return bw::kVerified;
}

bw::ExitStatus run_bench(const BenchOptions& options) {
  validate(options);
  const std::vector<bw::Shape> shapes = bw::parse_shapes(options.shapes);
  std::optional<bw::PeerTimes> peer;
  if (*options.peer != '\0') {
    bw::require(options.measures_grid(), "--peer is for --parts grid; leave it out here.");
    peer.emplace(bw::CsvTable::read(options.peer));
  }
  bw::require_hopper();
  bw::print_machine();
  const std::filesystem::path folder(options.output_dir);
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  bw::require(!error, "Could not make the folder ", folder.string(), ": ", error.message(),
              ". Give another one with --output-dir.");

  bw::ContestOptions contest;
  contest.beta = options.residual;
  contest.config = options.config;
  contest.repeats = static_cast<int>(options.repeats);
  contest.seed = static_cast<uint64_t>(options.seed);
  contest.timing = static_cast<bw::Timing>(options.timing);
  if (options.measures_grid()) {
    return run_grid(
        std::string(options.shapes) == "standard" ? bw::standard_grid() : bw::grid_of(shapes),
        contest, folder, peer);
  }

  bw::Floor floor{};
  if (options.measures_floor()) {
    floor = bw::measure_floor();
    const std::string text = bw::floor_markdown(floor);
    std::printf("\n%s\n", text.c_str());
    std::fflush(stdout);
    write_file(folder / "floor.md", text);
  }
  if (!options.compares()) return bw::kVerified;

  bw::Results results;
  results.floor = floor;
  results.machine = bw::read_machine_info();
  results.empty = bw::time_empty_launch(contest);
  std::printf("%s\n", bw::empty_launch_text(results.empty).c_str());
  for (const bw::Shape& shape : shapes) {
    results.shapes.push_back(bw::hold_contest(shape, contest));
    print_result(results.shapes.back());
  }
  const std::string table = bw::results_markdown(results);
  std::printf("\n%s\n", table.c_str());
  const std::string name = options.residual == 0 ? "results" : "results_residual";
  write_file(folder / (name + ".md"), table);
  write_file(folder / (name + ".csv"), bw::results_csv(results));
  write_file(folder / (name + ".svg"), bw::results_chart(results));
  return bw::kVerified;
}

}  // namespace

int main(int argc, char** argv) {
  BenchOptions options;
  bw::CommandLine command_line(
      "Measures what the chip can do at most (FP8 wgmma, memory, TMA), then compares the Hopper\n"
      "GEMM with cuBLASLt's blockwise-scaled FP8 matmul: on the same inputs, verified first.");
  command_line.add("shapes", options.shapes, "MxNxK,MxNxK,... or: standard");
  command_line.add("residual", options.residual, "beta: D = A * B^T + beta * C for both; 0: no C");
  command_line.add("config", options.config,
                   "a configuration's name, auto (the host API's choice), or all (times each)");
  command_line.add("timing", options.timing, kTimings,
                   "single: each launch alone between its events, cuBLASLt's also from a graph; "
                   "queued: in turn, after a waiting kernel: device time only");
  command_line.add("repeats", options.repeats,
                   "timed launches of each contestant, by each way of timing");
  command_line.add("seed", options.seed, "seed of the random inputs");
  command_line.add("parts", options.parts, kParts, "what to do");
  command_line.add("peer", options.peer,
                   "with --parts grid: a table of another library's times, measured beside "
                   "cuBLASLt's (m,n,k,NAME_warm_us,NAME_cold_us,cublaslt_warm_us,"
                   "cublaslt_cold_us); prints the ratios to it");
  command_line.add("output-dir", options.output_dir, "folder for tables and plot");
  return bw::run_main(command_line, "hopper_bench", argc, argv, [&] { return run_bench(options); });
}
