#pragma once
/// \file
/// The layout of scales in global and in shared memory: atoms of 128 rows × 4 blocks, 512 bytes
/// each (cuBLAS documentation, "1D Block Scaling Factors Layout"). One tcgen05.cp.32x128b.warpx4
/// brings an atom into tensor memory as the MMA reads it (PTX ISA, "Block Scaling": "Scale Factor A
/// ID").
///
///     byte of an atom: row % 32 · 16 + row / 32 · 4 + block
///     tensor memory:   lane row % 32 (and + 32, + 64, + 96), column row / 32, byte block

#include <cstdint>

#include "common/device/block_format.cuh"
#include "common/device/host_device.cuh"

namespace bw {

constexpr int kScaleAtomRows = 128;      ///< rows of A or B
constexpr int kScaleAtomBlocks = 4;      ///< blocks along K: the bytes of a word of tensor memory
constexpr int kScaleAtomBytes = 512;     ///< one byte for each scale
constexpr int kScaleAtomColumns = 4;     ///< columns of tensor memory
constexpr int kScaleRowsPerColumn = 32;  ///< rows whose scales one column of tensor memory holds
static_assert(kScaleAtomRows * kScaleAtomBlocks == kScaleAtomBytes, "a scale is one byte");

/// Byte of an atom at which the scale of row `row` (0 … 127) and block `block` (0 … 3) is stored.
BW_HOST_DEVICE constexpr int64_t scale_offset_in_atom(int64_t row, int64_t block) {
  constexpr int64_t kLaneBytes = 16;
  return row % kScaleRowsPerColumn * kLaneBytes + row / kScaleRowsPerColumn * kScaleAtomBlocks +
         block;
}

/// Atoms along K of a matrix with `blocks` blocks in a row.
BW_HOST_DEVICE constexpr int64_t scale_atoms_along_k(int64_t blocks) {
  return (blocks + kScaleAtomBlocks - 1) / kScaleAtomBlocks;
}

/// Atoms along the rows.
BW_HOST_DEVICE constexpr int64_t scale_atoms_along_rows(int64_t rows) {
  return (rows + kScaleAtomRows - 1) / kScaleAtomRows;
}

/// Bytes of all scales of a matrix of `rows` rows with `blocks` blocks each: whole atoms.
BW_HOST_DEVICE constexpr int64_t scale_bytes(int64_t rows, int64_t blocks) {
  return scale_atoms_along_rows(rows) * scale_atoms_along_k(blocks) * kScaleAtomBytes;
}

/// Byte at which the scale of (`row`, `block`) is stored: atoms follow each other along K, then by
/// rows. `atoms_along_k`: of the matrix.
BW_HOST_DEVICE constexpr int64_t scale_offset(int64_t row, int64_t block, int64_t atoms_along_k) {
  const int64_t atom = row / kScaleAtomRows * atoms_along_k + block / kScaleAtomBlocks;
  return atom * kScaleAtomBytes +
         scale_offset_in_atom(row % kScaleAtomRows, block % kScaleAtomBlocks);
}

/// Atoms along K that the scales of a K block fill: 1, 2 or 4.
BW_HOST_DEVICE constexpr int scale_atoms_per_k_block(BlockFormat format) {
  return block_k(format) / scale_block(format) / kScaleAtomBlocks;
}

/// The atom, of those of a K block, that has the scales of the block's MMA `mma` (0 … 3).
BW_HOST_DEVICE constexpr int scale_atom_of_mma(BlockFormat format, int mma) {
  return mma * scales_per_mma(format) / kScaleAtomBlocks;
}

/// The scale factor id of that MMA: the byte of its words at which the scales begin.
BW_HOST_DEVICE constexpr int scale_id_of_mma(BlockFormat format, int mma) {
  return mma * scales_per_mma(format) % kScaleAtomBlocks;
}

}  // namespace bw
