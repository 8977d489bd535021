#include "tests/benchmarks/hopper/peer_times.hpp"

#include <cmath>
#include <string_view>

namespace bw {
namespace {

constexpr std::string_view kWarm = "_warm_us";

/// The one contestant that is neither ours nor cuBLASLt.
std::string peer_of(const CsvTable& table) {
  std::string found;
  for (const std::string& column : table.columns()) {
    if (!column.ends_with(kWarm)) continue;
    const std::string name = column.substr(0, column.size() - kWarm.size());
    if (name == "ours" || name == "cublaslt") continue;
    require(found.empty(), "The peer's table has times of ", found, " and of ", name,
            "; give a table of one peer.");
    found = name;
  }
  require(!found.empty(),
          "The peer's table has columns of ours and of cublaslt, but no column PEER_warm_us.");
  return found;
}

std::optional<double> time_of(const CsvTable& table, size_t row, size_t column) {
  if (table.text(row, column).empty()) return std::nullopt;
  return table.positive(row, column);
}

/// The geometric mean of `ratios`; 1 without any.
double mean_of(const std::vector<double>& ratios) {
  double logarithms = 0;
  for (const double ratio : ratios) logarithms += std::log(ratio);
  return ratios.empty() ? 1 : std::exp(logarithms / static_cast<double>(ratios.size()));
}

/// How much slower this card is than the table's by cuBLASLt, warm and cold.
struct CardFactors {
  std::optional<double> warm, cold;
};

CardFactors factors_of(const GridResult& result, const PeerRow* row) {
  CardFactors factors;
  if (row == nullptr || !result.cublaslt) return factors;
  if (row->cublaslt_warm) factors.warm = result.cublaslt->warm / *row->cublaslt_warm;
  if (row->cublaslt_cold) factors.cold = result.cublaslt->cold / *row->cublaslt_cold;
  return factors;
}

}  // namespace

PeerTimes::PeerTimes(const CsvTable& table) : name_(peer_of(table)) {
  const size_t m = table.column("m"), n = table.column("n"), k = table.column("k");
  const size_t columns[] = {table.column(name_ + "_warm_us"), table.column(name_ + "_cold_us"),
                            table.column("cublaslt_warm_us"), table.column("cublaslt_cold_us")};
  for (size_t i = 0; i < table.rows(); ++i) {
    const std::tuple shape(table.positive_integer(i, m), table.positive_integer(i, n),
                           table.positive_integer(i, k));
    const PeerRow row{time_of(table, i, columns[0]), time_of(table, i, columns[1]),
                      time_of(table, i, columns[2]), time_of(table, i, columns[3])};
    require(rows_.emplace(shape, row).second, table.place(i), ": the shape ", table.text(i, m), "x",
            table.text(i, n), "x", table.text(i, k), " is in the table twice; leave one out.");
  }
}

const PeerRow* PeerTimes::find(const Shape& shape) const {
  const auto found = rows_.find(std::tuple(shape.m, shape.n, shape.k));
  return found == rows_.end() ? nullptr : &found->second;
}

std::vector<std::optional<PeerRatios>> PeerTimes::ratios(
    const std::vector<GridResult>& results) const {
  std::vector<double> warm, cold;
  for (const GridResult& result : results) {
    const CardFactors factors = factors_of(result, find(result.shape));
    if (factors.warm) warm.push_back(*factors.warm);
    if (factors.cold) cold.push_back(*factors.cold);
  }
  std::vector<std::optional<PeerRatios>> ratios;
  for (const GridResult& result : results) {
    const PeerRow* const row = find(result.shape);
    if (row == nullptr || !row->peer_warm || !row->peer_cold) {
      ratios.emplace_back();
      continue;
    }
    const CardFactors factors = factors_of(result, row);
    ratios.push_back(
        PeerRatios{*row->peer_warm * factors.warm.value_or(mean_of(warm)) / result.ours.warm,
                   *row->peer_cold * factors.cold.value_or(mean_of(cold)) / result.ours.cold});
  }
  return ratios;
}

}  // namespace bw
