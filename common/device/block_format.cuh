#pragma once
/// \file
/// The block-scaled formats that the tensor core multiplies itself: elements, scales, and how many
/// of them one MMA takes (PTX ISA, "Block Scaling" of tcgen05.mma; OCP MX specification 1.0).

#include "common/device/host_device.cuh"

namespace bw {

/// Elements with one scale for each block along K.
enum class BlockFormat {
  kMxfp8,  ///< e4m3, one ue8m0 for 32 elements: .kind::mxf8f6f4
  kMxfp4,  ///< e2m1, one ue8m0 for 32 elements: .kind::mxf4
  kNvfp4,  ///< e2m1, one ue4m3 for 16 elements, and one fp32 for the matrix: .kind::mxf4nvf4
};

/// Bytes of a row of an operand's tile: one row of the 128B swizzle.
constexpr int kBlockScaledRowBytes = 128;
/// Bytes along K that one MMA takes, whatever the format.
constexpr int kBlockScaledMmaBytes = 32;
/// MMAs of a K block.
constexpr int kMmasPerKBlock = kBlockScaledRowBytes / kBlockScaledMmaBytes;

/// Bits of an element. Two elements of four bits share a byte, the first in its lower half.
BW_HOST_DEVICE constexpr int element_bits(BlockFormat format) {
  return format == BlockFormat::kMxfp8 ? 8 : 4;
}

/// Elements along K that share a scale.
BW_HOST_DEVICE constexpr int scale_block(BlockFormat format) {
  return format == BlockFormat::kNvfp4 ? 16 : 32;
}

/// True for scales that are powers of two (ue8m0), false for ue4m3.
BW_HOST_DEVICE constexpr bool has_ue8m0_scales(BlockFormat format) {
  return format != BlockFormat::kNvfp4;
}

/// Elements of a K block: a row of the tile.
BW_HOST_DEVICE constexpr int block_k(BlockFormat format) {
  return kBlockScaledRowBytes * 8 / element_bits(format);
}

/// Elements along K of one MMA.
BW_HOST_DEVICE constexpr int mma_k(BlockFormat format) { return block_k(format) / kMmasPerKBlock; }

/// Scales of a row that one MMA takes: the N of `.scale_vec::NX`.
BW_HOST_DEVICE constexpr int scales_per_mma(BlockFormat format) {
  return mma_k(format) / scale_block(format);
}

static_assert(scales_per_mma(BlockFormat::kMxfp8) == 1 &&
                  scales_per_mma(BlockFormat::kMxfp4) == 2 &&
                  scales_per_mma(BlockFormat::kNvfp4) == 4,
              "kind::mxf8f6f4 has .scale_vec::1X, kind::mxf4 2X, kind::mxf4nvf4 with .block16 4X");

}  // namespace bw
