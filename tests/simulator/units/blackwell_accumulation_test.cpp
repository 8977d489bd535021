/// \file
/// SummationModel::blackwell: by hand, and on inner products that others have measured on a B200.
#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "common/simulator/units/tensor_core/accumulation.hpp"

namespace bw::sim::test {
namespace {

/// c and the products of one row and one column.
float sum(SummationModel model, MmaFormat format, const std::vector<float>& a,
          const std::vector<float>& b, float c) {
  std::vector<float> rows(a.size() * kRowBlock, 0), d(kRowBlock, c);
  for (size_t k = 0; k < a.size(); ++k) rows[k * kRowBlock] = a[k];
  const RowTile tile{rows.data(), b.data(), b.size(), d.data(),
                     kRowBlock,   /*n=*/1,  a.size(), /*accumulate=*/true};
  accumulation(model).multiply(tile,
                               {.a = format, .b = format, .step = static_cast<uint32_t>(a.size())});
  return d.front();
}

TEST(BlackwellAccumulation, KeepsTwentyFiveBitsOfFp8) {
  std::vector<float> a(32, 0), b(32, 0);
  a[0] = b[0] = 448;
  a[1] = b[1] = 1;
  EXPECT_EQ(sum(SummationModel::blackwell, MmaFormat::e4m3, a, b, 0), 448 * 448 + 1);
  // Of a product of exponent 16 an H100 keeps 13 bits: what is less than 8 is lost.
  EXPECT_EQ(sum(SummationModel::hopper, MmaFormat::e4m3, a, b, 0), 448 * 448);
}

TEST(BlackwellAccumulation, IsOneSumAndNoChain) {
  // 2^24 + 1 + 1: a chain rounds each sum to even, the tensor cores keep both.
  const std::vector<float> a = {4096, 1, 1, 0}, b = {4096, 1, 1, 0};
  constexpr float kLarge = 16777216;
  EXPECT_EQ(sum(SummationModel::blackwell, MmaFormat::tf32, a, b, 0), kLarge + 2);
  EXPECT_EQ(sum(SummationModel::sequential, MmaFormat::tf32, a, b, 0), kLarge);
}

std::vector<float> words(const std::string& text) {
  std::istringstream stream(text);
  std::vector<float> values;
  for (uint32_t word = 0; stream >> std::hex >> word;) values.push_back(std::bit_cast<float>(word));
  return values;
}

/// Rows of a file: a, b, c and what a B200 wrote, separated by semicolons.
void check(const std::filesystem::path& path, MmaFormat format) {
  std::ifstream file(path);
  ASSERT_TRUE(file) << path;
  size_t rows = 0, wrong = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line.front() == '#') continue;
    std::istringstream stream(line);
    std::vector<std::vector<float>> parts;
    for (std::string part; std::getline(stream, part, ';');) parts.push_back(words(part));
    ASSERT_EQ(parts.size(), 4u) << line;
    const float d = sum(SummationModel::blackwell, format, parts[0], parts[1], parts[2].front());
    wrong += std::bit_cast<uint32_t>(d) != std::bit_cast<uint32_t>(parts[3].front()) ? 1 : 0;
    ++rows;
  }
  EXPECT_GT(rows, 0u) << path;
  EXPECT_EQ(wrong, 0u) << path << ": of " << rows << " rows";
}

TEST(BlackwellAccumulation, GivesWhatAB200Gave) {
  const char* const folder = std::getenv("BW_B200_INNER_PRODUCTS");
  if (folder == nullptr)
    GTEST_SKIP() << "BW_B200_INNER_PRODUCTS names no folder with bf16.csv, fp16.csv and tf32.csv; "
                    "docs/concepts/simulator.md says where they come from";
  const std::filesystem::path root(folder);
  check(root / "bf16.csv", MmaFormat::bf16);
  check(root / "fp16.csv", MmaFormat::f16);
  check(root / "tf32.csv", MmaFormat::tf32);
}

}  // namespace
}  // namespace bw::sim::test
