#pragma once
/// \file
/// Which instructions may read a register while a tcgen05.ld is still to write it.

#include <cstdint>
#include <vector>

#include "common/simulator/ptx/ast.hpp"

namespace bw::sim::ptx {

/// An instruction and those of its source registers that a tcgen05.ld without a tcgen05.wait::ld
/// behind it may have as destinations when control comes to it.
struct PendingRead {
  uint32_t instruction = 0;         ///< that reads
  std::vector<uint32_t> registers;  ///< that it reads late
};

/// All of a function, in the order of the instructions; empty for nearly every kernel. A copy and a
/// conversion are reads like others.
[[nodiscard]] std::vector<PendingRead> reads_of_pending_registers(const Function& function);

}  // namespace bw::sim::ptx
