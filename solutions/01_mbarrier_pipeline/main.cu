/// \file
/// Sums the columns of a matrix that streams through pipelines of 1 to 8 stages; verifies the sums
/// and prints what each stage count costs.
/// Exit status: 0 verified, 1 wrong result, 2 bad input or a failure on the way.

#include <array>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "common/device/min_max.cuh"
#include "common/host/blockwise_problem.hpp"
#include "common/host/ceil_div.hpp"
#include "common/host/device_buffer.hpp"
#include "common/host/program.hpp"
#include "common/host/tensor_map.hpp"
#include "common/host/timed_launch.hpp"
#include "solutions/01_mbarrier_pipeline/column_sums.hpp"
#include "solutions/01_mbarrier_pipeline/column_sums_kernel.cuh"

namespace {

constexpr int kMaxStages = 8;
const std::vector<const char*> kStageNames = {"all", "1", "2", "3", "4", "5", "6", "7", "8"};
const std::vector<const char*> kProduceNames = {"plain", "bulk", "tensor"};

struct ProgramOptions {
  int64_t rows = 1024;
  int64_t columns = 1024;
  int stages = 0;   ///< 0: all
  int produce = 2;  ///< index into kProduceNames
  int64_t runs = 2;
  int64_t seed = 1;
};

/// A kernel of a stage count, and the shared memory it takes.
struct StreamKernel {
  void (*entry)(bw::ColumnSumArguments);
  uint32_t shared_bytes;
};

/// The kernels of one way to copy; index = stages - 1.
template <class Copy, int... index>
std::array<StreamKernel, kMaxStages> kernels_of(std::integer_sequence<int, index...>) {
  return {StreamKernel{bw::column_sums_kernel<index + 1, Copy>,
                       sizeof(bw::StreamStorage<index + 1>)}...};
}

StreamKernel find_kernel(int produce, int stages) {
  constexpr std::make_integer_sequence<int, kMaxStages> kIndices;
  static const std::array<StreamKernel, kMaxStages> kKernels[] = {
      kernels_of<bw::PlainCopy>(kIndices), kernels_of<bw::BulkCopy>(kIndices),
      kernels_of<bw::TensorCopy>(kIndices)};
  return kKernels[produce][stages - 1];
}

/// What the runs with one stage count give; times are those of the fastest run.
struct Run {
  int stages = 0;
  std::vector<float> sums;
  uint64_t cycles = std::numeric_limits<uint64_t>::max();  ///< of the slowest CTA
  float milliseconds = std::numeric_limits<float>::infinity();
};

class Stream {
 public:
  Stream(const ProgramOptions& options, const std::vector<float>& matrix)
      : options_(options),
        ctas_(bw::ceil_div(options.columns, bw::kTileColumns)),
        matrix_(matrix),
        sums_(options.columns),
        cycles_(ctas_) {
    arguments_.map = bw::make_tensor_map({.name = "to sum",
                                          .data = matrix_.data(),
                                          .type = CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
                                          .element_bytes = sizeof(float),
                                          .inner = static_cast<uint64_t>(options.columns),
                                          .outer = static_cast<uint64_t>(options.rows),
                                          .stride_bytes = options.columns * sizeof(float),
                                          .box_inner = bw::kTileColumns,
                                          .box_outer = bw::kTileRows,
                                          .swizzle = CU_TENSOR_MAP_SWIZZLE_NONE});
    arguments_.matrix = matrix_.data();
    arguments_.rows = static_cast<uint32_t>(options.rows);
    arguments_.columns = static_cast<uint32_t>(options.columns);
    arguments_.sums = sums_.data();
    arguments_.cycles = cycles_.data();
  }

  Run run(int stages) {
    constexpr int kPoisonByte = 0xff;  // every float a NaN
    const StreamKernel kernel = find_kernel(options_.produce, stages);
    const bw::LaunchShape shape{static_cast<uint32_t>(ctas_), bw::StreamRoles::kThreads,
                                kernel.shared_bytes};
    Run run;
    run.stages = stages;
    for (int64_t i = 0; i < options_.runs; ++i) {
      sums_.fill_bytes(kPoisonByte);
      run.milliseconds =
          bw::min_of(run.milliseconds, bw::run_timed(kernel.entry, shape, arguments_));
      run.cycles = bw::min_of(run.cycles, bw::most_cycles(cycles_.download()));
    }
    run.sums = sums_.download();
    return run;
  }

 private:
  ProgramOptions options_;
  int64_t ctas_;
  bw::DeviceBuffer<float> matrix_, sums_;
  bw::DeviceBuffer<uint64_t> cycles_;
  bw::ColumnSumArguments arguments_{};
};

/// FNV-1a over the bits of the sums: tells whether two machines got the very same numbers.
uint64_t hash_bits(const std::vector<float>& values) {
  constexpr uint64_t kOffsetBasis = 0xcbf29ce484222325u, kPrime = 0x100000001b3u;
  uint64_t hash = kOffsetBasis;
  for (const float value : values) hash = (hash ^ std::bit_cast<uint32_t>(value)) * kPrime;
  return hash;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

/// Runs the wanted stage counts and prints a line of the table for each; their runs.
std::vector<Run> run_stage_counts(const ProgramOptions& options, const std::vector<float>& matrix) {
  const int first = options.stages == 0 ? 1 : options.stages;
  const int last = options.stages == 0 ? kMaxStages : options.stages;
  const double tiles = static_cast<double>(bw::ceil_div(options.rows, bw::kTileRows));
  Stream stream(options, matrix);
  std::vector<Run> runs;
  std::printf("stages     cycles  cycles/tile  speed-up  device us\n");
  for (int stages = first; stages <= last; ++stages) {
    runs.push_back(stream.run(stages));
    const double cycles = static_cast<double>(runs.back().cycles);
    std::printf("%6d %10.0f %12.0f %8.2fx %10.3f\n", stages, cycles, cycles / tiles,
                static_cast<double>(runs.front().cycles) / cycles, runs.back().milliseconds * 1e3);
  }
  return runs;
}

/// Refuses, before anything is allocated, what the kernels can't take.
void validate(const ProgramOptions& options) {
  constexpr int64_t kMaxExtent = (int64_t{1} << 31) - 256;  // TMA's coordinates are signed
  constexpr int64_t kColumnUnit = 4;                        // 16 bytes of fp32
  constexpr int64_t kMaxRuns = 1000;
  const auto check = [&](const char* name, int64_t extent) {
    bw::require(extent >= 1 && extent <= kMaxExtent, "--", name, " ", extent,
                ": it must lie between 1 and 2^31 - 256, the range of TMA's coordinates.");
  };
  check("rows", options.rows);
  check("columns", options.columns);
  bw::require(options.columns % kColumnUnit == 0, "--columns ", options.columns,
              ": bulk copies need rows that are a multiple of 16 bytes long: give a multiple of"
              " 4.");
  bw::require(options.runs >= 1 && options.runs <= kMaxRuns, "--runs ", options.runs,
              ": give 1 to ", kMaxRuns, ".");
  constexpr double kCopiesOfMatrix = 2;  // the host's and the device's
  bw::require_host_memory(kCopiesOfMatrix * sizeof(float) * static_cast<double>(options.rows) *
                          static_cast<double>(options.columns));
  bw::require_architecture(bw::kHopperOrNewer, "the bulk copies of this program need");
}

bw::ExitStatus run_program(const ProgramOptions& options) {
  validate(options);
  bw::print_machine();
  std::printf("shape    rows %lld, columns %lld, produce %s, seed %lld\n",
              static_cast<long long>(options.rows), static_cast<long long>(options.columns),
              kProduceNames[options.produce], static_cast<long long>(options.seed));
  const std::vector<float> matrix =
      bw::make_normal_matrix(options.rows, options.columns, static_cast<uint64_t>(options.seed));
  const bw::WallTimer wall;
  const std::vector<Run> runs = run_stage_counts(options, matrix);
  std::printf("time     wall %.3f s\n", wall.seconds());
  const std::vector<float> expected = bw::fp32_column_sums(matrix, options.rows, options.columns);
  const std::vector<float>& sums = runs.front().sums;
  std::printf("bits     %016llx\nexpected %016llx\n",
              static_cast<unsigned long long>(hash_bits(sums)),
              static_cast<unsigned long long>(hash_bits(expected)));
  for (const Run& run : runs) {
    if (same_bits(run.sums, expected)) continue;
    std::printf(
        "WRONG    %d stages: the sums' bits differ from those of the host's fp32 sums, though"
        " both add in one order\n",
        run.stages);
    return bw::kWrongResult;
  }
  const bw::ColumnSums reference = bw::reference_column_sums(matrix, options.rows, options.columns);
  return bw::report(bw::compare_elements(
                        1, options.columns, [&](int64_t i) { return sums[i]; },
                        [&](int64_t i) { return reference.sums[i]; },
                        [&](int64_t i) { return reference.allowed_error[i]; }),
                    "sums");
}

}  // namespace

int main(int argc, char** argv) {
  ProgramOptions options;
  bw::CommandLine command_line(
      "Column sums of an fp32 matrix that streams through a producer-consumer pipeline of tiles\n"
      "in shared memory, verified against float64.");
  command_line.add("rows", options.rows, "rows of the matrix");
  command_line.add("columns", options.columns, "columns of the matrix; a multiple of 4");
  command_line.add("stages", options.stages, kStageNames, "stages of the pipeline");
  command_line.add("produce", options.produce, kProduceNames,
                   "how tiles are copied: loads and stores, bulk copies of rows, or tensor copies");
  command_line.add("runs", options.runs, "runs per stage count; the fastest is printed");
  command_line.add("seed", options.seed, "seed of the random matrix");
  return bw::run_main(command_line, "01_mbarrier_pipeline", argc, argv,
                      [&] { return run_program(options); });
}
