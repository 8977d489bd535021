#pragma once
/// \file
/// Parts of C++20's library that Emscripten's does not have yet. The build for WebAssembly includes
/// this file before every other; a part that the library has is not defined again.

#include <version>

#if !defined(__cpp_lib_bit_cast)
#include <type_traits>

namespace std {

/// The value of another type with the same bits.
template <class To, class From>
[[nodiscard]] constexpr To bit_cast(const From& from) noexcept {
  static_assert(sizeof(To) == sizeof(From), "both types have the same size");
  static_assert(is_trivially_copyable_v<To> && is_trivially_copyable_v<From>);
  return __builtin_bit_cast(To, from);
}

}  // namespace std
#endif
