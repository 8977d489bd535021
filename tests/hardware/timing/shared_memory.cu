/// \file
/// Loads and stores of shared memory by all warps of an SM: cycles an instruction, by width and by
/// the number of lanes that share a bank.

#include <string>

#include "common/device/shared_address.cuh"
#include "tests/hardware/timing/clock.cuh"
#include "tests/hardware/timing/measurement.hpp"

namespace bw::timing {
namespace {

constexpr uint32_t kWarps = 16;
constexpr int kUnrolled = 16;
constexpr int kRounds = 16;
constexpr uint32_t kSharedBytes = 32 * 1024;
constexpr uint32_t kLineBytes = 128;

enum class Kind { load4, load8, load16, store4, store16, ldmatrix, stmatrix };

template <Kind kind>
__device__ __forceinline__ uint32_t access(uint32_t address) {
  uint32_t x = 0, y = 0, z = 0, w = 0;
  if constexpr (kind == Kind::load4) {
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(x) : "r"(address) : "memory");
  } else if constexpr (kind == Kind::load8) {
    asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];" : "=r"(x), "=r"(y) : "r"(address) : "memory");
  } else if constexpr (kind == Kind::load16) {
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(x), "=r"(y), "=r"(z), "=r"(w)
                 : "r"(address)
                 : "memory");
  } else if constexpr (kind == Kind::store4) {
    asm volatile("st.shared.u32 [%0], %0;" ::"r"(address) : "memory");
  } else if constexpr (kind == Kind::store16) {
    asm volatile("st.shared.v4.u32 [%0], {%0, %0, %0, %0};" ::"r"(address) : "memory");
  } else if constexpr (kind == Kind::ldmatrix) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(x), "=r"(y), "=r"(z), "=r"(w)
                 : "r"(address)
                 : "memory");
  } else {
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%0, %0, %0, %0};" ::"r"(address)
                 : "memory");
  }
  return x ^ y ^ z ^ w;
}

/// Lane l begins at `l / group_lanes % groups * lane_bytes`; every further access is some lines of
/// 128 bytes further on, so that to the compiler no two are equal and all meet the same banks.
template <Kind kind>
__global__ void accesses(Span* spans, uint32_t lane_bytes, uint32_t group_lanes, uint32_t groups,
                         uint32_t* sink) {
  __shared__ alignas(128) uint8_t memory[kSharedBytes];
  for (uint32_t i = threadIdx.x; i < kSharedBytes / 4; i += blockDim.x) {
    reinterpret_cast<uint32_t*>(memory)[i] = i;
  }
  __syncthreads();
  const uint32_t base = ptx::shared_address(memory);
  const uint32_t first = base + threadIdx.x % 32 / group_lanes % groups * lane_bytes;
  uint32_t sum = 0;
  int64_t begin = 0, end = 0;
#pragma unroll 1
  for (int pass = 0; pass < 2; ++pass) {
    __syncthreads();
    begin = cycle();
#pragma unroll 1
    for (int i = 0; i < kRounds; ++i) {
#pragma unroll
      for (int j = 0; j < kUnrolled; ++j) {
        sum ^= access<kind>(first + i * kLineBytes + j * kRounds * kLineBytes / 2);
      }
    }
    end = cycle();
  }
  write_span(spans, begin, end);
  keep(sum, sink);
}

template <Kind kind>
void add(Results& results, const char* name, uint32_t lane_bytes, const std::string& parameter,
         uint32_t group_lanes = 1, uint32_t groups = 32) {
  const double cycles = least_cycles(1, kWarps, [&](Span* s) {
    accesses<kind><<<1, kWarps * 32>>>(s, lane_bytes, group_lanes, groups, nullptr);
  });
  results.add(std::string("shared_memory.") + name, parameter, "cycles/instruction",
              cycles / (1.0 * kUnrolled * kRounds * kWarps));
}

}  // namespace

void measure_shared_memory(Results& results) {
  constexpr uint32_t kWord = 4, kWide = 16;
  for (const uint32_t ways : {1u, 2u, 4u, 8u, 16u, 32u}) {
    const std::string parameter = "ways=" + std::to_string(ways);
    add<Kind::load4>(results, "load4", ways * kWord, parameter);
    add<Kind::store4>(results, "store4", ways * kWord, parameter);
  }
  add<Kind::load4>(results, "load4", 0, "broadcast");
  add<Kind::load8>(results, "load8", 2 * kWord, "ways=1");
  add<Kind::load16>(results, "load16", kWide, "ways=1");
  add<Kind::store16>(results, "store16", kWide, "ways=1");
  // Lanes that read the same: `lanes` neighbours, or every `places`-th one.
  for (const uint32_t lanes : {2u, 4u, 8u, 16u, 32u}) {
    const std::string parameter = "same_lanes=" + std::to_string(lanes);
    add<Kind::load8>(results, "load8_same", 2 * kWord, parameter, lanes);
    add<Kind::load16>(results, "load16_same", kWide, parameter, lanes);
  }
  for (const uint32_t places : {2u, 4u, 8u, 16u}) {
    const std::string parameter = "places=" + std::to_string(places);
    add<Kind::load8>(results, "load8_in_turn", 2 * kWord, parameter, 1, places);
    add<Kind::load16>(results, "load16_in_turn", kWide, parameter, 1, places);
  }
  for (const uint32_t row_bytes : {16u, 32u, 128u}) {
    const std::string parameter = "row_stride_bytes=" + std::to_string(row_bytes);
    add<Kind::load16>(results, "load16_rows", row_bytes, parameter);
    add<Kind::ldmatrix>(results, "ldmatrix_x4", row_bytes, parameter);
    add<Kind::stmatrix>(results, "stmatrix_x4", row_bytes, parameter);
  }
}

}  // namespace bw::timing
