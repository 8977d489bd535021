#include "common/simulator/isa/scalar_type.hpp"

#include <algorithm>
#include <iterator>

namespace bw::sim::ptx {
namespace {

struct TypeRow {
  ScalarType type;
  const char* name;
  uint8_t size_bytes;
  bool is_signed, is_float;
};

/// In the order of ScalarType, so that a type is its own row number.
constexpr TypeRow kTypes[] = {
    {ScalarType::none, "none", 0, false, false},
    {ScalarType::pred, "pred", 0, false, false},
    {ScalarType::b8, "b8", 1, false, false},
    {ScalarType::b16, "b16", 2, false, false},
    {ScalarType::b32, "b32", 4, false, false},
    {ScalarType::b64, "b64", 8, false, false},
    {ScalarType::b128, "b128", 16, false, false},
    {ScalarType::u8, "u8", 1, false, false},
    {ScalarType::u16, "u16", 2, false, false},
    {ScalarType::u32, "u32", 4, false, false},
    {ScalarType::u64, "u64", 8, false, false},
    {ScalarType::s8, "s8", 1, true, false},
    {ScalarType::s16, "s16", 2, true, false},
    {ScalarType::s32, "s32", 4, true, false},
    {ScalarType::s64, "s64", 8, true, false},
    {ScalarType::f16, "f16", 2, false, true},
    {ScalarType::f16x2, "f16x2", 4, false, true},
    {ScalarType::bf16, "bf16", 2, false, true},
    {ScalarType::bf16x2, "bf16x2", 4, false, true},
    {ScalarType::tf32, "tf32", 4, false, true},
    {ScalarType::f32, "f32", 4, false, true},
    {ScalarType::f64, "f64", 8, false, true},
    {ScalarType::e4m3x2, "e4m3x2", 2, false, true},
    {ScalarType::e5m2x2, "e5m2x2", 2, false, true},
    {ScalarType::e2m3x2, "e2m3x2", 2, false, true},
    {ScalarType::e3m2x2, "e3m2x2", 2, false, true},
    {ScalarType::e2m1x2, "e2m1x2", 1, false, true},
    {ScalarType::ue8m0x2, "ue8m0x2", 2, false, true},
    {ScalarType::u16x2, "u16x2", 4, false, false},
    {ScalarType::s16x2, "s16x2", 4, true, false},
    {ScalarType::f32x2, "f32x2", 8, false, true},
};

constexpr bool rows_are_in_order() {
  for (size_t row = 0; row < std::size(kTypes); ++row) {
    if (static_cast<size_t>(kTypes[row].type) != row) return false;
  }
  return std::size(kTypes) == static_cast<size_t>(ScalarType::f32x2) + 1;
}
static_assert(rows_are_in_order(), "a ScalarType is used as its row number in kTypes");

constexpr const TypeRow& row_of(ScalarType type) noexcept {
  return kTypes[static_cast<size_t>(type)];
}

}  // namespace

size_t size_bytes(ScalarType type) noexcept { return row_of(type).size_bytes; }
const char* type_name(ScalarType type) noexcept { return row_of(type).name; }
bool is_signed(ScalarType type) noexcept { return row_of(type).is_signed; }
bool is_float(ScalarType type) noexcept { return row_of(type).is_float; }

ScalarType type_from_name(std::string_view name) noexcept {
  for (const TypeRow& row : kTypes) {
    if (row.type != ScalarType::none && name == row.name) return row.type;
  }
  return ScalarType::none;
}

}  // namespace bw::sim::ptx
