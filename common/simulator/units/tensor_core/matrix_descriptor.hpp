#pragma once
/// \file
/// The 64-bit shared-memory descriptor of tcgen05 and the canonical layouts it names.
///
/// A matrix is read in chunks of 16 bytes; no layout or swizzle ever splits one. Bit fields: PTX
/// ISA, "tcgen05: Shared memory descriptor"; strides: "Strides" and "Canonical layouts" there.

#include <cstdint>
#include <optional>

#include "common/simulator/base/error.hpp"

namespace bw::sim {

inline constexpr uint32_t kChunkBytes = 16;  ///< what no layout splits
/// K of one tcgen05.mma in bytes (16-bit, 32-bit and unpacked 8-bit elements alike).
inline constexpr uint32_t kMmaKBytes = 32;
/// K = 96 of 4-bit elements (sm_103a) in bytes.
inline constexpr uint32_t kLongKBytes = 48;
/// Bytes of a line of shared memory; a swizzle exchanges chunks within it.
inline constexpr uint32_t kLineBytes = 128;

/// As the descriptor encodes it.
enum class SharedSwizzle : uint8_t {
  none = 0,
  k128b_atom32 = 1,  ///< 128-byte pattern that exchanges 32-byte pieces
  k128b = 2,
  k64b = 4,
  k32b = 6,
};

/// Which index of a matrix is contiguous.
enum class Major : uint8_t { k, mn };

/// A descriptor, taken apart.
struct MatrixDescriptor {
  uint32_t start_bytes = 0;    ///< of the matrix
  uint32_t leading_bytes = 0;  ///< see k_major_chunk() and mn_major_chunk()
  /// Whether `leading_bytes` is the address where a row goes on past the end of its line (sm_103a).
  bool leading_is_address = false;
  uint32_t stride_bytes = 0;                    ///< see k_major_chunk() and mn_major_chunk()
  uint32_t base_offset = 0;                     ///< lines that the pattern is moved by
  SharedSwizzle swizzle = SharedSwizzle::none;  ///< how chunks are exchanged

  /// Bytes of one row of the swizzle pattern; 16 without swizzle.
  [[nodiscard]] constexpr uint32_t width_bytes() const {
    switch (swizzle) {
      case SharedSwizzle::none:
        return kChunkBytes;
      case SharedSwizzle::k32b:
        return 32;
      case SharedSwizzle::k64b:
        return 64;
      default:
        return 128;
    }
  }
  /// Bytes after which the swizzle pattern repeats.
  [[nodiscard]] constexpr uint32_t pattern_bytes() const {
    return swizzle == SharedSwizzle::none ? kChunkBytes : 8 * width_bytes();
  }

  /// Exchanges chunks by the absolute address bits 7 to 9, counted from where the pattern starts.
  [[nodiscard]] constexpr uint32_t swizzled(uint32_t address) const {
    const uint32_t line = (address >> 7) - base_offset;
    switch (swizzle) {
      case SharedSwizzle::none:
        return address;
      case SharedSwizzle::k32b:
        return address ^ (line & 1u) << 4;
      case SharedSwizzle::k64b:
        return address ^ (line & 3u) << 4;
      case SharedSwizzle::k128b:
        return address ^ (line & 7u) << 4;
      case SharedSwizzle::k128b_atom32:
        return address ^ (line & 3u) << 5;
    }
    return address;
  }

  /// Shared address of 16 bytes along K: `chunk` of row `row` (of M or N) of a K-major matrix.
  [[nodiscard]] constexpr uint32_t k_major_chunk(uint32_t row, uint32_t chunk) const {
    if (leading_is_address) {
      const uint32_t in_line = start_bytes % kLineBytes + chunk * kChunkBytes;
      const uint32_t first = in_line < kLineBytes ? start_bytes + chunk * kChunkBytes
                                                  : leading_bytes + (in_line - kLineBytes);
      return swizzled(first + row / 8 * stride_bytes + row % 8 * kLineBytes);
    }
    const uint32_t along_k =
        swizzle == SharedSwizzle::none ? chunk * leading_bytes : chunk * kChunkBytes;
    return swizzled(start_bytes + row / 8 * stride_bytes + row % 8 * width_bytes() + along_k);
  }

  /// Shared address of 16 bytes along M or N: `chunk` at index `k` of an MN-major matrix.
  [[nodiscard]] constexpr uint32_t mn_major_chunk(uint32_t chunk, uint32_t k) const {
    if (swizzle == SharedSwizzle::none)
      return start_bytes + chunk * stride_bytes + k % 8 * kChunkBytes + k / 8 * leading_bytes;
    const uint32_t chunks_per_row = width_bytes() / kChunkBytes;
    const uint32_t rows = swizzle == SharedSwizzle::k128b_atom32 ? 4 : 8;
    return swizzled(start_bytes + chunk % chunks_per_row * kChunkBytes +
                    chunk / chunks_per_row * leading_bytes + k % rows * width_bytes() +
                    k / rows * stride_bytes);
  }

  friend bool operator==(const MatrixDescriptor&, const MatrixDescriptor&) = default;
};

/// Takes the 64 bits apart.
[[nodiscard]] MatrixDescriptor decode_matrix_descriptor(uint64_t bits);

/// What is wrong with the bits: reserved bits, version, swizzle mode, addressing mode.
/// `may_have_address`: whether the leading offset may be an address (K = 96 of sm_103a).
[[nodiscard]] std::optional<Fault> check_matrix_descriptor(uint64_t bits,
                                                           bool may_have_address = false);

/// Bytes of shared memory, a number of whole lines of 128 bytes.
struct SharedLines {
  uint32_t first_bytes = 0;  ///< offset of the first line
  uint64_t end_bytes = 0;    ///< one past the last one
};

/// The lines that bound a matrix of `rows` (M or N) x `k_elements`: conservative, not always as
/// tight as possible.
[[nodiscard]] SharedLines lines_of(const MatrixDescriptor& descriptor, Major major, uint32_t rows,
                                   uint32_t k_elements, uint32_t element_bytes);

/// Whether a matrix of `rows` (M or N) x `k_elements` is inside `shared_bytes` of shared memory and
/// past the first `reserved_bytes`.
[[nodiscard]] bool matrix_in_bounds(const MatrixDescriptor& descriptor, Major major, uint32_t rows,
                                    uint32_t k_elements, uint32_t element_bytes,
                                    size_t shared_bytes, uint32_t reserved_bytes);

}  // namespace bw::sim
