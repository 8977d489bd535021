#pragma once
/// \file
/// MMAs of e4m3 by a warpgroup with its operands in shared memory, in rows of 128 bytes.

#include <cstdint>
#include <type_traits>

#include "common/device/wgmma.cuh"

namespace bw::timing {

inline constexpr uint32_t kTileAlignment = 1024;  ///< of operands, in bytes
inline constexpr uint32_t kMmaRows = 64;          ///< of a warpgroup's A
inline constexpr uint32_t kMmaRowBytes = 128;     ///< of A and B
inline constexpr int kMmasPerBlock = 4;           ///< as many read a row, 32 bytes each

/// All threads of a warpgroup: `mmas` MMAs that read the rows again and again, a commit, a wait. A
/// is a descriptor or a fragment in registers. Each four MMAs begin a new sum unless `chained`.
template <int mmas, class A, int registers>
__device__ __forceinline__ void multiply_and_wait(float (&d)[registers], const A& a, uint64_t b,
                                                  bool chained) {
  constexpr int kDescriptorStep = 2;  // 32 bytes in units of 16
  ptx::wgmma_fence();
#pragma unroll
  for (int i = 0; i < mmas; ++i) {
    const int block = i % kMmasPerBlock;
    const bool accumulate = block != 0 || chained;
    if constexpr (std::is_same_v<A, uint64_t>) {
      ptx::wgmma_e4m3(d, a + block * kDescriptorStep, b + block * kDescriptorStep, accumulate);
    } else {
      ptx::wgmma_e4m3(d, a, b + block * kDescriptorStep, accumulate);
    }
  }
  ptx::wgmma_commit_group();
  ptx::wgmma_wait_group<0>();
  ptx::wgmma_hold(d);
}

}  // namespace bw::timing
