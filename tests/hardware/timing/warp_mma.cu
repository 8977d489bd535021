/// \file
/// mma.sync and ldmatrix: chains of MMAs by warps and independent sums, the K block of a kernel
/// that multiplies by warps, and that kernel as a test of the model.

#include <cstdint>
#include <string>

#include "common/host/device_buffer.hpp"
#include "common/host/dynamic_shared_memory.hpp"
#include "tests/hardware/timing/clock.cuh"
#include "tests/hardware/timing/event_time.hpp"
#include "tests/hardware/timing/measurement.hpp"
#include "tests/hardware/timing/random_matrix.hpp"
#include "tests/hardware/timing/warp_mma.cuh"

namespace bw::timing {
namespace {

constexpr uint32_t kMmasOfRound = 64;
constexpr uint32_t kRounds = 16;
constexpr uint32_t kPasses = 2;  // the second one finds its code

/// Two pseudo-random halves with magnitudes below 2.
__device__ uint32_t next_halves(uint32_t& word) {
  return (word = word * 1664525 + 1013904223) & 0xbfffbfff;
}

/// MMAs of a warp that go round `sums` sums. As in a product, a row of sums shares an A of its own,
/// a column a B.
template <uint32_t sums>
__global__ void __launch_bounds__(12 * 32) mma_chains(Span* spans, uint32_t seed, uint32_t* sink) {
  constexpr uint32_t kAcross = sums < 8 ? (sums < 2 ? 1 : 2) : 4;
  constexpr uint32_t kDown = sums / kAcross;
  uint32_t a[kDown][4], b[kAcross][2];
  float d[kDown][kAcross][4] = {};
  uint32_t word = seed + threadIdx.x;
  for (auto& operand : a)
    for (uint32_t& x : operand) x = next_halves(word);
  for (auto& operand : b)
    for (uint32_t& x : operand) x = next_halves(word);
  int64_t begin = 0, end = 0;
#pragma unroll 1
  for (uint32_t pass = 0; pass < kPasses; ++pass) {
    __syncthreads();
    begin = cycle();
#pragma unroll 1
    for (uint32_t round = 0; round < kRounds; ++round) {
#pragma unroll
      for (uint32_t i = 0; i < kMmasOfRound; ++i) {
        const uint32_t sum = i % sums;
        mma_16x8x16(d[sum / kAcross][sum % kAcross], a[sum / kAcross], b[sum % kAcross][0],
                    b[sum % kAcross][1]);
      }
    }
    end = cycle();
  }
  write_span(spans, begin, end);
  float all = 0;
  for (auto& row : d)
    for (auto& sum : row) all += sum[0] + sum[1] + sum[2] + sum[3];
  keep(__float_as_uint(all), sink);
}

/// What a K block of multiply_by_warps does.
enum class Block { loads, mmas, both, synchronised };

/// K blocks from shared memory that nothing writes, of one or two tiles with four warps each.
template <Block kind>
__global__ void __launch_bounds__(2 * WarpMma::kThreads)
    warp_blocks(Span* spans, uint32_t seed, uint32_t* sink) {
  using M = WarpMma;
  extern __shared__ __align__(1024) uint8_t stages[];
  for (uint32_t i = threadIdx.x; i < M::kSharedBytes / 4; i += blockDim.x)
    reinterpret_cast<uint32_t*>(stages)[i] = (i + seed) * 1664525 & 0xbfffbfff;
  __syncthreads();
  float d[4][8][4] = {};
  uint32_t a[4][4], b[4][4];
  uint32_t word = seed + threadIdx.x, sum = 0;
  for (uint32_t i = 0; i < 4; ++i)
    for (uint32_t j = 0; j < 4; ++j) {
      a[i][j] = next_halves(word);
      b[i][j] = next_halves(word);
    }
  int64_t begin = 0, end = 0;
#pragma unroll 1
  for (uint32_t pass = 0; pass < kPasses; ++pass) {
    __syncthreads();
    begin = cycle();
#pragma unroll 1
    for (uint32_t block = 0; block < kRounds; ++block) {
      const uint32_t stage = ptx::shared_address(stages) + block % M::kStages * M::kStageBytes;
      if constexpr (kind == Block::synchronised) {
        for (uint32_t i = 0; i < 2; ++i)
          asm volatile("barrier.sync %0, %1;" ::"r"(1 + threadIdx.x / M::kThreads), "n"(M::kThreads)
                       : "memory");
      }
      if constexpr (kind == Block::both || kind == Block::synchronised) {
        multiply_stage(d, stage, stage + M::kOperandBytes);
      } else if constexpr (kind == Block::mmas) {
#pragma unroll
        for (uint32_t k = 0; k < M::kRowBytes / M::kMmaBytes; ++k)
#pragma unroll
          for (uint32_t m = 0; m < 4; ++m)
#pragma unroll
            for (uint32_t n = 0; n < 8; ++n)
              mma_16x8x16(d[m][n], a[m], b[n / 2][n % 2 * 2], b[n / 2][n % 2 * 2 + 1]);
      } else {
        const uint32_t lane = threadIdx.x % 32;
#pragma unroll
        for (uint32_t k = 0; k < M::kRowBytes / M::kMmaBytes; ++k) {
          uint32_t x[8][4];
#pragma unroll
          for (uint32_t i = 0; i < 8; ++i)
            ptx::ldmatrix_x4(x[i],
                             stage + M::offset(lane % 16 + i * M::kMmaRows, 2 * k + lane / 16));
#pragma unroll
          for (uint32_t i = 0; i < 8; ++i) sum ^= x[i][0] ^ x[i][1] ^ x[i][2] ^ x[i][3];
        }
      }
    }
    end = cycle();
  }
  write_span(spans, begin, end);
  float all = 0;
  for (auto& row : d)
    for (auto& piece : row) all += piece[0] + piece[1] + piece[2] + piece[3];
  keep(__float_as_uint(all) ^ sum, sink);
}

template <uint32_t sums>
void add_chains(Results& results) {
  for (const uint32_t warps : {1u, 2u, 4u, 8u, 12u}) {
    const double cycles = least_cycles(
        1, warps, [&](Span* s) { mma_chains<sums><<<1, warps * 32>>>(s, 1, nullptr); });
    results.add("warp_mma.chains",
                "warps=" + std::to_string(warps) + " sums=" + std::to_string(sums), "cycles/MMA",
                cycles / (kMmasOfRound * kRounds));
  }
}

template <Block kind>
void add_blocks(Results& results, const char* name) {
  const auto kernel = warp_blocks<kind>;
  allow_dynamic_shared_memory(reinterpret_cast<const void*>(kernel), WarpMma::kSharedBytes);
  for (const uint32_t warps : {4u, 8u}) {
    const double cycles = least_cycles(1, warps, [&](Span* s) {
      kernel<<<1, warps * 32, WarpMma::kSharedBytes>>>(s, 1, nullptr);
    });
    results.add(std::string("warp_mma.block_of_") + name, "warps=" + std::to_string(warps),
                "cycles", cycles / kRounds);
  }
}

void add_product(Results& results, uint32_t side) {
  allow_dynamic_shared_memory(reinterpret_cast<const void*>(multiply_by_warps),
                              WarpMma::kSharedBytes);
  RandomMatrix<__nv_bfloat16> a(2 * side, side, 1), b(2 * side, side, 2);
  DeviceBuffer<__nv_bfloat16> c(size_t{side} * side);
  const uint32_t across = side / WarpMma::kSide;
  results.add(
      "warp_product.multiply", "side=" + std::to_string(side), "us",
      graph_microseconds([&](cudaStream_t stream) {
        multiply_by_warps<<<across * across, WarpMma::kThreads, WarpMma::kSharedBytes, stream>>>(
            a.data(), b.data(), c.data(), side, 2 * side / WarpMma::kRowBytes);
      }));
}

}  // namespace

void measure_warp_mma(Results& results) {
  add_chains<1>(results);
  add_chains<2>(results);
  add_chains<4>(results);
  add_chains<8>(results);
  add_chains<16>(results);
  add_blocks<Block::loads>(results, "loads");
  add_blocks<Block::mmas>(results, "mmas");
  add_blocks<Block::both>(results, "both");
  add_blocks<Block::synchronised>(results, "both_and_barriers");
}

void measure_warp_product(Results& results) {
  for (const uint32_t side : {2048u, 4096u}) add_product(results, side);
}

}  // namespace bw::timing
