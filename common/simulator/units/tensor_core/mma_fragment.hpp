#pragma once
/// \file
/// Which element of a matrix a warp's registers hold in mma.sync and mma.sp (PTX ISA, "Matrix
/// Fragments for mma", one figure a shape; all of them but .m8n8k4 of .f16 follow one rule).
///
/// With g = lane / 4 and t = lane % 4, a register holds e = 1, 2, 4, 8 or 32 consecutive elements
/// of a row of A (a column of B): register r of A those of row g + 8 (r % (M / 8)) from column
/// 4 e (r / (M / 8)) + e t on, register r of B those of column g from row 4 e r + e t on. C and D
/// hold columns 2 t and 2 t + 1 of row g, then of row g + 8.

#include <cstdint>

#include "common/simulator/base/types.hpp"

namespace bw::sim {

inline constexpr int kMmaColumns = 8;  ///< N of every mma.sync
inline constexpr int kMmaRowsPerRegister =
    8;                                    ///< rows of A or C that one register of a warp covers
inline constexpr int kLanesOfARow = 4;    ///< lanes that hold a row of a fragment
inline constexpr int kRegisterBits = 32;  ///< of a register of a fragment

/// A place in a matrix: for A row and k, for B column and k, for C and D row and column.
struct FragmentPlace {
  int row = 0;     ///< of B: the column
  int column = 0;  ///< of A and B: k
};

/// Element `i` of register `r` of a lane in A of `m` rows; `e` elements fill a register.
[[nodiscard]] constexpr FragmentPlace place_in_a(int m, int e, int r, int lane, int i) {
  const int row_groups = m / kMmaRowsPerRegister;
  return {lane / kLanesOfARow + kMmaRowsPerRegister * (r % row_groups),
          kLanesOfARow * e * (r / row_groups) + e * (lane % kLanesOfARow) + i};
}

/// The same in B; `row` is the column n.
[[nodiscard]] constexpr FragmentPlace place_in_b(int e, int r, int lane, int i) {
  return {lane / kLanesOfARow, kLanesOfARow * e * r + e * (lane % kLanesOfARow) + i};
}

/// Value `i` of a lane in C or D, counted over its registers.
[[nodiscard]] constexpr FragmentPlace place_in_c(int lane, int i) {
  return {lane / kLanesOfARow + kMmaRowsPerRegister * (i / 2), 2 * (lane % kLanesOfARow) + i % 2};
}

/// .m8n8k4 of .f16 multiplies four pairs of matrices: lanes 4 q to 4 q + 3 and 16 + 4 q to
/// 16 + 4 q + 3 hold those of product q. A lane's half of the pair is lane / 16.
struct QuadPlace {
  int product = 0;      ///< which of the four pairs
  FragmentPlace place;  ///< in its matrix
};

/// Element `i` (0 to 3) of A, or of B with `row` the column n: along k where the fragment is
/// `along_k` (A by rows, B by columns), else along the other dimension.
[[nodiscard]] constexpr QuadPlace quad_place_in_ab(bool along_k, int lane, int i) {
  const int own = lane % kLanesOfARow, half = lane / 16;
  const int product = lane / kLanesOfARow % 4;
  return along_k ? QuadPlace{product, {own + 4 * half, i}}
                 : QuadPlace{product, {i + 4 * half, own}};
}

/// Value `i` (0 to 7) of C or D: 32-bit values are in blocks of 2 x 2, 16-bit ones along a row.
[[nodiscard]] constexpr QuadPlace quad_place_in_c(bool is_f32, int lane, int i) {
  const int half = lane / 16, product = lane / kLanesOfARow % 4;
  if (!is_f32) return {product, {lane % kLanesOfARow + 4 * half, i}};
  return {product, {(lane & 1) + (i & 2) + 4 * half, (i & 4) + (lane & 2) + (i & 1)}};
}

/// Sparse A: which of the elements of a row are kept. `bits` are the row's, 4 for a chunk.
struct SparseRow {
  uint64_t bits = 0;     ///< 4 for each chunk of the row
  bool singles = false;  ///< .tf32: one of two, else two of four
  int pair = 1;          ///< adjacent elements: 2 for 4-bit types, else 1

  /// The column of A of its stored element `index`.
  [[nodiscard]] constexpr int column(int index) const {
    const int unit = index / pair;
    if (singles) {
      constexpr uint64_t kSecond = 0xe;  // 0x4: the first of the two
      return 2 * unit + ((bits >> (4 * unit) & 0xf) == kSecond ? 1 : 0);
    }
    const auto kept = static_cast<int>(bits >> (2 * unit) & 3);
    return pair * (4 * (unit / 2) + kept) + index % pair;
  }
};

}  // namespace bw::sim
