#include "tests/hardware/timing/spans.hpp"

#include <algorithm>
#include <cstddef>

namespace bw::timing {

double median(std::vector<double> numbers) {
  const auto middle = numbers.begin() + static_cast<std::ptrdiff_t>(numbers.size() / 2);
  std::nth_element(numbers.begin(), middle, numbers.end());
  return *middle;
}

double median_cta_cycles(const std::vector<Span>& spans, size_t warps_per_cta) {
  std::vector<double> cycles;
  for (size_t first = 0; first < spans.size(); first += warps_per_cta) {
    int64_t begin = spans[first].begin, end = spans[first].end;
    for (size_t i = first; i < first + warps_per_cta; ++i) {
      begin = std::min(begin, spans[i].begin);
      end = std::max(end, spans[i].end);
    }
    cycles.push_back(static_cast<double>(end - begin));
  }
  return median(cycles);
}

}  // namespace bw::timing
