#pragma once
/// \file
/// What one stage of the input ring carries (contract, chapter 4).

#include <concepts>
#include <cstdint>

namespace bw {

/// A payload names the shared memory of all stages and the bytes that fill one of them.
template <class Payload>
concept TilePayload = std::copyable<Payload> && requires {
  { Payload::kStageBytes } -> std::convertible_to<uint32_t>;
  typename Payload::template Storage<2>;
};

/// Stage of a blockwise-scaled FP8 GEMM: an A tile and a B tile, both K-major with the 128B
/// swizzle (one row is 128 e4m3 = 128 bytes), and 1 × BM fp32 A-scales, not swizzled. B-scales
/// are few and shared by the whole tile: they never go through shared memory.
template <int BM, int BN>
struct BlockwiseFp8TilePayload {
  static constexpr int kBlockK = 128;  ///< elements = bytes along K: one scale block, one row
  static constexpr uint32_t kATileBytes = BM * kBlockK;  ///< bytes of a tile of A
  static constexpr uint32_t kBTileBytes = BN * kBlockK;  ///< bytes of a tile of B
  /// Bytes of the A-scales of a tile.
  static constexpr uint32_t kAScalesBytes = BM * sizeof(float);
  /// What TMA brings per stage and CTA, at the edges of the matrices too (zero fill counts).
  static constexpr uint32_t kStageBytes = kATileBytes + kBTileBytes + kAScalesBytes;

  static constexpr uint32_t kSwizzleRepeatBytes = 1024;  ///< tiles start at multiples of it
  static_assert(kATileBytes % kSwizzleRepeatBytes == 0 && kBTileBytes % kSwizzleRepeatBytes == 0,
                "tiles start at a multiple of the swizzle's repeat: BM and BN are multiples of 8");
  static_assert(kAScalesBytes % 128 == 0,
                "TMA writes to multiples of 128 bytes: BM is a multiple of 32");

  /// Shared memory of `NumStages` stages.
  template <int NumStages>
  struct Storage {
    /// Tiles or rows of A.
    alignas(kSwizzleRepeatBytes) uint8_t a[NumStages][kATileBytes];
    /// Tiles or rows of B.
    alignas(kSwizzleRepeatBytes) uint8_t b[NumStages][kBTileBytes];
    /// A's scales.
    alignas(128) float a_scales[NumStages][BM];
  };

  uint8_t* a;       ///< tiles or rows of A
  uint8_t* b;       ///< tiles or rows of B
  float* a_scales;  ///< A's scales

  /// The payload in this storage.
  template <int NumStages>
  static __device__ __forceinline__ BlockwiseFp8TilePayload of(Storage<NumStages>& storage) {
    return BlockwiseFp8TilePayload{storage.a[0], storage.b[0], storage.a_scales[0]};
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
  __device__ __forceinline__ float* a_scales_tile(uint32_t stage) const {
    return a_scales + stage * BM;
  }
};

}  // namespace bw
