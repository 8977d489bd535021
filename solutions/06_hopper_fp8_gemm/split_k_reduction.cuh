#pragma once
/// \file
/// The sum of a tile whose K two or three CTAs of a cluster share, through distributed shared
/// memory.

#include <cstdint>

#include "common/device/bulk_copy.cuh"
#include "common/device/cluster.cuh"
#include "common/device/fence.cuh"
#include "common/device/named_barrier.cuh"
#include "common/device/shared_address.cuh"
#include "solutions/06_hopper_fp8_gemm/gemm_cta.cuh"
#include "solutions/06_hopper_fp8_gemm/promoted_accumulator.cuh"

namespace bw::hopper {

/// Each CTA holds a partial sum of the whole tile; CTA r of the first two, the owners, gets the sum
/// of the r-th half of each warpgroup's columns. An owner keeps its own half in registers, puts the
/// other one where the ring was, and one bulk copy takes it to the other owner; a third CTA sends
/// both halves. (Neighbours change places within a vector, as in PartialSums.) The two math
/// warpgroups of all CTAs, when all have begun; afterwards every thread has arrived at the
/// cluster's barrier: after a wait for it no CTA reads another's memory any more. The third CTA's
/// `sum` is undefined.
template <class Config>
__device__ __forceinline__ void reduce_over_cluster(
    const GemmCta<Config>& cta, uint32_t warpgroup, uint32_t thread,
    const PromotedAccumulator<Config>& accumulator,
    float (&sum)[Config::kWaves][Config::kOwnedRegisters]) {
  static_assert(Config::kOwners == 2, "a part of a warpgroup's sums is one half or the other");
  constexpr int kHalf = Config::kOwnedRegisters, kVectors = kHalf / 4;
  static_assert(kHalf % 4 == 0, "partial sums travel in vectors of four");
  constexpr int kMathBarrier = 1;  // of the CTA's named ones
  constexpr bool kHasThird = Config::kSplitK > Config::kOwners;
  const bool is_first = cta.rank == 0;
  uint8_t* const sent = reinterpret_cast<uint8_t*>(&cta.shared.input) +
                        static_cast<size_t>(warpgroup) * Config::kMostSent * Config::kSentBytes;
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
      float* const own = sum[wave] + 4 * vector;
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int place = 4 * vector + i;
        others[i] = is_first ? values[kHalf + place] : values[place];
        own[i] = is_first ? values[place] : values[kHalf + place];
      }
      *vector_of(sent, wave, vector) = make_float4(others[1], others[0], others[3], others[2]);
      // Its "own" half is the second owner's.
      if (kHasThird && !cta.is_owner()) {
        *vector_of(sent + Config::kSentBytes, wave, vector) =
            make_float4(own[1], own[0], own[3], own[2]);
      }
    }
  }
  ptx::bar_sync<kMathBarrier, kMathThreads>();
  SharedMemBarrier& arrived = cta.shared.sums_arrived[warpgroup];
  uint8_t* const received = cta.shared.sums[warpgroup];
  if (thread == 0) {
    if (cta.is_owner()) arrived.arrive_and_expect_bytes(Config::kReceivedBytes);
    ptx::fence_proxy_async_shared();  // for the stores of all threads, past the barrier
    // From an owner to the other's first place, from the third CTA to each one's second.
    const uint32_t place = cta.is_owner() ? 0 : Config::kSentBytes;
    const auto send = [&](uint8_t* part, uint32_t owner) {
      ptx::bulk_copy_to_cta(ptx::map_to_cta(ptx::shared_address(received) + place, owner),
                            ptx::shared_address(part), Config::kSentBytes,
                            ptx::map_to_cta(arrived.address(), owner));
    };
    send(sent, is_first ? 1 : 0);
    if (kHasThird && !cta.is_owner()) send(sent + Config::kSentBytes, 1);
  }
  __syncwarp();
  if (cta.is_owner()) arrived.wait(0);
  ptx::cluster_arrive_relaxed();
  if (!cta.is_owner()) return;
#pragma unroll
  for (int wave = 0; wave < Config::kWaves; ++wave) {
#pragma unroll
    for (int vector = 0; vector < kVectors; ++vector) {
      float* const own = sum[wave] + 4 * vector;
      // The owners' sums first, whoever adds them; then the third one's.
#pragma unroll
      for (int source = 0; source < Config::kReceived; ++source) {
        const float4 part = *vector_of(received + source * Config::kSentBytes, wave, vector);
        own[1] += part.x;
        own[0] += part.y;
        own[3] += part.z;
        own[2] += part.w;
      }
    }
  }
}

}  // namespace bw::hopper
