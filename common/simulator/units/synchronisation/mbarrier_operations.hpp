#pragma once
/// \file
/// What the files of the mbarrier instruction forms share: flags and checks of their operands.

#include <cstdint>
#include <string_view>

#include "common/simulator/machine/address_space.hpp"
#include "common/simulator/machine/binder.hpp"

namespace bw::sim::mbarrier_operations {

// Instruction::flags of the family. The two lowest bits are the address space.
/// What a form's modifiers say.
enum Flags : uint8_t {
  kSpaceMask = 3,
  kGeneric = 0,
  kSharedCta = 1,
  kSharedCluster = 2,
  kDrop = 1 << 2,
  kExpectTx = 1 << 3,
  kNoComplete = 1 << 4,
  kHasCount = 1 << 5,
  kParity = 1 << 2,
  kTry = 1 << 3,
  kHasHint = 1 << 4,
};

/// The flag of the "space" group's match.
[[nodiscard]] uint8_t space_flag(const Modifiers& modifiers);
/// Which memory the flags name.
[[nodiscard]] AddressSpace address_space(uint8_t flags);
/// `.sem` and `.scope` stand together or not at all.
void check_sem_and_scope(const Binder& binder);

/// Whether all active lanes hold the same value in an operand.
[[nodiscard]] bool is_uniform(const Strand& strand, const Operand& operand, LaneMask active);

}  // namespace bw::sim::mbarrier_operations
