/// \file
/// Causal attention, forward: scores by mma.sync, an online softmax in registers, whose weights are
/// the A fragments of the second product. The sequence's length is not a multiple of any tile.
#include "tests/simulator/programs/program_check.hpp"
#include "tests/simulator/programs/warp_tile.cuh"

namespace bw::programs {

constexpr int kWarps = 4, kThreads = 32 * kWarps;
constexpr int kDepth = 64;             ///< of a head
constexpr int kQueries = 16 * kWarps;  ///< of a CTA
constexpr int kKeys = 32;              ///< of a step
constexpr int kStride = kDepth + kPadding;
constexpr int kHeads = 2, kLength = 100;  ///< of the sequence
constexpr float kLog2E = 1.44269504f;

/// Rows `first` and up of a matrix of `kLength` rows; zeros past its end.
__device__ void load_rows(__nv_bfloat16* tile, const __nv_bfloat16* matrix, int first, int rows) {
  constexpr int kChunk = 8, kChunks = kDepth / kChunk;
  for (int i = static_cast<int>(threadIdx.x); i < rows * kChunks; i += kThreads) {
    const int row = i / kChunks, column = i % kChunks * kChunk;
    const bool valid = first + row < kLength;
    copy_chunk(tile + row * kStride + column,
               matrix + (valid ? (first + row) * kDepth + column : 0), valid);
  }
}

__device__ float quad_max(float value) {
  value = fmaxf(value, __shfl_xor_sync(~0u, value, 1));
  return fmaxf(value, __shfl_xor_sync(~0u, value, 2));
}
__device__ float quad_sum(float value) {
  value += __shfl_xor_sync(~0u, value, 1);
  return value + __shfl_xor_sync(~0u, value, 2);
}
__device__ uint32_t packed(float low, float high) {
  const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
  return *reinterpret_cast<const uint32_t*>(&pair);
}

/// Grid: blocks of queries x heads.
__global__ void __launch_bounds__(kThreads)
    attention(const __nv_bfloat16* q, const __nv_bfloat16* k, const __nv_bfloat16* v, float* out) {
  __shared__ alignas(16) __nv_bfloat16 queries[kQueries * kStride], keys[kKeys * kStride],
      values[kKeys * kStride];
  const size_t head = blockIdx.y * size_t{kLength * kDepth};
  const int first_query = static_cast<int>(blockIdx.x) * kQueries;
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  const int row = first_query + 16 * warp + lane / 4;  // and row + 8
  load_rows(queries, q + head, first_query, kQueries);
  wait_for_copies();
  __syncthreads();
  uint32_t a[kDepth / 16][4];
  for (int s = 0; s < kDepth / 16; ++s)
    load_a(a[s], queries + 16 * warp * kStride + 16 * s, kStride);

  float sum[kDepth / 8][4] = {}, largest[2] = {-INFINITY, -INFINITY}, weight[2] = {};
  const float scale = kLog2E / sqrtf(kDepth);
  const int last_key = min(first_query + kQueries, kLength);
  for (int first = 0; first < last_key; first += kKeys) {
    __syncthreads();  // the last step's keys and values have been read
    load_rows(keys, k + head, first, kKeys);
    load_rows(values, v + head, first, kKeys);
    wait_for_copies();
    __syncthreads();
    float score[kKeys / 8][4] = {};
    for (int n = 0; n < kKeys / 8; ++n)
      for (int s = 0; s < kDepth / 16; ++s) {
        uint32_t b[2];
        load_b(b, keys + 8 * n * kStride + 16 * s, kStride);
        multiply(score[n], a[s], b);
      }
    for (int half = 0; half < 2; ++half) {
      float step_largest = -INFINITY;
      for (int n = 0; n < kKeys / 8; ++n)
        for (int i = 2 * half; i < 2 * half + 2; ++i) {
          const int key = first + 8 * n + 2 * (lane % 4) + i % 2;
          const bool seen = key <= row + 8 * half && key < kLength;
          score[n][i] = seen ? score[n][i] * scale : -INFINITY;
          step_largest = fmaxf(step_largest, score[n][i]);
        }
      const float now = fmaxf(largest[half], quad_max(step_largest));
      const float shrink = now == -INFINITY ? 1.0f : exp2f(largest[half] - now);
      largest[half] = now;
      float step_weight = 0;
      for (int n = 0; n < kKeys / 8; ++n)
        for (int i = 2 * half; i < 2 * half + 2; ++i) {
          score[n][i] = now == -INFINITY ? 0.0f : exp2f(score[n][i] - now);
          step_weight += score[n][i];
        }
      weight[half] = weight[half] * shrink + quad_sum(step_weight);
      for (auto& column : sum)
        for (int i = 2 * half; i < 2 * half + 2; ++i) column[i] *= shrink;
    }
    for (int s = 0; s < kKeys / 16; ++s) {
      const uint32_t p[4] = {packed(score[2 * s][0], score[2 * s][1]),
                             packed(score[2 * s][2], score[2 * s][3]),
                             packed(score[2 * s + 1][0], score[2 * s + 1][1]),
                             packed(score[2 * s + 1][2], score[2 * s + 1][3])};
      for (int n = 0; n < kDepth / 8; ++n) {
        uint32_t b[2];
        load_b_transposed(b, values + 16 * s * kStride + 8 * n, kStride);
        multiply(sum[n], p, b);
      }
    }
  }
  for (int n = 0; n < kDepth / 8; ++n)
    for (int i = 0; i < 4; ++i) {
      const int at = row + 8 * (i / 2);
      if (at < kLength)
        out[head + static_cast<size_t>(at * kDepth + 8 * n + 2 * (lane % 4) + i % 2)] =
            sum[n][i] / weight[i / 2];
    }
}

int run() {
  constexpr size_t kElements = size_t{kHeads} * kLength * kDepth;
  const std::vector<float> q = random_values(kElements, 1), k = random_values(kElements, 2),
                           v = random_values(kElements, 3);
  DeviceBuffer<__nv_bfloat16> dq(converted<__nv_bfloat16>(q)), dk(converted<__nv_bfloat16>(k)),
      dv(converted<__nv_bfloat16>(v));
  DeviceBuffer<float> out(kElements);
  attention<<<dim3((kLength + kQueries - 1) / kQueries, kHeads), kThreads>>>(dq.data(), dk.data(),
                                                                             dv.data(), out.data());
  check_cuda(cudaDeviceSynchronize(), "run the kernel");

  std::vector<double> expected(kElements), allowed(kElements);
  for (size_t head = 0; head < kHeads; ++head)
    for (size_t row = 0; row < kLength; ++row) {
      const size_t base = head * kLength * kDepth;
      std::vector<double> weights(row + 1);
      double total = 0;
      for (size_t key = 0; key <= row; ++key) {
        double score = 0;
        for (size_t d = 0; d < kDepth; ++d)
          score += double{q[base + row * kDepth + d]} * k[base + key * kDepth + d];
        total += weights[key] = std::exp(score / std::sqrt(double{kDepth}));
      }
      for (size_t d = 0; d < kDepth; ++d) {
        double sum = 0, magnitude = 0;
        for (size_t key = 0; key <= row; ++key) {
          sum += weights[key] / total * v[base + key * kDepth + d];
          magnitude += weights[key] / total * std::fabs(v[base + key * kDepth + d]);
        }
        expected[base + row * kDepth + d] = sum;
        // Weights are rounded to bf16, by 2^-9 of each; the rest, in fp32, is far smaller.
        allowed[base + row * kDepth + d] = magnitude * 0x1p-9 * 1.1 + 1e-6;
      }
    }
  return verdict("attention", out.download(), expected, allowed);
}

}  // namespace bw::programs

int main() { return bw::programs::run(); }
