#pragma once
/// \file
/// What an instruction form costs a warp's scheduler: the instructions that ptxas makes of it, the
/// pipe that they occupy and how long their result takes. Counted in code that ptxas made of small
/// kernels for sm_90a and sm_100a; how long a pipe takes stands in the machine's TimingTable.

#include <cstdint>

#include "common/simulator/machine/types.hpp"
#include "common/simulator/ptx/ast.hpp"

namespace bw::sim {

class Modifiers;
struct TimingTable;

/// What executes the instructions of a warp, one set for each scheduler.
enum class Pipe : uint8_t {
  none,        ///< nothing is left of it: a renamed register, an operand from the constant bank
  alu,         ///< logic, shifts, comparisons, selections, conversions to narrow floats
  add,         ///< integer additions: ptxas gives them to the alu or to the multiplier
  fma,         ///< f32
  multiply,    ///< integer multiplications, and what ptxas gives them
  half,        ///< f16 and bf16
  wide,        ///< f64
  special,     ///< exponentials, reciprocals, conversions between integers and floats
  exchange,    ///< shuffles: issued as loads, with a latency of their own
  load_store,  ///< accesses, and whatever is handed to a unit outside of the scheduler
  tensor,      ///< mma.sync
  system,      ///< special registers
  branch,      ///< jumps
};
inline constexpr size_t kPipeCount = 13;  ///< how many there are

/// The cost of one form.
struct Cost {
  Pipe pipe = Pipe::alu;      ///< what executes it
  uint8_t instructions = 1;   ///< issue slots
  uint8_t on_pipe = 1;        ///< how many of them the pipe executes
  uint16_t extra_cycles = 0;  ///< latency beyond the pipe's, where they wait for each other
};

/// A form's cost: the same for all modifiers and operands, or a function of them.
class CostOf {
 public:
  /// Gives the cost by modifiers and operands.
  using Function = Cost (*)(const Modifiers&, const ptx::Instruction&);
  /// As the form's effect says: one instruction of the alu, or one that is handed to a unit.
  constexpr CostOf() = default;
  /// The same always, or by a function.
  constexpr CostOf(Cost cost) : fixed_(cost), is_given_(true) {}
  /// The same always, or by a function.
  constexpr CostOf(Function of) : of_(of), is_given_(true) {}
  /// Whether the row says it.
  [[nodiscard]] constexpr bool is_given() const { return is_given_; }
  /// The cost of an instruction that matched the row.
  [[nodiscard]] Cost operator()(const Modifiers& modifiers,
                                const ptx::Instruction& instruction) const {
    return of_ != nullptr ? of_(modifiers, instruction) : fixed_;
  }

 private:
  Cost fixed_;
  Function of_ = nullptr;
  bool is_given_ = false;
};

/// How long a pipe takes.
struct PipeTimes {
  uint32_t latency = 1;   ///< cycles from issue until a result can be used
  uint32_t interval = 1;  ///< cycles until the next instruction of a warp
  uint32_t busy = 1;      ///< cycles of these that other warps cannot have it
};
/// Of a machine.
[[nodiscard]] PipeTimes pipe_times(const TimingTable& times, Pipe pipe);

/// Of what the compiler removes.
inline constexpr Cost kNoCost = {.pipe = Pipe::none, .instructions = 0, .on_pipe = 0};

}  // namespace bw::sim
