#pragma once
/// \file
/// A decoded instruction: what the interpreter's inner loop reads.

#include <cstddef>
#include <cstdint>

#include "common/simulator/base/types.hpp"
#include "common/simulator/isa/memory_order.hpp"
#include "common/simulator/isa/vocabulary.hpp"
#include "common/simulator/schedule/scoreboards.hpp"

namespace bw::sim {

struct LaneRegisters;
struct Strand;
struct Instruction;

/// Location of the 32 lanes of a register (or of a constant, broadcast to all lanes).
struct Operand {
  uint32_t offset_bytes = 0;  ///< from the beginning, in bytes
  /// Bytes per lane: 2, 4, 8 or 16; 0 for a predicate, which is one LaneMask for the whole warp.
  uint8_t bytes = 4;
  /// 0: in the warp's registers, 1: in the kernel's constants (index into LaneRegisters::bases).
  uint8_t base = 0;
  /// `!%p` as a source.
  bool negated = false;
  /// Written as `_`: points to scratch storage, so writing is harmless; some forms depend on it.
  bool sink : 1 = false;
  /// A destination.
  bool written : 1 = false;
};

/// What the interpreter does after an instruction.
enum class Flow : uint8_t {
  next,   ///< run the next instruction
  jump,   ///< the handler has set Strand::pc
  block,  ///< suspended (Strand::wait is set); the same instruction executes again after the
          ///< wake-up
  gone,   ///< the strand has ended, split or waits at a reconvergence point; do not touch it again
};

/// Executes one instruction for the active lanes (never zero lanes), in registers alone; the next
/// instruction follows.
using LaneHandler = void (*)(const LaneRegisters&, const Instruction&, LaneMask active);

/// Executes one instruction for the active lanes (never zero lanes) of a strand: it may look
/// at where and when that runs, reach memory and units, wait and jump.
using StrandHandler = Flow (*)(Strand&, const Instruction&, LaneMask active);

/// What executes an instruction; the type of the function that a binder chose says what it touches.
class Handler {
 public:
  constexpr Handler() = default;
  /// What executes the form.
  constexpr Handler(std::nullptr_t) {}
  /// What executes the form.
  constexpr Handler(LaneHandler handler) : of_lanes_(handler) {}
  /// What executes the form.
  constexpr Handler(StrandHandler handler) : of_strand_(handler) {}

  /// Whether it is empty.
  [[nodiscard]] constexpr bool empty() const {
    return of_lanes_ == nullptr && of_strand_ == nullptr;
  }
  /// Whether it touches registers alone.
  [[nodiscard]] constexpr bool is_of_lanes() const { return of_lanes_ != nullptr; }
  /// Defined in machine/execution.hpp.
  inline Flow operator()(Strand& strand, const Instruction& instruction, LaneMask active) const;

 private:
  LaneHandler of_lanes_ = nullptr;
  StrandHandler of_strand_ = nullptr;
};

/// How marks of undefined values (machine/undefined_lanes.hpp) pass from sources to destinations.
enum class Marks : uint8_t {
  compute,  ///< a marked source marks every destination
  use,      ///< a marked source is a fault: the handler touches more than registers
  select,   ///< as operand 3, a predicate, chooses operand 1 or 2
  own,      ///< the handler says which lanes of its destinations are marked
};

/// Without a timing model there are two: of loads from shared memory (0), from device memory (1).
inline constexpr uint8_t kAwaitsLoads = 0b11;
/// Which of the two counts a load.
[[nodiscard]] constexpr uint8_t plain_scoreboard(LoadSource from) {
  return from == LoadSource::device_memory ? 1 : 0;
}

/// A decoded instruction.
struct Instruction {
  Handler execute;
  const Operand* operands =
      nullptr;  ///< destinations first, in the order in which the binder added them
  const void* detail = nullptr;     ///< what the family decoded beyond this; owned by the kernel
  int64_t immediate = 0;            ///< address displacement or other constant
  uint32_t source_index = 0;        ///< index into the PTX function's instructions
  uint32_t target = 0;              ///< branch target (instruction index)
  uint32_t reconvergence = 0;       ///< where lanes meet again after a divergent branch
  uint32_t guard_offset_bytes = 0;  ///< of the guard's register
  uint16_t operand_count = 0;
  uint16_t cycles = 1;           ///< issue cost
  uint8_t flags = 0;             ///< family-specific small constants
  bool has_guard = false;        ///< whether a predicate guards it
  bool guard_negated = false;    ///< whether the guard is negated
  Effect effect = Effect::lane;  ///< who observes its effects
  /// Scoreboards (a bit each) whose loads must have arrived before it starts: see Strand::arrives.
  /// Without a timing model these are all loads, for stores and atomics; with one, those of its
  /// sources.
  uint8_t awaits = 0;
  uint8_t scoreboard = 0;   ///< of a load, with a timing model: what counts it
  uint8_t skip_cycles = 1;  ///< issue cost where the guard lets no lane execute it
  /// Issue slots of the stretch of instructions that ends here, requested from the scheduler; 0
  /// elsewhere, and without a timing model.
  uint16_t issue_slots = 0;
  uint16_t issued = 0;                           ///< machine instructions of that stretch
  Marks marks = Marks::compute;                  ///< what it is counted as
  MemoryOrder order = MemoryOrder::unspecified;  ///< what its modifiers say
  MemoryScope scope = MemoryScope::unspecified;  ///< what its modifiers say
  /// With a timing model: loads that it performs, 0 where another one performs it.
  uint8_t merged = 1;
  /// Instructions from this one to the next that does something (KernelBuilder::take_over): an
  /// unobserved run goes on there.
  uint8_t length = 1;
  uint16_t length_cycles = 1;  ///< cycles of that many instructions
  uint32_t code_begin =
      0;  ///< of the stretch that ends here: its first machine instruction, counted in the kernel
};

}  // namespace bw::sim
