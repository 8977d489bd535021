#pragma once
/// \file
/// The types that instructions and registers name.

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace bw::sim::ptx {

/// PTX fundamental and packed types (PTX ISA, "Types").
enum class ScalarType : uint8_t {
  none,
  pred,
  b8,
  b16,
  b32,
  b64,
  b128,
  u8,
  u16,
  u32,
  u64,
  s8,
  s16,
  s32,
  s64,
  f16,
  f16x2,
  bf16,
  bf16x2,
  tf32,
  f32,
  f64,
  e4m3x2,
  e5m2x2,
  e2m3x2,
  e3m2x2,
  e2m1x2,
  ue8m0x2,
  u16x2,
  s16x2,
  f32x2,
};

/// Size in bytes of one value of the type in memory or in a register; `pred` and `none` have no
/// size (0).
[[nodiscard]] size_t size_bytes(ScalarType type) noexcept;
/// "u32", "e4m3x2", ...; the modifier without its dot.
[[nodiscard]] const char* type_name(ScalarType type) noexcept;
/// The type of a modifier without its dot, or none.
[[nodiscard]] ScalarType type_from_name(std::string_view name) noexcept;
/// Whether it is a signed integer.
[[nodiscard]] bool is_signed(ScalarType type) noexcept;
/// Whether it is a floating-point type.
[[nodiscard]] bool is_float(ScalarType type) noexcept;

}  // namespace bw::sim::ptx
