#pragma once
/// \file
/// Registers with undefined values: from a shuffle that read a lane that did not execute it, from a
/// load of shared memory that was never written, and what was computed from those.

#include <cstdint>
#include <vector>

#include "common/simulator/base/types.hpp"
#include "common/simulator/machine/instruction.hpp"

namespace bw::sim {

struct Cta;
struct Strand;

/// The marked registers of one warp. A common reduction reads lanes that do not execute it and
/// never uses the result, so that reading is not a fault; using is. Copying, computing and
/// exchanging propagate the mark, a selection only that of the operand which it takes. A use is
/// every other instruction that reads the value in an active lane: a store, an atomic, an address,
/// a vote, a barrier, anything that others see; and a guard or a branch that depends on it.
///
/// `st.local` and `st.param` are uses too: memory keeps no marks.
class UndefinedLanes {
 public:
  /// Origin of an undefined value.
  struct Source {
    const Instruction* instruction = nullptr;  ///< the shuffle or load that made it
    int lane = 0;                              ///< of a shuffle: that did not execute it
    const Cta* cta = nullptr;                  ///< of a load: whose shared memory
    uint32_t offset_bytes = 0;                 ///< of a load: the first byte read
    uint32_t bytes = 0;                        ///< of a load: its size
  };

  /// The marked lanes of an operand.
  [[nodiscard]] LaneMask lanes(const Operand& operand) const;
  /// Origin of the value of an operand with marked lanes.
  [[nodiscard]] const Source& source(const Operand& operand) const;
  /// Of the `written` lanes of a register exactly `marked` become undefined.
  void set(const Operand& operand, LaneMask written, LaneMask marked, const Source& source);

  /// Call before an instruction executes for the `active` lanes of a strand: propagates marks from
  /// sources to destinations. Throws SimulationError{contract} if the instruction uses an undefined
  /// value.
  void before(const Strand& strand, const Instruction& instruction, LaneMask active);
  /// Throws SimulationError{contract} if some of these lanes of an operand are undefined.
  void require_defined(const Strand& strand, const Instruction& instruction, const Operand& operand,
                       LaneMask lanes) const;
  /// Throws SimulationError{contract} if the guard of some lane of the strand is undefined.
  void check_guard(const Strand& strand, const Instruction& instruction) const;

 private:
  struct Entry {
    uint32_t offset_bytes = 0;  ///< of the register in the warp's registers
    LaneMask lanes = 0;
    Source source;
  };
  [[nodiscard]] const Entry* find(uint32_t offset_bytes) const;
  [[noreturn]] void fault_use(const Strand& strand, const Instruction& instruction, LaneMask lanes,
                              const Entry& entry, const char* use) const;

  std::vector<Entry> entries_;
};

}  // namespace bw::sim
