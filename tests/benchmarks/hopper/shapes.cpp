#include "tests/benchmarks/hopper/shapes.hpp"

#include <cstdio>
#include <sstream>

#include "common/host/blockwise_problem.hpp"
#include "common/host/ceil_div.hpp"
#include "common/host/error.hpp"

namespace bw {

double Shape::least_bytes(bool residual) const {
  constexpr double kBf16Bytes = 2, kFloatBytes = 4;
  const double rows = static_cast<double>(m), columns = static_cast<double>(n);
  const double depth = static_cast<double>(k);
  const auto k_blocks = static_cast<double>(ceil_div(k, kScaleBlock));
  const auto n_blocks = static_cast<double>(ceil_div(n, kScaleBlock));
  return rows * depth + columns * depth + kBf16Bytes * rows * columns * (residual ? 2 : 1) +
         kFloatBytes * k_blocks * (rows + n_blocks);
}

std::string Shape::name() const {
  return std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k);
}

const std::vector<Shape>& standard_shapes() {
  static const std::vector<Shape> shapes = {
      {4096, 4096, 4096},  {8192, 8192, 8192}, {4096, 7168, 2048},  {4096, 2112, 7168},
      {4096, 24576, 1536}, {4096, 32768, 512}, {4096, 7168, 16384}, {4096, 4096, 7168},
      {128, 7168, 16384},  {64, 2112, 7168},   {16384, 7168, 4096}};
  return shapes;
}

std::vector<Shape> parse_shapes(const std::string& list) {
  if (list == "standard") return standard_shapes();
  std::vector<Shape> shapes;
  std::istringstream words(list);
  for (std::string word; std::getline(words, word, ',');) {
    long long m = 0, n = 0, k = 0;
    int end = 0;
    const int read = std::sscanf(word.c_str(), "%lldx%lldx%lld%n", &m, &n, &k, &end);
    require(read == 3 && static_cast<size_t>(end) == word.size() && m > 0 && n > 0 && k > 0,
            "--shapes holds \"", word,
            "\"; give MxNxK with positive numbers, separated by commas, or: standard.");
    shapes.push_back({m, n, k});
  }
  require(!shapes.empty(), "--shapes is empty; give MxNxK,MxNxK,… or: standard.");
  return shapes;
}

}  // namespace bw
