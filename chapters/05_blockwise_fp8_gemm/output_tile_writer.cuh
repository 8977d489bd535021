#pragma once
/// \file
/// The way of a finished tile to global memory: D = accumulator + beta · C (contract, chapter 5).

#include <cstdint>

#include "common/device/convert.cuh"
#include "common/device/elect.cuh"
#include "common/device/exercise.cuh"
#include "common/device/fence.cuh"
#include "common/device/shared_address.cuh"
#include "common/device/swizzle.cuh"
#include "common/device/tma_store.cuh"
#include "solutions/02_tmem_lifecycle/warp_group_barrier.cuh"
#include "solutions/05_blockwise_fp8_gemm/gemm_cta.cuh"

namespace bw {

/// Writes tiles slice by slice, through two swizzled buffers in shared memory: while TMA stores
/// one slice, the threads fill the other. All epilogue threads use it together. Bulk groups
/// belong to a thread, so one elected lane of warp 0 issues, commits and waits, and the named
/// barrier tells the others.
template <class Config>
class OutputTileWriter {
  using Slice = typename Config::Slice;
  using Layout = typename Config::Accumulator::Layout;
  static constexpr int kEpilogueBarrierId = 2;  // 1 is the TMEM hand-over of the warp contexts
  using EpilogueBarrier = WarpGroupBarrier<Config::Roles::kEpilogueThreads, kEpilogueBarrierId>;
  static constexpr uint32_t kChunkBytes = 16;  ///< what a swizzle moves as a whole
  static constexpr bool kBf16Output = Config::traits.output == OutputType::kBf16;

 public:
  /// For one thread of the epilogue.
  __device__ __forceinline__ explicit OutputTileWriter(const GemmCta<Config>& cta)
      : cta_(cta),
        slice_row_(Layout::part() * Config::kCtaRows + Layout::row()),
        issues_(threadIdx.x < ptx::kWarpThreads && ptx::elect_one()) {}

  /// Writes the CTA's tile whose first element is (`row`, `column`); rows and columns outside of D
  /// are not written. With a residual, takes one C slice from `epi_load` for every slice of D.
  __device__ __forceinline__ void write(const typename Config::Accumulator& accumulator,
                                        int32_t row, int32_t column,
                                        typename Config::EpiLoad& epi_load) {
#pragma unroll
    for (int slice = 0; slice < Slice::kPerTile; ++slice) {
      uint8_t* buffer = acquire_buffer();
      if (cta_.args.has_residual) {
        auto c_stage = epi_load.consume();
        fill<true>(accumulator, slice, cta_.shared.c_slices[c_stage.index()], buffer);
        ptx::fence_proxy_async_shared();  // C was read, TMA will overwrite it
      } else {
        fill<false>(accumulator, slice, nullptr, buffer);
      }
      store(buffer, row, column + slice * Slice::kColumns);
    }
  }

  /// At the kernel's end: the issuing lane waits until everything is in global memory.
  __device__ __forceinline__ void finish() {
    if (issues_) ptx::bulk_wait_group<0>();
    __syncwarp();
  }

 protected:
  static constexpr int kGroup = 8;  ///< columns handled together: 8 bf16 = one chunk

  /// Offset of chunk `chunk` of this thread's row in a slice with rows of `row_bytes`.
  template <uint32_t row_bytes>
  __device__ __forceinline__ uint32_t chunk_offset(int chunk) const {
    return swizzled_offset(Slice::swizzle_of(row_bytes),
                           slice_row_ * row_bytes + chunk * kChunkBytes);
  }

  /// The next buffer, once its last store has been read out.
  __device__ __forceinline__ uint8_t* acquire_buffer() {
    // >>> exercise 5.4 "Fill one buffer while TMA reads the other"
    // Right, but slow: every fill waits until the last slice is in global memory.
    if (issues_) ptx::bulk_wait_group<0>();
    EpilogueBarrier::sync();
    // <<< exercise 5.4
    uint8_t* buffer = cta_.shared.d_slices[next_buffer_];
    next_buffer_ = (next_buffer_ + 1) % Config::kNumOutputBuffers;
    return buffer;
  }

  /// Puts this thread's columns of slice `slice` into `buffer`.
  template <bool has_residual>
  __device__ __forceinline__ void fill(const typename Config::Accumulator& accumulator, int slice,
                                       const uint8_t* c_slice, uint8_t* buffer) const {
#pragma unroll
    for (int group = 0; group < Slice::kColumns / kGroup; ++group) {
      float values[kGroup];
#pragma unroll
      for (int i = 0; i < kGroup; ++i) {
        values[i] = accumulator[slice * Slice::kColumns + group * kGroup + i];
      }
      if constexpr (has_residual) add_residual(values, c_slice, group);
      put(values, buffer, group);
    }
  }

  /// values += beta · C, for eight columns of C: one chunk.
  __device__ __forceinline__ void add_residual(float (&values)[kGroup], const uint8_t* c_slice,
                                               int group) const {
    const uint4 c =
        *reinterpret_cast<const uint4*>(c_slice + chunk_offset<Slice::kCRowBytes>(group));
    const uint32_t words[] = {c.x, c.y, c.z, c.w};
#pragma unroll
    for (int pair = 0; pair < kGroup / 2; ++pair) {
      float& low = values[2 * pair];
      float& high = values[2 * pair + 1];
      low = fmaf(cta_.args.beta, ptx::unpack_bf16_low(words[pair]), low);
      high = fmaf(cta_.args.beta, ptx::unpack_bf16_high(words[pair]), high);
    }
  }

  /// Eight columns of D: one chunk of bf16, two of fp32.
  __device__ __forceinline__ void put(const float (&v)[kGroup], uint8_t* buffer, int group) const {
    if constexpr (kBf16Output) {
      *reinterpret_cast<uint4*>(buffer + chunk_offset<Slice::kDRowBytes>(group)) =
          make_uint4(ptx::pack_bf16x2(v[0], v[1]), ptx::pack_bf16x2(v[2], v[3]),
                     ptx::pack_bf16x2(v[4], v[5]), ptx::pack_bf16x2(v[6], v[7]));
    } else {
      *reinterpret_cast<float4*>(buffer + chunk_offset<Slice::kDRowBytes>(2 * group)) =
          make_float4(v[0], v[1], v[2], v[3]);
      *reinterpret_cast<float4*>(buffer + chunk_offset<Slice::kDRowBytes>(2 * group + 1)) =
          make_float4(v[4], v[5], v[6], v[7]);
    }
  }

  /// Starts the store of a filled buffer to the columns from `column` on.
  __device__ __forceinline__ void store(const uint8_t* buffer, int32_t row, int32_t column) {
    // >>> exercise 5.3 "Hand a slice to TMA"
    // Each thread has written its row of `buffer`. Make that visible to TMA, let the
    // epilogue meet (EpilogueBarrier::sync), then let the lane that `issues_` store the
    // slice by ptx::tma_store_2d(&cta_.args.d, x, y, shared address of the source): for
    // each `part` below Layout::kThreadsPerRow a box, Layout::kThreadColumns further in
    // D and Config::kCtaRows * Slice::kDRowBytes further in the buffer. Close the
    // group.
    BW_EXERCISE_NOT_DONE("5.3", "Hand a slice to TMA");
    // <<< exercise 5.3
    __syncwarp();
  }

  const GemmCta<Config>& cta_;
  uint32_t slice_row_;
  bool issues_;
  uint32_t next_buffer_ = 0;
};

}  // namespace bw
