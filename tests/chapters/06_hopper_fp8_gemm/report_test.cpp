/// \file
/// What the benchmark of the Hopper GEMM computes and writes, without a GPU.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "common/host/error.hpp"
#include "tests/benchmarks/hopper/bar_chart.hpp"
#include "tests/benchmarks/hopper/report.hpp"

namespace bw {
namespace {

/// Timed in all ways; queued launches take 4 us less each, the peer's graph 3 us less. `peer` 0: it
/// has no algorithm.
ContestResult result_of(Shape shape, double ours, double peer) {
  ContestResult result{};
  result.shape = shape;
  result.config = "128x256_2x1";
  result.our_error = 0.0017;
  result.peer_algorithms = peer > 0 ? 3 : 0;
  result.peer_error = 0.0017;
  const double less = 4;
  result.single = TimePair{{ours, 0.01}, {peer, 0.02}, 1};
  result.graph = TimePair{{ours, 0.01}, {peer > 0 ? peer - 3 : 0, 0.02}, 1};
  result.queued = TimePair{{ours - less, 0.01}, {peer > 0 ? peer - less : 0, 0.02}, 2};
  return result;
}

Floor floor_of(double tflops, double bytes_per_second) {
  Floor floor{};
  floor.tensor = {{"a", 1, tflops / 2, 2000, 1.5}, {"b", 1, tflops, 4000, 1.5}};
  floor.memory = {bytes_per_second, bytes_per_second / 2};
  return floor;
}

TEST(Shapes, AreParsedOrRefused) {
  const auto shapes = parse_shapes("1x8x16,4096x7168x2048");
  ASSERT_EQ(shapes.size(), 2u);
  EXPECT_EQ(shapes[1].name(), "4096x7168x2048");
  EXPECT_EQ(parse_shapes("standard").size(), 11u);
  for (const char* wrong : {"", "1x2", "1x2x3x4", "axbxc", "1x2x3;4x5x6", "0x8x16", "1x8x-16"}) {
    EXPECT_THROW(parse_shapes(wrong), Error) << wrong;
  }
}

TEST(Shapes, CountOperationsAndBytes) {
  const Shape shape{128, 256, 512};
  EXPECT_DOUBLE_EQ(shape.flops(), 2.0 * 128 * 256 * 512);
  const double scales = 4.0 * (4 * 128 + 4 * 2);  // 4 K blocks; 128 rows of A, 2 blocks of B
  EXPECT_DOUBLE_EQ(shape.least_bytes(false), 128.0 * 512 + 256.0 * 512 + 2.0 * 128 * 256 + scales);
  EXPECT_DOUBLE_EQ(shape.least_bytes(true) - shape.least_bytes(false), 2.0 * 128 * 256);
}

TEST(Limit, IsTheSlowerOfTensorCoresAndMemory) {
  const Floor floor = floor_of(1000, 2e12);
  const Shape large{8192, 8192, 8192}, thin{64, 2112, 7168};
  EXPECT_NEAR(floor.limit(large, false), large.flops() / 1e15 * 1e6, 1e-6);
  EXPECT_NEAR(floor.limit(thin, false), thin.least_bytes(false) / 2e12 * 1e6, 1e-6);
}

TEST(Report, GeometricMeanLeavesOutWhatHasNoPeer) {
  const Shape shape{4096, 4096, 4096};
  const std::vector<ContestResult> results = {result_of(shape, 100, 200), result_of(shape, 100, 50),
                                              result_of(shape, 100, 0)};
  EXPECT_NEAR(geometric_mean(results, single_launches), 1.0, 1e-12);
  EXPECT_NEAR(geometric_mean(results, queued_launches), std::sqrt(196.0 / 96 * 46 / 96), 1e-12);
  EXPECT_EQ(geometric_mean({result_of(shape, 100, 0)}, single_launches), 0.0);
}

TEST(Report, GeometricMeanLeavesOutWhatWasNotTimedSo) {
  ContestResult result = result_of({4096, 4096, 4096}, 100, 200);
  result.queued.reset();
  EXPECT_NEAR(geometric_mean({result}, single_launches), 2.0, 1e-12);
  EXPECT_EQ(geometric_mean({result}, queued_launches), 0.0);
}

Results results_of(std::vector<ContestResult> shapes) {
  Results results;
  results.shapes = std::move(shapes);
  results.empty = {MedianTime{5.5, 0.1}, MedianTime{3.5, 0.1}, MedianTime{1.5, 0.1}};
  results.floor = floor_of(1500, 3e12);
  results.machine = {"2026-01-01", "GPU", 132, "580.1", "13.0", "13.1.0", "unknown"};
  return results;
}

int64_t occurrences(const std::string& text, const std::string& what) {
  int64_t found = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++found;
  return found;
}

/// The lines that begin with `start`.
std::vector<std::string> lines_with(const std::string& text, const std::string& start) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    if (line.rfind(start, 0) == 0) lines.push_back(line);
  }
  return lines;
}

TEST(Report, TableHoldsEveryShapeByAllTimings) {
  const std::string table = results_markdown(
      results_of({result_of({4096, 4096, 4096}, 100, 120), result_of({64, 2112, 7168}, 26, 0)}));
  EXPECT_NE(table.find("| 4096 | 4096 | 4096 | 0 | 128x256_2x1 | 100.0 us | 1374 | 1.0 % | 120.0 us"
                       " | 1145 | 2.0 % | 1.200 |"),
            std::string::npos)
      << table;
  EXPECT_NE(table.find("| 117.0 us | 1.170 | 96.0 us | 116.0 us | 1.208 |"), std::string::npos)
      << table;
  EXPECT_NE(table.find("no algorithm"), std::string::npos) << table;
  EXPECT_NE(table.find("driver 580.1"), std::string::npos) << table;
  EXPECT_NE(table.find("An empty kernel: 5.5 us launched alone, 3.5 us alone as a graph, 1.5 us "
                       "queued."),
            std::string::npos)
      << table;
  EXPECT_NE(table.find("single launches: 1.200; the smallest: 1.200."), std::string::npos) << table;
  EXPECT_NE(table.find("cuBLASLt as a graph: 1.170; the smallest: 1.170."), std::string::npos)
      << table;
  EXPECT_NE(table.find("queued launches: 1.208; the smallest: 1.208."), std::string::npos) << table;
  const auto rows = lines_with(table, "|");
  ASSERT_EQ(rows.size(), 4u) << table;
  for (const std::string& row : rows) {
    EXPECT_EQ(occurrences(row, "|"), occurrences(rows[0], "|")) << row;
  }
}

TEST(Report, OneTimingAloneIsTheHeadline) {
  ContestResult result = result_of({4096, 4096, 4096}, 100, 120);
  result.single.reset();
  result.graph.reset();
  Results results = results_of({result});
  results.empty.single.reset();
  results.empty.graph.reset();
  const std::string table = results_markdown(results);
  EXPECT_NE(table.find("| 96.0 us | 1432 | 1.0 % | 116.0 us |"), std::string::npos) << table;
  EXPECT_EQ(table.find("single"), std::string::npos) << table;
  EXPECT_EQ(table.find("graph"), std::string::npos) << table;
  const auto rows = lines_with(table, "|");
  ASSERT_EQ(rows.size(), 3u) << table;
  for (const std::string& row : rows) {
    EXPECT_EQ(occurrences(row, "|"), occurrences(rows[0], "|")) << row;
  }
}

TEST(Report, EveryLineOfTheCsvHasAllFields) {
  ContestResult single_only = result_of({128, 256, 512}, 10, 20);
  single_only.queued.reset();
  const std::string csv = results_csv(results_of(
      {result_of({4096, 4096, 4096}, 100, 120), result_of({64, 2112, 7168}, 26, 0), single_only}));
  const auto lines = lines_with(csv, "");
  ASSERT_EQ(lines.size(), 4u) << csv;
  for (const std::string& line : lines) {
    EXPECT_EQ(occurrences(line, ","), occurrences(lines[0], ",")) << line;
  }
  EXPECT_NE(lines[0].find("graph_ratio"), std::string::npos);
  EXPECT_NE(lines[0].find("queued_ratio"), std::string::npos);
  EXPECT_NE(lines[1].find(",1.2000,100.000,"), std::string::npos) << lines[1];
  EXPECT_NE(lines[1].find(",1.1700,96.000,"), std::string::npos) << lines[1];
}

TEST(Report, FloorShowsEveryMeasurement) {
  Floor floor = floor_of(1500, 3e12);
  floor.tma = {{2, 132, 196608, 44.4, 22.2, 9.9}};
  floor.shared = {{"m64n128k32", 16, 96, 48, 47.5, 0.891, 1.7}};
  floor.accumulation = {{13, 1, 1, 1, -1, 1}};
  const std::string text = floor_markdown(floor);
  EXPECT_NE(text.find("of the highest rate here: 1500 TFLOP/s."), std::string::npos) << text;
  EXPECT_NE(text.find("| multicast to 2 CTAs | 132 | 192 KiB | 44.4 | 22.2 | 9.90 |"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("| m64n128k32 | 16 | 48 | 47.5 | 96 | 89.1 % | 1.700 GHz |"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("| 2^13 | 1 | 1 | 1 | -1 | 1 |"), std::string::npos) << text;
}

TEST(Report, ChartShowsBothWaysToLaunchThePeer) {
  const std::string svg = results_chart(
      results_of({result_of({4096, 4096, 4096}, 100, 120), result_of({64, 2112, 7168}, 26, 20)}));
  EXPECT_EQ(occurrences(svg, "class=\"second\""), 2);
  EXPECT_EQ(occurrences(svg, "class=\"reached\""), 1);
  EXPECT_EQ(occurrences(svg, "class=\"missed\""), 1);
  EXPECT_NE(svg.find("single launches: geometric mean 0.961"), std::string::npos) << svg;
  EXPECT_NE(svg.find("as a graph, too: "), std::string::npos) << svg;
}

TEST(Chart, HoldsEveryBarOnceAndEscapesItsTexts) {
  BarChart chart{"A < B & C", "subtitle", {}, 1.0, "reference", "axis", "bars", "thin"};
  chart.bars = {{"first", 0.5, "half", {}}, {"second", 2.0, "double", {}}};
  const std::string svg = draw_bar_chart(chart);
  EXPECT_NE(svg.find("A &lt; B &amp; C"), std::string::npos);
  EXPECT_EQ(occurrences(svg, "class=\"reached\""), 1);
  EXPECT_EQ(occurrences(svg, "class=\"missed\""), 1);
  EXPECT_EQ(occurrences(svg, "class=\"second\""), 0);
  EXPECT_EQ(svg.find("thin"), std::string::npos);
  EXPECT_EQ(svg.rfind("<svg", 0), 0u);
  EXPECT_EQ(svg.substr(svg.size() - 7), "</svg>\n");
}

}  // namespace
}  // namespace bw
