#pragma once
/// \file
/// What the files of the mbarrier instruction forms share: the address space and checks of their
/// operands.

#include <cstdint>
#include <string_view>

#include "common/simulator/machine/address_space.hpp"
#include "common/simulator/machine/binder.hpp"

namespace bw::sim::mbarrier_operations {

/// The two lowest bits of Instruction::flags, in every form of the family; the others belong to
/// arrivals or to waits.
enum SpaceFlag : uint8_t { kGeneric = 0, kSharedCta = 1, kSharedCluster = 2, kSpaceMask = 3 };
/// Instruction::flags of the forms that name a layout: set for .layout::v1.
inline constexpr uint8_t kLayoutOne = 1 << 2;

/// The flag of the "space" group's match.
[[nodiscard]] uint8_t space_flag(const Modifiers& modifiers);
/// Which memory the flags name.
[[nodiscard]] AddressSpace address_space(uint8_t flags);
/// `.sem` and `.scope` go together or not at all.
void check_sem_and_scope(const Binder& binder);

/// Whether all active lanes hold the same value in an operand.
[[nodiscard]] bool is_uniform(const Strand& strand, const Operand& operand, LaneMask active);

}  // namespace bw::sim::mbarrier_operations
