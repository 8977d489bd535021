/// \file
/// Initial values of .global and .const variables (PTX ISA, "Initializers").
#include <bit>
#include <cstring>

#include <fmt/core.h>

#include "common/simulator/base/bits.hpp"
#include "common/simulator/ptx/parser.hpp"

namespace bw::sim::ptx {
namespace {

/// Initial values are kept as bytes; no honest program has larger ones.
constexpr size_t kMaximumInitialBytes = size_t{1} << 28;
constexpr size_t kAddressBytes = 8;
constexpr unsigned kBitsPerByte = 8;

/// The number of elements that one index of dimension `level` spans.
size_t elements_below(const std::vector<size_t>& extents, size_t level) {
  size_t count = 1;
  for (size_t i = level; i < extents.size(); ++i) count *= extents[i];
  return count;
}

/// True if the bits are a value of this many bytes, read as signed or unsigned.
bool fits(uint64_t bits, size_t size) noexcept {
  if (size >= sizeof bits) return true;
  const unsigned width = static_cast<unsigned>(size) * kBitsPerByte;
  const auto value = static_cast<int64_t>(bits);
  return bits >> width == 0 || value >> (width - 1) == -1;
}

}  // namespace

void Parser::parse_initialiser(Variable& variable, std::vector<size_t>& extents) {
  const bool size_is_open = !extents.empty() && extents[0] == 0;
  if (!size_is_open) {
    const size_t size = byte_size(extents, variable.type);
    if (size > kMaximumInitialBytes) {
      fail(fmt::format("the initialised variable `{}` has {} bytes", variable.name, size),
           "at most 2^28 bytes");
    }
    variable.initial.resize(size);
  }
  if (extents.empty()) {
    // A scalar may have braces of its own.
    const bool has_braces = accept("{");
    parse_element(variable, 0);
    if (has_braces) expect("}", "after the value of a scalar");
    return;
  }
  if (!is("{")) fail_unexpected("`{`: the values of an array are in braces");
  parse_initialiser_list(variable, extents, 0, 0);
  if (size_is_open) {
    const size_t element = elements_below(extents, 1) * size_bytes(variable.type);
    extents[0] = ceil_div(variable.initial.size(), element);
    if (extents[0] == 0) fail("an open array has no values", "at least one value in the braces");
    variable.initial.resize(extents[0] * element);
  }
}

// { value, value, { nested list }, ... }: missing values are zero, as in C.
void Parser::parse_initialiser_list(Variable& variable, const std::vector<size_t>& extents,
                                    size_t level, size_t first_element) {
  expect("{", "at the beginning of a list of values");
  const size_t capacity =
      extents[level] == 0 ? kMaximumInitialBytes : elements_below(extents, level);
  const size_t stride = elements_below(extents, level + 1);
  size_t used = 0;
  while (!is("}")) {
    const bool is_nested = is("{");
    if (is_nested && level + 1 >= extents.size()) {
      fail_unexpected("a value: the array has no further dimension");
    }
    if (is_nested) used = align_up(used, stride);
    if (used >= capacity) {
      fail("`" + variable.name + "` has more initial values than elements",
           fmt::format("at most {} values in these braces", capacity));
    }
    if (is_nested) {
      parse_initialiser_list(variable, extents, level + 1, first_element + used);
      used += stride;
    } else {
      parse_element(variable, first_element + used);
      ++used;
    }
    if (!accept(",") && !is("}")) fail_unexpected("`,` or `}` after an initial value");
  }
  advance();
}

void Parser::parse_element(Variable& variable, size_t element) {
  const size_t size = size_bytes(variable.type);
  const size_t offset_bytes = element * size;
  if (current_.kind == TokenKind::word && !is("WARP_SZ")) {
    return parse_address_element(variable, offset_bytes, 0, false);
  }
  if (current_.kind == TokenKind::integer && next_.is("(")) {
    const uint64_t mask = current_.value;
    advance();
    advance();
    parse_address_element(variable, offset_bytes, mask, true);
    return expect(")", "after the masked address");
  }

  const bool is_negative =
      is("-") && (next_.kind == TokenKind::f32_literal || next_.kind == TokenKind::f64_literal);
  if (is_negative) advance();
  const Token token = current_;
  const bool is_f32 = token.kind == TokenKind::f32_literal;
  if (!is_f32 && token.kind != TokenKind::f64_literal) {
    const Constant constant = parse_constant();
    if (variable.type == ScalarType::f32 || variable.type == ScalarType::f64) {
      const double number = constant.is_unsigned
                                ? static_cast<double>(constant.value)
                                : static_cast<double>(static_cast<int64_t>(constant.value));
      const uint64_t bits = variable.type == ScalarType::f64
                                ? std::bit_cast<uint64_t>(number)
                                : std::bit_cast<uint32_t>(static_cast<float>(number));
      return store_bits(variable, offset_bytes, bits, size);
    }
    if (!fits(constant.value, size)) {
      fail_at(token, "an initial value does not fit into ." + std::string(type_name(variable.type)),
              fmt::format("a value of {} bits", size * kBitsPerByte));
    }
    return store_bits(variable, offset_bytes, constant.value, size);
  }

  advance();
  double number = is_f32 ? std::bit_cast<float>(static_cast<uint32_t>(token.value))
                         : std::bit_cast<double>(token.value);
  if (is_negative) number = -number;
  if (variable.type == ScalarType::f64) {
    return store_bits(variable, offset_bytes, std::bit_cast<uint64_t>(number), size);
  }
  if (variable.type == ScalarType::f32 || (is_f32 && size == sizeof(float))) {
    // A bit pattern is kept unchanged (a NaN's payload would not survive the conversions).
    constexpr uint64_t kSign = 0x80000000u;
    const uint64_t bits = is_f32 ? token.value ^ (is_negative ? kSign : 0)
                                 : std::bit_cast<uint32_t>(static_cast<float>(number));
    return store_bits(variable, offset_bytes, bits, size);
  }
  fail_at(token,
          "a floating-point value can't initialise elements of type ." +
              std::string(type_name(variable.type)),
          "an integer, or a variable of type .f32 or .f64");
}

// symbol {+ constant}, generic(symbol) {+ constant}, or one of them after `mask(`
void Parser::parse_address_element(Variable& variable, size_t offset_bytes, uint64_t mask,
                                   bool has_mask) {
  Variable::Relocation relocation;
  relocation.offset_bytes = offset_bytes;
  relocation.size_bytes = size_bytes(variable.type);
  const Token first = current_;
  if (is("generic") && next_.is("(")) {
    relocation.generic = true;
    advance();
    advance();
  }
  const TextPosition position = current_.position;
  const std::string_view symbol = expect_name("the name of a variable");
  relocation.symbol = std::string(symbol);
  if (relocation.generic) expect(")", "after the name in generic(...)");
  relocation.addend = static_cast<int64_t>(parse_offset());
  if (has_mask) {
    // The mask picks some whole bytes of the address: 0xFF, 0xFF00, ...
    const unsigned shift = mask == 0 ? 0 : static_cast<unsigned>(std::countr_zero(mask));
    const uint64_t width_mask = relocation.size_bytes >= sizeof mask
                                    ? ~uint64_t{0}
                                    : (uint64_t{1} << (relocation.size_bytes * kBitsPerByte)) - 1;
    if (mask == 0 || shift % kBitsPerByte != 0 || mask >> shift != width_mask) {
      fail_at(first, "the mask of an address doesn't pick one element's bytes",
              "0xFF, 0xFF00, ... for elements of one byte");
    }
    relocation.shift_bits = shift;
  } else if (relocation.size_bytes < sizeof(uint32_t) || relocation.size_bytes > kAddressBytes) {
    fail_at(
        first,
        "an address can't initialise an element of type ." + std::string(type_name(variable.type)),
        "a variable of a type with 32 or 64 bits, or a mask such as 0xFF00(symbol)");
  }
  const size_t end = offset_bytes + relocation.size_bytes;
  if (variable.initial.size() < end) variable.initial.resize(end);
  initialiser_symbols_.push_back({symbol, position});
  variable.relocations.push_back(std::move(relocation));
}

void Parser::store_bits(Variable& variable, size_t offset_bytes, uint64_t bits, size_t size) const {
  if (variable.initial.size() < offset_bytes + size) variable.initial.resize(offset_bytes + size);
  // Little-endian, as the device; 128-bit elements are zero-extended (or sign-extended).
  const bool is_negative = static_cast<int64_t>(bits) < 0;
  for (size_t i = 0; i < size; ++i) {
    const uint64_t byte =
        i < sizeof bits ? bits >> (i * kBitsPerByte) & 0xff : (is_negative ? 0xffu : 0u);
    variable.initial[offset_bytes + i] = static_cast<std::byte>(byte);
  }
}

}  // namespace bw::sim::ptx
