#pragma once
/// \file
/// Rounds of what warps do, timed after as many that are not.

#include <cstdint>

#include "tests/hardware/timing/clock.cuh"

namespace bw::timing {

inline constexpr int kRounds = 64;  ///< of a pass
inline constexpr int kPasses = 2;   ///< the second is measured

/// All threads of the launch: `step(round)` for the rounds of both passes.
template <class Step>
__device__ void time_rounds(Span* spans, Step step) {
  int64_t begin = 0, end = 0;
#pragma unroll 1
  for (int pass = 0; pass < kPasses; ++pass) {
    begin = cycle();
#pragma unroll 1
    for (int i = 0; i < kRounds; ++i) step(pass * kRounds + i);
    end = cycle();
  }
  write_span(spans, begin, end);
}

}  // namespace bw::timing
