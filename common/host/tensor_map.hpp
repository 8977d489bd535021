#pragma once
/// \file
/// Tensor maps: what TMA needs to know about a matrix in global memory (CUDA driver API,
/// cuTensorMapEncodeTiled).

#include <cuda.h>

#include <cstdint>

namespace bw {

/// A row-major matrix and the box that one copy moves. "Inner" is the contiguous dimension.
struct TensorMapSpec {
  const char* name;            ///< for errors: "A", "D", …
  const void* data;            ///< the tensor, in device memory
  CUtensorMapDataType type;    ///< type of an element
  uint32_t element_bytes;      ///< bytes of an element
  uint64_t inner;              ///< elements
  uint64_t outer;              ///< rows
  uint64_t stride_bytes;       ///< from one row to the next
  uint32_t box_inner;          ///< elements
  uint32_t box_outer;          ///< rows
  CUtensorMapSwizzle swizzle;  ///< of the box in shared memory
};

/// The driver's function, or the simulator's.
using TensorMapEncoder = decltype(&cuTensorMapEncodeTiled);

/// The driver's encoder, found through the runtime, so that no program links libcuda; looked up
/// once, because the search takes longer than encoding a map.
TensorMapEncoder tensor_map_encoder();

/// Encodes a map whose out-of-bounds elements read as zero and aren't written. Throws Error when
/// `spec` breaks one of TMA's conditions.
CUtensorMap make_tensor_map(const TensorMapSpec& spec);

}  // namespace bw
