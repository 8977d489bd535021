#pragma once
/// \file
/// Instructions that may read a register while a tcgen05.ld has yet to write it.

#include <cstdint>
#include <vector>

#include "common/simulator/ptx/ast.hpp"

namespace bw::sim::ptx {

/// An instruction and those of its source registers that may be destinations of a tcgen05.ld not
/// yet followed by a tcgen05.wait::ld when control reaches it, or copies of such.
struct PendingRead {
  uint32_t instruction = 0;         ///< that reads
  std::vector<uint32_t> registers;  ///< that it reads late
};

/// Whether an instruction only copies a register of 32 bits into another one.
[[nodiscard]] bool copies_register(const Instruction& instruction);

/// All of a function, in instruction order; empty for nearly every kernel. Copies count as reads,
/// and the copies are pending as well.
[[nodiscard]] std::vector<PendingRead> reads_of_pending_registers(const Function& function);

}  // namespace bw::sim::ptx
