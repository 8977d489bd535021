// What the benchmark of the Hopper GEMM computes and writes, without a GPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "common/host/error.hpp"
#include "tests/benchmarks/hopper/bar_chart.hpp"
#include "tests/benchmarks/hopper/report.hpp"

namespace bw {
namespace {

ContestResult result_of(Shape shape, double ours, double peer) {
  ContestResult result{};
  result.shape = shape;
  result.config = "128x256_2x1";
  result.our_time = ours;
  result.our_error = 0.0017;
  result.peer_algorithms = peer > 0 ? 3 : 0;
  result.peer_time = peer;
  result.peer_error = 0.0017;
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
  EXPECT_NEAR(geometric_mean({result_of(shape, 100, 200), result_of(shape, 100, 50),
                              result_of(shape, 100, 0)}),
              1.0, 1e-12);
  EXPECT_EQ(geometric_mean({result_of(shape, 100, 0)}), 0.0);
}

TEST(Report, TablesHoldEveryShape) {
  const std::vector<ContestResult> results = {result_of({4096, 4096, 4096}, 100, 120),
                                              result_of({64, 2112, 7168}, 26, 0)};
  const MachineInfo machine{"2026-01-01", "GPU", 132, "580.1", "13.0", "13.1.0", "unknown"};
  const std::string table = results_markdown(results, floor_of(1500, 3e12), machine);
  EXPECT_NE(table.find("| 4096 | 4096 | 4096 | 0 | 128x256_2x1 | 100.0 us | 1374 |"),
            std::string::npos)
      << table;
  EXPECT_NE(table.find("| 1.200 |"), std::string::npos) << table;
  EXPECT_NE(table.find("no algorithm"), std::string::npos) << table;
  EXPECT_NE(table.find("driver 580.1"), std::string::npos) << table;

  const std::string csv = results_csv(results, floor_of(1500, 3e12), machine);
  const auto commas_of_line = [&](int line) {
    size_t begin = 0;
    for (int i = 0; i < line; ++i) begin = csv.find('\n', begin) + 1;
    const size_t end = csv.find('\n', begin);
    return std::count(csv.begin() + static_cast<int64_t>(begin),
                      csv.begin() + static_cast<int64_t>(end), ',');
  };
  EXPECT_EQ(commas_of_line(1), commas_of_line(0)) << csv;
  EXPECT_EQ(commas_of_line(2), commas_of_line(0)) << csv;
}

TEST(Chart, HoldsEveryBarOnceAndEscapesItsTexts) {
  BarChart chart{"A < B & C", "subtitle", {}, 1.0, "reference", "axis"};
  chart.bars = {{"first", 0.5, "half"}, {"second", 2.0, "double"}};
  const std::string svg = draw_bar_chart(chart);
  EXPECT_NE(svg.find("A &lt; B &amp; C"), std::string::npos);
  const auto count = [&](const std::string& text) {
    int found = 0;
    for (size_t at = svg.find(text); at != std::string::npos; at = svg.find(text, at + 1)) ++found;
    return found;
  };
  EXPECT_EQ(count("class=\"reached\""), 1);
  EXPECT_EQ(count("class=\"missed\""), 1);
  EXPECT_EQ(svg.rfind("<svg", 0), 0u);
  EXPECT_EQ(svg.substr(svg.size() - 7), "</svg>\n");
}

}  // namespace
}  // namespace bw
