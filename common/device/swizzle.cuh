#pragma once
/// \file
/// The shared-memory swizzles of TMA and of the tensor core's operands: an exclusive-or of the
/// 16-byte chunk index (address bits 4 and up) with the index of the 128-byte line (bits 7 and
/// up). PTX ISA, "Tensor copy: swizzling modes"; facts page, "Shared-memory descriptor".

#include <cstdint>

#include "common/device/host_device.cuh"

namespace bw {

/// Swizzle widths; the value is the width in bytes.
enum class Swizzle : uint32_t { kNone = 0, k32B = 32, k64B = 64, k128B = 128 };

/// Bytes after which the pattern repeats; tiles start at multiples of it.
BW_HOST_DEVICE constexpr uint32_t swizzle_repeat_bytes(Swizzle swizzle) {
  return swizzle == Swizzle::kNone ? 16 : 8 * static_cast<uint32_t>(swizzle);
}

/// Swizzled offset of the byte at `offset` of a linear tile. `offset` counts from
/// an address that is a multiple of `swizzle_repeat_bytes`. The map is its own inverse.
BW_HOST_DEVICE constexpr uint32_t swizzled_offset(Swizzle swizzle, uint32_t offset) {
  constexpr uint32_t kChunkShift = 4;                 // 16-byte chunks
  constexpr uint32_t kLineToChunk = 7 - kChunkShift;  // 128-byte line index onto chunk index
  if (swizzle == Swizzle::kNone) return offset;
  const uint32_t chunks_mask = static_cast<uint32_t>(swizzle) / 16 - 1;  // 1, 3 or 7
  return offset ^ ((offset >> kLineToChunk) & (chunks_mask << kChunkShift));
}

}  // namespace bw
