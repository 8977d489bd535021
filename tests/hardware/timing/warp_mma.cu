/// \file
/// mma.sync and ldmatrix: chains of MMAs by warps and independent sums, other instructions among
/// MMAs, the K block of a kernel that multiplies by warps; as tests of the model, K blocks whose
/// loads come in other orders, and that kernel.

#include <cstdint>
#include <initializer_list>
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

/// Fills operands with them.
template <uint32_t count, uint32_t words>
__device__ void fill(uint32_t (&operands)[count][words], uint32_t& word) {
  for (auto& operand : operands)
    for (uint32_t& x : operand) x = next_halves(word);
}

/// All threads of a CTA fill shared memory with such halves; on return all of it is there.
__device__ void fill_shared(uint8_t* shared, uint32_t bytes, uint32_t seed) {
  for (uint32_t i = threadIdx.x; i < bytes / 4; i += blockDim.x)
    reinterpret_cast<uint32_t*>(shared)[i] = (i + seed) * 1664525 & 0xbfffbfff;
  __syncthreads();
}

/// `first` and all elements of a warp's sums, added: with it the compiler keeps them all.
template <uint32_t down, uint32_t across>
__device__ float total(const float (&d)[down][across][4], float first = 0) {
  float all = first;
  for (auto& row : d)
    for (auto& sum : row) all += sum[0] + sum[1] + sum[2] + sum[3];
  return all;
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
  fill(a, word);
  fill(b, word);
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
  keep(__float_as_uint(total(d)), sink);
}

constexpr uint32_t kBytesOfPlace = 512;  // a warp's widest access
/// That a warp accesses, where it does so after each `mmas` MMAs of a round.
template <uint32_t mmas>
constexpr uint32_t kPlacesOf = kMmasOfRound / mmas + 1;

/// What a warp does among its MMAs.
enum class Among { matrices4, matrices2, matrices1, wide_loads, narrow_loads, wide_stores, sums };

/// The same MMAs of sixteen sums, and after each `mmas` of them something else: a load of (a part
/// of) an A that is used eight MMAs later, a store of one, or four FMAs.
template <Among kind, uint32_t mmas>
__global__ void __launch_bounds__(16 * 32) mmas_among(Span* spans, uint32_t seed, uint32_t* sink) {
  constexpr uint32_t kSide = 4, kAhead = 2, kPlaces = kPlacesOf<mmas>;
  extern __shared__ __align__(1024) uint8_t shared[];
  const uint32_t lane = threadIdx.x % 32;
  fill_shared(shared, blockDim.x * kPlaces * 16, seed);
  const uint32_t own =
      ptx::shared_address(shared) + threadIdx.x / 32 * kPlaces * kBytesOfPlace + lane * 16;
  uint32_t a[kSide][4], b[kSide][2];
  float d[kSide][kSide][4] = {}, f[4] = {1, 2, 3, 4};
  uint32_t word = seed + threadIdx.x;
  const float factor = __uint_as_float(word | 0x3f000000);
  fill(a, word);
  fill(b, word);
  int64_t begin = 0, end = 0;
#pragma unroll 1
  for (uint32_t pass = 0; pass < kPasses; ++pass) {
    __syncthreads();
    begin = cycle();
#pragma unroll 1
    for (uint32_t round = 0; round < kRounds; ++round) {
      // No access is one of the round before, or the compiler would remove it.
      const uint32_t first = own + round % 2 * kBytesOfPlace;
#pragma unroll
      for (uint32_t i = 0; i < kMmasOfRound; ++i) {
        const uint32_t row = i / kSide % kSide;
        mma_16x8x16(d[row][i % kSide], a[row], b[i % kSide][0], b[i % kSide][1]);
        if (i % mmas != mmas - 1) continue;
        const uint32_t place = first + i / mmas * kBytesOfPlace;
        uint32_t(&next)[4] = a[(row + kAhead) % kSide];
        if constexpr (kind == Among::matrices4)
          asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared::cta.b16 {%0, %1, %2, %3}, [%4];"
                       : "=r"(next[0]), "=r"(next[1]), "=r"(next[2]), "=r"(next[3])
                       : "r"(place));
        if constexpr (kind == Among::matrices2)
          asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared::cta.b16 {%0, %1}, [%2];"
                       : "=r"(next[0]), "=r"(next[1])
                       : "r"(place));
        if constexpr (kind == Among::matrices1)
          asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared::cta.b16 {%0}, [%1];"
                       : "=r"(next[0])
                       : "r"(place));
        if constexpr (kind == Among::wide_loads)
          asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];"
                       : "=r"(next[0]), "=r"(next[1]), "=r"(next[2]), "=r"(next[3])
                       : "r"(place));
        if constexpr (kind == Among::narrow_loads)
          asm volatile("ld.shared.b32 %0, [%1];" : "=r"(next[0]) : "r"(place - lane * 12));
        if constexpr (kind == Among::wide_stores)
          asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(place), "r"(next[0]),
                       "r"(next[1]), "r"(next[2]), "r"(next[3])
                       : "memory");
        if constexpr (kind == Among::sums)
          for (float& x : f) asm volatile("fma.rn.f32 %0, %0, %1, %1;" : "+f"(x) : "f"(factor));
      }
    }
    end = cycle();
  }
  write_span(spans, begin, end);
  keep(__float_as_uint(total(d, f[0] + f[1] + f[2] + f[3])), sink);
}

/// What a K block of multiply_by_warps does.
enum class Block { loads, mmas, both, synchronised };

/// K blocks from shared memory that nothing writes, of one or two tiles with four warps each.
template <Block kind>
__global__ void __launch_bounds__(2 * WarpMma::kThreads)
    warp_blocks(Span* spans, uint32_t seed, uint32_t* sink) {
  using M = WarpMma;
  extern __shared__ __align__(1024) uint8_t stages[];
  fill_shared(stages, M::kSharedBytes, seed);
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
  keep(__float_as_uint(total(d)) ^ sum, sink);
}

constexpr uint32_t kSlices = WarpMma::kRowBytes / WarpMma::kMmaBytes;

/// When a warp loads the fragments of A and B that it multiplies.
enum class Order {
  all_first,  ///< those of the whole block first
  ahead,      ///< those of the next slice of K before the MMAs of a slice
  by_column,  ///< a slice's A first, then each B before the MMAs that use it
};

/// The warp's part of a stage: kDown * 16 rows by kAcross * 8 columns.
template <uint32_t down, uint32_t across>
struct WarpTile {
  using M = WarpMma;
  uint32_t a_tile, b_tile, a_row, b_row, lane;

  __device__ void load_a(uint32_t (&a)[down][4], uint32_t k) const {
#pragma unroll
    for (uint32_t m = 0; m < down; ++m)
      ptx::ldmatrix_x4(a[m], a_tile + M::offset(a_row + m * M::kMmaRows, 2 * k + lane / 16));
  }
  /// Two columns of MMAs.
  __device__ void load_pair(uint32_t (&b)[4], uint32_t n, uint32_t k) const {
    ptx::ldmatrix_x4(b, b_tile + M::offset(b_row + n * 2 * M::kMmaColumns, 2 * k + lane / 8 % 2));
  }
  __device__ void load_b(uint32_t (&b)[across / 2][4], uint32_t k) const {
#pragma unroll
    for (uint32_t n = 0; n < across / 2; ++n) load_pair(b[n], n, k);
  }
};

template <uint32_t down, uint32_t across>
__device__ void multiply(float (&d)[down][across][4], const uint32_t (&a)[down][4],
                         const uint32_t (&b)[across / 2][4]) {
#pragma unroll
  for (uint32_t m = 0; m < down; ++m)
#pragma unroll
    for (uint32_t n = 0; n < across; ++n)
      mma_16x8x16(d[m][n], a[m], b[n / 2][n % 2 * 2], b[n / 2][n % 2 * 2 + 1]);
}

template <Order order, uint32_t down, uint32_t across>
__device__ void multiply_block(float (&d)[down][across][4], const WarpTile<down, across>& tile) {
  if constexpr (order == Order::all_first) {
    uint32_t a[kSlices][down][4], b[kSlices][across / 2][4];
#pragma unroll
    for (uint32_t k = 0; k < kSlices; ++k) tile.load_a(a[k], k);
#pragma unroll
    for (uint32_t k = 0; k < kSlices; ++k) tile.load_b(b[k], k);
#pragma unroll
    for (uint32_t k = 0; k < kSlices; ++k) multiply(d, a[k], b[k]);
  } else if constexpr (order == Order::ahead) {
    uint32_t a[2][down][4], b[2][across / 2][4];
    tile.load_a(a[0], 0);
    tile.load_b(b[0], 0);
#pragma unroll
    for (uint32_t k = 0; k < kSlices; ++k) {
      if (k + 1 < kSlices) {
        tile.load_a(a[(k + 1) % 2], k + 1);
        tile.load_b(b[(k + 1) % 2], k + 1);
      }
      multiply(d, a[k % 2], b[k % 2]);
    }
  } else {
#pragma unroll
    for (uint32_t k = 0; k < kSlices; ++k) {
      uint32_t a[down][4];
      tile.load_a(a, k);
#pragma unroll
      for (uint32_t n = 0; n < across / 2; ++n) {
        uint32_t b[4];
        tile.load_pair(b, n, k);
#pragma unroll
        for (uint32_t m = 0; m < down; ++m)
#pragma unroll
          for (uint32_t half = 0; half < 2; ++half)
            mma_16x8x16(d[m][2 * n + half], a[m], b[half * 2], b[half * 2 + 1]);
      }
    }
  }
}

/// K blocks from shared memory that nothing writes; tiles of 128 x 128 by as many warps as it
/// takes.
template <Order order, uint32_t down, uint32_t across>
__global__ void __launch_bounds__((down < 4 ? 12 : 8) * 32)
    ordered_blocks(Span* spans, uint32_t seed, uint32_t* sink) {
  using M = WarpMma;
  constexpr uint32_t kWarpsAcross = M::kSide / (across * M::kMmaColumns);
  constexpr uint32_t kWarpsDown = M::kSide / (down * M::kMmaRows);
  extern __shared__ __align__(1024) uint8_t stages[];
  fill_shared(stages, M::kSharedBytes, seed);
  float d[down][across][4] = {};
  const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32 % (kWarpsAcross * kWarpsDown);
  int64_t begin = 0, end = 0;
#pragma unroll 1
  for (uint32_t pass = 0; pass < kPasses; ++pass) {
    __syncthreads();
    begin = cycle();
#pragma unroll 1
    for (uint32_t block = 0; block < kRounds; ++block) {
      const uint32_t stage = ptx::shared_address(stages) + block % M::kStages * M::kStageBytes;
      multiply_block<order>(
          d, WarpTile<down, across>{
                 .a_tile = stage,
                 .b_tile = stage + M::kOperandBytes,
                 .a_row = warp / kWarpsAcross * down * M::kMmaRows + lane % 16,
                 .b_row = warp % kWarpsAcross * across * M::kMmaColumns + lane / 16 * 8 + lane % 8,
                 .lane = lane});
    }
    end = cycle();
  }
  write_span(spans, begin, end);
  keep(__float_as_uint(total(d)), sink);
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

template <Among kind, uint32_t mmas>
void add_among(Results& results, const char* name) {
  constexpr uint32_t kBytesOfWarp = kPlacesOf<mmas> * kBytesOfPlace;
  const auto kernel = mmas_among<kind, mmas>;
  allow_dynamic_shared_memory(reinterpret_cast<const void*>(kernel), 16 * kBytesOfWarp);
  for (const uint32_t warps : {4u, 8u, 12u, 16u}) {
    const double cycles = least_cycles(
        1, warps, [&](Span* s) { kernel<<<1, warps * 32, warps * kBytesOfWarp>>>(s, 1, nullptr); });
    results.add(std::string("warp_mma.among_") + name,
                "warps=" + std::to_string(warps) + " mmas=" + std::to_string(mmas), "cycles/MMA",
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

template <Order order, uint32_t down, uint32_t across>
void add_ordered(Results& results, const char* name, std::initializer_list<uint32_t> counts) {
  using M = WarpMma;
  const auto kernel = ordered_blocks<order, down, across>;
  allow_dynamic_shared_memory(reinterpret_cast<const void*>(kernel), M::kSharedBytes);
  for (const uint32_t warps : counts) {
    const double cycles = least_cycles(
        1, warps, [&](Span* s) { kernel<<<1, warps * 32, M::kSharedBytes>>>(s, 1, nullptr); });
    results.add(std::string("warp_orders.") + name,
                "warps=" + std::to_string(warps) + " tile=" + std::to_string(down * M::kMmaRows) +
                    "x" + std::to_string(across * M::kMmaColumns),
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
  add_among<Among::matrices4, 4>(results, "matrices4");
  add_among<Among::matrices4, 8>(results, "matrices4");
  add_among<Among::matrices4, 16>(results, "matrices4");
  add_among<Among::matrices2, 4>(results, "matrices2");
  add_among<Among::matrices1, 4>(results, "matrices1");
  add_among<Among::wide_loads, 4>(results, "wide_loads");
  add_among<Among::narrow_loads, 4>(results, "narrow_loads");
  add_among<Among::wide_stores, 4>(results, "wide_stores");
  add_among<Among::sums, 4>(results, "sums");
  add_blocks<Block::loads>(results, "loads");
  add_blocks<Block::mmas>(results, "mmas");
  add_blocks<Block::both>(results, "both");
  add_blocks<Block::synchronised>(results, "both_and_barriers");
}

void measure_warp_orders(Results& results) {
  add_ordered<Order::all_first, 4, 8>(results, "all_first", {4, 8});
  add_ordered<Order::ahead, 4, 8>(results, "ahead", {4, 8});
  add_ordered<Order::by_column, 4, 8>(results, "by_column", {4, 8});
  add_ordered<Order::all_first, 2, 4>(results, "all_first", {4, 8, 12});
  add_ordered<Order::ahead, 2, 4>(results, "ahead", {4, 8, 12});
  add_ordered<Order::by_column, 2, 4>(results, "by_column", {4, 8, 12});
  add_ordered<Order::all_first, 2, 8>(results, "all_first", {4, 8, 12});
  add_ordered<Order::ahead, 2, 8>(results, "ahead", {4, 8, 12});
  add_ordered<Order::by_column, 2, 8>(results, "by_column", {4, 8, 12});
}

void measure_warp_product(Results& results) {
  for (const uint32_t side : {2048u, 4096u}) add_product(results, side);
}

}  // namespace bw::timing
