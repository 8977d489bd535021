#pragma once
/// \file
/// Registers whose value nobody defined: what a shuffle took from a lane that did not execute it,
/// what a load took from shared memory that nothing has written, and what was computed from that.

#include <cstdint>
#include <vector>

#include "common/simulator/base/types.hpp"
#include "common/simulator/machine/instruction.hpp"

namespace bw::sim {

struct Cta;
struct Strand;

/// The marked registers of one warp. A common reduction reads lanes that do not execute it and
/// never uses what it got, so that reading is no fault; using is. Copying, computing and exchanging
/// carry the mark along, a selection only that of the operand which it takes. A use is every other
/// instruction that reads the value in an active lane: a store, an atomic, an address, a vote, a
/// barrier, anything that others see; and a guard or a branch that depends on it.
///
/// `st.local` and `st.param` are uses too: memory keeps no marks.
class UndefinedLanes {
 public:
  /// Where an undefined value comes from.
  struct Source {
    const Instruction* instruction = nullptr;  ///< the shuffle or load that made it
    int lane = 0;                              ///< of a shuffle: that did not execute it
    const Cta* cta = nullptr;                  ///< of a load: whose shared memory
    uint32_t offset_bytes = 0;                 ///< of a load: where it has read
    uint32_t bytes = 0;                        ///< of a load: how much of it
  };

  /// The marked lanes of an operand.
  [[nodiscard]] LaneMask lanes(const Operand& operand) const;
  /// Where the value of an operand with marked lanes comes from.
  [[nodiscard]] const Source& source(const Operand& operand) const;
  /// Of the `written` lanes of a register exactly `marked` are undefined now.
  void set(const Operand& operand, LaneMask written, LaneMask marked, const Source& source);

  /// To be called before an instruction executes for the `active` lanes of a strand: carries marks
  /// from sources to destinations. Throws SimulationError{contract} where the instruction uses an
  /// undefined value.
  void before(const Strand& strand, const Instruction& instruction, LaneMask active);
  /// Throws SimulationError{contract} where some of these lanes of an operand are undefined.
  void require_defined(const Strand& strand, const Instruction& instruction, const Operand& operand,
                       LaneMask lanes) const;
  /// Throws SimulationError{contract} where the guard of some lane of the strand is undefined.
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
