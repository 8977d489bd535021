#pragma once
/// \file
/// Which configuration was the fastest for a shape, measured and remembered: the program's --tune.

#include <cstdint>
#include <string>
#include <vector>

#include "solutions/06_hopper_fp8_gemm/hopper_fp8_gemm.hpp"

namespace bw::hopper {

/// What a measurement is about.
struct TunedShape {
  std::string machine;  ///< the device's name; a comma is kept as a space
  int multiprocessors;  ///< of the device
  int64_t m;            ///< rows of A, C and D
  int64_t n;            ///< rows of B, columns of C and D
  int64_t k;            ///< columns of A and B
  bool has_residual;    ///< whether there is a C

  /// A shape on the current device. Throws Error for what CUDA reports.
  static TunedShape here(int64_t m, int64_t n, int64_t k, bool has_residual);
  bool operator==(const TunedShape& other) const = default;  ///< of the same measurement
};

/// A measurement.
struct TunedChoice {
  TunedShape shape;     ///< what was measured
  std::string config;   ///< the name of the fastest choice: configuration and launch order
  double microseconds;  ///< its time
};

/// Measurements of several machines and shapes, in a file of comma-separated values:
///
///     machine,multiprocessors,m,n,k,residual,config,us
///     NVIDIA H100 80GB HBM3,132,64,2112,7168,no,64x64_swap_split4,11.42
class TunedChoices {
 public:
  /// Reads a file; none without a file. Throws Error, with the file and the line, for what
  /// isn't such a table, and for a repeated shape.
  static TunedChoices read(const std::string& path);

  /// The measurement of a shape; null without one.
  const TunedChoice* find(const TunedShape& shape) const;
  /// The choice for a shape: null without a measurement, and where it names a configuration that
  /// this program doesn't have (any more).
  const GemmChoice* choice_for(const TunedShape& shape) const;
  /// Keeps a measurement, instead of an earlier one of the same shape.
  void remember(const TunedChoice& choice);
  /// Writes the file atomically (temporary file, then rename).
  /// Makes its folder. Throws Error when that can't be done.
  void write(const std::string& path) const;

 private:
  std::vector<TunedChoice> choices_;
};

/// Default file for remembered choices: blackwell-workbook/hopper_gemm.csv
/// in $XDG_CACHE_HOME, or in .cache of $HOME; empty without either.
std::string default_tuned_path();

/// Times every choice for a plan's arguments, in turn, and returns the fastest with the
/// median of `launches`. The times are those of whole launches.
TunedChoice measure_configurations(const BlockwiseFp8GemmArguments& gemm, const TunedShape& shape,
                                   int64_t launches);

}  // namespace bw::hopper
