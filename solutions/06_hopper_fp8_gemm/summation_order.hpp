#pragma once
/// \file
/// In which parts of K a kernel sums which elements of D: what the host must know to say, bit for
/// bit, what the tensor cores compute in the kernel's order.

#include <cstdint>
#include <vector>

#include "common/host/require.hpp"
#include "common/host/tensor_core_element.hpp"
#include "solutions/05_blockwise_fp8_gemm/tile_raster.cuh"
#include "solutions/06_hopper_fp8_gemm/gemm_traits.hpp"
#include "solutions/06_hopper_fp8_gemm/stream_k.cuh"

namespace bw::hopper {

/// Rows and columns of D; elements outside of D don't count.
struct OutputWindow {
  int64_t row;      ///< the first one
  int64_t column;   ///< the first one
  int64_t rows;     ///< number of rows
  int64_t columns;  ///< number of columns

  /// Whether an element is in the window.
  constexpr bool contains(int64_t r, int64_t c) const {
    return r >= row && r < row + rows && c >= column && c < column + columns;
  }
};

/// A piece of the raster whose K is summed in parts of its own.
struct SplitPiece {
  OutputWindow window;  ///< where in D
  KParts parts;         ///< its parts of K
};

/// The parts of K for every element of D: one answer for all, except in the pieces that stream_k
/// splits.
class SummationOrder {
 public:
  /// Every element in `parts`.
  explicit SummationOrder(const KParts& parts) : elsewhere_(parts) {}

  /// What a launch of the kernel of `traits` does, with K of `k_blocks` K blocks, that walks
  /// over `raster` by `schedule`; one that splits nothing for a kernel without stream_k. Throws
  /// Error where KParts can't hold the parts of a piece.
  SummationOrder(const GemmTraits& traits, uint32_t k_blocks, const TileRaster& raster,
                 const StreamKSchedule& schedule)
      : elsewhere_(equal_k_parts(int64_t{k_blocks} * kPromotedProducts, traits.split_k)) {
    const int64_t rows = traits.cluster_rows(), columns = traits.cluster_columns();
    for (uint32_t i = 0; i < schedule.split; ++i) {
      const uint32_t piece = schedule.whole + i;
      const WorkTile tile = raster.tile(piece);
      split_pieces_.push_back(
          {{tile.m * rows, tile.n * columns, rows, columns}, parts_of_piece(schedule, piece)});
    }
  }

  /// The parts of element (row, column).
  const KParts& parts_of(int64_t row, int64_t column) const {
    for (const SplitPiece& piece : split_pieces_) {
      if (piece.window.contains(row, column)) return piece.parts;
    }
    return elsewhere_;
  }

  /// The pieces that are split.
  const std::vector<SplitPiece>& split_pieces() const { return split_pieces_; }
  /// The parts of all elements that are in none of the split pieces.
  const KParts& elsewhere() const { return elsewhere_; }

 private:
  /// The parts in which the sum of a split piece is formed: its owner's, then its helpers'.
  static KParts parts_of_piece(const StreamKSchedule& schedule, uint32_t piece) {
    KParts parts;
    int64_t end = schedule.owned;
    schedule.for_each_helper(piece, [&](uint32_t helper) {
      schedule.for_each_part(helper, [&](const PiecePart& part) {
        if (part.piece != piece) return;
        require(part.first == end, "Helper ", helper, "'s part of piece ", piece,
                " begins at K block ", part.first, ", but the one before it ends at ", end, ".");
        require(parts.count() < KParts::kMost, "Piece ", piece, " is split into more than ",
                KParts::kMost, " parts: raise KParts::kMost.");
        parts.split_at(end);
        end = part.end;
      });
    });
    return parts;
  }

  KParts elsewhere_;
  std::vector<SplitPiece> split_pieces_;
};

}  // namespace bw::hopper
