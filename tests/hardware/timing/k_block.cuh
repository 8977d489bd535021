#pragma once
/// \file
/// A consumer warpgroup's K block, as Hopper's blockwise GEMM has it between two stages of a ring,
/// piece by piece; what becomes of its sums, slice by slice.

#include <cstdint>

#include "common/device/convert.cuh"
#include "common/device/fence.cuh"
#include "common/device/global_store.cuh"
#include "common/device/matrix_copy.cuh"
#include "common/device/mbarrier.cuh"
#include "common/device/shared_address.cuh"
#include "common/device/shared_load.cuh"
#include "common/device/swizzle.cuh"
#include "common/device/wgmma.cuh"
#include "common/device/wgmma_descriptor.cuh"
#include "tests/hardware/timing/clock.cuh"

namespace bw::timing {

constexpr uint32_t kGroupThreads = 128;
constexpr uint32_t kMostThreads = 2 * kGroupThreads + 32;  // with a warp that copies
constexpr uint32_t kAlignment = 1024;
constexpr uint32_t kRowBytes = 128;
constexpr uint32_t kMmaRows = 64;
constexpr int kMmasPerBlock = 4;  // of 32 bytes along K
constexpr int kDescriptorStep = 2;
constexpr uint32_t kStages = 4;
constexpr uint32_t kBarrierBytes = 8;
constexpr uint32_t kScaleBytes = 2 * kMmaRows * sizeof(float);  // of a stage
constexpr int kRounds = 32;
constexpr int kPasses = 2;  // the second is measured

inline __device__ void wait(uint32_t barrier, uint32_t parity) {
  while (!ptx::mbarrier_try_wait_parity(barrier, parity)) {
  }
}

/// Zeros in `bytes` of shared memory, for copies and MMAs too.
inline __device__ void clear(uint32_t address, uint32_t bytes) {
  for (uint32_t i = threadIdx.x * 16; i < bytes; i += blockDim.x * 16)
    ptx::store_shared_v4(address + i, make_uint4(0, 0, 0, 0));
  ptx::fence_proxy_async_shared();
}

// ---- A K block

/// What a round holds.
enum Piece : uint32_t {
  kWait = 1,      ///< for the stage's barrier, in the loop
  kEarly = 2,     ///< requested in the round before; then no wait is in the loop
  kScales = 4,    ///< two from shared memory, one by a shuffle
  kMmas = 8,      ///< fence, four MMAs, commit, wait
  kArrive = 16,   ///< a lane of each warp gives the stage back
  kPromote = 32,  ///< the product times a scale is added to the sum
  kCopies = 64,   ///< a warp fills the stages
  kStamps = 128,  ///< the clock is read when a stage is full and when its MMAs are done
};

/// Bytes of a stage: A of two warpgroups of `waves` times 64 rows, B of `columns`.
template <int columns, int waves = 1>
constexpr uint32_t kStageBytes = (2 * waves * kMmaRows + columns) * kRowBytes;
template <int columns, int waves = 1, uint32_t stages = kStages>
constexpr uint32_t kRingBytes =
    stages* kStageBytes<columns, waves> + stages* waves* kScaleBytes + kAlignment;

/// A warpgroup's walk along a ring of stages, of each a product of `waves` times 64 rows and
/// `columns` columns by MMAs of `n`. `none` is 0, which the compiler must not know: unless copies
/// fill the ring, its barriers are in their first phase always.
template <int n, uint32_t pieces, int columns = n, int waves = 1, uint32_t stages = kStages>
struct Consumer {
  static constexpr int kSteps = waves * columns / n;  ///< MMAs of 128 bytes along K
  static constexpr int kColumnSteps = columns / n;
  static constexpr int kSums = kSteps * n / 2;  ///< of a thread
  static constexpr int kScaleColumns = columns % 128 == 0 ? 128 : 64;
  static constexpr int kScaleGroups = columns <= 128 ? 1 : columns / kScaleColumns;
  static constexpr uint32_t kWaveRows = waves * kMmaRows;
  static constexpr uint32_t kBytes = kStageBytes<columns, waves>;

  uint32_t first_full, first_empty;  ///< shared addresses of the barriers
  uint32_t first_a, first_b;         ///< low words of the descriptors in the first stage
  uint32_t a_scales;                 ///< shared address of the thread's first scale there
  uint32_t none;
  float of_lane;  ///< a lane's scale for one of 32 blocks
  float a[2 * waves], b[kScaleGroups];
  float product[n / 2], sum[kSums];
  uint32_t stage = 0, lap = 0, step = 0;
  bool ready = false;
  uint32_t full_at = 0, done_at = 0;  ///< with kStamps: the last block's, on the SM's clock

  __device__ __forceinline__ Consumer(uint32_t base, uint32_t full, uint32_t empty,
                                      uint32_t warpgroup, uint32_t zero, float one)
      : first_full(full), first_empty(empty), none(zero), of_lane(one * (threadIdx.x % 32)) {
    first_a = wgmma_descriptor_low(base + warpgroup * kWaveRows * kRowBytes);
    first_b = wgmma_descriptor_low(base + 2 * kWaveRows * kRowBytes);
    const uint32_t row = threadIdx.x % kGroupThreads / 32 * 16 + threadIdx.x % 32 / 4;
    a_scales = base + stages * kBytes + (warpgroup * kWaveRows + row) * 4;
#pragma unroll
    for (int i = 0; i < 2 * waves; ++i) a[i] = one;
#pragma unroll
    for (int i = 0; i < kScaleGroups; ++i) b[i] = one;
#pragma unroll
    for (int i = 0; i < n / 2; ++i) product[i] = 0;
#pragma unroll
    for (int i = 0; i < kSums; ++i) sum[i] = 0;
    ready = zero != 0;
  }

  /// The parity of the stage's barrier that says that it is full.
  __device__ __forceinline__ uint32_t parity() const {
    return (pieces & kCopies) != 0 ? lap & 1 : (lap & none) ^ 1;
  }

  __device__ __forceinline__ void block() {
    if constexpr ((pieces & kWait) != 0) {
      if ((pieces & kEarly) == 0 || !ready) wait(first_full + stage * kBarrierBytes, parity());
    }
    if constexpr ((pieces & kStamps) != 0) full_at = short_clock();
    if constexpr ((pieces & kScales) != 0) {
#pragma unroll
      for (int i = 0; i < 2 * waves; ++i)
        a[i] = ptx::load_shared_f32(a_scales + stage * waves * kScaleBytes +
                                    (i / 2 * kMmaRows + i % 2 * 8) * 4);
#pragma unroll
      for (int i = 0; i < kScaleGroups; ++i) b[i] = __shfl_sync(0xffffffff, of_lane, step + 8 * i);
      step = (step + 1) % 32;
    }
    const uint32_t used = stage;
    multiply_from<0>(used);
  }

 private:
  /// The MMAs of a stage from `first` on; each is promoted before the next begins.
  template <int first>
  __device__ __forceinline__ void multiply_from(uint32_t used) {
    constexpr bool kIsLast = first == kSteps - 1;
    ptx::wgmma_hold(product);
    if constexpr ((pieces & kMmas) != 0) {
      constexpr uint32_t kWave = first / kColumnSteps, kColumn = first % kColumnSteps * n;
      const uint32_t low_a = first_a + (used * kBytes + kWave * kMmaRows * kRowBytes) / 16;
      const uint32_t low_b = first_b + (used * kBytes + kColumn * kRowBytes) / 16;
      ptx::wgmma_fence();
#pragma unroll
      for (int i = 0; i < kMmasPerBlock; ++i)
        ptx::wgmma_e4m3(product, wgmma_descriptor(low_a + i * kDescriptorStep),
                        wgmma_descriptor(low_b + i * kDescriptorStep), i != 0);
      ptx::wgmma_commit_group();
      ptx::wgmma_wait_group<0>();
      ptx::wgmma_hold(product);
    }
    if constexpr (kIsLast) {
      if constexpr ((pieces & kStamps) != 0) done_at = short_clock();
      if constexpr ((pieces & kArrive) != 0) {
        if (threadIdx.x % 32 == 0) ptx::mbarrier_arrive(first_empty + used * kBarrierBytes);
        __syncwarp();
      }
      if (++stage == stages) {
        stage = 0;
        ++lap;
      }
      if constexpr ((pieces & kEarly) != 0)
        ready = ptx::mbarrier_test_wait_parity(first_full + stage * kBarrierBytes, parity());
    }
    if constexpr ((pieces & kPromote) != 0) {
#pragma unroll
      for (int i = 0; i < n / 2; ++i) {
        const int column = first % kColumnSteps * n + i / 4 * 8;
        const float scale = a[first / kColumnSteps * 2 + i % 4 / 2] *
                            b[kScaleGroups == 1 ? 0 : column / kScaleColumns];
        float& to = sum[first * (n / 2) + i];
        to = fmaf(product[i], scale, to);
      }
    }
    if constexpr (!kIsLast) multiply_from<first + 1>(used);
  }

 public:
  /// So that nothing of it is left out.
  __device__ __forceinline__ void keep_all(uint32_t* sink) const {
    float total = ready ? 1.0f : 0.0f;
#pragma unroll
    for (int i = 0; i < 2 * waves; ++i) total += a[i];
#pragma unroll
    for (int i = 0; i < kScaleGroups; ++i) total += b[i];
#pragma unroll
    for (int i = 0; i < n / 2; ++i) total += product[i];
#pragma unroll
    for (int i = 0; i < kSums; ++i) total += sum[i];
    keep(__float_as_uint(total), sink);
  }
};

/// Barriers of a ring, all threads: `arrivals` free a stage.
template <uint32_t stages = kStages>
__device__ void make_ring(uint32_t first_full, uint32_t first_empty, uint32_t arrivals) {
  if (threadIdx.x == 0) {
    for (uint32_t i = 0; i < stages; ++i) {
      ptx::mbarrier_init(first_full + i * kBarrierBytes, 1);
      ptx::mbarrier_init(first_empty + i * kBarrierBytes, arrivals);
    }
    ptx::fence_mbarrier_init();
  }
  __syncthreads();
}

constexpr uint32_t kManyArrivals = 1 << 16;

constexpr uint32_t kWarpRows = 16;
constexpr uint32_t kChunkBytes = 16;
constexpr uint32_t kMostSlots = 2;

/// A warp's 16 rows of a slice of `columns` columns in a slot at `place`.
template <int columns>
struct Slice {
  static constexpr uint32_t kRowBytes = columns * 2;
  static constexpr uint32_t kBytes = kMmaRows * kRowBytes;

  static __device__ __forceinline__ uint32_t offset(uint32_t row, uint32_t chunk) {
    return swizzled_offset(static_cast<Swizzle>(kRowBytes), row * kRowBytes + chunk * kChunkBytes);
  }
  static __device__ __forceinline__ uint32_t first_row() {
    return threadIdx.x % kGroupThreads / 32 * kWarpRows;
  }

  static __device__ __forceinline__ void fill(const float* values, uint32_t place) {
    const uint32_t lane = threadIdx.x % 32;
#pragma unroll
    for (int copy = 0; copy < columns / 16; ++copy) {
      uint32_t packed[4];
#pragma unroll
      for (int matrix = 0; matrix < 4; ++matrix)
        packed[matrix] =
            ptx::pack_bf16x2(values[copy * 8 + 2 * matrix], values[copy * 8 + 2 * matrix + 1]);
      ptx::stmatrix_x4(place + offset(first_row() + lane % 16, copy * 2 + lane / 16), packed[0],
                       packed[1], packed[2], packed[3]);
    }
    __syncwarp();
  }

  /// Each lane's chunks go to `rows` rows of `pitch_bytes` at `output`, whose row `row` is the
  /// slice's first; without kStore they are added to `read`.
  template <bool stores>
  static __device__ __forceinline__ void read_back(uint32_t place, uint8_t* output, uint32_t row,
                                                   uint32_t rows, uint32_t pitch_bytes,
                                                   uint32_t& read) {
    constexpr uint32_t kChunks = kRowBytes / kChunkBytes, kRowsPerCopy = 32 / kChunks;
    const uint32_t lane = threadIdx.x % 32, chunk = lane % kChunks;
    const uint32_t own_row = first_row() + lane / kChunks;
    uint8_t* const pointer = output + size_t{row + own_row} * pitch_bytes + chunk * kChunkBytes;
#pragma unroll
    for (uint32_t i = 0; i < kWarpRows; i += kRowsPerCopy) {
      const uint4 elements = ptx::load_shared_v4(place + offset(own_row + i, chunk));
      if constexpr (stores) {
        if (row + own_row + i < rows)
          ptx::store_global_v4(pointer + size_t{i} * pitch_bytes, elements);
      } else {
        read ^= elements.x ^ elements.y ^ elements.z ^ elements.w;
      }
    }
    __syncwarp();
  }
};

}  // namespace bw::timing
