/// \file
/// What a scale costs in accuracy. On the host, without a kernel: the same numbers rounded to FP8
/// with an fp32 scale for 128 of them (chapter 4), and to the tensor core's own formats, whose
/// scales have eight bits and belong to 32 or to 16 numbers.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <vector>

#include "common/host/block_scaled_matrix.hpp"
#include "common/host/narrow_formats.hpp"
#include "common/host/program.hpp"
#include "common/host/random_normal.hpp"

namespace bw {
namespace {

constexpr int64_t kRows = 64, kColumns = 1024, kSize = kRows * kColumns;

/// The numbers that are rounded: normal, and every hundredth of them possibly `outlier` times as
/// large.
class Data {
 public:
  explicit Data(float outlier) : outlier_(outlier) {}
  /// Whether a number is enlarged.
  [[nodiscard]] bool is_outlier(int64_t i) const {
    constexpr float kOneInAHundred = 2.576f;  // of normal numbers are larger
    return outlier_ != 1 && std::fabs(chance_(i)) > kOneInAHundred;
  }
  /// The number, rounded to bf16 as the quantisers do.
  [[nodiscard]] double value(int64_t i) const { return to_float(to_bf16(raw(i))); }
  /// The number as a quantiser reads it.
  [[nodiscard]] float raw(int64_t i) const { return normal_(i) * (is_outlier(i) ? outlier_ : 1); }

 private:
  float outlier_;
  RandomNormal normal_{1, 0}, chance_{1, 1};
};

/// A number after rounding, and the scale that its code is multiplied by.
struct Rounded {
  double value;
  double scale;
};

std::vector<Rounded> through_chapter_4(const ElementSource& source) {
  const QuantisedMatrix matrix = quantise_1x128(kRows, kColumns, source);
  std::vector<Rounded> rounded;
  for (int64_t i = 0; i < kSize; ++i) {
    const int64_t row = i / kColumns, block = i % kColumns / kScaleBlock;
    const double scale = matrix.scales[block * matrix.scales_stride + row];
    rounded.push_back({to_float(matrix.values[i]) * scale, scale});
  }
  return rounded;
}

std::vector<Rounded> through(BlockFormat format, ScaleRounding rounding,
                             const ElementSource& source) {
  const BlockScaledMatrix matrix = quantise_block_scaled(format, kRows, kColumns, source, rounding);
  std::vector<Rounded> rounded;
  for (int64_t i = 0; i < kSize; ++i) {
    const int64_t row = i / kColumns, column = i % kColumns;
    const double scale = matrix.scale(row, column / scale_block(format)) * matrix.factor;
    rounded.push_back({matrix.element(row, column) * scale, scale});
  }
  return rounded;
}

/// A way to round, and the bits of a number with its share of the scale.
struct Recipe {
  const char* name;
  int element_bits;
  double bits;
  std::function<std::vector<Rounded>(const ElementSource&)> round;
};

std::vector<Recipe> recipes() {
  const auto block_scaled = [](BlockFormat format, ScaleRounding rounding) {
    return [=](const ElementSource& source) { return through(format, rounding, source); };
  };
  using enum BlockFormat;
  using enum ScaleRounding;
  return {{"e4m3, fp32 for 128", 8, 8 + 32.0 / 128, through_chapter_4},
          {"e4m3, ue8m0 for 32", 8, 8 + 8.0 / 32, block_scaled(kMxfp8, kUp)},
          {"  by OCP's recipe", 8, 8 + 8.0 / 32, block_scaled(kMxfp8, kDown)},
          {"e2m1, ue8m0 for 32", 4, 4 + 8.0 / 32, block_scaled(kMxfp4, kUp)},
          {"  by OCP's recipe", 4, 4 + 8.0 / 32, block_scaled(kMxfp4, kDown)},
          {"e2m1, ue4m3 for 16", 4, 4 + 8.0 / 16, block_scaled(kNvfp4, kUp)}};
}

/// sqrt(Σ error² / Σ value²) of the numbers that `counts` names.
template <class Counts>
double relative_rms(const Data& data, const std::vector<Rounded>& rounded, const Counts& counts) {
  double error_squares = 0, squares = 0;
  for (int64_t i = 0; i < kSize; ++i) {
    if (!counts(i)) continue;
    const double error = rounded[i].value - data.value(i);
    error_squares += error * error;
    squares += data.value(i) * data.value(i);
  }
  return std::sqrt(error_squares / squares);
}

/// All finite values of elements of this many bits.
std::vector<double> element_values(int bits) {
  std::vector<double> values;
  for (int code = 0; code < 1 << bits; ++code) {
    const auto byte = static_cast<uint8_t>(code);
    const double value = bits == 4 ? to_float(Fp4E2m1{byte}) : to_float(Fp8E4m3{byte});
    if (std::isfinite(value)) values.push_back(value);
  }
  return values;
}

/// Each number's error must be the smallest that any code has with the number's scale: found by
/// trying them all. The quantisers divide in fp32, which moves a tie by a few units of 2^-24.
Comparison check(const Recipe& recipe, const Data& data, const std::vector<Rounded>& rounded) {
  constexpr double kDivision = 0x1p-22;
  const std::vector<double> values = element_values(recipe.element_bits);
  const auto smallest = [&](int64_t i) {
    double least = std::fabs(data.value(i));
    for (const double value : values) {
      least = std::fmin(least, std::fabs(value * rounded[i].scale - data.value(i)));
    }
    return least;
  };
  return compare_elements(
      kRows, kColumns, [&](int64_t i) { return std::fabs(rounded[i].value - data.value(i)); },
      smallest, [&](int64_t i) { return kDivision * std::fabs(data.value(i)); });
}

ExitStatus run_scale_accuracy() {
  constexpr float kOutlier = 30;
  const Data normal(1), outliers(kOutlier);
  Comparison all;
  std::printf("format                  bits   normal   next to outliers   became 0\n");
  for (const Recipe& recipe : recipes()) {
    double figures[2] = {};
    double zeros = 0;
    for (const Data* data : {&normal, &outliers}) {
      const auto element = [&](int64_t row, int64_t column) {
        return data->raw(row * kColumns + column);
      };
      const std::vector<Rounded> rounded = recipe.round(element);
      const auto is_ordinary = [&](int64_t i) { return !data->is_outlier(i); };
      figures[data == &outliers] = relative_rms(*data, rounded, is_ordinary);
      zeros =
          100.0 *
          static_cast<double>(std::count_if(rounded.begin(), rounded.end(),
                                            [](const Rounded& one) { return one.value == 0; })) /
          kSize;
      const Comparison comparison = check(recipe, *data, rounded);
      if (!comparison.verified()) return report(comparison, recipe.name);
      all.elements += comparison.elements;
    }
    std::printf("%-22s %5.2f   %.4f   %16.4f   %6.1f %%\n", recipe.name, recipe.bits, figures[0],
                figures[1], zeros);
  }
  return print_verdict(all, "the rounding");
}

}  // namespace
}  // namespace bw

int main(int argc, char** argv) {
  const bw::CommandLine command_line("What scales of 32 and of 8 bits cost in accuracy.");
  return bw::run_main(command_line, "lab_07_scale_accuracy", argc, argv,
                      [] { return bw::run_scale_accuracy(); });
}
