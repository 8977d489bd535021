#pragma once
/// \file
/// The sum of a tile whose K two CTAs of a cluster share, through distributed shared memory.

#include <cstdint>

#include "common/device/bulk_copy.cuh"
#include "common/device/cluster.cuh"
#include "common/device/fence.cuh"
#include "common/device/named_barrier.cuh"
#include "common/device/shared_address.cuh"
#include "solutions/06_hopper_fp8_gemm/gemm_cta.cuh"
#include "solutions/06_hopper_fp8_gemm/promoted_accumulator.cuh"

namespace bw::hopper {

/// Each of the two CTAs holds a partial sum of the whole tile; CTA r gets the sum of the r-th half
/// of each warpgroup's columns. It keeps its own half in registers, puts the other one where the
/// ring was, and one bulk copy takes it to the other CTA. (Neighbours change places within a
/// vector, as in PartialSums.) The two math warpgroups of both CTAs, when both have begun;
/// afterwards every thread has arrived at the cluster's barrier: what waits for it knows that
/// nobody reads the other's memory any more.
template <class Config>
__device__ __forceinline__ void reduce_over_cluster(
    const GemmCta<Config>& cta, uint32_t warpgroup, uint32_t thread,
    const PromotedAccumulator<Config>& accumulator,
    float (&sum)[Config::kWaves][Config::kWaveRegisters / Config::kSplitK]) {
  constexpr int kHalf = Config::kWaveRegisters / 2, kVectors = kHalf / 4;
  static_assert(kHalf % 4 == 0, "partial sums travel in vectors of four");
  constexpr int kMathBarrier = 1;  // of the CTA's named ones
  const bool is_first = cta.rank == 0;
  uint8_t* const sent = reinterpret_cast<uint8_t*>(&cta.shared.input) +
                        static_cast<size_t>(warpgroup) * Config::kSentBytes;
  const auto vector_of = [&](uint8_t* vectors, int wave, int vector) {
    return reinterpret_cast<float4*>(vectors) + (wave * kVectors + vector) * kWarpgroupThreads +
           thread;
  };

  ptx::bar_sync<kMathBarrier, kMathThreads>();  // both warpgroups have read the ring
#pragma unroll
  for (int wave = 0; wave < Config::kWaves; ++wave) {
    const float* const values = accumulator.wave(wave);
#pragma unroll
    for (int vector = 0; vector < kVectors; ++vector) {
      float others[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int own = 4 * vector + i;
        others[i] = is_first ? values[kHalf + own] : values[own];
        sum[wave][own] = is_first ? values[own] : values[kHalf + own];
      }
      *vector_of(sent, wave, vector) = make_float4(others[1], others[0], others[3], others[2]);
    }
  }
  ptx::bar_sync<kMathBarrier, kMathThreads>();
  SharedMemBarrier& arrived = cta.shared.sums_arrived[warpgroup];
  uint8_t* const received = cta.shared.sums[warpgroup];
  if (thread == 0) {
    arrived.arrive_and_expect_bytes(Config::kSentBytes);
    ptx::fence_proxy_async_shared();  // for the stores of all threads, behind the barrier
    const uint32_t other = 1 - cta.rank;
    ptx::bulk_copy_to_cta(ptx::map_to_cta(ptx::shared_address(received), other),
                          ptx::shared_address(sent), Config::kSentBytes,
                          ptx::map_to_cta(arrived.address(), other));
  }
  __syncwarp();
  arrived.wait(0);
  ptx::cluster_arrive_relaxed();
#pragma unroll
  for (int wave = 0; wave < Config::kWaves; ++wave) {
#pragma unroll
    for (int vector = 0; vector < kVectors; ++vector) {
      const float4 part = *vector_of(received, wave, vector);
      sum[wave][4 * vector + 1] += part.x;
      sum[wave][4 * vector] += part.y;
      sum[wave][4 * vector + 3] += part.z;
      sum[wave][4 * vector + 2] += part.w;
    }
  }
}

}  // namespace bw::hopper
