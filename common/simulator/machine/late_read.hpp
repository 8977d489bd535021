#pragma once
/// \file
/// An instruction whose registers need a check first: it may read one before an asynchronous
/// operation has written it.

#include <cstdint>
#include <vector>

#include "common/simulator/machine/instruction.hpp"

namespace bw::sim {

/// The detail of such an instruction: the unit that loads first checks whether the registers are
/// still pending (KernelBuilder::check_late_reads), then executes the original. Other instructions
/// cost nothing.
struct LateRead {
  Instruction original;  ///< the instruction as it was
  /// A register that is read, and what it holds.
  struct Register {
    Operand operand;     ///< its location
    uint32_t index = 0;  ///< into the PTX function's registers
  };
  std::vector<Register> registers;  ///< that it reads
};

}  // namespace bw::sim
