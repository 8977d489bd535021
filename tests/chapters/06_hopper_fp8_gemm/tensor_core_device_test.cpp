/// \file
/// The model of the tensor cores compared with a GPU: single wgmma steps, and whole matrices.
#include <algorithm>
#include <bit>
#include <cstdio>
#include <initializer_list>
#include <iterator>
#include <vector>

#include "common/host/parallel_for.hpp"
#include "common/host/tensor_core_element.hpp"
#include "common/host/tensor_core_sum.hpp"
#include "tests/chapters/06_hopper_fp8_gemm/hopper_testing.hpp"
#include "tests/gpu_reference/mma_steps.hpp"
#include "tests/gpu_reference/tensor_core_arithmetic.hpp"

namespace bw {
namespace {

class TensorCores : public HopperTest {};

constexpr int kTileElements = MmaTiles::kRows * MmaTiles::kColumns;

/// Parts of K that end at these K blocks, and one more.
KParts parts_at(std::initializer_list<int64_t> ends) {
  KParts parts;
  for (const int64_t end : ends) parts.split_at(end);
  return parts;
}

bool same_bits(float x, float y) {
  return std::bit_cast<uint32_t>(x) == std::bit_cast<uint32_t>(y);
}

/// Counts the steps of a tile for which `predict(a, b, accumulator)` is not the GPU's result.
template <class Predict>
int count_different(const MmaTiles& tiles, const MmaResults& results, int tile, int every,
                    const Predict& predict) {
  int different = 0;
  for (int i = tile % every; i < kTileElements; i += every) {
    const int row = i / MmaTiles::kColumns, column = i % MmaTiles::kColumns;
    for (int step = 0; step < MmaTiles::kSteps; ++step) {
      const auto after = [&](int s) {
        return results.after[(int64_t{tile} * MmaTiles::kSteps + s) * kTileElements + i];
      };
      const float before =
          step == 0 ? tiles.initial[int64_t{tile} * kTileElements + i] : after(step - 1);
      const float predicted =
          predict(tiles.a_step(tile, row, step), tiles.b_step(tile, column, step), before);
      different += !same_bits(predicted, after(step));
    }
  }
  return different;
}

TEST_F(TensorCores, EveryStepIsBitForBitTheModels) {
  const int count = by_device(240, 12);  // of 16,384 steps each
  const MmaTiles tiles = random_mma_tiles(count, /*seed=*/7);
  const MmaResults results = run_mma_steps(tiles);
  std::vector<int> different(count);
  parallel_for(count, [&](int64_t tile) {
    different[tile] = count_different(tiles, results, static_cast<int>(tile), 1,
                                      [](auto a, auto b, float accumulator) {
                                        return tensor_core_step(a.data(), b.data(), accumulator);
                                      });
  });
  for (int tile = 0; tile < count; ++tile) EXPECT_EQ(different[tile], 0) << "tile " << tile;
}

TEST_F(TensorCores, AGroupOfStepsIsTheStepsOneAfterTheOther) {
  const int count = by_device(240, 12);
  const MmaResults results = run_mma_steps(random_mma_tiles(count, /*seed=*/8));
  int different = 0;
  for (int tile = 0; tile < count; ++tile) {
    const float* last =
        &results.after[(int64_t{tile} * MmaTiles::kSteps + MmaTiles::kSteps - 1) * kTileElements];
    for (int i = 0; i < kTileElements; ++i) {
      different += !same_bits(results.chained[int64_t{tile} * kTileElements + i], last[i]);
    }
  }
  EXPECT_EQ(different, 0);
}

TEST_F(TensorCores, NoOtherArithmeticDoes) {
  constexpr int kEvery = 16;
  const int count = by_device(240, 48);
  const MmaTiles tiles = random_mma_tiles(count, /*seed=*/9);
  const MmaResults results = run_mma_steps(tiles);
  const std::vector<NamedArithmetic> candidates = tensor_core_candidates();
  std::vector<int> different(candidates.size() * count);
  parallel_for(count, [&](int64_t tile) {
    for (size_t c = 0; c < candidates.size(); ++c) {
      different[c * count + tile] = count_different(
          tiles, results, static_cast<int>(tile), kEvery, [&](auto a, auto b, float accumulator) {
            return candidates[c].arithmetic.step(a, b, accumulator);
          });
    }
  });
  const int steps = count * kTileElements / kEvery * MmaTiles::kSteps;
  for (size_t c = 0; c < candidates.size(); ++c) {
    int total = 0;
    for (int tile = 0; tile < count; ++tile) total += different[c * count + tile];
    std::printf("%-50s %7d of %d steps differ\n", candidates[c].name.c_str(), total, steps);
    if (c == 0) {
      EXPECT_EQ(total, 0);
    } else {
      EXPECT_GT(total, 0) << candidates[c].name;
    }
  }
}

TEST_F(TensorCores, TheDevicesModelOfTheGemmIsTheHosts) {
  const BlockwiseProblem problem =
      make_blockwise_problem(65, 136, 1040, 0.5f, /*seed=*/2, Fill::kNormal);
  const DeviceProblem on_device(problem);
  for (const KParts& parts : {KParts(), equal_k_parts(problem.k, 4), parts_at({1, 6, 7})}) {
    const std::vector<Bf16> d = tensor_core_model(on_device.arguments(), parts).download();
    for (int64_t i = 0; i < static_cast<int64_t>(d.size()); ++i) {
      ASSERT_EQ(d[i], tensor_core_element(problem, i / problem.n, i % problem.n, parts)) << i;
    }
  }
}

TEST_F(TensorCores, TheModelOfAWindowChangesNothingElse) {
  const BlockwiseProblem problem =
      make_blockwise_problem(65, 136, 1040, 0.5f, /*seed=*/2, Fill::kNormal);
  const DeviceProblem on_device(problem);
  const hopper::OutputWindow windows[] = {{33, 50, 19, 40}, {60, 130, 128, 192}};
  DeviceBuffer<Bf16> d = tensor_core_model(on_device.arguments());
  const KParts parts = parts_at({1, 6, 7});
  for (const hopper::OutputWindow& window : windows) {
    overwrite_with_model(on_device.arguments(), parts, window, d);
  }
  const std::vector<Bf16> found = d.download();
  for (int64_t i = 0; i < static_cast<int64_t>(found.size()); ++i) {
    const int64_t row = i / problem.n, column = i % problem.n;
    const bool is_inside = std::any_of(
        std::begin(windows), std::end(windows),
        [&](const hopper::OutputWindow& window) { return window.contains(row, column); });
    ASSERT_EQ(found[i], tensor_core_element(problem, row, column, is_inside ? parts : KParts()))
        << row << ", " << column;
  }
}

TEST_F(TensorCores, TheComparisonWithTheModelSeesEveryKindOfElement) {
  const BlockwiseProblem problem =
      make_blockwise_problem(64, 128, 256, 0, /*seed=*/3, Fill::kNormal);
  const DeviceProblem on_device(problem);
  const DeviceReference reference = float64_reference(on_device.arguments());
  DeviceBuffer<Bf16> model = tensor_core_model(on_device.arguments());
  std::vector<Bf16> d = model.download();
  const auto compare = [&] {
    return compare_with_model(DeviceBuffer<Bf16>(d).data(), problem.n, model, reference);
  };
  EXPECT_EQ(compare().different, 0);
  EXPECT_EQ(compare().outside, 0);
  const uint16_t of_model = d[100].bits;
  d[100].bits = static_cast<uint16_t>(of_model ^ 1);  // a unit in the last place
  EXPECT_EQ(compare().different, 1);
  d[100].bits = of_model;
  d[200].bits = 0xffff;  // NaN
  EXPECT_EQ(compare().different, 1);
  EXPECT_EQ(compare().outside, 1);
  EXPECT_EQ(compare().unexplained, 1);
  EXPECT_EQ(compare().model_outside, 0);
  EXPECT_FALSE(compare().verified());
  model = DeviceBuffer<Bf16>(d);  // the model has the same elements now
  EXPECT_EQ(compare().different, 0);
  EXPECT_EQ(compare().outside, 1);
  EXPECT_EQ(compare().unexplained, 0);
  EXPECT_EQ(compare().model_outside, 1);
  EXPECT_TRUE(compare().verified());
  d[300].bits = 0xffff;
  model = DeviceBuffer<Bf16>(d);
  EXPECT_EQ(compare().unexplained, 0);
  EXPECT_FALSE(compare().verified());  // two of 8192 are too many
}

}  // namespace
}  // namespace bw
