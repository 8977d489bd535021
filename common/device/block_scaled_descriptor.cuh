#pragma once
/// \file
/// Descriptors of block-scaled MMAs: the 32-bit instruction descriptor (PTX ISA, "Instruction
/// descriptor", the tables of .kind::mxf8f6f4 and of .kind::mxf4 and .kind::mxf4nvf4), and the
/// shared-memory descriptor of an atom of scales.

#include <cstdint>

#include "common/device/block_format.cuh"
#include "common/device/host_device.cuh"
#include "common/device/shared_descriptor.cuh"

namespace bw {

/// Field positions of the instruction descriptor of the block-scaled kinds.
struct BlockScaledDescriptorLayout {
  static constexpr int kBScaleIdShift = 4;    ///< 2 bits: byte of B's first scale
  static constexpr int kAFormatShift = 7;     ///< 3 bits: format of A
  static constexpr int kBFormatShift = 10;    ///< 3 bits, of the 4-bit kinds 2: format of B
  static constexpr int kNShift = 17;          ///< 6 bits hold N / 8
  static constexpr int kScaleTypeShift = 23;  ///< 1 bit: 0 ue4m3, 1 ue8m0
  static constexpr int kMShift = 27;          ///< 2 bits hold M / 128
  static constexpr int kAScaleIdShift = 29;   ///< 2 bits: byte of A's first scale
  static constexpr int kNUnit = 8;            ///< N counts in units of this
  static constexpr int kMUnit = 128;          ///< M counts in units of this
  static constexpr uint32_t kE4m3 = 0;        ///< format code of kind::mxf8f6f4
  static constexpr uint32_t kE2m1 = 1;        ///< format code of kind::mxf4 and kind::mxf4nvf4
};

/// Descriptor of a dense block-scaled MMA of M × N (M counts the rows of both CTAs in
/// cta_group::2), both operands K-major, D fp32. The scales of A and B begin at byte `scale_id` of
/// their words.
template <BlockFormat format, int mma_m, int mma_n, int cta_group>
BW_HOST_DEVICE constexpr uint32_t make_block_scaled_instruction_descriptor(int scale_id) {
  static_assert(cta_group == 1 || cta_group == 2, "cta_group is 1 or 2");
  static_assert(cta_group == 1 ? mma_m == 128 : (mma_m == 128 || mma_m == 256),
                "M is 128 with cta_group 1, 128 or 256 with cta_group 2");
  static_assert(mma_n > 0 && mma_n <= 256 && mma_n % (cta_group == 2 ? 16 : 8) == 0,
                "N is a multiple of 8 (cta_group 2: of 16) up to 256");
  using Layout = BlockScaledDescriptorLayout;
  constexpr uint32_t kFormat = element_bits(format) == 8 ? Layout::kE4m3 : Layout::kE2m1;
  const auto id = static_cast<uint32_t>(scale_id);
  return id << Layout::kBScaleIdShift | kFormat << Layout::kAFormatShift |
         kFormat << Layout::kBFormatShift | uint32_t{mma_n / Layout::kNUnit} << Layout::kNShift |
         uint32_t{has_ue8m0_scales(format)} << Layout::kScaleTypeShift |
         uint32_t{mma_m / Layout::kMUnit} << Layout::kMShift | id << Layout::kAScaleIdShift;
}

/// Descriptor of an atom of scales at a shared address that is a multiple of 128: 32 rows of 16
/// bytes, not swizzled, eight rows after another.
BW_HOST_DEVICE constexpr uint64_t make_scale_atom_descriptor(uint32_t shared_address) {
  using Layout = SharedDescriptorLayout;
  constexpr uint64_t kEightRowsBytes = 128;
  const uint64_t start = (shared_address >> Layout::kUnitShift) & Layout::kFieldMask;
  return start << Layout::kStartAddressShift | uint64_t{1} << Layout::kLeadingByteOffsetShift |
         (kEightRowsBytes >> Layout::kUnitShift) << Layout::kStrideByteOffsetShift |
         Layout::kVersion << Layout::kVersionShift |
         shared_descriptor_swizzle_code(Swizzle::kNone) << Layout::kSwizzleShift;
}

}  // namespace bw
