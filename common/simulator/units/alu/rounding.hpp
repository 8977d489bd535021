#pragma once
/// \file
/// Rounding modes of PTX, and a scope in which arithmetic rounds that way: in the host's
/// floating-point unit, or in software if the host rounds to nearest only (WebAssembly).

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

// The standard defines the name of a mode only if the host has it.
#if defined(FE_TOWARDZERO) && defined(FE_DOWNWARD) && defined(FE_UPWARD)

/// Whether the host's floating-point unit has the directed modes.
inline constexpr bool kHostRounds = true;

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

  /// The mode of the innermost scope of this thread.
  [[nodiscard]] static Rounding current() {
    switch (std::fegetround()) {
      case FE_TOWARDZERO:
        return Rounding::toward_zero;
      case FE_DOWNWARD:
        return Rounding::down;
      case FE_UPWARD:
        return Rounding::up;
      default:
        return Rounding::nearest_even;
    }
  }

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

#else

inline constexpr bool kHostRounds = false;

/// While it lives, the operations of directed_rounding.hpp round as given.
class RoundingScope {
 public:
  /// Sets the thread's mode until it ends.
  explicit RoundingScope(Rounding rounding) : saved_(mode()) { mode() = rounding; }
  ~RoundingScope() { mode() = saved_; }
  RoundingScope(const RoundingScope&) = delete;
  RoundingScope& operator=(const RoundingScope&) = delete;

  /// The mode of the innermost scope of this thread.
  [[nodiscard]] static Rounding current() { return mode(); }

 private:
  static Rounding& mode() {
    thread_local Rounding mode = Rounding::nearest_even;
    return mode;
  }
  Rounding saved_;
};

#endif

}  // namespace bw::sim
