#pragma once
/// \file
/// A math warpgroup's way out: slices of D = accumulator + beta · C into shared memory, from where
/// the output warp stores them; with direct_output and without C each warp stores its rows itself.

#include <cstdint>

#include "common/device/convert.cuh"
#include "common/device/elect.cuh"
#include "common/device/global_store.cuh"
#include "common/device/matrix_copy.cuh"
#include "common/device/shared_address.cuh"
#include "common/device/shared_load.cuh"
#include "common/device/swizzle.cuh"
#include "solutions/06_hopper_fp8_gemm/gemm_cta.cuh"
#include "solutions/06_hopper_fp8_gemm/promoted_accumulator.cuh"
#include "solutions/06_hopper_fp8_gemm/value_hints.cuh"

namespace bw::hopper {

/// Writes slices, wave (64 rows) after wave. The 128 threads of a warpgroup use it together.
template <class Config>
class OutputSlices {
  static constexpr int kColumnsPerCopy = 16;  ///< of one stmatrix: 16 rows × 16 columns per warp
  static constexpr int kRegistersPerCopy = 8;
  static constexpr int kCopies = Config::kSliceColumns / kColumnsPerCopy;
  static constexpr int kSliceRegisters = Config::kSliceColumns / 2;
  static constexpr uint32_t kChunkBytes = 16;

 public:
  /// For one math warpgroup of the CTA.
  __device__ __forceinline__ OutputSlices(const GemmCta<Config>& cta, uint32_t warpgroup,
                                          uint32_t thread)
      : cta_(cta),
        warpgroup_(warpgroup),
        warp_row_(thread / ptx::kWarpThreads * kWarpRows),
        lane_(thread % ptx::kWarpThreads),
        epi_load_(cta.epi_load_pipeline(warpgroup)),
        store_(cta.store_pipeline(warpgroup)) {}

  /// One piece of one wave of `tile`.
  template <int wave, int piece>
  __device__ __forceinline__ void write(const PromotedAccumulator<Config>& accumulator,
                                        const TilePart& tile) {
    constexpr int kSlices = Config::kMmaN / Config::kSliceColumns;
    static_assert(Config::kMmaN % Config::kSliceColumns == 0, "a piece is whole slices");
    write_slices<wave * Config::kSlicesPerWave + piece * kSlices, kSlices>(accumulator.values(),
                                                                           tile);
  }

  /// All that this CTA writes of `tile`: the registers of each wave, in the layout of wgmma's
  /// fragments.
  template <int registers>
  __device__ __forceinline__ void write(const float (&values)[Config::kWaves][registers],
                                        const TilePart& tile) {
    write_slices<0, Config::kWaves * Config::kSlicesPerWave>(values, tile);
  }

 private:
  /// `count` slices from slice `first` on, counted over all waves.
  template <int first, int count, int registers>
  __device__ __forceinline__ void write_slices(const float (&values)[Config::kWaves][registers],
                                               const TilePart& tile) {
    if (Config::traits.direct_output && !cta_.args.has_residual) {
#pragma unroll
      for (int slice = first; slice < first + count; ++slice) {
        write_directly(of_slice(values, slice), tile, slice);
      }
    } else {
#pragma unroll
      for (int slice = first; slice < first + count; slice += Config::kSliceGroup) {
        write_by_tma(values, slice);
      }
    }
  }

  /// The registers of one slice.
  template <int registers>
  static __device__ __forceinline__ const float* of_slice(
      const float (&values)[Config::kWaves][registers], int slice) {
    return values[slice / Config::kSlicesPerWave] +
           slice % Config::kSlicesPerWave * kSliceRegisters;
  }

  /// Puts a group of slices, from slice `first` on, into slots (where C is, if there is a residual)
  /// and hands them to the output warp. One arrival of each warp for all of them: the tensor cores
  /// wait for whatever is waited for here.
  template <int registers>
  __device__ __forceinline__ void write_by_tma(const float (&values)[Config::kWaves][registers],
                                               int first) {
    constexpr int kGroup = Config::kSliceGroup;
    SharedMemBarrier* full[kGroup];
#pragma unroll
    for (int i = 0; i < kGroup; ++i) {
      store_.wait_consumer();
      const uint32_t index = store_.producer_stage();
      const uint32_t slot = ptx::shared_address(cta_.shared.slots[warpgroup_][index]);
      full[i] = store_.producer_mbar(index);
      store_.producer_step();
      if (cta_.args.has_residual) {
        auto c = epi_load_.consume();
        fill<true>(of_slice(values, first + i), slot);
      } else {
        fill<false>(of_slice(values, first + i), slot);
      }
    }
    __syncwarp();  // (The output warp has the fence that orders all this before TMA's reads.)
    if (lane_ == 0) {
#pragma unroll
      for (SharedMemBarrier* barrier : full) barrier->arrive();
    }
    __syncwarp();
  }

  /// Without TMA: each warp turns its 16 rows of the slice in shared memory into whole rows, and
  /// stores them itself. Nobody waits for anybody but the warp for its own lanes.
  __device__ __forceinline__ void write_directly(const float* values, const TilePart& tile,
                                                 int slice) {
    const uint32_t slot =
        ptx::shared_address(cta_.shared.slots[warpgroup_][slice % Config::kSlots]);
    fill<false>(values, slot);
    __syncwarp();
    constexpr uint32_t kChunks = Config::kSliceRowBytes / kChunkBytes;
    constexpr uint32_t kRowsPerCopy = ptx::kWarpThreads / kChunks;
    constexpr uint32_t kElementsPerChunk = kChunkBytes / sizeof(uint16_t);
    uint32_t lane = lane_;
    keep(lane);
    const uint32_t chunk = lane % kChunks;
    const uint32_t first_row = warp_row_ + lane / kChunks;
    const auto& d = cta_.args.direct;
    const uint32_t d_row = tile.row + GemmCta<Config>::warpgroup_row(warpgroup_) +
                           slice / Config::kSlicesPerWave * kMmaRows + first_row;
    const uint32_t d_column = tile.column + cta_.first_output_column(warpgroup_) +
                              slice % Config::kSlicesPerWave * Config::kSliceColumns +
                              chunk * kElementsPerChunk;
    uint16_t* pointer = d.d + d_row * d.ldd + d_column;
#pragma unroll
    for (uint32_t row = 0; row < kWarpRows; row += kRowsPerCopy) {
      const uint4 elements = ptx::load_shared_v4(slot + offset(first_row + row, chunk));
      if (d_row + row < d.m && d_column < d.n) {
        ptx::store_global_v4(pointer + row * d.ldd, elements);
      }
    }
    __syncwarp();
  }

  template <bool has_residual>
  __device__ __forceinline__ void fill(const float* values, uint32_t slot) const {
    // Kept from being computed ahead: addresses would occupy registers during the whole main loop.
    uint32_t lane = lane_;
    keep(lane);
#pragma unroll
    for (int copy = 0; copy < kCopies; ++copy) {
      // Four matrices: rows 0-7 and 8-15 of columns 0-7, then of columns 8-15; C is where D goes.
      const uint32_t address = slot + offset(warp_row_ + lane % 16, copy * 2 + lane / 16);
      uint32_t c[4];
      if constexpr (has_residual) ptx::ldmatrix_x4(c, address);
      uint32_t packed[4];
#pragma unroll
      for (int matrix = 0; matrix < 4; ++matrix) {
        float low = values[copy * kRegistersPerCopy + 2 * matrix];
        float high = values[copy * kRegistersPerCopy + 2 * matrix + 1];
        if constexpr (has_residual) {
          low = fmaf(cta_.args.beta, ptx::unpack_bf16_low(c[matrix]), low);
          high = fmaf(cta_.args.beta, ptx::unpack_bf16_high(c[matrix]), high);
        }
        packed[matrix] = ptx::pack_bf16x2(low, high);
      }
      if constexpr (has_residual) __syncwarp();  // every lane has read the C that is overwritten
      ptx::stmatrix_x4(address, packed[0], packed[1], packed[2], packed[3]);
    }
  }

  static __device__ __forceinline__ uint32_t offset(uint32_t row, uint32_t chunk) {
    return swizzled_offset(Config::kSliceSwizzle,
                           row * Config::kSliceRowBytes + chunk * kChunkBytes);
  }

  const GemmCta<Config>& cta_;
  uint32_t warpgroup_;
  uint32_t warp_row_;
  uint32_t lane_;
  typename Config::EpiLoad epi_load_;
  typename Config::StorePipeline store_;
};

}  // namespace bw::hopper
