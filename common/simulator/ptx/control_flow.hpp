#pragma once
/// \file
/// Control flow of a flat instruction list: immediate post-dominators and register liveness.

#include <cstdint>
#include <vector>

#include "common/simulator/ptx/ast.hpp"

namespace bw::sim::ptx {

/// Instruction index meaning "the end of the function" (all paths exit before they meet).
inline constexpr uint32_t kNoReconvergence = 0xffffffffu;

/// For each instruction that is a (guarded) branch: the index of the first instruction of its
/// block's immediate post-dominator, where diverged lanes reconverge; kNoReconvergence if they
/// never do. Entries of other instructions are kNoReconvergence.
[[nodiscard]] std::vector<uint32_t> reconvergence_points(const Function& function);

/// Location of each virtual register of a function in a warp's register file.
struct RegisterLayout {
  std::vector<uint32_t> offset_bytes;  ///< per virtual register: byte offset of its 32 lanes
  uint32_t total_bytes = 0;            ///< size of one warp's register file
  uint32_t live_32bit_registers =
      0;  ///< greatest number of 32-bit registers live at once per thread
};

/// Size in bytes of the 32 lanes of a register: predicates are one 32-bit mask (4), 16-bit
/// registers (and 8-bit ones) 64, 32-bit 128, 64-bit 256, 128-bit 512 bytes.
[[nodiscard]] uint32_t register_storage_bytes(ScalarType type) noexcept;

/// Assigns storage so that registers that are never live at once share it (per-thread liveness is
/// enough: each lane owns its part of the storage). Guarded writes do not end the live range of the
/// old value.
[[nodiscard]] RegisterLayout allocate_registers(const Function& function);

}  // namespace bw::sim::ptx
