/// \file
/// Independent instructions of one SM's warps: instructions issued per cycle.

#include <string>

#include "tests/hardware/timing/clock.cuh"
#include "tests/hardware/timing/measurement.hpp"
#include "tests/hardware/timing/operations.cuh"

namespace bw::timing {
namespace {

constexpr int kChains = 4;  // of each thread, independent of one another
constexpr int kUnrolled = 16;
constexpr int kRounds = 64;

template <class Operation>
__global__ void chains(Span* spans, uint32_t seed, uint32_t* sink) {
  Operation a(seed), b(seed + 1), c(seed + 2), d(seed + 3);
  int64_t begin = 0, end = 0;
#pragma unroll 1
  for (int pass = 0; pass < 2; ++pass) {
    __syncthreads();
    begin = cycle();
#pragma unroll 1
    for (int i = 0; i < kRounds; ++i) {
#pragma unroll
      for (int j = 0; j < kUnrolled; ++j) {
        a.step();
        b.step();
        c.step();
        d.step();
      }
    }
    end = cycle();
  }
  write_span(spans, begin, end);
  keep(a.result() ^ b.result() ^ c.result() ^ d.result(), sink);
}

template <class Operation>
void add(Results& results, const char* name, double instructions_per_step) {
  for (const uint32_t warps : {1u, 2u, 4u, 8u, 16u, 32u}) {
    const double cycles = least_cycles(
        1, warps, [&](Span* s) { chains<Operation><<<1, warps * 32>>>(s, 1, nullptr); });
    const double instructions = instructions_per_step * kChains * kUnrolled * kRounds * warps;
    results.add(std::string("issue.") + name, "warps=" + std::to_string(warps),
                "instructions/cycle", instructions / cycles);
  }
}

}  // namespace

void measure_issue(Results& results) {
  add<FusedMultiplyAdd>(results, "fma", 1);
  add<IntegerMultiplyAdd>(results, "mad", 1);
  add<AddAndXor>(results, "add_and_xor", 2);
  add<PackedHalfMultiplyAdd>(results, "fma_half2", 1);
  add<DoubleMultiplyAdd>(results, "fma_double", 1);
  add<Exponential>(results, "ex2", 1);
  add<Convert>(results, "convert_bf16x2", 1);
  add<Shuffle>(results, "shuffle", 1);
  add<SpecialRegister>(results, "special_register", 1);
}

}  // namespace bw::timing
