#pragma once
/// \file
/// The promoted sum of the K blocks in the registers of a math warpgroup.

#include <cstdint>

#include "common/device/shared_load.cuh"
#include "solutions/06_hopper_fp8_gemm/kernel_config.cuh"

namespace bw::hopper {

/// The scales of one K block that a thread needs: of its two rows of every wave, and of every group
/// of columns that share a B-scale.
template <class Config>
struct KBlockScales {
  float a[Config::kWaves][2];     ///< scales of the thread's rows
  float b[Config::kScaleGroups];  ///< scales of its groups of columns

  /// Reads the A-scales of a stage; `address`: of this thread's first row, in shared memory.
  __device__ __forceinline__ void read_a(uint32_t address) {
#pragma unroll
    for (int wave = 0; wave < Config::kWaves; ++wave) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        a[wave][half] =
            ptx::load_shared_f32(address + (wave * kMmaRows + half * 8) * sizeof(float));
      }
    }
  }
};

/// fp32 accumulator of a math warpgroup's part of the tile, in the layout of wgmma's fragments:
/// register 4j + 2h + i of a wave is row `thread_row` + 8h, column 8j + 2 (lane % 4) + i.
///
/// Where Blackwell's epilogue warps read an unpromoted product from tensor memory, the warpgroup
/// that issued the MMA here has it in registers: MMA and epilogue are the same threads.
template <class Config>
class PromotedAccumulator {
 public:
  using Values = float[Config::kWaves][Config::kWaveRegisters];  ///< a thread's sums

  /// Sets every sum to 0.
  __device__ __forceinline__ void zero() {
#pragma unroll
    for (int wave = 0; wave < Config::kWaves; ++wave) {
#pragma unroll
      for (int i = 0; i < Config::kWaveRegisters; ++i) values_[wave][i] = 0.0f;
    }
  }

  /// One piece of one wave.
  template <int wave, int piece>
  __device__ __forceinline__ void zero() {
#pragma unroll
    for (int i = 0; i < Config::kMmaRegisters; ++i) {
      values_[wave][piece * Config::kMmaRegisters + i] = 0.0f;
    }
  }

  /// acc += product * (a_scale * b_scale) for piece `piece` of wave `wave`; the scale product is
  /// formed first.
  template <int wave, int piece>
  __device__ __forceinline__ void promote(const float (&product)[Config::kMmaRegisters],
                                          const KBlockScales<Config>& scales) {
    constexpr int kColumnsPerBlock = 8, kRegistersPerBlock = 4;
#pragma unroll
    for (int i = 0; i < Config::kMmaRegisters; ++i) {
      const int row_half = i % kRegistersPerBlock / 2;
      const int column = piece * Config::kMmaN + i / kRegistersPerBlock * kColumnsPerBlock;
      const float scale = scales.a[wave][row_half] * scales.b[column / Config::kScaleColumns];
      float& value = values_[wave][piece * Config::kMmaRegisters + i];
      value = fmaf(product[i], scale, value);
    }
  }

  /// All sums of the thread.
  __device__ __forceinline__ const Values& values() const { return values_; }
  /// The sums of one MMA along M.
  __device__ __forceinline__ float* wave(int wave) { return values_[wave]; }
  /// The sums of one MMA along M.
  __device__ __forceinline__ const float* wave(int wave) const { return values_[wave]; }

 private:
  Values values_;
};

}  // namespace bw::hopper
