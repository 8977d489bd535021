#pragma once
/// \file
/// mbarrier objects of one CTA's shared memory (PTX ISA, "mbarrier").

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/simulator/machine/execution.hpp"

namespace bw::sim {

/// Largest expected count, pending count and magnitude of the tx-count (PTX ISA, "Contents of the
/// mbarrier object").
inline constexpr int64_t kMbarrierLargestCount = (1 << 20) - 1;
/// Size and alignment of an object in shared memory.
inline constexpr uint32_t kMbarrierBytes = 8;

/// One mbarrier object. The phase that counts is the current, incomplete one.
struct Mbarrier {
  uint32_t offset_bytes = 0;        ///< in the CTA's shared window
  uint64_t phase = 0;               ///< completed phases; the current phase's parity is phase & 1
  uint64_t observed_phase = 0;      ///< phases whose completion some wait has seen
  uint32_t expected = 0;            ///< arrivals that the next phase expects
  int32_t pending = 0;              ///< arrivals still missing in the current phase
  int64_t tx_bytes = 0;             ///< signed: complete_tx may come before expect_tx
  uint64_t expected_tx_bytes = 0;   ///< sum of expect_tx in the current phase
  uint64_t completed_tx_bytes = 0;  ///< sum of complete_tx in the current phase
  Cycle phase_start = 0;            ///< when the current phase began
  uint32_t slot = 0;                ///< its number among the CTA's objects
  bool live = false;                ///< initialised and not invalidated
  uint8_t layout = 0;               ///< .layout::v0 or .layout::v1
  /// A strand that sleeps, and what wakes it.
  struct Waiter {
    Strand* strand;
    uint32_t wait_token;  ///< the wait that it is for; a later wait of the strand has another
  };
  std::vector<Waiter> waiters;  ///< strands that wait for it
  /// When the copy engine asked for a copy from global memory.
  struct Request {
    Cycle at = kNever;  ///< kNever: the bytes came in another way
    Cycle queued = 0;   ///< how long it waited in the engine for earlier copies
  };
  /// A copy from global memory that has signalled it.
  struct Copy {
    Request request;
    uint32_t bytes;  ///< how many it has brought
  };
  std::vector<Copy> copies;  ///< of the current phase
  std::vector<Copy> landed;  ///< of the last complete one, until a thread observes that
};

/// What a state-based wait compares: the opaque value that arrive returns.
namespace mbarrier_state {
/// Opaque state of a phase and of the pending count before the arrive-on operation.
[[nodiscard]] uint64_t encode(uint64_t phase, int32_t pending);
/// Whether it is the result of an arrival.
[[nodiscard]] bool is_valid(uint64_t state);
[[nodiscard]] uint32_t phase(uint64_t state);  ///< modulo 2^32
/// The pending count in a state.
[[nodiscard]] uint32_t pending(uint64_t state);
}  // namespace mbarrier_state

/// An operation on the object at an offset into a CTA's shared memory.
struct MbarrierOperation {
  uint32_t offset_bytes;                 ///< of the object
  Cycle now;                             ///< when the operation takes effect
  const Strand& strand;                  ///< the one that issued it: for faults and reports
  const Instruction& instruction;        ///< what it executed
  LaneMask lanes = 0;                    ///< those reported to observers; 0: the executing ones
  uint64_t operation_id = kNoOperation;  ///< MbarrierEvent's
};

/// The objects of one CTA and the operations on them, for instructions and for asynchronous units
/// (bulk copies, tcgen05.commit, cp.async, launch control).
///
/// Every operation completes the phase when nothing is pending any more, and wakes the waiters
/// then. All throw SimulationError{contract} for an address without a live object, for an object
/// whose bytes were overwritten, for counts out of range, for more arrivals than the phase expects
/// and when the CTA has exited.
class MbarrierUnit {
 public:
  explicit MbarrierUnit(Cta& cta);
  ~MbarrierUnit();

  /// The live object at an offset, or nullptr.
  [[nodiscard]] Mbarrier* find(uint32_t offset_bytes);
  /// The live objects in ascending order of offset, for reports.
  [[nodiscard]] std::vector<const Mbarrier*> objects() const;
  /// The live object at an offset; throws if it does not exist or its bytes were overwritten.
  [[nodiscard]] Mbarrier& require(uint32_t offset_bytes, const Strand& strand,
                                  const Instruction& instruction);

  /// mbarrier.init. `layout`: 0 for .layout::v0, 1 for .layout::v1; none of the forms that are
  /// executed reports through a barrier, so the layouts behave alike.
  void init(const MbarrierOperation& by, uint32_t count, uint8_t layout = 0);
  /// mbarrier.inval.
  void invalidate(const MbarrierOperation& by);

  /// Throws as an arrive-on of `count` would: more arrivals than expected, or a phase too early.
  void check_arrival(const MbarrierOperation& by, uint32_t count);
  /// Arrive-on. Returns the opaque state before it.
  uint64_t arrive(const MbarrierOperation& by, uint32_t count);
  /// Arrive-on that also lowers the count that later phases expect.
  uint64_t arrive_drop(const MbarrierOperation& by, uint32_t count);
  /// A fault when an arrive-on of `count` would complete the phase: the promise of .noComplete.
  void check_no_complete(const MbarrierOperation& by, uint32_t count);
  /// Announces bytes.
  void expect_tx(const MbarrierOperation& by, uint32_t bytes);
  /// Bytes have landed. `request`: of the copy from global memory that brought them.
  void complete_tx(const MbarrierOperation& by, uint32_t bytes,
                   const Mbarrier::Request& request = {});
  /// A thread has observed that the last phase is complete. The first time, the cluster's demand
  /// records how long its copies had been there.
  void note_observed(Mbarrier& barrier, Cycle now);
  /// Raises the pending count of the current phase: what cp.async.mbarrier.arrive without .noinc
  /// does before its arrive-on is triggered.
  void increment_pending(const MbarrierOperation& by, uint32_t count);

  /// Tells observers that lanes have tested for the phase with number `waited_phase`.
  void notify_test(const Mbarrier& barrier, int64_t waited_phase, bool done, bool may_suspend,
                   const Strand& strand, const Instruction& instruction, LaneMask lanes) const;

  /// The time at which an operation that a thread of this CTA sends to CTA `target_rank` now takes
  /// effect. Operations from one CTA to another keep their order.
  [[nodiscard]] Cycle remote_time(uint32_t target_rank, Cycle now);
  /// When the last of them takes effect: what a release at cluster scope waits for.
  [[nodiscard]] Cycle last_remote_time() const;

 private:
  /// Tells observers of an operation.
  void notify(MbarrierEvent::Operation operation, const Mbarrier& barrier, uint64_t amount,
              const MbarrierOperation& by) const;
  void change_tx(Mbarrier& barrier, int64_t bytes, const MbarrierOperation& by);
  void complete_if_due(Mbarrier& barrier, const MbarrierOperation& by);
  void check_arrival(const Mbarrier& barrier, uint32_t count, const MbarrierOperation& by) const;
  [[nodiscard]] std::string name(uint32_t offset_bytes) const;

  Cta& cta_;
  struct State;
  std::unique_ptr<State> state_;
};

/// "pending 1 of 2 arrivals, tx-count 16384" and so on, for faults and reports.
[[nodiscard]] std::string describe_counts(const Mbarrier& barrier);

}  // namespace bw::sim
