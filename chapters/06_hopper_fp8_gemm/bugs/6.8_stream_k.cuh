#pragma once
/// \file
/// Which K blocks of which pieces of the output a cluster computes when the last, incomplete round
/// of pieces is divided along K ("stream-K").

#include <cstdint>

#include "common/device/exercise.cuh"
#include "common/device/fast_divisor.cuh"
#include "common/device/host_device.cuh"

namespace bw::hopper {

/// K blocks `first` to `end` - 1 of the raster's piece `piece`.
struct PiecePart {
  uint32_t piece;  ///< number of the piece in the raster
  uint32_t first;  ///< first K block
  uint32_t end;    ///< after the last K block
};

/// What `clusters` clusters, all at work at once, do with a raster of pieces of `k_blocks` K
/// blocks.
///
/// The first `whole` pieces fill whole rounds: cluster i computes the pieces i, i + clusters, … The
/// `split` pieces that are left would occupy as many clusters for a whole round. Each of them has
/// an owner, one of the last clusters, which computes its first `owned` K blocks only. The rest of
/// all of them, piece after piece, is one line of K blocks, divided evenly among `helpers`, the
/// first clusters. A helper leaves its partial sums in memory; the owner adds them and writes the
/// output.
///
/// All owners begin at K block 0, so that they walk along K together: what one reads, others find
/// in L2. Helpers never wait and come first: the grid fits the GPU, but alongside other kernels it
/// may not, and GPUs start clusters in the order of their indices (CUDA doesn't promise it).
struct StreamKSchedule {
  uint32_t clusters = 0;  ///< clusters of the grid
  uint32_t k_blocks = 0;  ///< of a piece
  uint32_t whole = 0;     ///< pieces that clusters compute alone
  uint32_t split = 0;     ///< pieces that are split
  uint32_t owned = 0;     ///< K blocks of a split piece that its owner computes
  uint32_t helpers = 0;   ///< clusters that help
  // By these it divides, so that all it computes stays in a warp's uniform registers.
  FastDivisor by_split{};    ///< divides by `split`
  FastDivisor by_helpers{};  ///< divides by `helpers`
  FastDivisor by_helped{};   ///< divides by helped()

  /// An owner's cost for a split piece in addition to its K blocks, in K blocks: it waits for
  /// partial sums and adds them. Found on an H100, as kPartialSumBlocks below.
  static constexpr uint32_t kMergeBlocks = 6;
  /// More helpers for a piece would save little: its owner adds one partial sum after the other.
  static constexpr uint32_t kMostHelpersOfPiece = 3;

  /// The first cluster that owns a shared tile.
  BW_HOST_DEVICE constexpr uint32_t first_owner() const { return helpers; }
  /// Whether a cluster owns a shared tile.
  BW_HOST_DEVICE constexpr bool is_owner(uint32_t cluster) const {
    return !(cluster < first_owner());
  }
  /// Whether a cluster helps with one.
  BW_HOST_DEVICE constexpr bool is_helper(uint32_t cluster) const { return helpers > cluster; }
  /// The split piece that `owner` owns.
  BW_HOST_DEVICE constexpr uint32_t owned_piece(uint32_t owner) const {
    return whole + owner - first_owner();
  }

  /// Where the share of a helper begins on the line; it ends where the next one's begins.
  BW_HOST_DEVICE constexpr uint32_t share_begin(uint32_t helper) const {
    return by_helpers.quotient(split * helped() * helper);
  }

  /// Calls `body(part)` for all that `cluster` computes: its whole pieces, then its parts of split
  /// ones. (One loop, so that the kernel's code for a part is there once.)
  template <class Body>
  BW_HOST_DEVICE constexpr void for_each_part(uint32_t cluster, Body&& body) const {
    uint32_t piece = cluster, place = 0;
    while (true) {
      PiecePart part{piece, 0, k_blocks};
      if (piece < whole) {
        piece += clusters;
      } else if (!next_split_part(cluster, place, part)) {
        return;
      }
      body(part);
    }
  }

  /// Calls `body(piece)` for all pieces that `cluster` writes: its whole ones, then the one it
  /// owns.
  template <class Body>
  BW_HOST_DEVICE constexpr void for_each_output_piece(uint32_t cluster, Body&& body) const {
    for (uint32_t piece = cluster;; piece += clusters) {
      const bool is_whole = piece < whole;
      if (!is_whole && !is_owner(cluster)) return;
      body(is_whole ? piece : owned_piece(cluster));
      if (!is_whole) return;
    }
  }

  /// Calls `body(helper)` for each helper with a part of a split piece, in the order of K blocks.
  template <class Body>
  BW_HOST_DEVICE constexpr void for_each_helper(uint32_t piece, Body&& body) const {
    const uint32_t begin = (piece - whole) * helped(), end = begin + helped();
    uint32_t helper = by_split.quotient((piece - whole) * helpers);
    for (; helper < helpers && share_begin(helper) < end; ++helper) {
      if (share_begin(helper + 1) > begin) body(helper);
    }
  }

  /// Number of the partial sum that `helper` leaves of a split piece, below `clusters`: from one
  /// partial sum on the line to the next, either the helper or the piece is another.
  BW_HOST_DEVICE constexpr uint32_t partial_sum(uint32_t helper, uint32_t piece) const {
    return helper + piece - whole;
  }

  /// K blocks of a split piece that its owner leaves to others.
  BW_HOST_DEVICE constexpr uint32_t helped() const { return k_blocks - owned; }

 private:
  /// The next part of a split piece that `cluster` computes, if there is one. `place` is 0 before
  /// the first, then where the last one ended: on the line for a helper.
  BW_HOST_DEVICE constexpr bool next_split_part(uint32_t cluster, uint32_t& place,
                                                PiecePart& part) const {
    if (is_owner(cluster)) {
      if (place > 0) return false;
      part = {owned_piece(cluster), 0, owned};
      place = owned;
      return true;
    }
    if (!is_helper(cluster)) return false;
    // Right lines, not shown here: you write them in exercise 6.7.
    //
    //
    //
    //
    //
    //
  }
};

/// The schedule in which all finish at about the same time. What can't be gained by splitting, or
/// is too large to be counted, isn't split.
constexpr StreamKSchedule make_stream_k_schedule(uint32_t pieces, uint32_t clusters,
                                                 uint32_t k_blocks) {
  // What a partial sum costs its helper, in K blocks.
  constexpr uint64_t kPartialSumBlocks = 5;
  StreamKSchedule schedule{
      .clusters = clusters, .k_blocks = k_blocks, .whole = pieces, .owned = k_blocks};
  const uint32_t split = pieces % clusters;
  if (split == 0) return schedule;
  const uint32_t idle = clusters - split;
  const uint32_t most = StreamKSchedule::kMostHelpersOfPiece * split;
  const uint32_t helpers = idle < most ? idle : most;
  // owned = split · (k_blocks - owned) / helpers + what the helper's partial sums cost
  const uint64_t cost = kPartialSumBlocks * (1 + split / helpers) * helpers;
  const uint64_t owned =
      (uint64_t{split} * k_blocks + cost + split + helpers - 1) / (split + helpers);
  if (owned + StreamKSchedule::kMergeBlocks >= k_blocks) return schedule;
  const uint64_t line = split * (k_blocks - owned);
  constexpr uint64_t kDivisible = uint64_t{1} << 31;  // FastDivisor's limit
  if (line * (helpers + 1) >= kDivisible) return schedule;
  schedule.whole = pieces - split;
  schedule.split = split;
  schedule.owned = static_cast<uint32_t>(owned);
  schedule.helpers = helpers;
  schedule.by_split = FastDivisor(split);
  schedule.by_helpers = FastDivisor(helpers);
  schedule.by_helped = FastDivisor(schedule.helped());
  return schedule;
}

}  // namespace bw::hopper
