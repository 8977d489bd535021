#pragma once
/// \file
/// The times of a third contestant that can't run here, measured elsewhere with cuBLASLt: a table
/// with the columns m, n, k, PEER_warm_us, PEER_cold_us, cublaslt_warm_us and cublaslt_cold_us,
/// whatever PEER is called; those of ours, and of anything that isn't a time, are passed over.

#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "common/host/csv_table.hpp"
#include "tests/benchmarks/hopper/grid.hpp"

namespace bw {

/// What the table says of a shape; where a field was empty there is nothing.
struct PeerRow {
  std::optional<double> peer_warm, peer_cold, cublaslt_warm, cublaslt_cold;
};

/// A peer's time by ours, above 1: we are faster.
struct PeerRatios {
  double warm, cold;
};

/// The table.
class PeerTimes {
 public:
  /// Throws Error, with the file and the line, for a missing column, a repeated shape, or
  /// a field that isn't a positive number.
  explicit PeerTimes(const CsvTable& table);

  /// What the peer is called.
  const std::string& name() const { return name_; }
  /// The table's line for a shape; null without one.
  const PeerRow* find(const Shape& shape) const;

  /// The ratios of all results that the table has, the others without. The table's card was another
  /// one: the peer's time is multiplied by cuBLASLt's here over cuBLASLt's there, of the same
  /// shape, or in the geometric mean of all shapes where cuBLASLt has no algorithm.
  std::vector<std::optional<PeerRatios>> ratios(const std::vector<GridResult>& results) const;

 private:
  std::string name_;
  std::map<std::tuple<int64_t, int64_t, int64_t>, PeerRow> rows_;
};

}  // namespace bw
