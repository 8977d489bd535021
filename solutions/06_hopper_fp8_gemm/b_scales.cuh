#pragma once
/// \file
/// A warp's B-scales on the way from memory, K block after K block.

#include <bit>
#include <cstdint>

#include "common/device/elect.cuh"
#include "solutions/06_hopper_fp8_gemm/value_hints.cuh"

namespace bw::hopper {

/// The scales of `groups` groups of columns. A load for the next K block alone misses the L1 cache
/// at every eighth, whose scales begin a new sector of 32 bytes. So the lanes of a warp hold those
/// of a set of K blocks, one each, and load the next set while these are used. The 32 lanes of a
/// warp use it together.
///
/// `set`: K blocks of a set; 0: as many as the lanes can hold.
template <int groups, int set = 0>
class BScalesInLanes {
  /// Lanes of a group.
  static constexpr uint32_t kLanes = std::bit_floor(ptx::kWarpThreads / groups + 0u);

 public:
  static constexpr uint32_t kBlocks = set > 0 ? set : kLanes;  ///< K blocks of a set
  static_assert(kBlocks >= 1 && kBlocks <= kLanes, "a lane holds one scale");

  /// Begins at K block `first` of those before `end`, as if `step` K blocks of its set, fewer than
  /// kBlocks, had gone before. `row_of(group)`: a group's scales, by K block.
  template <class RowOf>
  __device__ __forceinline__ void begin(RowOf&& row_of, uint32_t first, uint32_t end,
                                        uint32_t step = 0) {
    const uint32_t lane = threadIdx.x % ptx::kWarpThreads;
    row_ = row_of(min(lane / kLanes, groups - 1u));
    keep(row_);  // or ptxas computes the address again
    set_ = static_cast<int32_t>(first - step);
    step_ = step;
    current_ = load(end);
    set_ += kBlocks;
    next_ = load(end);
  }
  /// The scale of a group for the current K block, in every lane.
  __device__ __forceinline__ float of_group(uint32_t group) const {
    return __shfl_sync(ptx::kFullWarpMask, current_, group * kLanes + step_);
  }
  /// K blocks of the current set that have been used.
  __device__ __forceinline__ uint32_t step() const { return step_; }
  /// On from K block `k_block` to the next of those before `end`.
  __device__ __forceinline__ void advance(uint32_t /*k_block*/, uint32_t end) {
    if (++step_ < kBlocks) return;
    step_ = 0;
    current_ = next_;
    keep(current_);  // or ptxas loads into another register, and waits for the load to copy it
    set_ += kBlocks;
    // (One `if` alone ptxas makes into predicates, and the warp waits for the load at once.)
    if (set_ < static_cast<int32_t>(end)) next_ = load(end);
  }

 private:
  /// This lane's scale of the set. Outside of the part's K blocks that of another one, which is not
  /// used: a branch would diverge the lanes before the warp's next wgmma.
  __device__ __forceinline__ float load(uint32_t end) const {
    const int32_t last = static_cast<int32_t>(max(end, 1u) - 1);
    const int32_t lane = static_cast<int32_t>(threadIdx.x % kLanes);
    return __ldg(row_ + max(min(set_ + lane, last), 0));
  }

  const float* row_;   ///< the scales of the lane's group
  int32_t set_ = 0;    ///< the first lane's K block of `next_`
  uint32_t step_ = 0;  ///< K blocks from that of the first lane's `current_` on
  float current_ = 0;  ///< of the lane's K block
  float next_ = 0;     ///< of the one kBlocks later
};

/// The same, every lane with the scale of the next K block: no shuffle by a variable lane. Where a
/// K block takes long, that counts more. `keeps`: else ptxas computes the addresses at each K
/// block.
template <int groups, bool keeps>
class BScalesAhead {
 public:
  /// As BScalesInLanes.
  template <class RowOf>
  __device__ __forceinline__ void begin(RowOf&& row_of, uint32_t first, uint32_t end) {
#pragma unroll
    for (int group = 0; group < groups; ++group) {
      rows_[group] = row_of(group);
      if constexpr (keeps) keep(rows_[group]);
      next_[group] = first < end ? __ldg(rows_[group] + first) : 0.0f;
    }
  }
  /// As BScalesInLanes.
  __device__ __forceinline__ float of_group(uint32_t group) const { return uniform(next_[group]); }
  /// As BScalesInLanes.
  __device__ __forceinline__ void advance(uint32_t k_block, uint32_t end) {
    const uint32_t next = min(k_block + 1, end - 1);
#pragma unroll
    for (int group = 0; group < groups; ++group) next_[group] = __ldg(rows_[group] + next);
  }

 private:
  const float* rows_[groups];  ///< by K block
  float next_[groups];         ///< of the next K block
};

}  // namespace bw::hopper
