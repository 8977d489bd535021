#pragma once
/// \file
/// The sums of FP8 products as a processor without wide vectors computes them.

#include <span>

#include "common/simulator/units/tensor_core/accumulation.hpp"

namespace bw::sim {

/// multiply_fp8() of hopper_fp8_accumulation.hpp, compiled for vectors of 16 bytes.
[[nodiscard]] bool multiply_fp8_portable(std::span<const RowTile> tiles,
                                         const TileFormats& formats);

}  // namespace bw::sim
