#pragma once
/// \file
/// Cycles that warps measured of themselves, and what the host makes of them.

#include <cuda_runtime_api.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "common/device/min_max.cuh"
#include "common/host/cuda_check.hpp"
#include "common/host/device_buffer.hpp"
#include "common/host/program.hpp"

namespace bw::timing {

/// When a warp began and ended, on its SM's clock.
struct Span {
  int64_t begin = 0;
  int64_t end = 0;
};

/// The number in the middle; of an even count the upper one of the two.
double median(std::vector<double> numbers);

/// From the first begin to the last end of each CTA's warps; the median of the CTAs' cycles.
double median_cta_cycles(const std::vector<Span>& spans, size_t warps_per_cta);

/// Runs `launch` (which fills `words` words of each CTA) some times. Of each of `count` numbers
/// that `number_of(words of a CTA, number)` finds: the median of the CTAs that have it, of that the
/// least of the launches, since what disturbs a measurement makes it longer. The words are 0 before
/// each.
template <class Word, class Launch, class NumberOf>
std::vector<double> least_medians(size_t ctas, size_t words, size_t count, int launches,
                                  const Launch& launch, NumberOf&& number_of) {
  DeviceBuffer<Word> buffer(ctas * words);
  std::vector<double> least(count, std::numeric_limits<double>::max());
  for (int i = 0; i < launches; ++i) {
    buffer.fill_bytes(0);
    launch(buffer.data());
    check_cuda(cudaGetLastError(), "launch a measurement");
    check_cuda(cudaDeviceSynchronize(), "finish a measurement");
    const std::vector<Word> all = buffer.download();
    for (size_t number = 0; number < count; ++number) {
      std::vector<double> found;
      for (size_t cta = 0; cta < ctas; ++cta)
        if (const std::optional<double> one = number_of(all.data() + cta * words, number))
          found.push_back(*one);
      if (!found.empty()) least[number] = min_of(least[number], median(found));
    }
  }
  return least;
}

/// Runs `launch` (which fills the spans that it is given) a few times; the least of the medians:
/// what disturbs a measurement makes it longer. In the simulator the second launch takes as long as
/// all that follow.
template <class Launch>
double least_cycles(size_t ctas, size_t warps_per_cta, const Launch& launch) {
  const int launches = is_simulated() ? 2 : 7;
  DeviceBuffer<Span> spans(ctas * warps_per_cta);
  double least = std::numeric_limits<double>::max();
  for (int i = 0; i < launches; ++i) {
    launch(spans.data());
    check_cuda(cudaGetLastError(), "launch a measurement");
    check_cuda(cudaDeviceSynchronize(), "finish a measurement");
    least = min_of(least, median_cta_cycles(spans.download(), warps_per_cta));
  }
  return least;
}

}  // namespace bw::timing
