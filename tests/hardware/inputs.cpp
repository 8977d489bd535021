#include "tests/hardware/inputs.hpp"

#include <array>

namespace bw::conformance {
namespace {

constexpr uint64_t kSeed = 0x626c61636b77656cull;

/// Integers, f16 and bf16: zeros, ones, largest, smallest normal, subnormals, infinities, NaNs.
constexpr std::array<uint16_t, 32> kEdges16 = {
    0x0000, 0x8000, 0x0001, 0x8001, 0x7fff, 0xffff, 0x8002, 0x00ff, 0x3c00, 0xbc00, 0x7c00,
    0xfc00, 0x7c01, 0x7e00, 0xfe00, 0x7bff, 0xfbff, 0x0400, 0x03ff, 0x83ff, 0x3800, 0x3555,
    0x3f80, 0xbf80, 0x7f80, 0xff80, 0x7fc0, 0xffc0, 0x7f7f, 0x0080, 0x007f, 0x4049};
constexpr std::array<uint32_t, 44> kEdges32 = {
    0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x7fffffff, 0xffffffff, 0x00000002, 0xfffffffe,
    0x0000ffff, 0x00010000, 0xffff0000, 0x7ffffffe, 0x00ff00ff, 0x55555555, 0x3f800000, 0xbf800000,
    0x40000000, 0x3f000000, 0x7f800000, 0xff800000, 0x7fc00000, 0xffc00000, 0x7f800001, 0xff812345,
    0x7f7fffff, 0xff7fffff, 0x00800000, 0x80800000, 0x007fffff, 0x807fffff, 0x00400000, 0x3f7fffff,
    0x3f800001, 0x33800000, 0x4b000000, 0x4b800000, 0xcb800001, 0x4f000000, 0xcf000000, 0x4effffff,
    0x4f7fffff, 0x5f000000, 0x477fe000, 0x477ff000};
constexpr std::array<uint64_t, 36> kEdges64 = {
    0x0000000000000000, 0x8000000000000000, 0x0000000000000001, 0x7fffffffffffffff,
    0xffffffffffffffff, 0x8000000000000001, 0x00000000ffffffff, 0x0000000100000000,
    0xffffffff00000000, 0x000000007fffffff, 0xffffffff80000000, 0x3ff0000000000000,
    0xbff0000000000000, 0x4000000000000000, 0x3fe0000000000000, 0x7ff0000000000000,
    0xfff0000000000000, 0x7ff8000000000000, 0xfff8000000000000, 0x7ff0000000000001,
    0xfff0000012345678, 0x7fefffffffffffff, 0xffefffffffffffff, 0x0010000000000000,
    0x000fffffffffffff, 0x800fffffffffffff, 0x3fefffffffffffff, 0x3ff0000000000001,
    0x47efffffe0000000, 0x47effffff0000000, 0x36a0000000000000, 0x3690000000000000,
    0x41dfffffffc00000, 0xc1e0000000000000, 0x43e0000000000000, 0xc3e0000000000000};

uint64_t mask_of(unsigned bytes) {
  return bytes == 8 ? ~uint64_t{0} : (uint64_t{1} << (8 * bytes)) - 1;
}

/// A float whose exponent is one of a narrower format's and whose low mantissa bits are all zero,
/// all one, or a lone one: on, just next to or far from a tie.
uint64_t near_boundary(RandomBits& random, unsigned mantissa_bits, uint64_t bias) {
  const uint64_t exponent = bias - 30 + random.below(60);
  const unsigned cleared = static_cast<unsigned>(random.below(mantissa_bits));
  uint64_t mantissa = random.next() & ((uint64_t{1} << mantissa_bits) - 1);
  const uint64_t low = (uint64_t{1} << cleared) - 1;
  switch (random.below(4)) {
    case 0:
      mantissa &= ~low;
      break;
    case 1:
      mantissa |= low;
      break;
    case 2:
      mantissa = (mantissa & ~low) | (cleared == 0 ? 0 : uint64_t{1} << (cleared - 1));
      break;
    default:
      break;
  }
  return exponent << mantissa_bits | mantissa;
}

}  // namespace

uint64_t random_operand(RandomBits& random, unsigned bytes) {
  constexpr uint64_t kSmall = 80;  // shift counts and a little more, of both signs
  const uint64_t small = random.below(kSmall) - kSmall / 4;
  const uint64_t choice = random.below(8);
  if (bytes == 2) {
    if (choice < 3) return kEdges16[random.below(kEdges16.size())];
    return (choice == 3 ? small : random.next()) & mask_of(2);
  }
  if (bytes == 4) {
    constexpr unsigned kMantissa = 23, kBias = 127;
    switch (choice) {
      case 0:
      case 1:
        return kEdges32[random.below(kEdges32.size())];
      case 2:
        return small & mask_of(4);
      case 3:
        return random_operand(random, 2) << 16 | random_operand(random, 2);
      case 4:
      case 5:
        return near_boundary(random, kMantissa, kBias) | (random.next() & 1) << 31;
      default:
        return random.next() & mask_of(4);
    }
  }
  constexpr unsigned kMantissa = 52, kBias = 1023;
  switch (choice) {
    case 0:
    case 1:
      return kEdges64[random.below(kEdges64.size())];
    case 2:
      return small;
    case 3:
      return random_operand(random, 4) << 32 | random_operand(random, 4);
    case 4:
    case 5:
      return near_boundary(random, kMantissa, kBias) | (random.next() & 1) << 63;
    default:
      return random.next();
  }
}

std::vector<uint64_t> operands(unsigned bytes, unsigned position, size_t count) {
  RandomBits first(kSeed + bytes);
  RandomBits own(kSeed + bytes + uint64_t{1000} * position);
  RandomBits relation(kSeed + 77 * uint64_t{position});
  std::vector<uint64_t> values(count);
  for (uint64_t& value : values) {
    const uint64_t base = random_operand(first, bytes);
    value = position == 0 ? base : random_operand(own, bytes);
    if (position == 0) continue;
    switch (relation.below(12)) {
      case 0:
        value = base;
        break;
      case 1:
        value = base ^ uint64_t { 1 } << (8 * bytes - 1);
        break;
      case 2:
        value = base ^ relation.below(8);
        break;
      case 3:
        value = (0 - base) & mask_of(bytes);
        break;
      default:
        break;
    }
  }
  return values;
}

std::string hexadecimal(uint64_t value, unsigned bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text = "0x";
  for (unsigned shift = 8 * bytes; shift != 0; shift -= 4)
    text += kDigits[value >> (shift - 4) & 15];
  return text;
}

}  // namespace bw::conformance
