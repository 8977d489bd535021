/// \file
/// The ratios to a peer whose times were measured elsewhere.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "common/host/error.hpp"
#include "tests/benchmarks/hopper/grid_report.hpp"

namespace bw {
namespace {

PeerTimes times_of(const std::string& text) {
  return PeerTimes(CsvTable::parse(text, "times.csv"));
}

const std::string kHead =
    "m,n,k,ours_config,ours_warm_us,other_warm_us,cublaslt_warm_us,ours_cold_us,other_cold_us,"
    "cublaslt_cold_us\n";

GridResult grid_result_of(const Shape& shape, WarmAndCold ours,
                          std::optional<WarmAndCold> cublaslt) {
  GridResult result;
  result.shape = shape;
  result.config = "128x256_2x1";
  result.ours = ours;
  result.cublaslt = cublaslt;
  return result;
}

TEST(PeerTimes, AreScaledByCublasltOfTheSameShape) {
  const PeerTimes peer = times_of(kHead + "64,128,256,x,1,20,40,1,30,50\n");
  EXPECT_EQ(peer.name(), "other");
  // cuBLASLt takes half of what it took there, cold twice as much.
  const auto ratios = peer.ratios({grid_result_of({64, 128, 256}, {8, 40}, WarmAndCold{20, 100}),
                                   grid_result_of({64, 128, 512}, {8, 40}, WarmAndCold{20, 100})});
  ASSERT_EQ(ratios.size(), 2u);
  ASSERT_TRUE(ratios[0]);
  EXPECT_DOUBLE_EQ(ratios[0]->warm, 20 * 0.5 / 8);
  EXPECT_DOUBLE_EQ(ratios[0]->cold, 30 * 2.0 / 40);
  EXPECT_FALSE(ratios[1]) << "the table hasn't got this shape";
}

TEST(PeerTimes, WithoutCublasltAreScaledByTheMeanOfTheOthers) {
  const PeerTimes peer = times_of(kHead +
                                  "1,128,256,x,1,10,,1,20,\n"
                                  "4,128,256,x,1,10,10,1,20,10\n"
                                  "8,128,256,x,1,10,10,1,20,10\n");
  const auto ratios = peer.ratios({grid_result_of({1, 128, 256}, {10, 20}, {}),
                                   grid_result_of({4, 128, 256}, {10, 20}, WarmAndCold{20, 5}),
                                   grid_result_of({8, 128, 256}, {10, 20}, WarmAndCold{80, 20})});
  ASSERT_TRUE(ratios[0]);
  EXPECT_NEAR(ratios[0]->warm, std::sqrt(2.0 * 8.0), 1e-12);
  EXPECT_NEAR(ratios[0]->cold, std::sqrt(0.5 * 2.0), 1e-12);
}

TEST(PeerTimes, ReportHasALineForEachShapeAndTheMeansByRows) {
  const PeerTimes peer = times_of(kHead +
                                  "64,128,256,x,1,20,10,1,20,10\n"
                                  "512,128,256,x,1,5,10,1,5,10\n");
  const std::string text =
      grid_peer_text({grid_result_of({64, 128, 256}, {10, 10}, WarmAndCold{10, 10}),
                      grid_result_of({512, 128, 256}, {10, 10}, WarmAndCold{10, 10}),
                      grid_result_of({7, 128, 256}, {10, 10}, WarmAndCold{10, 10})},
                     peer);
  EXPECT_NE(text.find("64x128x256"), std::string::npos) << text;
  EXPECT_EQ(text.find("7x128x256"), std::string::npos) << text;
  EXPECT_NE(text.find("other / ours, warm: geometric mean 1.000, smallest 0.500 (2 shapes)"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("up to 64 rows: geometric mean 2.000, smallest 2.000 (1 shapes)"),
            std::string::npos)
      << text;
  EXPECT_NE(grid_peer_text({}, peer).find("none of these shapes"), std::string::npos);
}

/// The message with which `text` is refused.
std::string refusal_of(const std::string& text) {
  try {
    times_of(text);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(PeerTimes, AWrongTableIsRefusedWithThePlace) {
  const auto has = [](const std::string& message, const std::string& part) {
    EXPECT_NE(message.find(part), std::string::npos) << message << "\nlacks " << part;
  };
  has(refusal_of(""), "times.csv has no line of column names");
  has(refusal_of("m,n,k,ours_warm_us,cublaslt_warm_us\n"), "no column PEER_warm_us");
  has(refusal_of("m,n,k,a_warm_us,b_warm_us\n"), "times of a and of b");
  has(refusal_of("m,n,k,a_warm_us,a_cold_us,cublaslt_warm_us\n"), "no column cublaslt_cold_us");
  has(refusal_of(kHead + "1,2,3\n"), "times.csv:2 has 3 fields where there are 10 columns");
  has(refusal_of(kHead + "1,2,0,x,1,1,1,1,1,1\n"), "times.csv:2: k is \"0\"");
  has(refusal_of("# a comment\n\n" + kHead + "1,2,3,x,1,fast,1,1,1,1\n"),
      "times.csv:4: other_warm_us is \"fast\"");
  has(refusal_of(kHead + "1,2,3,x,1,1,1,1,1,1\n1,2,3,x,1,1,1,1,1,1\n"),
      "times.csv:3: the shape 1x2x3 is in the table twice");
  EXPECT_THROW(PeerTimes(CsvTable::read("/nowhere/times.csv")), Error);
}

}  // namespace
}  // namespace bw
