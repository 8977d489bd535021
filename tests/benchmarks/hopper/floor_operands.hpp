#pragma once
/// \file
/// What the measurements multiply.

#include <cstddef>
#include <vector>

#include "common/host/number_formats.hpp"
#include "common/host/random_normal.hpp"

namespace bw {

/// Normal numbers as block quantisation leaves them: the largest of 128 is near e4m3's largest.
/// Random bits matter: how much power the tensor cores take depends on how many bits change.
inline std::vector<Fp8E4m3> random_operands(size_t count) {
  constexpr float kSpread = 160;
  const RandomNormal normal(/*seed=*/1, /*stream=*/0);
  std::vector<Fp8E4m3> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = to_fp8_e4m3(kSpread * normal(i));
  return values;
}

}  // namespace bw
