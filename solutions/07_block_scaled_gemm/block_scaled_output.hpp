#pragma once
/// \file
/// D in a block-scaled format, as the next GEMM takes its A.

#include <cstdint>

#include "common/device/block_format.cuh"

namespace bw {

/// Where codes and scales of D [M, N] go, instead of bf16. Pointers are device addresses.
struct QuantisedOutput {
  BlockFormat format = BlockFormat::kMxfp8;  ///< kMxfp8 or kNvfp4
  uint8_t* values = nullptr;                 ///< codes [M], rows `stride` bytes apart
  int64_t stride = 0;                        ///< a multiple of 16
  uint8_t* scales = nullptr;                 ///< atoms: whole ones are written, padding with zeros
  int64_t scale_bytes = 0;                   ///< bytes of all of them: scale_bytes(M, N / block)
  /// D is codes · scales · factor: 1 for MXFP8. For NVFP4 a CTA can't know it, because it follows
  /// from the largest magnitude of all of D; larger magnitudes than the caller expected saturate.
  float factor = 1;
};

/// The same for the kernel.
struct QuantisedOutputArguments {
  uint8_t* values;            ///< codes; null: D is bf16
  int64_t stride;             ///< bytes from row to row
  uint8_t* scales;            ///< atoms
  uint32_t rows;              ///< of D
  uint32_t blocks;            ///< of a row
  uint32_t atoms_along_rows;  ///< atoms of scales
  uint32_t atoms_along_k;     ///< atoms along the columns of D, which are the next GEMM's K
  float inverse_factor;       ///< 1 / factor
  BlockFormat format;         ///< of the codes
};

}  // namespace bw
