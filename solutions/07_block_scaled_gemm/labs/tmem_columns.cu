/// \file
/// New: tensor memory as a budget. How many accumulators and sets of scales fit into 512 columns,
/// for tiles of four widths in three formats; computed, as the chapter's kernel computes it, at
/// compile time. No kernel runs.

#include <array>
#include <cstdio>

#include "common/host/program.hpp"
#include "solutions/07_block_scaled_gemm/block_scaled_tmem.cuh"

namespace bw {
namespace {

constexpr int kColumns = 512;
constexpr int kStages = 4;  ///< of the input ring

/// How often each column is used by an accumulator, and by scales.
struct Use {
  std::array<int, kColumns> accumulators{}, scales{};
};

template <class Tmem>
Use use_of() {
  Use use;
  const auto mark = [](std::array<int, kColumns>& columns, int first, int count) {
    for (int column = first; column < first + count; ++column) ++columns.at(column);
  };
  const int accumulators = Tmem::kOverlaps ? 2 : Tmem::kNumAccumulators;
  for (int i = 0; i < accumulators; ++i) {
    mark(use.accumulators,
         Tmem::kOverlaps ? i * Tmem::kSecondAccumulator : i * Tmem::kAccumulatorColumns,
         Tmem::kAccumulatorColumns);
  }
  for (int set = 0; set < Tmem::kNumSets; ++set) {
    mark(use.scales, Tmem::kScalesBegin + set * Tmem::kSetColumns, Tmem::kSetColumns);
  }
  return use;
}

/// Prints a plan. Its columns are counted one by one: scales share none, and accumulators share as
/// many as the plan says.
template <BlockFormat format, int mma_n, AccumulatorPlan plan>
void show(const char* name, Comparison& all) {
  // Tiles of 192 columns begin in the middle of an atom of B's scales every other time.
  constexpr int kParts = (mma_n + kScaleAtomRows - 1) / kScaleAtomRows;
  constexpr BlockScaledTraits kTraits{
      .format = format, .gemm = {.mma_m = 128, .mma_n = mma_n}, .accumulators = plan};
  using Tmem = BlockScaledTmem<kTraits, kParts, kStages>;
  const Use use = use_of<Tmem>();
  int used = 0, shared = 0, clashes = 0;
  for (int column = 0; column < kColumns; ++column) {
    const int accumulators = use.accumulators[column], scales = use.scales[column];
    used += accumulators + scales > 0 ? 1 : 0;
    shared += accumulators > 1 ? 1 : 0;
    clashes += scales > 1 || (scales > 0 && accumulators > 0) ? 1 : 0;
  }
  std::printf("%-6s %4d   %12d   %15d   %4d   %6d   %6d\n", name, mma_n,
              Tmem::kOverlaps ? 2 : Tmem::kNumAccumulators, Tmem::kSetColumns, Tmem::kNumSets,
              shared, kColumns - used);
  constexpr int kFigures = 2;
  const int found[kFigures] = {clashes, shared}, expected[kFigures] = {0, Tmem::kSharedColumns};
  const Comparison plan_is_right = compare_elements(
      1, kFigures, [&](int64_t i) { return found[i]; }, [&](int64_t i) { return expected[i]; },
      [](int64_t) { return 0.0; });
  all.elements += plan_is_right.elements;
  all.bad_elements += plan_is_right.bad_elements;
  if (!all.first_bad) all.first_bad = plan_is_right.first_bad;
}

template <BlockFormat format>
void show_format(const char* name, Comparison& all) {
  show<format, 64, AccumulatorPlan::kRing>(name, all);
  show<format, 128, AccumulatorPlan::kRing>(name, all);
  show<format, 192, AccumulatorPlan::kRing>(name, all);
  show<format, 256, AccumulatorPlan::kRing>(name, all);
  show<format, 256, AccumulatorPlan::kOverlapping>(name, all);
}

ExitStatus run_tmem_columns() {
  std::printf("format    N   accumulators   columns of a set   sets   shared   unused\n");
  Comparison all;
  show_format<BlockFormat::kMxfp8>("mxfp8", all);
  show_format<BlockFormat::kMxfp4>("mxfp4", all);
  show_format<BlockFormat::kNvfp4>("nvfp4", all);
  return print_verdict(all, "the columns");
}

}  // namespace
}  // namespace bw

int main(int argc, char** argv) {
  const bw::CommandLine command_line("What fits into the 512 columns of tensor memory.");
  return bw::run_main(command_line, "lab_07_tmem_columns", argc, argv,
                      [] { return bw::run_tmem_columns(); });
}
