#pragma once
/// \file
/// The math warpgroup of a kernel with swap_ab: wgmma, promotion, and its sums' way to their
/// owners.

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "common/device/cluster.cuh"
#include "common/device/convert.cuh"
#include "common/device/elect.cuh"
#include "common/device/matrix_copy.cuh"
#include "common/device/shared_address.cuh"
#include "common/device/shared_load.cuh"
#include "common/device/wgmma.cuh"
#include "common/device/wgmma_descriptor.cuh"
#include "solutions/06_hopper_fp8_gemm/swap_ab_config.cuh"
#include "solutions/06_hopper_fp8_gemm/swap_ab_part.cuh"
#include "solutions/06_hopper_fp8_gemm/value_hints.cuh"

namespace bw::hopper {

/// The math warpgroup: all columns of a tile of D times all of its rows, "tokens". Register
/// 4j + 2h + i of a thread is column `16 warp + lane / 4 + 8h` by token `8j + 2 (lane % 4) + i`.
template <class Config>
class SwapAbMath {
  static constexpr int kTokensPerFragment = 8;  ///< of registers 4j … 4j + 3

 public:
  /// For a math thread.
  __device__ __forceinline__ SwapAbMath(typename Config::SharedStorage& shared, uint32_t thread)
      : shared_(shared),
        thread_(thread),
        lane_(thread % ptx::kWarpThreads),
        b_operand_(uniform(wgmma_descriptor_low(ptx::shared_address(shared.b[0])))),
        a_operand_(uniform(wgmma_descriptor_low(ptx::shared_address(shared.a[0])))) {}

  /// Sums up the part's K blocks.
  __device__ __forceinline__ void run(const HopperGemmArguments& args, const SwapAbPart& part) {
    typename Config::Pipeline ring(shared_.barriers);
#pragma unroll
    for (float& value : sum_) value = 0.0f;
    const float* const b_scales =
        args.b_scales.scales +
        min(part.column / kScaleBlock, args.b_scales.rows - 1) * args.b_scales.stride;
    float next_b = part.first < part.end ? __ldg(b_scales + part.first) : 0.0f;
#pragma unroll 1
    for (uint32_t k_block = part.first; k_block < part.end; ++k_block) {
      const float b_scale = next_b;
      next_b = __ldg(b_scales + min(k_block + 1, part.end - 1));
      ring.wait_producer();
      const uint32_t stage = ring.consumer_stage();
      float product[Config::kRegisters];
      multiply(stage, product);
      float a_scales[Config::kRegisters / 2];
      read_a_scales(stage, a_scales);
      ptx::wgmma_wait_group<0>();
      ptx::wgmma_hold(product);
      __syncwarp();
      if (lane_ == 0) ring.consumer_mbar(stage)->arrive();
      __syncwarp();
      ring.consumer_step();
#pragma unroll
      for (int i = 0; i < Config::kRegisters; ++i) {
        const float scale = a_scales[i / 4 * 2 + i % 2] * b_scale;
        sum_[i] = fmaf(product[i], scale, sum_[i]);
      }
    }
  }

  /// Sends every sum to the CTA that owns it: of those that split the tile's K, rank r owns the
  /// r-th part of each thread's registers. They all have begun.
  __device__ __forceinline__ void send(const SwapAbPart& part) const {
    const uint32_t owned = Config::kVectors / part.split;
    const uint32_t address = sums() + part.rank * owned * kVectorStride;
    const uint32_t barrier = shared_.sums_arrived.address();
#pragma unroll
    for (uint32_t vector = 0; vector < Config::kVectors; ++vector) {
      const uint32_t owner = vector / owned;
      Vector value;
      float values[Config::kVector];
#pragma unroll
      for (int i = 0; i < Config::kVector; ++i) values[i] = sum_[vector * Config::kVector + i];
      memcpy(&value, values, sizeof value);
      ptx::store_async(ptx::map_to_cta(address + vector % owned * kVectorStride, owner), value,
                       ptx::map_to_cta(barrier, owner));
    }
  }

  /// Adds what this CTA has got, in the order of the parts of K, and puts it in its place of D.
  __device__ __forceinline__ void add_and_stage(const HopperGemmArguments& args,
                                                const SwapAbPart& part) const {
    const uint32_t owned = Config::kVectors / part.split;
    shared_.sums_arrived.wait(0);
    for (uint32_t vector = 0; vector < owned; ++vector) {
      float total[Config::kVector];
      for (uint32_t source = 0; source < part.split; ++source) {
        Vector value;
        load(sums() + (source * owned + vector) * kVectorStride, value);
        float values[Config::kVector];
        memcpy(values, &value, sizeof value);
#pragma unroll
        for (int i = 0; i < Config::kVector; ++i) {
          total[i] = source == 0 ? values[i] : total[i] + values[i];
        }
      }
      stage<Config::kVector>(args, total, (part.rank * owned + vector) * Config::kVector);
    }
  }

  /// Puts all sums, of a tile whose K isn't split, in their place of D.
  __device__ __forceinline__ void stage_all(const HopperGemmArguments& args) const {
    constexpr int kAtOnce = Config::kRegisters < 8 ? Config::kRegisters : 8;
#pragma unroll
    for (int first = 0; first < Config::kRegisters; first += kAtOnce) {
      float values[kAtOnce];
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) values[i] = sum_[first + i];
      stage<kAtOnce>(args, values, first);
    }
  }

 private:
  __device__ __forceinline__ void multiply(uint32_t stage,
                                           float (&product)[Config::kRegisters]) const {
    constexpr uint32_t kMmaK = 32, kUnit = 16;  // bytes = elements of K; what descriptors count
    const uint32_t b = b_operand_ + stage * (Config::kBBytes / kUnit);
    const uint32_t a = a_operand_ + stage * (Config::kABytes / kUnit);
    ptx::wgmma_hold(product);
    ptx::wgmma_fence();
#pragma unroll
    for (uint32_t step = 0; step < Config::kTileK / kMmaK; ++step) {
      const uint32_t k = step * kMmaK / kUnit;
      ptx::wgmma_e4m3(product, wgmma_descriptor(b + k), wgmma_descriptor(a + k), step > 0);
    }
    ptx::wgmma_commit_group();
  }

  /// Of this thread's two tokens of each fragment.
  __device__ __forceinline__ void read_a_scales(uint32_t stage,
                                                float (&scales)[Config::kRegisters / 2]) const {
    const uint32_t address = ptx::shared_address(&shared_.a_scales[stage][2 * (lane_ % 4)]);
#pragma unroll
    for (int j = 0; j < Config::kRegisters / 4; ++j) {
      const float2 pair = ptx::load_shared_f32x2(address + j * kTokensPerFragment * sizeof(float));
      scales[2 * j] = pair.x;
      scales[2 * j + 1] = pair.y;
    }
  }

  using Vector = std::conditional_t<Config::kVector == 4, float4, float2>;
  /// Bytes from one vector of a thread to its next.
  static constexpr uint32_t kVectorStride = kWarpgroupThreads * sizeof(Vector);

  /// This thread's first vector among the sums that a CTA gets.
  __device__ __forceinline__ uint32_t sums() const {
    return ptx::shared_address(&shared_ + 1) + thread_ * sizeof(Vector);
  }
  static __device__ __forceinline__ void load(uint32_t address, float2& value) {
    value = ptx::load_shared_f32x2(address);
  }
  static __device__ __forceinline__ void load(uint32_t address, float4& value) {
    const uint4 bits = ptx::load_shared_v4(address);
    memcpy(&value, &bits, sizeof value);
  }

  /// Puts registers `first` to `first` + count - 1 of this thread, beta times what is there of C
  /// added, into the rows of D in shared memory, as bf16. Each pair is a thread's part of an 8 × 8
  /// matrix, columns of D by tokens.
  template <int count>
  __device__ __forceinline__ void stage(const HopperGemmArguments& args, float (&values)[count],
                                        uint32_t first) const {
    constexpr uint32_t kMatrices = count / 2;
    // Each lane names a row of a matrix: a token, and eight columns.
    const uint32_t pair = first / 2 + lane_ / 8;
    const uint32_t token = pair / 2 * kTokensPerFragment + lane_ % 8;
    const uint32_t column = thread_ / ptx::kWarpThreads * kWarpRows + pair % 2 * 8;
    const uint32_t address = ptx::shared_address(shared_.b) + token * Config::kRowBytes +
                             column * static_cast<uint32_t>(sizeof(uint16_t));
    uint32_t packed[kMatrices];
    if (args.has_residual) {
      ptx::ldmatrix_transposed(packed, address);
#pragma unroll
      for (uint32_t i = 0; i < kMatrices; ++i) {
        values[2 * i] = fmaf(args.beta, ptx::unpack_bf16_low(packed[i]), values[2 * i]);
        values[2 * i + 1] = fmaf(args.beta, ptx::unpack_bf16_high(packed[i]), values[2 * i + 1]);
      }
    }
#pragma unroll
    for (uint32_t i = 0; i < kMatrices; ++i) {
      packed[i] = ptx::pack_bf16x2(values[2 * i], values[2 * i + 1]);
    }
    ptx::stmatrix_transposed(address, packed);
  }

  typename Config::SharedStorage& shared_;
  uint32_t thread_, lane_;
  uint32_t b_operand_, a_operand_;  ///< descriptors' low words, of the first stage
  float sum_[Config::kRegisters];
};

}  // namespace bw::hopper
