#pragma once
/// \file
/// The 32-bit instruction descriptor of tcgen05.mma (PTX ISA, "Instruction descriptor").

#include <cstdint>

#include "common/device/host_device.cuh"

namespace bw {

/// Element formats of A and B in kind::f8f6f4.
enum class MmaFp8Format : uint32_t { kE4m3 = 0, kE5m2 = 1, kE2m3 = 3, kE3m2 = 4, kE2m1 = 5 };

/// Formats of D.
enum class MmaAccumulatorFormat : uint32_t { kF16 = 0, kF32 = 1, kS32 = 2 };

/// Field positions.
struct InstructionDescriptorLayout {
  static constexpr int kDFormatShift = 4;   ///< 2 bits: MmaAccumulatorFormat
  static constexpr int kAFormatShift = 7;   ///< 3 bits: MmaFp8Format of A
  static constexpr int kBFormatShift = 10;  ///< 3 bits: MmaFp8Format of B
  static constexpr int kNShift = 17;        ///< 6 bits hold N / 8
  static constexpr int kMShift = 24;        ///< 5 bits hold M / 16
  static constexpr int kNUnit = 8;          ///< N counts in units of this
  static constexpr int kMUnit = 16;         ///< M counts in units of this
};

/// Descriptor of a dense kind::f8f6f4 MMA with e4m3 operands, both K-major, and fp32 D of
/// M × N (M counts the rows of both CTAs in cta_group::2).
template <int mma_m, int mma_n, int cta_group>
BW_HOST_DEVICE constexpr uint32_t make_e4m3_instruction_descriptor() {
  static_assert(cta_group == 1 || cta_group == 2, "cta_group is 1 or 2");
  static_assert(cta_group == 1 ? (mma_m == 64 || mma_m == 128) : (mma_m == 128 || mma_m == 256),
                "M is 64 or 128 with cta_group 1, 128 or 256 with cta_group 2");
  static_assert(mma_n > 0 && mma_n <= 256 && mma_n % (cta_group == 2 ? 32 : 16) == 0,
                "N is a multiple of 16 (cta_group 2: of 32) up to 256");
  using Layout = InstructionDescriptorLayout;
  return static_cast<uint32_t>(MmaAccumulatorFormat::kF32) << Layout::kDFormatShift |
         static_cast<uint32_t>(MmaFp8Format::kE4m3) << Layout::kAFormatShift |
         static_cast<uint32_t>(MmaFp8Format::kE4m3) << Layout::kBFormatShift |
         uint32_t{mma_n / Layout::kNUnit} << Layout::kNShift |
         uint32_t{mma_m / Layout::kMUnit} << Layout::kMShift;
}

}  // namespace bw
