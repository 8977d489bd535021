#pragma once
/// \file
/// The math warpgroup of a kernel with swap_ab: wgmma, promotion, and its sums' way to their
/// owners.

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "common/device/bulk_copy.cuh"
#include "common/device/cluster.cuh"
#include "common/device/convert.cuh"
#include "common/device/elect.cuh"
#include "common/device/fence.cuh"
#include "common/device/matrix_copy.cuh"
#include "common/device/named_barrier.cuh"
#include "common/device/shared_address.cuh"
#include "common/device/shared_load.cuh"
#include "common/device/wgmma.cuh"
#include "common/device/wgmma_descriptor.cuh"
#include "solutions/06_hopper_fp8_gemm/b_scales.cuh"
#include "solutions/06_hopper_fp8_gemm/swap_ab_config.cuh"
#include "solutions/06_hopper_fp8_gemm/swap_ab_part.cuh"
#include "solutions/06_hopper_fp8_gemm/value_hints.cuh"

namespace bw::hopper {

/// The math warpgroup: all columns of a tile of D times all of its rows, "tokens". Register
/// 4j + 2h + i of a thread is column `16 warp + lane / 4 + 8h` by token `8j + 2 (lane % 4) + i`.
template <class Config>
class SwapAbMath {
  static constexpr int kTokensPerFragment = 8;  ///< of registers 4j … 4j + 3
  static constexpr int kFragments = Config::kRegisters / 4;

 public:
  /// For a math thread.
  __device__ __forceinline__ SwapAbMath(typename Config::SharedStorage& shared, uint32_t thread)
      : shared_(shared),
        thread_(thread),
        lane_(thread % ptx::kWarpThreads),
        b_operand_(uniform(wgmma_descriptor_low(ptx::shared_address(shared.b[0])))),
        a_operand_(uniform(wgmma_descriptor_low(ptx::shared_address(shared.a[0])))),
        ring_(shared.barriers),
        behind_(shared.barriers) {}

  /// Sums up the part's K blocks.
  __device__ __forceinline__ void run(const HopperGemmArguments& args, const SwapAbPart& part) {
#pragma unroll
    for (float& value : sum_) value = 0.0f;
    if (part.first == part.end) return;
    Walk walk{{}, part.first, part.end};
    const float* const scales = args.b_scales.scales + part.scale_row * args.b_scales.stride;
    walk.b_scales.begin([&](uint32_t) { return scales; }, part.first, part.end);
    if constexpr (Config::traits.two_products) {
      run_in_turn(walk);
    } else {
#pragma unroll 1
      while (walk.k_block < walk.end) {
        Product product;
        begin(product);
        finish<0>(walk, product);
      }
    }
  }

  /// Sends every sum to the CTA that owns it: of those that split the tile's K, rank r owns the
  /// r-th part of each thread's registers. They all have begun, and all warps of this one have read
  /// the ring.
  __device__ __forceinline__ void send(const SwapAbPart& part) const {
#pragma unroll
    for (uint32_t vector = 0; vector < Config::kVectors; ++vector) {
      Vector value;
      float values[Config::kVector];
#pragma unroll
      for (int i = 0; i < Config::kVector; ++i) values[i] = sum_[vector * Config::kVector + i];
      memcpy(&value, values, sizeof value);
      *own_vector(vector) = value;
    }
    ptx::bar_sync<Config::kMathBarrier, kWarpgroupThreads>();
    const uint32_t owner = thread_;
    if (owner < part.split && owner != part.rank) {
      ptx::fence_proxy_async_shared();  // for the stores of all threads, past the barrier
      const uint32_t bytes = Config::vectors_of(owner, part.split) * Config::kVectorStride;
      const uint8_t* const sent =
          outgoing() + Config::first_vector(owner, part.split) * Config::kVectorStride;
      ptx::bulk_copy_to_cta(
          ptx::map_to_cta(ptx::shared_address(incoming(part.rank, owner, bytes)), owner),
          ptx::shared_address(sent), bytes, ptx::map_to_cta(shared_.sums_arrived.address(), owner));
    }
    __syncwarp();
  }

  /// Waits for the others' sums. They have read this CTA's when all have done so.
  __device__ __forceinline__ void wait_for_sums() const { shared_.sums_arrived.wait(0); }

  /// Adds what this CTA has got to its own, in the order of the parts of K, and puts it in its
  /// place of D.
  __device__ __forceinline__ void add_and_stage(const HopperGemmArguments& args,
                                                const SwapAbPart& part) const {
    const uint32_t first = Config::first_vector(part.rank, part.split);
    const uint32_t owned = Config::vectors_of(part.rank, part.split);
    const uint32_t bytes = owned * Config::kVectorStride;
    for (uint32_t vector = 0; vector < owned; ++vector) {
      float total[Config::kVector];
      for (uint32_t source = 0; source < part.split; ++source) {
        const Vector value = source == part.rank
                                 ? *own_vector(first + vector)
                                 : *vector_of(incoming(source, part.rank, bytes), vector);
        float values[Config::kVector];
        memcpy(values, &value, sizeof value);
#pragma unroll
        for (int i = 0; i < Config::kVector; ++i) {
          total[i] = source == 0 ? values[i] : total[i] + values[i];
        }
      }
      stage<Config::kVector>(args, total, (first + vector) * Config::kVector);
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
  using Product = float[Config::kRegisters];

  /// Where the warpgroup is in its K blocks.
  struct Walk {
    BScalesInLanes<1> b_scales;  ///< of the tile's columns
    uint32_t k_block;            ///< the next to be promoted
    uint32_t end;                ///< after the last K block

    __device__ __forceinline__ bool at_last() const { return k_block + 1 == end; }
  };

  /// Two products take turns: while one is promoted, the next one's MMAs run.
  __device__ __forceinline__ void run_in_turn(Walk& walk) {
    Product even, odd;
    begin(even);
#pragma unroll 1
    while (true) {
      if (walk.at_last()) {
        finish<0>(walk, even);
        return;
      }
      begin(odd);
      finish<1>(walk, even);
      if (walk.at_last()) {
        finish<0>(walk, odd);
        return;
      }
      begin(even);
      finish<1>(walk, odd);
    }
  }

  /// Starts the MMAs of the ring's next K block, when it is there.
  __device__ __forceinline__ void begin(Product& product) {
    ring_.wait_producer();
    multiply(ring_.consumer_stage(), product);
    ring_.consumer_step();
  }

  /// Promotes the product of K block `k_block`, when at most `pending` groups of MMAs still run.
  /// One product's scales are read while its MMAs run, and its stage is released before it is
  /// promoted. Where two take turns, the time of either doesn't count, and the scales' registers
  /// are missing.
  template <int pending>
  __device__ __forceinline__ void finish(Walk& walk, Product& product) {
    const uint32_t stage = behind_.consumer_stage();
    const float b_scale = walk.b_scales.of_group(0);
    walk.b_scales.advance(walk.k_block, walk.end);
    if constexpr (pending == 0 && !Config::traits.two_products) {
      float2 a_scales[kFragments];
#pragma unroll
      for (int j = 0; j < kFragments; ++j) a_scales[j] = a_scales_of(stage, j);
      ptx::wgmma_wait_group<0>();
      ptx::wgmma_hold(product);
      release(stage);
#pragma unroll
      for (int j = 0; j < kFragments; ++j) promote(j, product, a_scales[j], b_scale);
    } else {
      ptx::wgmma_wait_group<pending>();
      ptx::wgmma_hold(product);
#pragma unroll
      for (int j = 0; j < kFragments; ++j) promote(j, product, a_scales_of(stage, j), b_scale);
      release(stage);
    }
    ++walk.k_block;
  }

  /// Of this thread's two tokens of fragment `fragment`.
  __device__ __forceinline__ float2 a_scales_of(uint32_t stage, int fragment) const {
    const uint32_t address = ptx::shared_address(&shared_.a_scales[stage][2 * (lane_ % 4)]);
    return ptx::load_shared_f32x2(address + fragment * kTokensPerFragment * sizeof(float));
  }

  __device__ __forceinline__ void promote(int fragment, const Product& product,
                                          const float2& a_scales, float b_scale) {
    const float scales[2] = {a_scales.x * b_scale, a_scales.y * b_scale};
#pragma unroll
    for (int i = 4 * fragment; i < 4 * fragment + 4; ++i) {
      sum_[i] = fmaf(product[i], scales[i % 2], sum_[i]);
    }
  }

  /// Gives a stage back.
  __device__ __forceinline__ void release(uint32_t stage) {
    __syncwarp();
    if (lane_ == 0) behind_.consumer_mbar(stage)->arrive();
    __syncwarp();
    behind_.consumer_step();
  }

  __device__ __forceinline__ void multiply(uint32_t stage, Product& product) const {
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

  using Vector = std::conditional_t<Config::kVector == 4, float4, float2>;
  /// Of this thread, among `vectors` of all of the warpgroup's.
  __device__ __forceinline__ Vector* vector_of(uint8_t* vectors, uint32_t vector) const {
    return reinterpret_cast<Vector*>(vectors + vector * Config::kVectorStride) + thread_;
  }
  __device__ __forceinline__ Vector* own_vector(uint32_t vector) const {
    return vector_of(outgoing(), vector);
  }

  /// Address of this CTA's sums for the others, [vectors][threads], in the order of their owners:
  /// where the ring's A was.
  __device__ __forceinline__ uint8_t* outgoing() const { return shared_.a[0]; }
  static_assert(Config::kSumsBytes <= Config::kStages * Config::kABytes,
                "the sums fit where the ring's A was");

  /// Where the sums of rank `source` come to rank `owner`, `bytes` of them.
  __device__ __forceinline__ uint8_t* incoming(uint32_t source, uint32_t owner,
                                               uint32_t bytes) const {
    const uint32_t place = source < owner ? source : source - 1;
    return reinterpret_cast<uint8_t*>(&shared_ + 1) + place * bytes;
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
    const uint32_t address = ptx::shared_address(shared_.d_rows()) + token * Config::kRowBytes +
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
  uint32_t b_operand_, a_operand_;    ///< descriptors' low words, of the first stage
  typename Config::Pipeline ring_;    ///< of the next MMAs
  typename Config::Pipeline behind_;  ///< of the next product to be promoted
  float sum_[Config::kRegisters];
};

}  // namespace bw::hopper
