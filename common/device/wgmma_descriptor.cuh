#pragma once
/// \file
/// The 64-bit descriptor that names an operand of wgmma in shared memory (PTX ISA, "Matrix
/// Descriptor Format" of wgmma). It differs from tcgen05's in the swizzle's field.

#include <cstdint>

#include "common/device/host_device.cuh"

namespace bw {

/// Low word of the descriptor of a K-major tile with rows of 128 bytes and the 128B swizzle, whose
/// start is a multiple of 1024 bytes: only this word tells tiles apart. A step of 16 bytes, along K
/// or by whole groups of eight rows, adds 1: the swizzle works on address bits.
BW_HOST_DEVICE constexpr uint32_t wgmma_descriptor_low(uint32_t shared_address) {
  constexpr uint32_t kUnitShift = 4;  // addresses and offsets are in units of 16 bytes
  constexpr uint32_t kFieldMask = 0x3fff;
  constexpr uint32_t kLeadingOffset = 1;  // is ignored in swizzled K-major layouts
  constexpr int kLeadingOffsetShift = 16;
  return ((shared_address >> kUnitShift) & kFieldMask) | kLeadingOffset << kLeadingOffsetShift;
}

/// The whole descriptor.
BW_HOST_DEVICE constexpr uint64_t wgmma_descriptor(uint32_t low) {
  constexpr uint64_t kBytesPerEightRows = 8 * 128;
  constexpr int kUnitShift = 4;
  constexpr int kStrideOffsetShift = 32;
  constexpr uint64_t kSwizzle128B = 1;
  constexpr int kSwizzleShift = 62;
  return low | (kBytesPerEightRows >> kUnitShift) << kStrideOffsetShift |
         kSwizzle128B << kSwizzleShift;
}

}  // namespace bw
