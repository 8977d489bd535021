#pragma once
/// \file
/// An operand in shared memory without a swizzle: core matrices of 8 rows × 16 bytes, each 128
/// bytes in one piece (PTX ISA, "Canonical layouts", K-major, no swizzling).

#include <cstdint>

#include "common/device/exercise.cuh"
#include "common/device/shared_descriptor.cuh"

namespace bw {

/// Offsets in a K-major tile of `row_bytes` bytes a row: core matrices first along K,
/// then down the rows.
template <uint32_t row_bytes>
struct PlainOperand {
  static constexpr uint32_t kCoreRows = 8;                           ///< of a core matrix
  static constexpr uint32_t kCoreRowBytes = 16;                      ///< of a core matrix
  static constexpr uint32_t kCoreBytes = kCoreRows * kCoreRowBytes;  ///< of a core matrix
  static_assert(row_bytes % kCoreRowBytes == 0, "a row is a whole number of core matrices");

  /// From one core matrix to the next along K: the descriptor's leading offset.
  static constexpr uint32_t kLeadingBytes = kCoreBytes;
  /// From eight rows to the next eight: the descriptor's stride offset.
  static constexpr uint32_t kStrideBytes = row_bytes / kCoreRowBytes * kCoreBytes;

  /// Offset in the tile of byte `byte` of row `row`.
  static __device__ __forceinline__ uint32_t offset(uint32_t row, uint32_t byte) {
    // >>> exercise 2.4 "Lay out an operand"
    const uint32_t core = row / kCoreRows * kStrideBytes + byte / kCoreRowBytes * kLeadingBytes;
    return core + row % kCoreRows * kCoreRowBytes + byte % kCoreRowBytes;
    // <<< exercise 2.4
  }

  /// The descriptor of a tile at `shared_address`, a multiple of 16.
  static __device__ __forceinline__ uint64_t descriptor(uint32_t shared_address) {
    using Layout = SharedDescriptorLayout;
    const uint64_t start = (shared_address >> Layout::kUnitShift) & Layout::kFieldMask;
    return start << Layout::kStartAddressShift |
           uint64_t{kLeadingBytes >> Layout::kUnitShift} << Layout::kLeadingByteOffsetShift |
           uint64_t{kStrideBytes >> Layout::kUnitShift} << Layout::kStrideByteOffsetShift |
           Layout::kVersion << Layout::kVersionShift |
           shared_descriptor_swizzle_code(Swizzle::kNone) << Layout::kSwizzleShift;
  }
};

}  // namespace bw
