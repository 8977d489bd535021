#pragma once
/// \file
/// The registers of one warp's 32 lanes: all that a form of effect `lane` may touch.

#include <cstddef>
#include <cstdint>

#include "common/simulator/base/types.hpp"
#include "common/simulator/machine/instruction.hpp"

namespace bw::sim {

/// Registers, constants and the carry flag of a warp. They do not lead to the CTA, the cluster or
/// the time, so a handler that gets nothing else cannot depend on them.
struct LaneRegisters {
  std::byte* bases[2] = {nullptr, nullptr};  ///< registers, constants; index is Operand::base
  LaneMask* carry_flags = nullptr;           ///< Warp::carry

  /// The 32 lanes of an operand.
  template <class T>
  [[nodiscard]] T* lanes(const Operand& operand) const {
    return reinterpret_cast<T*>(bases[operand.base] + operand.offset_bytes);
  }
  /// A predicate operand as a mask (negation applied).
  [[nodiscard]] LaneMask predicate(const Operand& operand) const {
    const LaneMask mask_value = *lanes<LaneMask>(operand);
    return operand.negated ? ~mask_value : mask_value;
  }
  /// Sets the active lanes of a predicate register.
  void set_predicate(const Operand& operand, LaneMask active, LaneMask value) const {
    LaneMask& target = *lanes<LaneMask>(operand);
    target = (target & ~active) | (value & active);
  }
  /// The condition code's carry flag CC.CF of each lane.
  [[nodiscard]] LaneMask carry() const { return *carry_flags; }
  /// Sets the carry flag of the active lanes.
  void set_carry(LaneMask active, LaneMask value) const {
    *carry_flags = (*carry_flags & ~active) | (value & active);
  }
  /// Active lanes whose value of an operand differs from the lowest active lane's.
  [[nodiscard]] LaneMask lanes_that_differ(const Operand& operand, LaneMask active) const;
  /// One lane of an integer operand of any width, zero-extended.
  [[nodiscard]] uint64_t value(const Operand& operand, int lane) const;
  /// Writes one lane of an operand of any width up to 8 bytes, truncating.
  void set_value(const Operand& operand, int lane, uint64_t value) const;
};

}  // namespace bw::sim
