#pragma once
/// \file
/// Iteration over runs of bits in 64-bit words, the lowest bit first.

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace bw::sim {

inline constexpr size_t kWordBits = 64;  ///< bits of a word

/// Words that hold this many bits.
[[nodiscard]] constexpr size_t words_for(size_t bits) { return (bits + kWordBits - 1) / kWordBits; }

/// Calls `visit(word, mask)` for the words that hold the `count` bits from `first` on, the mask
/// being those bits, until it returns false; returns whether it never did.
template <class Visit>
bool for_words(size_t first, size_t count, Visit&& visit) {
  while (count != 0) {
    const size_t begin = first % kWordBits;
    const size_t taken = std::min(count, kWordBits - begin);
    const uint64_t mask = (taken == kWordBits ? ~0ull : (1ull << taken) - 1) << begin;
    if (!visit(first / kWordBits, mask)) return false;
    first += taken;
    count -= taken;
  }
  return true;
}

}  // namespace bw::sim
