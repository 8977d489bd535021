#pragma once
/// \file
/// What cuTensorMapEncodeTiled asks of its arguments.

#include <cstdint>
#include <string>

#include "common/simulator/units/copies/tensor_map.hpp"

namespace bw::sim {

inline constexpr uint64_t kMaxExtent = uint64_t{1} << 32;  ///< elements of a dimension
inline constexpr uint64_t kMaxStride = uint64_t{1} << 40;  ///< bytes; strides are below
inline constexpr uint32_t kMaxBox = 256;                   ///< elements of a box's dimension
inline constexpr uint32_t kMaxElementStride = 8;           ///< of a box's dimension

/// The error of cuTensorMapEncodeTiled that says so.
[[nodiscard]] TensorMapStatus invalid_tiled(std::string message);

/// The alignment of the tensor's address.
[[nodiscard]] TensorMapStatus check_address(uint64_t address, TensorMapType type,
                                            TensorMapInterleave interleave);

/// All conditions but those of the map's own place (see encode_tensor_map). Rank, enumerations and
/// pointers are checked first: what they rule out is not read.
[[nodiscard]] TensorMapStatus check_tiled_arguments(const TensorMapArguments& arguments);

}  // namespace bw::sim
