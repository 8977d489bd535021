/// \file
/// How the last round of pieces is divided along K: owners, helpers, and the final sum.
#include "solutions/06_hopper_fp8_gemm/stream_k.cuh"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "common/host/ceil_div.hpp"

namespace bw::hopper {
namespace {

struct Case {
  uint32_t pieces, clusters, k_blocks;

  StreamKSchedule schedule() const { return make_stream_k_schedule(pieces, clusters, k_blocks); }
  std::string name() const {
    return std::to_string(pieces) + " pieces, " + std::to_string(clusters) + " clusters, " +
           std::to_string(k_blocks) + " K blocks";
  }
};

/// A part of a piece, and the cluster that computes it.
struct Share {
  uint32_t cluster;
  uint64_t first, end;
};

/// All that is computed, piece by piece, each in the order of K.
std::vector<std::vector<Share>> shares_of_pieces(const Case& c, const StreamKSchedule& schedule) {
  std::vector<std::vector<Share>> pieces(c.pieces);
  for (uint32_t cluster = 0; cluster < c.clusters; ++cluster) {
    schedule.for_each_part(cluster, [&](const PiecePart& part) {
      pieces.at(part.piece).push_back({cluster, part.first, part.end});
    });
  }
  for (std::vector<Share>& shares : pieces) {
    std::stable_sort(shares.begin(), shares.end(),
                     [](const Share& x, const Share& y) { return x.first < y.first; });
  }
  return pieces;
}

/// What is wrong with the parts of piece `piece`; empty if nothing is.
std::string fault_of_piece(const Case& c, const StreamKSchedule& schedule, uint32_t piece,
                           const std::vector<Share>& shares) {
  uint64_t end = 0;
  for (const Share& share : shares) {
    if (share.first != end) return "a K block is computed twice, or never";
    if (share.end <= share.first) return "a part is empty";
    end = share.end;
  }
  if (end != c.k_blocks) return "the last K blocks are never computed";
  if (piece < schedule.whole) return shares.size() == 1 ? "" : "a whole piece is split";
  const uint32_t owner = shares.front().cluster;
  if (!schedule.is_owner(owner) || schedule.owned_piece(owner) != piece) {
    return "K block 0 isn't the owner's";
  }
  std::vector<uint32_t> helpers, expected;
  schedule.for_each_helper(piece, [&](uint32_t helper) { helpers.push_back(helper); });
  for (size_t i = 1; i < shares.size(); ++i) expected.push_back(shares[i].cluster);
  if (expected.empty()) return "a split piece has no helper";
  if (helpers != expected) return "the owner doesn't add the helpers' parts in the order of K";
  constexpr size_t kMostHelpers = 5;  // three, and one more at each end where pieces share them
  return helpers.size() <= kMostHelpers ? "" : "a piece has too many helpers";
}

/// What is wrong with the roles of the clusters.
std::string fault_of_roles(const Case& c, const StreamKSchedule& schedule) {
  if (schedule.whole + schedule.split != c.pieces) return "pieces are missing";
  if (schedule.split == 0) return "";
  if (schedule.whole % c.clusters != 0) return "whole pieces don't fill whole rounds";
  std::set<uint32_t> owned;
  for (uint32_t cluster = 0; cluster < c.clusters; ++cluster) {
    const bool is_owner = schedule.is_owner(cluster), is_helper = schedule.is_helper(cluster);
    if (is_owner && is_helper) return "a cluster is owner and helper";
    if (is_owner) owned.insert(schedule.owned_piece(cluster));
    if (is_helper && cluster >= schedule.first_owner()) return "a helper comes after an owner";
  }
  if (owned.size() != schedule.split) return "not every split piece has an owner of its own";
  return *owned.begin() == schedule.whole ? "" : "the owned pieces aren't those that are split";
}

/// What is wrong with the order in which the clusters compute and write pieces.
std::string fault_of_order(const Case& c, const StreamKSchedule& schedule) {
  for (uint32_t cluster = 0; cluster < c.clusters; ++cluster) {
    std::vector<uint32_t> begun, written;
    uint32_t next_whole = cluster;
    bool in_order = true;
    schedule.for_each_part(cluster, [&](const PiecePart& part) {
      const bool is_next = part.piece == next_whole && part.first == 0 && part.end == c.k_blocks;
      if (next_whole < schedule.whole && !is_next) in_order = false;
      next_whole += c.clusters;
      if (part.first == 0) begun.push_back(part.piece);
    });
    if (!in_order) return "a cluster's whole pieces aren't first, a round apart";
    schedule.for_each_output_piece(cluster, [&](uint32_t piece) { written.push_back(piece); });
    if (begun != written) return "a cluster doesn't write the pieces whose K block 0 it computes";
  }
  return "";
}

/// Faults in the numbers of partial sums, and in each cluster's share of the work.
std::string fault_of_shares(const Case& c, const StreamKSchedule& schedule) {
  std::set<uint32_t> numbers;
  uint64_t longest = 0;  // of the last round
  std::string fault;
  for (uint32_t cluster = 0; cluster < c.clusters; ++cluster) {
    uint64_t blocks = 0;
    schedule.for_each_part(cluster, [&](const PiecePart& part) {
      if (part.piece < schedule.whole) return;
      blocks += part.end - part.first;
      if (!schedule.is_helper(cluster)) return;
      const uint32_t number = schedule.partial_sum(cluster, part.piece);
      if (number >= c.clusters) fault = "the number of a partial sum is too large";
      if (!numbers.insert(number).second) fault = "two partial sums have the same number";
    });
    if (schedule.is_helper(cluster) && blocks > schedule.owned) {
      fault = "a helper has more to compute than an owner";
    }
    longest = std::max(longest, blocks);
  }
  if (!fault.empty() || schedule.split == 0) return fault;
  // Without splitting, the last round would take each piece's K blocks.
  return longest < c.k_blocks ? "" : "splitting gains nothing";
}

std::string fault_of(const Case& c) {
  const StreamKSchedule schedule = c.schedule();
  std::string fault = fault_of_roles(c, schedule);
  if (fault.empty()) fault = fault_of_shares(c, schedule);
  if (fault.empty()) fault = fault_of_order(c, schedule);
  const auto pieces = shares_of_pieces(c, schedule);
  for (uint32_t piece = 0; piece < c.pieces && fault.empty(); ++piece) {
    fault = fault_of_piece(c, schedule, piece, pieces[piece]);
  }
  return fault;
}

TEST(StreamK, EveryKBlockOfEveryPieceIsComputedOnceAndAdded) {
  int64_t split = 0, whole = 0;
  for (const uint32_t clusters : {1, 2, 3, 4, 5, 7, 16, 39, 57, 64, 66, 132}) {
    for (const uint32_t k_blocks : {1, 2, 5, 6, 7, 8, 9, 12, 13, 16, 17, 31, 56, 57, 128, 1001}) {
      for (uint32_t pieces = 1; pieces <= 2 * clusters + 3; ++pieces) {
        const Case c{pieces, clusters, k_blocks};
        ASSERT_EQ(fault_of(c), "") << c.name();
        (c.schedule().split > 0 ? split : whole) += 1;
      }
    }
  }
  EXPECT_GT(split, 0);
  EXPECT_GT(whole, 0);
}

TEST(StreamK, ManyRoundsComeBeforeTheSplitOne) {
  for (const Case& c : {Case{176, 66, 56}, Case{512, 66, 56}, Case{10007, 66, 128},
                        Case{66 * 1000 + 1, 66, 57}, Case{7, 2, 100}}) {
    ASSERT_EQ(fault_of(c), "") << c.name();
    const StreamKSchedule schedule = c.schedule();
    EXPECT_EQ(schedule.split, c.pieces % c.clusters) << c.name();
    EXPECT_EQ(schedule.whole, c.pieces / c.clusters * c.clusters) << c.name();
  }
}

TEST(StreamK, NothingIsSplitWhereThatWouldGainNothing) {
  for (const Case& c :
       {Case{66, 66, 56}, Case{132, 66, 56}, Case{512, 64, 56}, Case{1, 1, 56}, Case{5, 1, 1000},
        Case{30, 66, 1}, Case{30, 66, 4}, Case{65, 66, 56}, Case{66 + 65, 66, 56}}) {
    const StreamKSchedule schedule = c.schedule();
    EXPECT_EQ(schedule.split, 0u) << c.name();
    EXPECT_EQ(schedule.helpers, 0u) << c.name();
    EXPECT_EQ(schedule.whole, c.pieces) << c.name();
    EXPECT_EQ(fault_of(c), "") << c.name();
  }
}

TEST(StreamK, FewPiecesAreAllSplitAlike) {
  // Where three helpers for each piece are idle, every piece has three of its own, and the same
  // parts.
  for (const uint32_t clusters : {4, 64, 66}) {
    for (uint32_t split = 1; split <= clusters / 4; ++split) {
      for (const uint32_t rounds : {0, 1, 3}) {
        const Case c{rounds * clusters + split, clusters, 56};
        const StreamKSchedule schedule = c.schedule();
        ASSERT_EQ(schedule.split, split) << c.name();
        const auto pieces = shares_of_pieces(c, schedule);
        const std::vector<Share>& expected = pieces[schedule.whole];
        ASSERT_EQ(expected.size(), 4u) << c.name();
        for (uint32_t piece = schedule.whole; piece < c.pieces; ++piece) {
          ASSERT_EQ(pieces[piece].size(), expected.size()) << c.name();
          for (size_t part = 0; part < expected.size(); ++part) {
            EXPECT_EQ(pieces[piece][part].first, expected[part].first) << c.name();
            EXPECT_EQ(pieces[piece][part].end, expected[part].end) << c.name();
          }
        }
      }
    }
  }
}

TEST(StreamK, WhatIsTooLargeToBeCountedIsNotSplit) {
  // K blocks of the longest K that the GEMM takes: 2^31 / 128.
  constexpr uint32_t kMostBlocks = uint32_t{1} << 24;
  for (const auto& [pieces, clusters] :
       {std::pair{33u, 66u}, std::pair{16u, 66u}, std::pair{40u, 66u}, std::pair{60u, 132u}}) {
    // Bisection: `low` blocks are split, `high` blocks aren't.
    uint32_t low = 1000, high = kMostBlocks;
    ASSERT_GT((Case{pieces, clusters, low}.schedule().split), 0u);
    ASSERT_EQ((Case{pieces, clusters, high}.schedule().split), 0u);
    while (high - low > 1) {
      const uint32_t middle = low + (high - low) / 2;
      (Case{pieces, clusters, middle}.schedule().split > 0 ? low : high) = middle;
    }
    for (uint32_t k_blocks = low - 3; k_blocks <= high; ++k_blocks) {
      const Case c{pieces, clusters, k_blocks};
      EXPECT_EQ(fault_of(c), "") << c.name();
    }
    EXPECT_GT(low, 100000u) << "K of more than ten million is as long as anybody needs";
  }
}

TEST(StreamK, TheLastRoundIsMuchShorterWhereManyClustersWereIdle) {
  // 16 of 66 clusters would work on; four times as many do now.
  const StreamKSchedule quarter = make_stream_k_schedule(16, 66, 56);
  EXPECT_LE(quarter.owned, 56u / 2);
  const StreamKSchedule half = make_stream_k_schedule(66 + 33, 66, 56);
  EXPECT_LE(half.owned, 56u * 2 / 3);
}

}  // namespace
}  // namespace bw::hopper
