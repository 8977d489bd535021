#include <bit>
#include <cmath>
#include <random>
#include <utility>

#include "tests/gpu_reference/mma_steps.hpp"

namespace bw {
namespace {

/// What an operand's values are like.
enum class Operands { kQuantised, kAllBits, kExponents, kSparse, kSubnormal, kCancelling, kCount };
/// The accumulators' exponents, relative to those of the products.
enum class Accumulators { kZero, kEqual, kSmaller, kLarger, kCount };

constexpr uint8_t kSign = 0x80;
constexpr int kExponents = 16, kMantissas = 8;

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}
  /// Uniform in [0, end).
  int below(int end) { return static_cast<int>(engine_() % static_cast<uint64_t>(end)); }
  uint32_t bits() { return static_cast<uint32_t>(engine_() >> 32); }
  /// Nearly normal: the sum of twelve uniform numbers.
  float normal() {
    constexpr int kTerms = 12;
    double sum = 0;
    for (int i = 0; i < kTerms; ++i) sum += bits() * 0x1p-32;
    return static_cast<float>(sum - kTerms / 2.0);
  }
  uint8_t sign() { return bits() & 1 ? kSign : 0; }

 private:
  std::mt19937_64 engine_;
};

bool is_nan(uint8_t bits) { return (bits & 0x7f) == 0x7f; }

/// A finite value with an exponent field in [low, high].
uint8_t value_between(Random& random, int low, int high) {
  for (;;) {
    const int exponent = low + random.below(high - low + 1);
    const int bits = exponent * kMantissas + random.below(kMantissas);
    if (!is_nan(static_cast<uint8_t>(bits))) return static_cast<uint8_t>(random.sign() | bits);
  }
}

/// Fills a row of 128 values.
void fill_row(Random& random, Operands kind, Fp8E4m3* row) {
  constexpr float kDeviation = 100;  // a block of normal numbers is scaled to at most 448
  const int low = random.below(kExponents - 4), high = low + 4 + random.below(kExponents - low - 4);
  for (int k = 0; k < MmaTiles::kDepth; ++k) {
    uint8_t bits = 0;
    switch (kind) {
      case Operands::kQuantised:
        bits = to_fp8_e4m3(random.normal() * kDeviation).bits;
        break;
      case Operands::kAllBits:
        bits = value_between(random, 0, kExponents - 1);
        break;
      case Operands::kExponents:
        bits = value_between(random, low, high);
        break;
      case Operands::kSparse:
        if (random.below(6) == 0) bits = value_between(random, 0, kExponents - 1);
        break;
      case Operands::kSubnormal:
        bits = value_between(random, 0, random.below(16) == 0 ? 6 : 1);
        break;
      case Operands::kCancelling:
      case Operands::kCount:
        bits = value_between(random, 4, kExponents - 1);
        break;
    }
    row[k].bits = bits;
  }
}

/// Makes the products of most columns of K cancel in pairs, and some others small.
void cancel(Random& random, Fp8E4m3* a, Fp8E4m3* b) {
  std::vector<int> order(MmaTiles::kDepth);
  for (int k = 0; k < MmaTiles::kDepth; ++k) order[k] = k;
  // Pairs are within a step or anywhere in the K block.
  const int span = random.below(2) == 0 ? MmaTiles::kStepDepth : MmaTiles::kDepth;
  for (int k = 0; k < MmaTiles::kDepth; ++k) {
    std::swap(order[k], order[k / span * span + random.below(span)]);
  }
  for (int pair = 0; pair < MmaTiles::kDepth / 2; ++pair) {
    const int first = order[2 * pair], second = order[2 * pair + 1];
    const bool small = random.below(8) == 0;
    for (int row = 0; row < MmaTiles::kRows; ++row) {
      Fp8E4m3* a_row = a + row * MmaTiles::kDepth;
      Fp8E4m3* b_row = b + row * MmaTiles::kDepth;
      if (small) {
        for (const int k : {first, second}) {
          a_row[k].bits = value_between(random, 0, 6);
          b_row[k].bits = value_between(random, 0, 6);
        }
      } else {
        a_row[second] = a_row[first];
        b_row[second].bits = b_row[first].bits ^ kSign;
      }
    }
  }
}

/// An fp32 with a random mantissa (often with few bits) and an exponent in [low, high].
float accumulator_between(Random& random, int low, int high) {
  constexpr int kBias = 127, kFractionBits = 23;
  const uint32_t exponent = static_cast<uint32_t>(kBias + low + random.below(high - low + 1));
  uint32_t fraction = random.bits() >> (32 - kFractionBits);
  if (random.below(2) == 0) fraction &= ~0u << random.below(kFractionBits);
  return std::bit_cast<float>((random.bits() & 1) << 31 | exponent << kFractionBits | fraction);
}

float accumulator(Random& random, Accumulators kind, int largest) {
  switch (kind) {
    case Accumulators::kEqual:
      return accumulator_between(random, largest - 2, largest + 4);
    case Accumulators::kSmaller:
      return accumulator_between(random, largest - 20, largest - 3);
    case Accumulators::kLarger:
      return accumulator_between(random, largest + 3, largest + 16);
    case Accumulators::kZero:
    case Accumulators::kCount:
      break;
  }
  return 0;
}

/// Exponent of the largest product of two rows: the sum of the largest factors' exponents.
int largest_exponent(const Fp8E4m3* a, const Fp8E4m3* b) {
  float most = 0;
  for (int k = 0; k < MmaTiles::kDepth; ++k) {
    most = std::fmax(most, std::fabs(to_float(a[k]) * to_float(b[k])));
  }
  return most == 0 ? 0 : std::ilogb(most);
}

}  // namespace

MmaTiles random_mma_tiles(int tiles, uint64_t seed) {
  constexpr int kOperandKinds = static_cast<int>(Operands::kCount);
  constexpr int kAccumulatorKinds = static_cast<int>(Accumulators::kCount);
  constexpr int kRows = MmaTiles::kRows, kDepth = MmaTiles::kDepth;
  static_assert(MmaTiles::kRows == MmaTiles::kColumns);
  MmaTiles result{tiles, {}, {}, {}};
  result.a.resize(size_t{kRows} * kDepth * tiles);
  result.b.resize(result.a.size());
  result.initial.reserve(size_t{kRows} * MmaTiles::kColumns * tiles);
  for (int tile = 0; tile < tiles; ++tile) {
    Random random(seed * 1000003 + static_cast<uint64_t>(tile));
    const auto kind = static_cast<Operands>(tile % kOperandKinds);
    const auto accumulators = static_cast<Accumulators>(tile / kOperandKinds % kAccumulatorKinds);
    Fp8E4m3* a = result.a.data() + int64_t{tile} * kRows * kDepth;
    Fp8E4m3* b = result.b.data() + int64_t{tile} * kRows * kDepth;
    for (int row = 0; row < kRows; ++row) {
      fill_row(random, kind, a + row * kDepth);
      fill_row(random, kind, b + row * kDepth);
    }
    if (kind == Operands::kCancelling) cancel(random, a, b);
    for (int row = 0; row < kRows; ++row) {
      for (int column = 0; column < MmaTiles::kColumns; ++column) {
        const int largest = largest_exponent(a + row * kDepth, b + column * kDepth);
        result.initial.push_back(accumulator(random, accumulators, largest));
      }
    }
  }
  return result;
}

}  // namespace bw
