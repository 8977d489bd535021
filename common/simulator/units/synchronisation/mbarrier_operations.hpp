#pragma once
/// \file
/// Binding of the mbarrier instruction forms; the rows (mbarrier_rows.cpp) name these functions.

#include <cstdint>
#include <string_view>

#include "common/simulator/machine/address_space.hpp"
#include "common/simulator/machine/opcode_table.hpp"

namespace bw::sim::mbarrier_operations {

// Instruction::flags of the family. The two lowest bits are the address space.
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
[[nodiscard]] AddressSpace address_space(uint8_t flags);
/// `.sem` and `.scope` stand together or not at all.
void check_sem_and_scope(const Binder& binder);

/// Whether all active lanes hold the same value in an operand.
[[nodiscard]] bool is_uniform(const Strand& strand, const Operand& operand, LaneMask active);

void bind_init(Binder& binder);
void bind_inval(Binder& binder);
void bind_expect_tx(Binder& binder);
void bind_complete_tx(Binder& binder);
template <uint8_t kForm>
void bind_arrive(Binder& binder);
extern template void bind_arrive<0>(Binder&);
extern template void bind_arrive<kExpectTx>(Binder&);
extern template void bind_arrive<kNoComplete>(Binder&);
extern template void bind_arrive<kDrop>(Binder&);
extern template void bind_arrive<kDrop | kExpectTx>(Binder&);
extern template void bind_arrive<kDrop | kNoComplete>(Binder&);

void bind_test_wait(Binder& binder);
void bind_try_wait(Binder& binder);
void bind_pending_count(Binder& binder);

}  // namespace bw::sim::mbarrier_operations
