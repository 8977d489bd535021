#pragma once
/// \file
/// An instruction whose registers must be looked at first: it may read one before what an
/// asynchronous operation brings is there.

#include <cstdint>
#include <vector>

#include "common/simulator/machine/instruction.hpp"

namespace bw::sim {

/// The detail of such an instruction: the unit that loads looks first whether the registers are
/// still awaited (KernelBuilder::check_late_reads), then executes the original. All other
/// instructions cost nothing.
struct LateRead {
  Instruction original;  ///< the instruction as it was
  /// A register that is read, and what it holds.
  struct Register {
    Operand operand;     ///< where it lies
    uint32_t index = 0;  ///< into the PTX function's registers
  };
  std::vector<Register> registers;  ///< that it reads
};

}  // namespace bw::sim
