#pragma once
/// \file
/// When operations of the tensor core complete, and transfers between registers and tensor memory.

#include <array>
#include <cstdint>
#include <span>

#include "common/simulator/base/types.hpp"
#include "common/simulator/clock/sm_times.hpp"

namespace bw::sim {

class CtaClock;
struct TimingTable;

/// What of an MMA costs time.
struct MmaCost {
  int group = 1;                    ///< CTAs that multiply together
  uint32_t m = 0;                   ///< rows of D, of all of them
  uint32_t n = 0;                   ///< columns of D
  bool a_in_tensor_memory = false;  ///< else A is in shared memory
  uint32_t a_row_bytes = 0;         ///< of A, for each row of D
  uint32_t b_row_bytes = 0;         ///< of B, for each column of D
  bool block_scaled = false;        ///< scales are applied
};

/// What an operation of the tensor core takes, in cycles.
struct TensorCoreCost {
  Cycle interval = 0;      ///< from this to the next
  Cycle latency = 0;       ///< until it is seen to be complete
  Cycle shared_reads = 0;  ///< of each SM's shared memory
};

/// What an MMA takes.
[[nodiscard]] TensorCoreCost cost_of(const MmaCost& mma);
/// The cost of tcgen05.cp and tcgen05.shift that read `shared_bytes` of shared memory.
[[nodiscard]] TensorCoreCost cost_of_copy(uint32_t shared_bytes);

/// The tensor core of a CTA, or of the pair of which it is the first.
class TensorCoreTimes {
 public:
  explicit TensorCoreTimes(CtaClock& sm) : sm_(sm) {}

  /// When an operation that is issued at `now` completes, in order; takes the tensor cores and the
  /// shared memory of all SMs that take part. `disturbance`: what a seed adds to its latency.
  [[nodiscard]] Cycle completion(std::span<CtaClock* const> sms, Cycle now,
                                 const TensorCoreCost& cost, Cycle disturbance);

 private:
  CtaClock& sm_;
  Cycle last_ = 0;  ///< completion
  Cycle free_ = 0;  ///< with a timing model: when the next operation may begin
};

/// Loads and stores of tensor memory. Each quarter of its lanes has a way of its own.
class TensorMemoryTimes {
 public:
  static constexpr uint32_t kQuarters = 4;  ///< a warp's is its number % 4

  /// `times` null: fixed times.
  explicit TensorMemoryTimes(const TimingTable* times) : times_(times) {}

  /// A transfer.
  struct Transfer {
    Cycle begin = 0;    ///< when its way is free
    Cycle latency = 0;  ///< from then until it is done
  };
  /// Transfer of `columns` by a warp that issues it at `now`.
  [[nodiscard]] Transfer transfer(uint32_t warp, uint32_t columns, bool is_load, Cycle now);

 private:
  const TimingTable* times_;
  std::array<Server, kQuarters> ways_;
};

}  // namespace bw::sim
