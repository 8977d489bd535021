#pragma once
/// \file
/// A CTA's place in its cluster, and the masks that follow (contract, chapter 5, "Multicast").

#include <cstdint>

#include "common/device/cluster.cuh"
#include "common/device/exercise.cuh"

namespace bw {

/// Ranks count along M first: rank = rank_m + cluster_m · rank_n. CTAs of a row share a tile of B
/// (per parity with cta_group 2), CTAs of a column share a tile of A.
template <int CtaGroup, int cluster_m, int cluster_n>
struct ClusterLayout {
  static_assert(cluster_m % CtaGroup == 0,
                "with cta_group 2 the cluster has an even number of CTAs along M: they form pairs");
  static_assert(cluster_m * cluster_n <= 16, "a cluster has at most 16 CTAs");
  static constexpr int kSize = cluster_m * cluster_n;  ///< CTAs of a cluster
  /// A bit for each CTA along M.
  static constexpr uint32_t kRowMask = (1u << cluster_m) - 1;

  uint32_t rank;    ///< of the CTA in its cluster
  uint32_t rank_m;  ///< its place along M
  uint32_t rank_n;  ///< its place along N

  /// Of the calling thread's CTA.
  static __device__ __forceinline__ ClusterLayout here() {
    if constexpr (kSize == 1) return ClusterLayout{0, 0, 0};
    return of_rank(ptx::cluster_cta_rank());
  }
  /// Of a CTA by its rank.
  static constexpr __host__ __device__ ClusterLayout of_rank(uint32_t rank) {
    return ClusterLayout{rank, rank % cluster_m, rank / cluster_m};
  }

  /// True in the CTA that issues the MMAs: of a pair, the one of even rank.
  constexpr __host__ __device__ bool is_leader() const { return rank % CtaGroup == 0; }

  /// CTAs that get this CTA's slice of A: those of the same rank_m.
  constexpr __host__ __device__ uint16_t a_multicast_mask() const { return column_mask(rank_m); }
  /// CTAs that get this CTA's slice of B: those of the same rank_n (and parity of rank_m).
  constexpr __host__ __device__ uint16_t b_multicast_mask() const {
    uint32_t mask = 0;
    for (int i = 0; i < cluster_m / CtaGroup; ++i) mask |= 1u << (i * CtaGroup);
    return static_cast<uint16_t>(mask << (rank_m % CtaGroup) << (rank_n * cluster_m));
  }
  /// CTAs whose input-empty barrier this CTA's MMAs signal: all that send it (and its peer) data.
  constexpr __host__ __device__ uint16_t input_empty_mask() const {
    // >>> exercise 5.6 "Release every sender"
    uint32_t mask = kRowMask << (rank_n * cluster_m) | column_mask(rank_m);
    if (CtaGroup == 2) mask |= column_mask(rank_m ^ 1);
    return static_cast<uint16_t>(mask);
    // <<< exercise 5.6
  }

 private:
  static constexpr __host__ __device__ uint16_t column_mask(uint32_t column) {
    uint32_t mask = 0;
    for (int i = 0; i < cluster_n; ++i) mask |= 1u << (i * cluster_m);
    return static_cast<uint16_t>(mask << column);
  }
};

/// Barrier of all threads of all CTAs: arrivals and writes before it are done after it. The
/// instructions are .aligned: after a branch that one lane took the warp comes together first.
template <int cluster_size>
__device__ __forceinline__ void cluster_sync() {
  if constexpr (cluster_size == 1) {
    __syncthreads();
  } else {
    __syncwarp();
    ptx::cluster_arrive();
    ptx::cluster_wait();
  }
}

}  // namespace bw
