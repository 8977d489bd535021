#pragma once
/// \file
/// The sum of a split tile over the CTAs of a cluster, through distributed shared memory.

#include <cstdint>

#include "common/device/cluster.cuh"
#include "common/device/shared_address.cuh"
#include "solutions/06_hopper_fp8_gemm/gemm_cta.cuh"
#include "solutions/06_hopper_fp8_gemm/promoted_accumulator.cuh"

namespace bw::hopper {

/// All threads of a cluster that splits K, those without a part in the sum, too: all partial sums
/// have arrived. No CTA touches another one's memory after it.
__device__ __forceinline__ void wait_for_split_k_sums() {
  ptx::cluster_arrive();
  ptx::cluster_wait();
}

/// Every CTA of the cluster holds a partial sum of the whole tile; CTA r gets the sum of the r-th
/// part of its columns, added in the order of ranks, whatever the order of arrival. The two math
/// warpgroups of all CTAs, which have all begun.
template <class Config>
__device__ __forceinline__ void reduce_over_cluster(
    const GemmCta<Config>& cta, const PromotedAccumulator<Config>& accumulator,
    float (&sum)[Config::kWaves][Config::kWaveRegisters / Config::kSplitK]) {
  constexpr int kPartRegisters = Config::kWaveRegisters / Config::kSplitK;
  constexpr int kVectors = kPartRegisters / 4;
  static_assert(kPartRegisters % 4 == 0, "partial sums travel in vectors of four");
  const uint32_t thread = threadIdx.x - kWarpgroupThreads;
  float4* const exchange = reinterpret_cast<float4*>(cta.shared.partial_sums);
  // Of rank `source`'s partial sum, vector `vector` of wave `wave` of this thread.
  const auto slot = [&](uint32_t source, int wave, int vector) {
    return ((source * Config::kWaves + wave) * kVectors + vector) * kMathThreads + thread;
  };

#pragma unroll
  for (int part = 0; part < Config::kSplitK; ++part) {
#pragma unroll
    for (int wave = 0; wave < Config::kWaves; ++wave) {
#pragma unroll
      for (int vector = 0; vector < kVectors; ++vector) {
        const float* v = accumulator.wave(wave) + part * kPartRegisters + 4 * vector;
        const uint32_t address = ptx::shared_address(exchange + slot(cta.rank, wave, vector));
        ptx::store_shared_cluster(ptx::map_to_cta(address, part),
                                  make_float4(v[0], v[1], v[2], v[3]));
      }
    }
  }
  wait_for_split_k_sums();
#pragma unroll
  for (int wave = 0; wave < Config::kWaves; ++wave) {
#pragma unroll
    for (int vector = 0; vector < kVectors; ++vector) {
      float4 total = exchange[slot(0, wave, vector)];
#pragma unroll
      for (int source = 1; source < Config::kSplitK; ++source) {
        const float4 part = exchange[slot(source, wave, vector)];
        total.x += part.x;
        total.y += part.y;
        total.z += part.z;
        total.w += part.w;
      }
      sum[wave][4 * vector] = total.x;
      sum[wave][4 * vector + 1] = total.y;
      sum[wave][4 * vector + 2] = total.z;
      sum[wave][4 * vector + 3] = total.w;
    }
  }
}

}  // namespace bw::hopper
