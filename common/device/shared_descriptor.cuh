#pragma once
/// \file
/// The 64-bit descriptor that names an operand in shared memory (PTX ISA, "Shared memory
/// descriptor" of tcgen05).

#include <cstdint>

#include "common/device/host_device.cuh"
#include "common/device/swizzle.cuh"

namespace bw {

/// Field positions and encodings.
struct SharedDescriptorLayout {
  static constexpr int kStartAddressShift = 0;        ///< 14 bits, in units of 16 bytes
  static constexpr int kLeadingByteOffsetShift = 16;  ///< 14 bits, in units of 16 bytes
  static constexpr int kStrideByteOffsetShift = 32;   ///< 14 bits, in units of 16 bytes
  static constexpr int kVersionShift = 46;            ///< 2 bits, 1 on sm_100
  static constexpr int kSwizzleShift = 61;            ///< 3 bits
  static constexpr uint64_t kFieldMask = 0x3fff;      ///< 14 bits
  static constexpr uint64_t kVersion = 1;             ///< of sm_100
  static constexpr int kUnitShift = 4;  ///< addresses and offsets are stored without 4 low bits
};

/// Code of the swizzle mode in bits 61 to 63.
BW_HOST_DEVICE constexpr uint64_t shared_descriptor_swizzle_code(Swizzle swizzle) {
  switch (swizzle) {
    case Swizzle::kNone:
      return 0;
    case Swizzle::k128B:
      return 2;
    case Swizzle::k64B:
      return 4;
    case Swizzle::k32B:
      return 6;
  }
  return 0;
}

/// Descriptor of a K-major operand tile whose rows are exactly one swizzle width long and whose
/// start is a multiple of the swizzle's repeat. The leading offset has no meaning in this layout
/// (1 is written); the stride is the distance of two groups of eight rows.
BW_HOST_DEVICE constexpr uint64_t make_k_major_descriptor(uint32_t shared_address,
                                                          Swizzle swizzle) {
  using Layout = SharedDescriptorLayout;
  constexpr uint64_t kRowsPerGroup = 8;
  const uint64_t start = (shared_address >> Layout::kUnitShift) & Layout::kFieldMask;
  const uint64_t stride_bytes = kRowsPerGroup * static_cast<uint64_t>(swizzle);
  return start << Layout::kStartAddressShift | uint64_t{1} << Layout::kLeadingByteOffsetShift |
         (stride_bytes >> Layout::kUnitShift) << Layout::kStrideByteOffsetShift |
         Layout::kVersion << Layout::kVersionShift |
         shared_descriptor_swizzle_code(swizzle) << Layout::kSwizzleShift;
}

/// The same tile, `bytes` further along K: the swizzle works on address bits, so a step inside
/// of the row only moves the start address. `bytes` is a multiple of 16 inside of one row.
BW_HOST_DEVICE constexpr uint64_t advance_descriptor(uint64_t descriptor, uint32_t bytes) {
  return descriptor + (bytes >> SharedDescriptorLayout::kUnitShift);
}

}  // namespace bw
