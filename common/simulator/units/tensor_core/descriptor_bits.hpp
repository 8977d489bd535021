#pragma once
/// \file
/// Fields of the 64-bit descriptors that tensor-core instructions take.

#include <cstdint>

namespace bw::sim {

/// The field of `count` bits, fewer than 64, whose lowest bit is `first`.
[[nodiscard]] constexpr uint64_t bits_of(uint64_t value, unsigned first, unsigned count) {
  return value >> first & ((uint64_t{1} << count) - 1);
}

}  // namespace bw::sim
