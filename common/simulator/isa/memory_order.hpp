#pragma once
/// \file
/// The order and scope in an instruction's modifiers (PTX ISA, "Memory Consistency Model": .sem and
/// .scope).

#include <cstdint>

namespace bw::sim {

/// As written; a form without such a modifier has its own default.
enum class MemoryOrder : uint8_t {
  unspecified,
  weak,
  relaxed,
  acquire,
  release,
  acq_rel,
  sc,
  is_volatile,  ///< .volatile: as relaxed with the scope of the system
  mmio,         ///< .mmio: as relaxed with the scope of the system
};

/// Whether an access is strong by what is written: atomics are, without an order of their own.
[[nodiscard]] constexpr bool is_strong(MemoryOrder order) {
  return order != MemoryOrder::unspecified && order != MemoryOrder::weak;
}

/// As written; ordered from narrow to wide.
enum class MemoryScope : uint8_t { unspecified, cta, cluster, gpu, sys };

}  // namespace bw::sim
