#pragma once
/// \file
/// Warp-level instructions whose member mask names lanes of several strands.
///
/// An instruction such as shfl.sync executes once all lanes of its member mask that have not exited
/// have come to it. Usually one strand holds them all, and the instruction executes at once
/// (warp.cpp). Otherwise the strands that come early wait here; the one that completes the mask
/// executes for all of them, because the registers of a waiting lane can be read and written by
/// anyone.

#include <cstdint>
#include <vector>

#include "common/simulator/machine/execution.hpp"

namespace bw::sim {

/// What a warp-level instruction does for `lanes`, which all named `members` in their mask. `lanes`
/// are the lanes of `members` that have not exited; the strand gives access to the warp's
/// registers.
using WarpOperation = void (*)(const Strand& strand, const Instruction& instruction, LaneMask lanes,
                               LaneMask members);

/// Tells observers that the lanes have met at an instruction.
void notify_meeting(const Strand& strand, const Instruction& instruction, LaneMask lanes);

/// The waiting strands of one CTA's warps.
class WarpSync {
 public:
  explicit WarpSync(Cta& cta);
  ~WarpSync();

  /// `active` lanes come to `instruction` with `members[lane]` as their masks. Executes `operation`
  /// for each mask that is complete, and blocks the strand while one of its masks is not. With
  /// `any_instruction` (bar.warp.sync) lanes at different instructions of that kind meet. Throws
  /// SimulationError{contract} for a lane outside its own mask, for lanes of one mask that name
  /// different masks, and for a mask with lanes whose guard skips the instruction.
  Flow gather(Strand& strand, const Instruction& instruction, LaneMask active,
              const uint32_t* members, WarpOperation operation, bool any_instruction);

  /// Lanes of the warp have exited: masks that waited for them only are complete.
  void on_lanes_exit(Warp& warp, Cycle time);

 private:
  struct Gathering {
    Warp* warp = nullptr;
    const Instruction* instruction = nullptr;  ///< nullptr: any bar.warp.sync
    WarpOperation operation = nullptr;
    const Instruction* latest_instruction = nullptr;
    LaneMask members = 0;
    LaneMask arrived = 0;
    Cycle latest = 0;
    std::vector<Strand*> strands;
  };

  Gathering& find_or_add(Strand& strand, const Instruction* key, LaneMask members);
  void check_masks(const Strand& strand, const Instruction& instruction, LaneMask active,
                   const uint32_t* members, LaneMask mask, const Instruction* key) const;
  /// Executes complete gatherings of the warp and wakes strands that wait for nothing any more.
  void complete(Warp& warp, Cycle time, const Strand* running);
  [[nodiscard]] bool waits(const Strand* strand) const;

  std::vector<Gathering> gatherings_;
};

}  // namespace bw::sim
