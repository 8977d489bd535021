#pragma once
/// \file
/// A math warpgroup's way out: slices of D = accumulator + beta · C into shared memory, from where
/// the output warp stores them.

#include <cstdint>

#include "common/device/convert.cuh"
#include "common/device/elect.cuh"
#include "common/device/fence.cuh"
#include "common/device/matrix_copy.cuh"
#include "common/device/shared_address.cuh"
#include "common/device/shared_load.cuh"
#include "common/device/swizzle.cuh"
#include "solutions/06_hopper_fp8_gemm/gemm_cta.cuh"
#include "solutions/06_hopper_fp8_gemm/value_hints.cuh"

namespace bw::hopper {

/// Writes one wave (64 rows) after the other. The 128 threads of a warpgroup use it together.
template <class Config>
class OutputSlices {
  static constexpr int kColumnsPerCopy = 16;  ///< of one stmatrix: 16 rows × 16 columns per warp
  static constexpr int kRegistersPerCopy = 8;
  static constexpr int kCopies = Config::kSliceColumns / kColumnsPerCopy;
  static constexpr int kSliceRegisters = Config::kSliceColumns / 2;
  static constexpr uint32_t kChunkBytes = 16;

 public:
  __device__ __forceinline__ OutputSlices(const GemmCta<Config>& cta, uint32_t warpgroup,
                                          uint32_t thread)
      : cta_(cta),
        warpgroup_(warpgroup),
        warp_row_(thread / ptx::kWarpThreads * 16),
        lane_(thread % ptx::kWarpThreads),
        epi_load_(cta.epi_load_pipeline(warpgroup)),
        store_(cta.store_pipeline(warpgroup)) {}

  /// `values`: the wave's registers, in the layout of wgmma's fragments, of all columns that this
  /// CTA writes.
  __device__ __forceinline__ void write(const float* values) {
#pragma unroll
    for (int slice = 0; slice < Config::kSlicesPerWave; ++slice) {
      store_.wait_consumer();
      const uint32_t index = store_.producer_stage();
      const uint32_t slot = ptx::shared_address(cta_.shared.slots[warpgroup_][index]);
      const float* of_slice = values + slice * kSliceRegisters;
      if (cta_.args.has_residual) {
        auto c = epi_load_.consume();
        fill<true>(of_slice, slot);
      } else {
        fill<false>(of_slice, slot);
      }
      ptx::fence_proxy_async_shared();  // TMA reads the slot next
      store_.producer_mbar(index)->arrive();
      store_.producer_step();
    }
  }

 private:
  template <bool has_residual>
  __device__ __forceinline__ void fill(const float* values, uint32_t slot) const {
    // Kept from being computed ahead: addresses would occupy registers during the whole main loop.
    uint32_t lane = lane_;
    keep(lane);
#pragma unroll
    for (int copy = 0; copy < kCopies; ++copy) {
      uint32_t packed[4];  // rows 0-7 and 8-15 of columns 0-7, then of columns 8-15
#pragma unroll
      for (int matrix = 0; matrix < 4; ++matrix) {
        float low = values[copy * kRegistersPerCopy + 2 * matrix];
        float high = values[copy * kRegistersPerCopy + 2 * matrix + 1];
        if constexpr (has_residual) {
          const uint32_t row = warp_row_ + matrix % 2 * 8 + lane / 4;
          const uint32_t chunk = copy * 2 + matrix / 2;
          const uint32_t c = ptx::load_shared_u32(slot + offset(row, chunk) + lane % 4 * 4);
          low = fmaf(cta_.args.beta, ptx::unpack_bf16_low(c), low);
          high = fmaf(cta_.args.beta, ptx::unpack_bf16_high(c), high);
        }
        packed[matrix] = ptx::pack_bf16x2(low, high);
      }
      if constexpr (has_residual) __syncwarp();  // every lane has read the C that is overwritten
      const uint32_t row = warp_row_ + lane % 16;
      const uint32_t chunk = copy * 2 + lane / 16;
      ptx::stmatrix_x4(slot + offset(row, chunk), packed[0], packed[1], packed[2], packed[3]);
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
