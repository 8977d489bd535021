#include "common/simulator/clock/tensor_core_times.hpp"

#include <algorithm>

#include "common/simulator/base/bits.hpp"
#include "common/simulator/clock/costs.hpp"
#include "common/simulator/clock/sm_clock.hpp"
#include "common/simulator/clock/timing_table.hpp"

namespace bw::sim {
namespace {

// Source of the constants: SemiAnalysis "microbench-blackwell" (May 2026), umma_latency fit on a
// B200, for 32 bytes of K; nothing here was measured by this project.
constexpr Cycle kSharedBytesPerCycle = 128;  // that it reads
// Added to the tensor time: from issue to the mbarrier seen by a waiter.
constexpr Cycle kLatencyTensorMemoryA = 104;  // with A in tensor memory
constexpr Cycle kLatencySharedM64 = 120;      // with A in shared memory, M = 64
constexpr Cycle kLatencySharedM128 = 136;     // with A in shared memory, M = 128
/// A pair, M = 256, A in tensor memory.
constexpr Cycle kLatencyPairM256TensorMemoryA = 138;
constexpr Cycle kLatencyPairM256Shared = 170;  // a pair, M = 256, A in shared memory
/// A pair, M = 128, A in tensor memory.
constexpr Cycle kLatencyPairM128TensorMemoryA = 146;
constexpr Cycle kLatencyPairM128Shared = 165;  // a pair, M = 128, A in shared memory
constexpr Cycle kCopyLatency = 168;            // tcgen05.cp, the first one; tcgen05.shift likewise
constexpr Cycle kCopyInterval = 74;            // each that follows

/// Cycles that the tensor core itself needs.
Cycle tensor_cycles(const MmaCost& mma) {
  return mma.group == 2 && mma.m == 128 ? mma.n / 4 : mma.n / 2;
}

/// Cycles for which each SM's shared memory is read.
Cycle shared_cycles(const MmaCost& mma) {
  const auto group = static_cast<uint32_t>(mma.group);
  const Cycle a_bytes = mma.a_in_tensor_memory ? 0 : mma.m / group * mma.a_row_bytes;
  const Cycle b_bytes = mma.n / group * mma.b_row_bytes;
  return (a_bytes + b_bytes) / kSharedBytesPerCycle;
}

/// Cycles between two MMAs of a full queue.
Cycle interval(const MmaCost& mma) {
  return std::max<Cycle>(tensor_cycles(mma), shared_cycles(mma));
}

/// Cycles from issue to completion in an idle tensor core.
Cycle latency(const MmaCost& mma) {
  const bool tensor_memory = mma.a_in_tensor_memory;
  Cycle fixed = 0;
  if (mma.group == 1)
    fixed = tensor_memory ? kLatencyTensorMemoryA
            : mma.m == 64 ? kLatencySharedM64
                          : kLatencySharedM128;
  else if (mma.m == 256)
    fixed = tensor_memory ? kLatencyPairM256TensorMemoryA : kLatencyPairM256Shared;
  else
    fixed = tensor_memory ? kLatencyPairM128TensorMemoryA : kLatencyPairM128Shared;
  return tensor_cycles(mma) + fixed;
}

/// Cycles of a tcgen05.ld of so many columns. Two loads are published; between and beyond them the
/// time is taken to be linear.
Cycle load_cycles(uint32_t columns, const TimingTable& times) {
  constexpr Cycle kFew = 64;
  const Cycle few = times.tmem_load_64_columns, many = times.tmem_load_128_columns;
  if (columns <= kFew) return std::max(few * columns / kFew, times.shared_load_latency);
  return few + (many - few) * (columns - kFew) / kFew;
}

}  // namespace

TensorCoreCost cost_of(const MmaCost& mma) {
  return {.interval = interval(mma), .latency = latency(mma), .shared_reads = shared_cycles(mma)};
}

TensorCoreCost cost_of_copy(uint32_t shared_bytes) {
  return {.interval = kCopyInterval,
          .latency = kCopyLatency,
          .shared_reads = shared_bytes / kSharedBytesPerCycle};
}

Cycle TensorCoreTimes::completion(std::span<SmClock* const> sms, Cycle now,
                                  const TensorCoreCost& cost, Cycle disturbance) {
  if (sm_.table == nullptr)
    return last_ = std::max(now + cost.latency + disturbance, last_ + cost.interval);
  const Cycle begin = std::max(now, free_);
  free_ = begin + cost.interval;
  for (SmClock* const sm : sms) {
    sm->demand.use(Resource::tensor_cycles, sm->rank, begin, cost.interval);
    // Others may pass shared memory as well.
    free_ = std::max(free_, sm->memory.pass(begin, cost.shared_reads));
  }
  // The published latencies are from before the issue until a waiter has seen the mbarrier.
  const Cycle latency =
      cost.latency - sm_.table->mbarrier_wake_cycles - sm_.table->tcgen05_issue_cycles;
  return last_ = std::max(last_, free_ - cost.interval + latency + disturbance);
}

TensorMemoryTimes::Transfer TensorMemoryTimes::transfer(uint32_t warp, uint32_t columns,
                                                        bool is_load, Cycle now) {
  if (times_ == nullptr)
    return {now, std::max<Cycle>(columns * costs::kTmemLoadPerColumn, costs::kSharedLoad)};
  // A quarter of the lanes has its own way; the published numbers are of all four quarters.
  const Cycle moving = ceil_div(columns, times_->tmem_columns_per_cycle);
  return {ways_[warp % kQuarters].take(now, moving),
          is_load ? load_cycles(columns, *times_) : times_->tmem_store_cycles + moving};
}

}  // namespace bw::sim
