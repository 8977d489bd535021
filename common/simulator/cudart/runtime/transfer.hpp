#pragma once
/// \file
/// Checked copies and fills of device memory.

#include <driver_types.h>

#include <cstddef>
#include <cstdint>

namespace bw::sim::cudart {

class Runtime;

/// A rectangle of bytes: `rows` rows of `row_bytes` bytes, `pitch` bytes apart; slices of rows for
/// 3-D.
struct CopyShape {
  size_t row_bytes = 0;  ///< bytes of a row
  size_t rows = 1;       ///< rows of a slice
  size_t slices = 1;     ///< of the whole copy
};

/// One side of a copy.
struct CopySide {
  size_t pitch_bytes = 0;  ///< between rows; not used for one row
  size_t slice_bytes = 0;  ///< between slices; not used for one slice
};

/// What a fill writes: the lowest bytes of `bits`, again and again.
struct FillValue {
  uint32_t bits = 0;         ///< the encoding
  size_t element_bytes = 1;  ///< 1, 2 or 4
};

/// From the first byte of a side past its last; 0 for an empty shape.
[[nodiscard]] size_t extent_bytes(CopySide side, CopyShape shape);

/// Copies between host and device memory after checking direction and bounds against the
/// allocations. Explains on stderr what is wrong before it returns cudaErrorInvalidValue,
/// cudaErrorInvalidPitchValue or cudaErrorInvalidMemcpyDirection. `api` is the caller's name.
cudaError_t copy(Runtime& runtime, const char* api, void* destination, CopySide destination_side,
                 const void* source, CopySide source_side, CopyShape shape, cudaMemcpyKind kind);

/// Sets elements of device memory, checked likewise.
cudaError_t fill(Runtime& runtime, const char* api, void* destination, CopySide side,
                 FillValue value, CopyShape shape);

}  // namespace bw::sim::cudart
