#pragma once
/// \file
/// Arguments of cuTensorMapEncodeTiled, valid or not.

#include <cuda.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "common/host/tensor_map.hpp"

namespace bw::conformance {

constexpr unsigned kMaxRank = 5;

/// A tensor map before it is encoded; the default is a valid 2-D one of 4-byte elements.
struct MapArguments {
  CUtensorMapDataType type = CU_TENSOR_MAP_DATA_TYPE_UINT32;
  unsigned rank = 2;
  uint64_t address = 0x7f0000000000;  // not read by the encoder
  std::array<uint64_t, kMaxRank> extents = {64, 32, 8, 4, 2};
  std::array<uint64_t, kMaxRank - 1> strides = {256, 8192, 65536, 262144};  // bytes
  std::array<uint32_t, kMaxRank> box = {16, 8, 2, 2, 1};
  std::array<uint32_t, kMaxRank> element_strides = {1, 1, 1, 1, 1};
  CUtensorMapInterleave interleave = CU_TENSOR_MAP_INTERLEAVE_NONE;
  CUtensorMapSwizzle swizzle = CU_TENSOR_MAP_SWIZZLE_NONE;
  CUtensorMapL2promotion promotion = CU_TENSOR_MAP_L2_PROMOTION_NONE;
  CUtensorMapFloatOOBfill fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE;
};

inline CUresult encode(CUtensorMap& map, const MapArguments& a) {
  static const TensorMapEncoder encoder = tensor_map_encoder();
  return encoder(&map, a.type, a.rank, reinterpret_cast<void*>(a.address), a.extents.data(),
                 a.strides.data(), a.box.data(), a.element_strides.data(), a.interleave, a.swizzle,
                 a.promotion, a.fill);
}

/// Bytes of an element in global and in shared memory.
inline unsigned element_bytes(CUtensorMapDataType type) {
  switch (type) {
    case CU_TENSOR_MAP_DATA_TYPE_UINT8:
      return 1;
    case CU_TENSOR_MAP_DATA_TYPE_UINT16:
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT16:
    case CU_TENSOR_MAP_DATA_TYPE_BFLOAT16:
      return 2;
    case CU_TENSOR_MAP_DATA_TYPE_UINT64:
    case CU_TENSOR_MAP_DATA_TYPE_INT64:
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT64:
      return 8;
    default:
      return 4;
  }
}

}  // namespace bw::conformance
