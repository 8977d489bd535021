#pragma once
/// \file
/// Cost of an instruction form for a warp's scheduler: the instructions that ptxas makes of it, the
/// pipe that they occupy and the latency of their result. Counted in code that ptxas made of small
/// kernels for sm_90a and sm_100a; how long a pipe takes is in the machine's TimingTable.

#include <cstddef>
#include <cstdint>

namespace bw::sim {

class Modifiers;
namespace ptx {
struct Instruction;
}

/// The execution pipes of a warp, one set for each scheduler.
enum class Pipe : uint8_t {
  none,        ///< removed by ptxas: a renamed register, an operand from the constant bank
  alu,         ///< logic, shifts, comparisons, selections, conversions to narrow floats
  add,         ///< integer additions: ptxas gives them to the alu or to the multiplier
  fma,         ///< f32
  multiply,    ///< integer multiplications, and whatever ptxas assigns to them
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
  Pipe pipe = Pipe::alu;
  uint8_t instructions = 1;   ///< issue slots
  uint8_t on_pipe = 1;        ///< how often they occupy the pipe: a packed operation twice
  uint16_t extra_cycles = 0;  ///< latency beyond the pipe's, where they depend on each other

  /// One instruction of a pipe.
  [[nodiscard]] static constexpr Cost one(Pipe pipe) { return {.pipe = pipe}; }
  /// Two independent ones: the halves of 64 bits.
  [[nodiscard]] static constexpr Cost two(Pipe pipe) {
    return {.pipe = pipe, .instructions = 2, .on_pipe = 2};
  }
  /// A sequence in which each instruction depends on the one before.
  [[nodiscard]] static constexpr Cost chain(Pipe pipe, uint8_t count, uint16_t latency) {
    return {.pipe = pipe, .instructions = count, .on_pipe = count, .extra_cycles = latency};
  }
  /// One instruction of the special-function unit with arithmetic around it.
  [[nodiscard]] static constexpr Cost around(uint8_t count, uint16_t latency) {
    return {.pipe = Pipe::special, .instructions = count, .on_pipe = 1, .extra_cycles = latency};
  }
};

/// A form's cost: the same for all modifiers and operands, by the width of its type, or a function
/// of both.
class CostOf {
 public:
  /// Gives the cost by modifiers and operands.
  using Function = Cost (*)(const Modifiers&, const ptx::Instruction&);
  /// As the form's effect says: one instruction of the alu, or one that is handed to a unit.
  constexpr CostOf() = default;
  /// The same for all modifiers.
  constexpr CostOf(Cost cost) : narrow_(cost), is_given_(true) {}
  /// For types of up to 32 bits, and of 64.
  constexpr CostOf(Cost narrow, Cost wide)
      : narrow_(narrow), wide_(wide), is_by_width_(true), is_given_(true) {}
  /// A function.
  constexpr CostOf(Function of) : of_(of), is_given_(true) {}
  /// Whether the form's record says it.
  [[nodiscard]] constexpr bool is_given() const { return is_given_; }
  /// The cost of an instruction that matched the form.
  [[nodiscard]] Cost operator()(const Modifiers& modifiers,
                                const ptx::Instruction& instruction) const;

 private:
  Cost narrow_, wide_;
  Function of_ = nullptr;
  bool is_by_width_ = false;
  bool is_given_ = false;
};

/// Of what the compiler removes.
inline constexpr Cost kNoCost = {.pipe = Pipe::none, .instructions = 0, .on_pipe = 0};

}  // namespace bw::sim
