/// \file
/// A stream-K GEMM: the steps along k of all tiles are one list, cut into equal parts. A CTA whose
/// part begins in the middle of a tile leaves a partial sum for the one that began the tile, which
/// waits for it.
#include "tests/simulator/programs/program_check.hpp"
#include "tests/simulator/programs/warp_tile.cuh"

namespace bw::programs {

constexpr int kWarps = 4, kThreads = 32 * kWarps, kCtas = 5;
constexpr int kTileM = 16 * kWarps, kTileN = 32, kTileK = 32, kStride = kTileK + kPadding;
constexpr int kM = 2 * kTileM, kN = 3 * kTileN, kK = 8 * kTileK;
constexpr int kTiles = kM / kTileM * (kN / kTileN), kSteps = kK / kTileK;
constexpr int kUnits = kTiles * kSteps;
constexpr int kPartial = kTileM * kTileN;  ///< elements of a partial sum

__device__ __host__ constexpr int first_unit(int cta) { return cta * kUnits / kCtas; }

__device__ void load_rows(__nv_bfloat16* tile, const __nv_bfloat16* matrix, int rows, int k) {
  constexpr int kChunk = 8, kChunks = kTileK / kChunk;
  for (int i = static_cast<int>(threadIdx.x); i < rows * kChunks; i += kThreads) {
    const int row = i / kChunks, column = i % kChunks * kChunk;
    copy_chunk(tile + row * kStride + column, matrix + row * kK + k + column, true);
  }
}

/// Sums steps [begin, end) of a tile.
__device__ void sum_steps(float (&sum)[kTileN / 8][4], const __nv_bfloat16* a,
                          const __nv_bfloat16* b, int begin, int end) {
  __shared__ alignas(16) __nv_bfloat16 tile_a[kTileM * kStride], tile_b[kTileN * kStride];
  const int warp = static_cast<int>(threadIdx.x) / 32;
  for (int step = begin; step < end; ++step) {
    __syncthreads();
    load_rows(tile_a, a, kTileM, step * kTileK);
    load_rows(tile_b, b, kTileN, step * kTileK);
    wait_for_copies();
    __syncthreads();
    for (int s = 0; s < kTileK; s += 16) {
      uint32_t fragment_a[4];
      load_a(fragment_a, tile_a + 16 * warp * kStride + s, kStride);
      for (int n = 0; n < kTileN / 8; ++n) {
        uint32_t fragment_b[2];
        load_b(fragment_b, tile_b + 8 * n * kStride + s, kStride);
        multiply(sum[n], fragment_a, fragment_b);
      }
    }
  }
}

/// Calls visit(row, column, value) for a thread's elements of a tile.
template <class Visit>
__device__ void for_each(float (&sum)[kTileN / 8][4], Visit visit) {
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  for (int n = 0; n < kTileN / 8; ++n)
    for (int i = 0; i < 4; ++i)
      visit(16 * warp + lane / 4 + 8 * (i / 2), 8 * n + 2 * (lane % 4) + i % 2, sum[n][i]);
}

/// D = A B^T. `ready[cta]` becomes 1 when that CTA's partial sum is complete.
__global__ void __launch_bounds__(kThreads) stream_k(const __nv_bfloat16* a, const __nv_bfloat16* b,
                                                     float* d, float* partials, unsigned* ready) {
  const int cta = static_cast<int>(blockIdx.x);
  const int end = first_unit(cta + 1);
  for (int unit = first_unit(cta); unit < end;) {
    const int tile = unit / kSteps, begin_step = unit % kSteps;
    const int end_step = min(kSteps, begin_step + end - unit);
    const int row = tile / (kN / kTileN) * kTileM, column = tile % (kN / kTileN) * kTileN;
    float sum[kTileN / 8][4] = {};
    sum_steps(sum, a + row * kK, b + column * kK, begin_step, end_step);
    if (begin_step != 0) {
      float* const own = partials + cta * kPartial;
      for_each(sum, [&](int r, int c, float value) { own[r * kTileN + c] = value; });
      __syncthreads();
      if (threadIdx.x == 0)
        asm volatile("st.release.gpu.global.u32 [%0], 1;" ::"l"(ready + cta) : "memory");
    } else {
      // The CTAs after this one have the rest of the tile.
      for (int other = cta + 1; first_unit(other) < (tile + 1) * kSteps; ++other) {
        if (threadIdx.x == 0) {
          unsigned is_ready = 0;
          while (is_ready == 0)
            asm volatile("ld.acquire.gpu.global.u32 %0, [%1];"
                         : "=r"(is_ready)
                         : "l"(ready + other)
                         : "memory");
        }
        __syncthreads();
        const float* const rest = partials + other * kPartial;
        for_each(sum, [&](int r, int c, float& value) { value += rest[r * kTileN + c]; });
      }
      for_each(sum, [&](int r, int c, float value) { d[(row + r) * kN + column + c] = value; });
    }
    unit += end_step - begin_step;
  }
}

int run() {
  const std::vector<float> a = random_values(kM * kK, 1), b = random_values(kN * kK, 2);
  DeviceBuffer<__nv_bfloat16> da(converted<__nv_bfloat16>(a)), db(converted<__nv_bfloat16>(b));
  DeviceBuffer<float> d(kM * kN), partials(kCtas * kPartial);
  DeviceBuffer<unsigned> ready{std::vector<unsigned>(kCtas)};
  stream_k<<<kCtas, kThreads>>>(da.data(), db.data(), d.data(), partials.data(), ready.data());
  check_cuda(cudaDeviceSynchronize(), "run the kernel");
  std::vector<double> expected, allowed;
  for (size_t row = 0; row < kM; ++row)
    for (size_t column = 0; column < kN; ++column) {
      double sum = 0, magnitude = 0;
      for (size_t k = 0; k < kK; ++k) {
        const double product = double{a[row * kK + k]} * b[column * kK + k];
        sum += product;
        magnitude += std::fabs(product);
      }
      expected.push_back(sum);
      allowed.push_back(magnitude * kK * 0x1p-24);  // fp32, one rounding or cut a product
    }
  return verdict("stream_k", d.download(), expected, allowed);
}

}  // namespace bw::programs

int main() { return bw::programs::run(); }
