#pragma once
/// \file
/// Where the epilogue's warps sit in a CTA (contract, chapters 4 and 5).

#include <cstdint>

namespace bw {

/// The epilogue's groups of four warps, by the first warp of each. A group reaches all lanes of
/// tensor memory once: warp w the quarter w % 4, so that a group starts at a multiple of four.
/// Kernels name their groups; whoever divides work among epilogue threads asks here.
template <uint32_t... first_warps>
struct EpilogueGroups {
  /// Groups of four warps.
  static constexpr int kCount = sizeof...(first_warps);
  static constexpr uint32_t kWarpsPerGroup = 4;  ///< each reaches a quarter of the lanes
  static constexpr uint32_t kGroupThreads = kWarpsPerGroup * 32;  ///< threads of a group
  static constexpr uint32_t kWarps = kCount * kWarpsPerGroup;     ///< of all groups
  static constexpr uint32_t kThreads = kCount * kGroupThreads;    ///< of all groups

  static_assert(kCount == 1 || kCount == 2, "one or two groups of four warps");
  static_assert(((first_warps % kWarpsPerGroup == 0) && ...),
                "a group starts at a multiple of four warps: warp w reads lane quarter w % 4");

  /// True for the groups' warps.
  static constexpr bool contains(uint32_t warp) {
    return ((warp / kWarpsPerGroup == first_warps / kWarpsPerGroup) || ...);
  }

  /// An epilogue thread's group, 0 or 1.
  static __device__ __forceinline__ uint32_t group() {
    if constexpr (kCount == 1) return 0;
    constexpr uint32_t kFirstWarps[] = {first_warps...};
    static_assert(kFirstWarps[0] == 0 && kFirstWarps[kCount - 1] >= kWarpsPerGroup,
                  "the first group is warps 0 to 3, the second comes after it");
    constexpr uint32_t kSecondsFirstThread = kFirstWarps[kCount - 1] * 32;
    return threadIdx.x / kSecondsFirstThread;
  }
};

/// Warps 0 to 3.
using OneEpilogueGroup = EpilogueGroups<0>;

}  // namespace bw
