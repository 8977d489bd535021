#pragma once
/// \file
/// How a piece's parts that different clusters computed come together: through global memory, which
/// is L2 here.

#include <cstdint>

#include "common/device/device_flag.cuh"
#include "common/device/elect.cuh"
#include "solutions/06_hopper_fp8_gemm/gemm_cta.cuh"
#include "solutions/06_hopper_fp8_gemm/promoted_accumulator.cuh"
#include "solutions/06_hopper_fp8_gemm/value_hints.cuh"

namespace bw::hopper {

/// The partial sums that a math warpgroup leaves for the one of the same place in the owner's
/// cluster; `number`: StreamKSchedule::partial_sum(). A thread reads what the thread of the same
/// index wrote; each warp has its own flag. All threads of a warp call each function together.
template <class Config>
class PartialSums {
  static constexpr int kVectorsOfWave = Config::kWaveRegisters / 4;
  static constexpr int kVectors = Config::kWaves * kVectorsOfWave;
  static_assert(Config::kWaveRegisters % 4 == 0, "partial sums travel in vectors of four");

 public:
  /// For a CTA of a split piece.
  __device__ __forceinline__ explicit PartialSums(const GemmCta<Config>& cta) : cta_(cta) {}

  /// Leaves `accumulator` for whoever owns the piece. (Neighbours change places within a vector: a
  /// vector's registers are consecutive, and in natural order every sum would be in the register
  /// bank of its product.)
  __device__ __forceinline__ void leave(uint32_t number,
                                        const PromotedAccumulator<Config>& accumulator) const {
    float4* const vectors = vectors_of(number);
#pragma unroll
    for (int i = 0; i < kVectors; ++i) {
      const float* v = accumulator.wave(i / kVectorsOfWave) + 4 * (i % kVectorsOfWave);
      __stcg(vectors + i * kMathThreads, make_float4(v[1], v[0], v[3], v[2]));
    }
    __syncwarp();
    if (thread() % ptx::kWarpThreads == 0) ptx::store_release_gpu(flag_of(number), 1);
    __syncwarp();
  }

  /// Waits for a partial sum, adds it, and clears its flag for the next launch.
  __device__ __forceinline__ void add(uint32_t number,
                                      PromotedAccumulator<Config>& accumulator) const {
    // Every lane looks, and the warp decides: to the compiler the branch is then the same in all
    // lanes, and the ring's stages stay in uniform registers.
    while (!__all_sync(ptx::kFullWarpMask, ptx::load_acquire_gpu(flag_of(number)) != 0)) {
    }
    if (thread() % ptx::kWarpThreads == 0) *flag_of(number) = 0;
    __syncwarp();
    const float4* const vectors = vectors_of(number);
#pragma unroll
    for (int i = 0; i < kVectors; ++i) {
      const float4 part = __ldcg(vectors + i * kMathThreads);
      float* v = accumulator.wave(i / kVectorsOfWave) + 4 * (i % kVectorsOfWave);
      v[1] += part.x;
      v[0] += part.y;
      v[3] += part.z;
      v[2] += part.w;
    }
  }

 private:
  /// Kept from being computed ahead, with all addresses that follow: they would occupy registers
  /// during the whole main loop.
  static __device__ __forceinline__ uint32_t thread() {
    uint32_t thread = threadIdx.x - kWarpgroupThreads;
    keep(thread);
    return thread;
  }
  /// Index, among all CTAs' partial sums, of this CTA's part of one.
  __device__ __forceinline__ uint32_t of_cta(uint32_t number) const {
    return number * Config::kClusterSize + cta_.rank;
  }
  __device__ __forceinline__ float4* vectors_of(uint32_t number) const {
    return reinterpret_cast<float4*>(cta_.args.stream_k.workspace.partial_sums) +
           uint64_t{of_cta(number)} * kVectors * kMathThreads + thread();
  }
  __device__ __forceinline__ uint32_t* flag_of(uint32_t number) const {
    return cta_.args.stream_k.workspace.flags + of_cta(number) * kMathWarps +
           thread() / ptx::kWarpThreads;
  }

  const GemmCta<Config>& cta_;
};

}  // namespace bw::hopper
