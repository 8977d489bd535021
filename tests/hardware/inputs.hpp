#pragma once
/// \file
/// Operands for the arithmetic cases: the same on every machine, from a seed.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace bw::conformance {

/// A small generator of random bits (SplitMix64: Steele, Lea, Flood, "Fast Splittable Pseudorandom
/// Number Generators", 2014), whose results are fixed by this text alone.
class RandomBits {
 public:
  explicit RandomBits(uint64_t seed) : state_(seed) {}
  uint64_t next() {
    state_ += 0x9e3779b97f4a7c15ull;
    uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }
  uint64_t below(uint64_t bound) { return next() % bound; }

 private:
  uint64_t state_;
};

/// A 16-, 32- or 64-bit operand: an edge value of an integer or floating-point format of this
/// width, a value near a rounding boundary of a narrower format, a small integer, or any bits.
uint64_t random_operand(RandomBits& random, unsigned bytes);

/// `count` operands of `bytes` bytes each. Operand number `position` of an instruction is related
/// to operand 0 in part of the elements (equal, negated or a few bits away), so that sums cancel
/// and comparisons tie.
std::vector<uint64_t> operands(unsigned bytes, unsigned position, size_t count);

/// "0x" and `bytes` bytes of hexadecimal digits.
std::string hexadecimal(uint64_t value, unsigned bytes);

}  // namespace bw::conformance
