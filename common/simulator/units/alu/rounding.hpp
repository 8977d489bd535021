#pragma once
/// \file
/// Rounding modes of PTX, and a scope in which the host's floating-point unit rounds that way.

#include <cfenv>
#include <cstdint>
#include <string_view>

namespace bw::sim {

/// The modes of the PTX ISA.
enum class Rounding : uint8_t {
  nearest_even,  ///< .rn
  toward_zero,   ///< .rz
  down,          ///< .rm
  up,            ///< .rp
  nearest_away,  ///< .rna
};

/// The mode of a modifier such as "rn", "rzi" or "rna"; nearest-even for "".
[[nodiscard]] constexpr Rounding rounding_from_modifier(std::string_view modifier) {
  if (modifier == "rna") return Rounding::nearest_away;
  if (modifier.starts_with("rz")) return Rounding::toward_zero;
  if (modifier.starts_with("rm")) return Rounding::down;
  if (modifier.starts_with("rp")) return Rounding::up;
  return Rounding::nearest_even;
}

/// While it lives, +, -, *, /, std::fma and std::sqrt of float and double round as given. The
/// fences keep the compiler from moving loads and stores of registers (hence the arithmetic between
/// them) out of it.
class RoundingScope {
 public:
  /// Sets the host's mode until it ends.
  explicit RoundingScope(Rounding rounding) : saved_(std::fegetround()) {
    std::fesetround(host_mode(rounding));
    asm volatile("" ::: "memory");
  }
  ~RoundingScope() {
    asm volatile("" ::: "memory");
    std::fesetround(saved_);
  }
  RoundingScope(const RoundingScope&) = delete;
  RoundingScope& operator=(const RoundingScope&) = delete;

 private:
  static int host_mode(Rounding rounding) {
    switch (rounding) {
      case Rounding::toward_zero:
        return FE_TOWARDZERO;
      case Rounding::down:
        return FE_DOWNWARD;
      case Rounding::up:
        return FE_UPWARD;
      default:
        return FE_TONEAREST;
    }
  }
  int saved_;
};

}  // namespace bw::sim
