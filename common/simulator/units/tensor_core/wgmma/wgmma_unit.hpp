#pragma once
/// \file
/// The warpgroups of a CTA and their asynchronous MMAs (PTX ISA, "Asynchronous Warpgroup Level
/// Matrix Multiply-Accumulate Instructions").
///
/// The four warps of a warpgroup issue the same MMAs in the same order. An MMA begins when the last
/// of them has issued it, and reads shared memory and D's registers, and writes D, when it
/// completes: a warp that doesn't wait reads old values. A's fragments are read at issue.

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "common/simulator/machine/execution.hpp"
#include "common/simulator/units/tensor_core/accumulation.hpp"
#include "common/simulator/units/tensor_core/wgmma/wgmma_form.hpp"

namespace bw::sim {

/// All warpgroups of one CTA.
class WgmmaUnit {
 public:
  /// For a CTA that outlives it.
  explicit WgmmaUnit(Cta& cta) : cta_(cta) {}

  /// The strand's warp issues the next MMA of its warpgroup. `operation` holds this warp's part;
  /// its A fragment and metadata are in the warp's slot. Throws SimulationError{contract} if
  /// another warp of the warpgroup has issued a different one.
  void issue(const Strand& strand, const Instruction& instruction, LaneMask active,
             WgmmaOperation operation);
  /// Closes the warp's open group.
  void commit(const Strand& strand);
  /// Waits until all but the `allowed` most recent groups of the warp are complete. To be called
  /// again when the strand is resumed.
  Flow wait(Strand& strand, uint32_t allowed);

  /// The last MMA that this warp has issued and not waited for, with the register at that offset as
  /// D or in its fragment of A; nullptr if none.
  [[nodiscard]] const Instruction* in_flight(const Warp& warp, uint32_t register_offset) const;
  /// The last MMA that this warp has issued and not committed, or nullptr.
  [[nodiscard]] const Instruction* uncommitted(const Warp& warp);
  /// Called when the CTA's last thread exits. Throws at the level isa for an MMA that was not
  /// waited for.
  void check_at_exit() const;
  /// Waits for all MMAs that the warp has issued, committed or not; as wait().
  Flow wait_for_all(Strand& strand);

 private:
  struct WarpState {
    uint64_t issued = 0;                      ///< MMAs
    uint64_t committed = 0;                   ///< MMAs
    std::deque<const Instruction*> unwaited;  ///< the last of them, which no wait has covered
    std::deque<uint64_t> group_ends;          ///< MMAs issued up to the end of each committed group
    uint64_t target = 0;                      ///< MMAs that a suspended strand waits for
    Strand* waiter = nullptr;
  };
  struct Warpgroup {
    std::deque<WgmmaOperation> queue;  ///< not executed yet
    uint64_t executed = 0;             ///< number of the queue's first
    std::array<WarpState, kWarpgroupWarps> warps;
    bool drain_scheduled = false;
  };

  Warpgroup& group_of(const Warp& warp);
  /// Waits until the warp's first `target` MMAs are complete.
  Flow wait_until(Strand& strand, uint64_t target, uint32_t allowed);
  /// All warps have issued MMA `number`.
  void begin(Warpgroup& group, uint64_t number);
  /// When an MMA that is issued completes; takes the tensor cores for it.
  [[nodiscard]] Cycle completion(const WgmmaOperation& operation);
  void schedule_drain(uint32_t group, Cycle time);
  void execute_until(Warpgroup& group, Cycle now);
  [[nodiscard]] size_t batch_length(const Warpgroup& group, Cycle now) const;
  void notify(const WgmmaOperation& operation, bool completes, Cycle now) const;

  Cta& cta_;
  std::deque<Warpgroup> groups_;  ///< by warp / 4; grows on demand
};

/// D of the operations in `batch`, one after the other on the same D, for all warps of a warpgroup.
/// `model`: how products are summed.
void execute_wgmma(std::span<const WgmmaOperation> batch, Cta& cta, uint32_t first_warp,
                   const Accumulation& model);

}  // namespace bw::sim
