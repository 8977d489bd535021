#pragma once
/// \file
/// A function's accesses to the registers of wgmma.mma_async (PTX ISA, "wgmma.fence",
/// "wgmma.wait_group"): touching them while the MMA is in flight, and writing them without a fence
/// before it.

#include <cstdint>
#include <optional>
#include <vector>

#include "common/simulator/ptx/ast.hpp"

namespace bw::sim::ptx {

/// An instruction and those of its registers that an MMA not yet followed by a wgmma.wait_group may
/// have, when control reaches it, as D (the instruction reads or writes them) or as a fragment of A
/// (it writes them). The machine decides whether the MMA is in flight.
struct PrematureAccess {
  uint32_t instruction = 0;         ///< index in the function
  std::vector<uint32_t> registers;  ///< indices in the function
};

/// All of a function, in the order of the instructions.
[[nodiscard]] std::vector<PrematureAccess> premature_wgmma_accesses(const Function& function);

/// A wgmma.mma_async with a register that was written, on every path to it, since the last
/// wgmma.fence; without a writer: no path has a fence.
struct UnfencedUse {
  uint32_t instruction = 0;        ///< the MMA, by its index in the function
  uint32_t reg = 0;                ///< index in the function
  std::optional<uint32_t> writer;  ///< the instruction that wrote it
};

/// All of a function, one for each MMA.
[[nodiscard]] std::vector<UnfencedUse> wgmma_without_fence(const Function& function);

}  // namespace bw::sim::ptx
