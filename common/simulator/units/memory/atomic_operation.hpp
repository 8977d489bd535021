#pragma once
/// \file
/// The arithmetic of atom and red. (The bulk reductions differ in rounding and flushing:
/// element_reduction.hpp.)

#include <cstdint>
#include <string_view>

#include "common/simulator/ptx/ast.hpp"

namespace bw::sim {

/// Up to 128 bits of an operand, the low word first.
struct AtomicValue {
  uint64_t words[2] = {0, 0};  ///< of up to 128 bits
};

/// What an atomic does with which type.
struct AtomicOperation {
  /// old value, first operand, second operand (cas only) → new value.
  AtomicValue (*function)(AtomicValue, AtomicValue, AtomicValue) = nullptr;
  uint8_t bytes = 0;  ///< size of one element in memory
};

/// The operation of a PTX name ("add", "inc", ...) on a type; function is nullptr when PTX defines
/// none. add on f16/bf16 (also packed) rounds to nearest even per element; min and max of floats
/// follow the PTX rules for NaN (the other operand wins).
[[nodiscard]] AtomicOperation atomic_operation(std::string_view name, ptx::ScalarType type);

/// The same operation on global memory, where add.f32 flushes subnormals (PTX ISA, atom; a Hopper
/// GPU does so too, for vectors as well).
[[nodiscard]] AtomicOperation in_global_memory(const AtomicOperation& operation);

/// The new value.
[[nodiscard]] inline AtomicValue apply(const AtomicOperation& operation, AtomicValue old,
                                       AtomicValue first, AtomicValue second = {}) {
  return operation.function(old, first, second);
}

}  // namespace bw::sim
