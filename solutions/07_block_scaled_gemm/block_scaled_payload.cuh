#pragma once
/// \file
/// What one stage of the input ring carries: operands, and their scales in atoms.

#include <cstdint>

#include "common/device/block_format.cuh"
#include "common/device/scale_atom.cuh"

namespace bw {

/// Stage of a block-scaled GEMM: an A tile and a B tile, K-major with the 128B swizzle, a K block
/// of 128 bytes each, and the atoms of their scales, not swizzled, those of a K block one after the
/// other. `b_scale_parts`: groups of 128 rows of B whose scales a CTA needs. In a pair that is all
/// of the MMA's N, although a CTA holds half of B's rows: each tensor memory has the scales of all
/// columns of D.
template <BlockFormat format, int BM, int BN, int b_scale_parts>
struct BlockScaledTilePayload {
  static constexpr int kAtoms = scale_atoms_per_k_block(format);          ///< along K
  static constexpr uint32_t kATileBytes = BM * kBlockScaledRowBytes;      ///< bytes of a tile of A
  static constexpr uint32_t kBTileBytes = BN * kBlockScaledRowBytes;      ///< bytes of a tile of B
  static constexpr uint32_t kScalePartBytes = kAtoms * kScaleAtomBytes;   ///< of 128 rows
  static constexpr uint32_t kSfaBytes = kScalePartBytes;                  ///< bytes of SFA
  static constexpr uint32_t kSfbBytes = b_scale_parts * kScalePartBytes;  ///< bytes of SFB
  /// What TMA brings per stage and CTA, at the edges of the matrices too (zero fill counts).
  static constexpr uint32_t kStageBytes = kATileBytes + kBTileBytes + kSfaBytes + kSfbBytes;

  static constexpr uint32_t kSwizzleRepeatBytes = 1024;  ///< tiles start at multiples of it
  static_assert(BM == kScaleAtomRows, "a CTA has the 128 rows of an atom of A-scales");
  static_assert(kBTileBytes % kSwizzleRepeatBytes == 0, "a CTA's rows of B are a multiple of 8");

  /// Shared memory of `NumStages` stages.
  template <int NumStages>
  struct Storage {
    alignas(kSwizzleRepeatBytes) uint8_t a[NumStages][kATileBytes];  ///< tiles of A
    alignas(kSwizzleRepeatBytes) uint8_t b[NumStages][kBTileBytes];  ///< tiles of B
    alignas(128) uint8_t sfa[NumStages][kSfaBytes];                  ///< A's scales
    alignas(128) uint8_t sfb[NumStages][kSfbBytes];                  ///< B's scales
  };

  uint8_t* a;    ///< tiles of A
  uint8_t* b;    ///< tiles of B
  uint8_t* sfa;  ///< A's scales
  uint8_t* sfb;  ///< B's scales

  /// The payload in this storage.
  template <int NumStages>
  static __device__ __forceinline__ BlockScaledTilePayload of(Storage<NumStages>& storage) {
    return BlockScaledTilePayload{storage.a[0], storage.b[0], storage.sfa[0], storage.sfb[0]};
  }

  /// A's tile of a stage.
  __device__ __forceinline__ uint8_t* a_tile(uint32_t stage) const {
    return a + stage * kATileBytes;
  }
  /// B's tile of a stage.
  __device__ __forceinline__ uint8_t* b_tile(uint32_t stage) const {
    return b + stage * kBTileBytes;
  }
  /// A's scales of a stage.
  __device__ __forceinline__ uint8_t* sfa_tile(uint32_t stage) const {
    return sfa + stage * kSfaBytes;
  }
  /// B's scales of a stage: all atoms along K of the first 128 rows, then of the next.
  __device__ __forceinline__ uint8_t* sfb_tile(uint32_t stage) const {
    return sfb + stage * kSfbBytes;
  }
};

}  // namespace bw
