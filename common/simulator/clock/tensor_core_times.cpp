#include "common/simulator/clock/tensor_core_times.hpp"

#include <algorithm>

#include "common/simulator/base/bits.hpp"
#include "common/simulator/clock/costs.hpp"
#include "common/simulator/clock/cta_clock.hpp"
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
// Added by block scaling, of MXF8 and of MXF4; the intervals are those of dense MMAs.
constexpr Cycle kScaledLatency = 1, kScaledPairLatency = 3;
// Bytes that copies of .32x128b.warpx4 and of .64x128b.warpx2 read. Source:
// cicuvc, "nvidia-sass-document" (3e4430d, September 2026), UTCCP on a B200, four warps that copy:
// 2,048 more of the former take 16,376 more cycles; 8,192 of the latter take 137,367. Not measured:
// one issuing thread, MMAs in the queue.
constexpr uint32_t kBytesToAllQuarters = 512, kBytesToHalves = 1024;
constexpr Cycle kToAllQuartersInterval = 8, kToHalvesInterval = 17;

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
  if (mma.block_scaled) fixed += mma.group == 1 ? kScaledLatency : kScaledPairLatency;
  return tensor_cycles(mma) + fixed;
}

/// Cycles between two copies of a full queue.
Cycle copy_interval(uint32_t shared_bytes) {
  if (shared_bytes == kBytesToAllQuarters) return kToAllQuartersInterval;
  return shared_bytes == kBytesToHalves ? kToHalvesInterval : kCopyInterval;
}

/// Cycles of a tcgen05.ld of `columns`. Two loads are published; between and beyond them the time
/// is assumed to be linear.
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
  return {.interval = copy_interval(shared_bytes),
          .latency = kCopyLatency,
          .shared_reads = shared_bytes / kSharedBytesPerCycle};
}

Cycle TensorCoreTimes::completion(std::span<CtaClock* const> sms, Cycle now,
                                  const TensorCoreCost& cost, Cycle disturbance) {
  if (sm_.table == nullptr)
    return last_ = std::max(now + cost.latency + disturbance, last_ + cost.interval);
  const Cycle begin = std::max(now, free_);
  free_ = begin + cost.interval;
  for (CtaClock* const sm : sms) {
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
