#pragma once
/// \file
/// When operations of the tensor core complete. Source: SemiAnalysis "microbench-blackwell" (May
/// 2026), umma_latency fit on a B200, for 32 bytes of K; nothing here was measured by this project.

#include <algorithm>
#include <cstdint>

#include "common/simulator/machine/timing/timing_table.hpp"
#include "common/simulator/machine/types.hpp"
#include "common/simulator/units/tensor_core/tensor_core.hpp"

namespace bw::sim::tensor_core_timing {

inline constexpr Cycle kSharedBytesPerCycle = 128;  ///< that it reads
// Added to the tensor time: from issue to the mbarrier seen by a waiter.
inline constexpr Cycle kLatencyTensorMemoryA = 104;  ///< with A in tensor memory
inline constexpr Cycle kLatencySharedM64 = 120;      ///< with A in shared memory, M = 64
inline constexpr Cycle kLatencySharedM128 = 136;     ///< with A in shared memory, M = 128
/// A pair, M = 256, A in tensor memory.
inline constexpr Cycle kLatencyPairM256TensorMemoryA = 138;
inline constexpr Cycle kLatencyPairM256Shared = 170;  ///< a pair, M = 256, A in shared memory
/// A pair, M = 128, A in tensor memory.
inline constexpr Cycle kLatencyPairM128TensorMemoryA = 146;
inline constexpr Cycle kLatencyPairM128Shared = 165;  ///< a pair, M = 128, A in shared memory
inline constexpr Cycle kCopyLatency = 168;  ///< tcgen05.cp, the first one; tcgen05.shift likewise
inline constexpr Cycle kCopyInterval = 74;  ///< each that follows
/// The same of .32x128b.warpx4 and of .64x128b.warpx2. Source: cicuvc, "nvidia-sass-document"
/// (3e4430d, September 2026), UTCCP on a B200, four warps that copy: 2,048 more of the former take
/// 16,376 more cycles; 8,192 of the latter take 137,367. Not measured: one issuing thread, MMAs
/// beside them.
inline constexpr Cycle kCopyToAllInterval = 8, kCopyToHalvesInterval = 17;
/// Added to the latency of dense MMAs by block scaling; the intervals are the same (SemiAnalysis,
/// as above: MXF8 and MXF4).
inline constexpr Cycle kScaledLatency = 1, kScaledPairLatency = 3;

/// Cycles that the tensor core itself needs.
[[nodiscard]] inline Cycle tensor_cycles(const MmaOperation& mma) {
  return mma.group == 2 && mma.shape.m == 128 ? mma.shape.n / 4 : mma.shape.n / 2;
}

/// Cycles for which each SM's shared memory is read.
[[nodiscard]] inline Cycle shared_cycles(const MmaOperation& mma) {
  const auto group = static_cast<uint32_t>(mma.group);
  const Cycle a_bytes = mma.a_in_tensor_memory ? 0 : mma.shape.m / group * kMmaKBytes;
  const Cycle b_bytes = mma.shape.n / group * mma.shape.b_k_bytes();
  return (a_bytes + b_bytes) / kSharedBytesPerCycle;
}

/// Cycles between two copies of a full queue. Copies of 32 and of 64 rows go to all quarters.
[[nodiscard]] inline Cycle interval(const CopyOperation& copy) {
  constexpr uint32_t kRowsToAll = 32, kRowsToHalves = 64;
  if (copy.rows == kRowsToAll) return kCopyToAllInterval;
  return copy.rows == kRowsToHalves ? kCopyToHalvesInterval : kCopyInterval;
}

/// Cycles between two MMAs of a full queue.
[[nodiscard]] inline Cycle interval(const MmaOperation& mma) {
  return std::max<Cycle>(tensor_cycles(mma), shared_cycles(mma));
}

/// Cycles from issue to completion in an idle tensor core.
[[nodiscard]] inline Cycle latency(const MmaOperation& mma) {
  const bool tensor_memory = mma.a_in_tensor_memory;
  Cycle fixed = 0;
  if (mma.group == 1)
    fixed = tensor_memory       ? kLatencyTensorMemoryA
            : mma.shape.m == 64 ? kLatencySharedM64
                                : kLatencySharedM128;
  else if (mma.shape.m == 256)
    fixed = tensor_memory ? kLatencyPairM256TensorMemoryA : kLatencyPairM256Shared;
  else
    fixed = tensor_memory ? kLatencyPairM128TensorMemoryA : kLatencyPairM128Shared;
  if (mma.scales != 0) fixed += mma.group == 1 ? kScaledLatency : kScaledPairLatency;
  return tensor_cycles(mma) + fixed;
}

/// With a timing model: cycles of a tcgen05.ld of so many columns. Two loads are published; between
/// and beyond them the time is taken to be linear.
[[nodiscard]] inline Cycle load_cycles(uint32_t columns, const TimingTable& times) {
  constexpr Cycle kFew = 64;
  const Cycle few = times.tmem_load_64_columns, many = times.tmem_load_128_columns;
  if (columns <= kFew) return std::max(few * columns / kFew, times.shared_load_latency);
  return few + (many - few) * (columns - kFew) / kFew;
}

}  // namespace bw::sim::tensor_core_timing
