#pragma once
/// \file
/// What the programs of this folder share: inputs from a seed, and the comparison with a reference.

#include <cuda_bf16.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <random>
#include <vector>

#include "common/host/device_buffer.hpp"

namespace bw::programs {

/// Numbers from -1 to 1, exact in bf16 (and f16).
inline std::vector<float> random_values(size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<float> values(count);
  constexpr int kSteps = 128;
  for (float& value : values)
    value = static_cast<float>(static_cast<int>(random() % (2 * kSteps + 1)) - kSteps) / kSteps;
  return values;
}

template <class T>
std::vector<T> converted(const std::vector<float>& values) {
  return {values.begin(), values.end()};
}

/// Prints the verdict and gives the exit status. `allowed[i]` is the error that element i may have.
inline int verdict(const char* name, const std::vector<float>& computed,
                   const std::vector<double>& expected, const std::vector<double>& allowed) {
  for (size_t i = 0; i < expected.size(); ++i) {
    const double error = std::fabs(double{computed[i]} - expected[i]);
    if (error <= allowed[i]) continue;
    std::printf("%s: element %zu is %g instead of %g (at most %g off)\n", name, i, computed[i],
                expected[i], allowed[i]);
    return 1;
  }
  std::printf("%s: ok\n", name);
  return 0;
}

}  // namespace bw::programs
