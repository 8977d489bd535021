#pragma once
/// \file
/// The scales of a K block on their way to the tensor core: copies into tensor memory, and four
/// MMAs that each take their own.

#include <cstdint>

#include "common/device/exercise.cuh"
#include "solutions/07_block_scaled_gemm/labs/scaled_lab.cuh"

namespace bw {

/// Bytes of shared memory and columns of tensor memory that the scales of 128 rows take.
template <BlockFormat format>
struct LabScales {
  static constexpr int kAtoms = scale_atoms_per_k_block(format);    ///< along K
  static constexpr uint32_t kBytes = kAtoms * kScaleAtomBytes;      ///< of shared memory
  static constexpr uint32_t kColumns = kAtoms * kScaleAtomColumns;  ///< of tensor memory
};

/// One lane: the atoms of a K block, which follow each other at `atoms` in shared memory, to the
/// columns from `tmem` on.
template <BlockFormat format>
__device__ __forceinline__ void spread_scales(uint32_t tmem, uint32_t atoms) {
  // >>> exercise 7.2 "Spread the scales"
#pragma unroll
  for (int atom = 0; atom < LabScales<format>::kAtoms; ++atom) {
    ptx::tcgen05_cp_32x128b_warpx4<1>(tmem + atom * kScaleAtomColumns,
                                      make_scale_atom_descriptor(atoms + atom * kScaleAtomBytes));
  }
  // <<< exercise 7.2
}

/// Where the scales of an MMA are: `column` counts from the first of the K block's columns, `id` is
/// the byte of the columns' words at which they begin.
struct ScalePlace {
  uint32_t column;  ///< of tensor memory
  int id;           ///< for the instruction descriptor
};

/// The place of the scales of MMA `mma` (0 … 3) of a K block.
template <BlockFormat format>
__device__ __forceinline__ constexpr ScalePlace scales_of(int mma) {
  // >>> exercise 7.3 "Which scales are whose"
  const int scale = mma * scales_per_mma(format);  // of the row's scales in this K block
  return {static_cast<uint32_t>(scale / kScaleAtomBlocks * kScaleAtomColumns),
          scale % kScaleAtomBlocks};
  // <<< exercise 7.3
}

/// What a lab does wrong on purpose.
struct ScaleMistake {
  bool first_for_all = false;  ///< every MMA takes the scales of the first
  uint32_t flipped = 0;        ///< bits of the instruction descriptor that are wrong
};

/// One lane: the four MMAs of a K block. `scales`: the columns of A's scales; B's follow.
template <BlockFormat format>
__device__ __forceinline__ void multiply_scaled(uint32_t d, const uint8_t* a_tile,
                                                const uint8_t* b_tile, uint32_t scales,
                                                bool accumulate, ScaleMistake mistake = {}) {
  const uint32_t b_scales = scales + LabScales<format>::kColumns;
  const uint64_t a = make_k_major_descriptor(ptx::shared_address(a_tile), Swizzle::k128B);
  const uint64_t b = make_k_major_descriptor(ptx::shared_address(b_tile), Swizzle::k128B);
#pragma unroll
  for (int mma = 0; mma < kMmasPerKBlock; ++mma) {
    const ScalePlace place = scales_of<format>(mistake.first_for_all ? 0 : mma);
    const uint32_t descriptor =
        make_block_scaled_instruction_descriptor<format, kLabTile, kLabTile, 1>(place.id);
    ptx::tcgen05_mma_block_scaled<format, 1>(d, advance_descriptor(a, mma * kBlockScaledMmaBytes),
                                             advance_descriptor(b, mma * kBlockScaledMmaBytes),
                                             descriptor ^ mistake.flipped, scales + place.column,
                                             b_scales + place.column, accumulate || mma > 0);
  }
}

}  // namespace bw
