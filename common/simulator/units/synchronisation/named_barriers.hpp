#pragma once
/// \file
/// The sixteen named barriers of a CTA (PTX ISA, "bar, barrier").

#include <array>
#include <cstdint>
#include <vector>

#include "common/simulator/machine/execution.hpp"

namespace bw::sim {

inline constexpr uint32_t kNamedBarriers = 16;  ///< for a CTA

/// What a barrier instruction does.
enum class BarrierOperation : uint8_t { sync, arrive, red_popc, red_and, red_or };

/// One execution of a barrier instruction by some lanes of a warp.
struct BarrierRequest {
  uint32_t id = 0;         ///< number of the barrier
  bool has_count = false;  ///< false: all threads of the CTA take part
  uint32_t threads = 0;    ///< the thread count operand
  BarrierOperation operation = BarrierOperation::sync;
  const Operand* result = nullptr;  ///< destination of a reduction
  LaneMask predicate = 0;           ///< source of a reduction, per lane
};

/// State of one barrier. Arrival is per warp: a warp has arrived when all its threads that have not
/// exited have executed a barrier instruction on it, and then counts as 32 threads.
struct NamedBarrier {
  /// An arrival of a warp.
  struct Arrival {
    LaneMask lanes = 0;     ///< lanes that have executed the instruction
    bool complete = false;  ///< the warp counts as arrived
    const Instruction* instruction = nullptr;
    bool waits = false;  ///< and whether it waits for the completion
  };
  /// A strand that sleeps, and what wakes it.
  struct Waiter {
    Strand* strand;
    uint32_t wait_token;    ///< the wait that it is for; a later wait of the strand has another
    const Operand* result;  ///< where a reduction goes
    LaneMask lanes;         ///< the threads of the warp that take part
  };
  bool active = false;     ///< a warp has arrived in this phase
  bool whole_cta = false;  ///< expects every warp that has not exited
  bool reduction = false;  ///< whether it reduces
  BarrierOperation operation = BarrierOperation::sync;
  uint32_t threads = 0;             ///< threads expected, a multiple of 32
  uint32_t arrived_warps = 0;       ///< warps that have arrived in this phase
  uint32_t votes = 0;               ///< threads whose predicate was true
  uint32_t voters = 0;              ///< threads whose predicate holds
  uint64_t phase = 0;               ///< completed phases
  Cycle completed_at = 0;           ///< when the last one was
  std::vector<Arrival> warps;       ///< per warp of the CTA
  std::vector<Arrival> last_warps;  ///< the same of the last complete phase
  std::vector<Waiter> waiters;      ///< strands that wait for it
};

/// Without a thread count a barrier expects the warps that have not exited: the PTX ISA lets a
/// barrier wait for non-exited threads only, and hardware counts exited warps as arrived.
class NamedBarriers {
 public:
  explicit NamedBarriers(Cta& cta);
  ~NamedBarriers();

  /// Executes a barrier instruction's first execution for `lanes`. Returns Flow::next, or blocks
  /// the strand until the barrier completes; results of reductions are in the registers by then.
  /// Throws SimulationError{contract} for an id above 15, a thread count that is 0, no multiple of
  /// 32, larger than the CTA or unlike that of the barrier's other participants, a second arrival
  /// of a warp before the barrier has completed, a reduction mixed with sync or arrive, and an
  /// arrival of a warp that cannot know of the completion of the phase before.
  Flow execute(Strand& strand, const Instruction& instruction, LaneMask lanes,
               const BarrierRequest& request);
  /// Lanes of `warp` have exited (already removed from warp.live).
  void on_lanes_exit(Warp& warp, Cycle now);

  /// A barrier by its number.
  [[nodiscard]] const NamedBarrier& barrier(uint32_t id) const { return barriers_[id]; }

 private:
  void check(const Strand& strand, const Instruction& instruction, LaneMask lanes,
             const BarrierRequest& request) const;
  /// An arrival in a phase implies that the one before is complete. It is certain if a warp has had
  /// no news since then; whether its news implies that is left to the race detector.
  void check_knows_last_phase(const Site& site, const NamedBarrier& barrier) const;
  void warp_arrived(NamedBarrier& barrier, NamedBarrier::Arrival& arrival);
  [[nodiscard]] bool is_complete(const NamedBarrier& barrier) const;
  /// `last`: who has arrived or exited last.
  void complete(NamedBarrier& barrier, const Origin& last, Cycle now);
  /// Tells observers of an arrival or a completion.
  void notify(const NamedBarrier& barrier, const Origin& origin, Cycle now, bool completes,
              bool waits) const;

  Cta& cta_;
  std::array<NamedBarrier, kNamedBarriers> barriers_;
};

}  // namespace bw::sim
