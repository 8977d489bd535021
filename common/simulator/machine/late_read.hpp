#pragma once
/// \file
/// An instruction that may read a register before what an asynchronous load brings is there.

#include <cstdint>
#include <vector>

#include "common/simulator/machine/instruction.hpp"

namespace bw::sim {

/// The detail of such an instruction: the unit that loads looks first whether the registers are
/// still awaited (KernelBuilder::check_late_reads), then executes the original. All other
/// instructions cost nothing.
struct LateRead {
  Instruction original;
  struct Register {
    Operand operand;
    uint32_t index = 0;  ///< into the PTX function's registers
  };
  std::vector<Register> registers;
};

}  // namespace bw::sim
