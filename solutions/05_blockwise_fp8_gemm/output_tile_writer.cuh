#pragma once
/// \file
/// The way of a finished tile to global memory: D = accumulator + beta · C (contract, chapter 5).

#include <cuda.h>

#include <cstdint>

#include "common/device/convert.cuh"
#include "common/device/elect.cuh"
#include "common/device/fence.cuh"
#include "common/device/shared_address.cuh"
#include "common/device/swizzle.cuh"
#include "common/device/tma_store.cuh"
#include "solutions/02_tmem_lifecycle/warp_group_barrier.cuh"
#include "solutions/05_blockwise_fp8_gemm/kernel_config.cuh"

namespace bw {

/// Writes tiles slice by slice (64 columns), through two swizzled buffers in shared memory: while
/// TMA stores one slice, the threads fill the other. The 128 epilogue threads use it together;
/// thread t owns row t. Bulk groups belong to a thread, so one elected lane of warp 0 issues,
/// commits and waits, and the named barrier tells the others.
template <class Config>
class OutputTileWriter {
  static constexpr int kEpilogueBarrierId = 2;  // 1 is the TMEM hand-over of the warp contexts
  using EpilogueBarrier = WarpGroupBarrier<WarpRoles::kEpilogueThreads, kEpilogueBarrierId>;
  static constexpr uint32_t kChunkBytes = 16;  ///< what a swizzle moves as a whole: 8 bf16
  static constexpr int kChunkColumns = kChunkBytes / sizeof(uint16_t);
  static constexpr uint32_t kRowBytes = Config::kSliceColumns * sizeof(uint16_t);
  static constexpr int kChunksPerRow = kRowBytes / kChunkBytes;

 public:
  /// `d_slices`: kNumOutputBuffers slices in shared memory, 1024-byte aligned.
  __device__ __forceinline__ OutputTileWriter(uint8_t* d_slices, const CUtensorMap* d_map)
      : d_slices_(d_slices),
        d_map_(d_map),
        row_(threadIdx.x),
        issues_(threadIdx.x < ptx::kWarpThreads && ptx::elect_one()) {}

  /// Writes the tile whose first element is (row, column) = (`tile_row`, `tile_column`); rows and
  /// columns outside of D are not written. With `has_residual`, takes one C slice from
  /// `epi_load` for every slice of D.
  template <class Accumulator>
  __device__ __forceinline__ void write(const Accumulator& accumulator, int32_t tile_row,
                                        int32_t tile_column, typename Config::EpiLoad& epi_load,
                                        const uint8_t* c_slices, bool has_residual, float beta) {
#pragma unroll
    for (int slice = 0; slice < Config::kSlicesPerTile; ++slice) {
      uint32_t packed[Config::kSliceColumns / 2];
      if (has_residual) {
        auto c_stage = epi_load.consume();
        pack_with_residual(accumulator, slice, c_slices + c_stage.index() * Config::kSliceBytes,
                           beta, packed);
        ptx::fence_proxy_async_shared();  // TMA will overwrite the stage that was read
      } else {
        pack(accumulator, slice, packed);
      }
      store_slice(packed, tile_row, tile_column + slice * Config::kSliceColumns);
    }
  }

  /// At the kernel's end: the issuing lane waits until everything is in global memory.
  __device__ __forceinline__ void finish() {
    if (issues_) ptx::bulk_wait_group<0>();
  }

 private:
  /// Where chunk `chunk` of this thread's row lies in a slice.
  __device__ __forceinline__ uint32_t chunk_offset(int chunk) const {
    return swizzled_offset(Config::kSwizzle, row_ * kRowBytes + chunk * kChunkBytes);
  }

  template <class Accumulator>
  static __device__ __forceinline__ void pack(const Accumulator& accumulator, int slice,
                                              uint32_t (&packed)[Config::kSliceColumns / 2]) {
#pragma unroll
    for (int pair = 0; pair < Config::kSliceColumns / 2; ++pair) {
      const int column = slice * Config::kSliceColumns + 2 * pair;
      packed[pair] = ptx::pack_bf16x2(accumulator[column], accumulator[column + 1]);
    }
  }

  template <class Accumulator>
  __device__ __forceinline__ void pack_with_residual(
      const Accumulator& accumulator, int slice, const uint8_t* c_slice, float beta,
      uint32_t (&packed)[Config::kSliceColumns / 2]) const {
#pragma unroll
    for (int chunk = 0; chunk < kChunksPerRow; ++chunk) {
      const uint4 c = *reinterpret_cast<const uint4*>(c_slice + chunk_offset(chunk));
      const uint32_t words[] = {c.x, c.y, c.z, c.w};
#pragma unroll
      for (int word = 0; word < kChunkColumns / 2; ++word) {
        const int pair = chunk * (kChunkColumns / 2) + word;
        const int column = slice * Config::kSliceColumns + 2 * pair;
        packed[pair] = ptx::pack_bf16x2(
            fmaf(beta, ptx::unpack_bf16_low(words[word]), accumulator[column]),
            fmaf(beta, ptx::unpack_bf16_high(words[word]), accumulator[column + 1]));
      }
    }
  }

  /// Puts one slice into the next buffer and starts its store.
  __device__ __forceinline__ void store_slice(const uint32_t (&packed)[Config::kSliceColumns / 2],
                                              int32_t row, int32_t column) {
    uint8_t* buffer = d_slices_ + next_buffer_ * Config::kSliceBytes;
    if (issues_) ptx::bulk_wait_group_read<Config::kNumOutputBuffers - 1>();
    EpilogueBarrier::sync();  // the buffer's last store has been read out
#pragma unroll
    for (int chunk = 0; chunk < kChunksPerRow; ++chunk) {
      const uint32_t* words = packed + chunk * (kChunkColumns / 2);
      *reinterpret_cast<uint4*>(buffer + chunk_offset(chunk)) =
          make_uint4(words[0], words[1], words[2], words[3]);
    }
    ptx::fence_proxy_async_shared();
    EpilogueBarrier::sync();  // every row is written and fenced
    if (issues_) {
      ptx::tma_store_2d(d_map_, column, row, ptx::shared_address(buffer));
      ptx::bulk_commit_group();
    }
    next_buffer_ = (next_buffer_ + 1) % Config::kNumOutputBuffers;
  }

  uint8_t* d_slices_;
  const CUtensorMap* d_map_;
  uint32_t row_;
  bool issues_;
  uint32_t next_buffer_ = 0;
};

}  // namespace bw
