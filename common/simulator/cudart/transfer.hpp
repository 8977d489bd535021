#pragma once
/// \file
/// Checked copies and fills of device memory.

#include <driver_types.h>

#include <cstddef>

namespace bw::sim::cudart {

class Runtime;

/// A rectangle of bytes: `rows` rows of `row_bytes` bytes, `pitch` bytes apart; slices of rows for
/// 3-D.
struct CopyShape {
  size_t row_bytes = 0;
  size_t rows = 1;
  size_t slices = 1;
};

/// One side of a copy.
struct CopySide {
  size_t pitch_bytes = 0;  ///< between rows; not used for one row
  size_t slice_bytes = 0;  ///< between slices; not used for one slice
};

/// Copies between host and device memory after checking direction and bounds against the
/// allocations. Explains on stderr what is wrong before it returns cudaErrorInvalidValue,
/// cudaErrorInvalidPitchValue or cudaErrorInvalidMemcpyDirection. `api` is the caller's name.
cudaError_t copy(Runtime& runtime, const char* api, void* destination, CopySide destination_side,
                 const void* source, CopySide source_side, CopyShape shape, cudaMemcpyKind kind);

/// Sets bytes of device memory, checked likewise.
cudaError_t fill(Runtime& runtime, const char* api, void* destination, CopySide side, int value,
                 CopyShape shape);

}  // namespace bw::sim::cudart
