/// \file
/// Integer constant expressions (PTX ISA, "Constant Expressions"): C's operators on .s64 and .u64.
#include <cstdint>
#include <limits>

#include "common/simulator/ptx/parser.hpp"

namespace bw::sim::ptx {
namespace {

constexpr uint64_t kWarpSize = 32;
/// No honest program nests deeper; it would only exhaust the stack.
constexpr unsigned kMaximumDepth = 64;
constexpr uint64_t kValueBits = 64;

enum class Operator : uint8_t {
  logical_or,
  logical_and,
  bit_or,
  bit_xor,
  bit_and,
  equal,
  not_equal,
  less,
  less_equal,
  greater,
  greater_equal,
  shift_left,
  shift_right,
  add,
  subtract,
  multiply,
  divide,
  remainder
};
struct OperatorRow {
  std::string_view spelling;
  unsigned strength;  ///< binds tighter than lower numbers
  Operator operation;
};
constexpr OperatorRow kOperators[] = {
    {"||", 1, Operator::logical_or},    {"&&", 2, Operator::logical_and},
    {"|", 3, Operator::bit_or},         {"^", 4, Operator::bit_xor},
    {"&", 5, Operator::bit_and},        {"==", 6, Operator::equal},
    {"!=", 6, Operator::not_equal},     {"<", 7, Operator::less},
    {"<=", 7, Operator::less_equal},    {">", 7, Operator::greater},
    {">=", 7, Operator::greater_equal}, {"<<", 8, Operator::shift_left},
    {">>", 8, Operator::shift_right},   {"+", 9, Operator::add},
    {"-", 9, Operator::subtract},       {"*", 10, Operator::multiply},
    {"/", 10, Operator::divide},        {"%", 10, Operator::remainder}};
constexpr unsigned kWeakestStrength = 1;

const OperatorRow* find_operator(const Token& token) noexcept {
  if (token.kind != TokenKind::punctuation) return nullptr;
  for (const OperatorRow& row : kOperators) {
    if (row.spelling[0] == token.text[0] && row.spelling == token.text) return &row;
  }
  return nullptr;
}

bool is_less(const Constant& a, const Constant& b, bool is_unsigned) noexcept {
  return is_unsigned ? a.value < b.value
                     : static_cast<int64_t>(a.value) < static_cast<int64_t>(b.value);
}

/// Division, truncating; `b` is not zero. Wraps where .s64 overflows.
uint64_t divide(uint64_t a, uint64_t b, bool is_unsigned, bool want_remainder) {
  if (is_unsigned) return want_remainder ? a % b : a / b;
  if (static_cast<int64_t>(b) == -1) return want_remainder ? 0 : 0 - a;
  const auto x = static_cast<int64_t>(a), y = static_cast<int64_t>(b);
  return static_cast<uint64_t>(want_remainder ? x % y : x / y);
}

uint64_t shift_right(const Constant& a, uint64_t distance) {
  if (a.is_unsigned) return distance < kValueBits ? a.value >> distance : 0;
  const auto x = static_cast<int64_t>(a.value);
  return static_cast<uint64_t>(x >> (distance < kValueBits ? distance : kValueBits - 1));
}

Constant apply(Operator operation, const Constant& a, const Constant& b) {
  const bool is_unsigned = a.is_unsigned || b.is_unsigned;
  const auto truth = [](bool value) { return Constant{value ? 1u : 0u, false}; };
  const auto number = [&](uint64_t value) { return Constant{value, is_unsigned}; };
  switch (operation) {
    case Operator::logical_or:
      return truth(a.value != 0 || b.value != 0);
    case Operator::logical_and:
      return truth(a.value != 0 && b.value != 0);
    case Operator::bit_or:
      return number(a.value | b.value);
    case Operator::bit_xor:
      return number(a.value ^ b.value);
    case Operator::bit_and:
      return number(a.value & b.value);
    case Operator::equal:
      return truth(a.value == b.value);
    case Operator::not_equal:
      return truth(a.value != b.value);
    case Operator::less:
      return truth(is_less(a, b, is_unsigned));
    case Operator::less_equal:
      return truth(!is_less(b, a, is_unsigned));
    case Operator::greater:
      return truth(is_less(b, a, is_unsigned));
    case Operator::greater_equal:
      return truth(!is_less(a, b, is_unsigned));
    case Operator::shift_left:
      return {b.value < kValueBits ? a.value << b.value : 0, a.is_unsigned};
    case Operator::shift_right:
      return {shift_right(a, b.value), a.is_unsigned};
    case Operator::add:
      return number(a.value + b.value);
    case Operator::subtract:
      return number(a.value - b.value);
    case Operator::multiply:
      return number(a.value * b.value);
    case Operator::divide:
      return number(divide(a.value, b.value, is_unsigned, false));
    case Operator::remainder:
      return number(divide(a.value, b.value, is_unsigned, true));
  }
  return {};
}

}  // namespace

Constant Parser::parse_constant() {
  const Constant condition = parse_binary(kWeakestStrength);
  if (!accept("?")) return condition;
  if (++expression_depth_ > kMaximumDepth) fail_unexpected("a simpler constant expression");
  const Constant yes = parse_constant();
  expect(":", "between the two values of `?:`");
  const Constant no = parse_constant();
  --expression_depth_;
  const bool is_unsigned = yes.is_unsigned || no.is_unsigned;
  return {condition.value != 0 ? yes.value : no.value, is_unsigned};
}

Constant Parser::parse_binary(unsigned weakest) {
  Constant left = parse_unary();
  for (;;) {
    const OperatorRow* row = find_operator(current_);
    if (row == nullptr || row->strength < weakest) return left;
    advance();
    const Token right_token = current_;
    const Constant right = parse_binary(row->strength + 1);
    if ((row->operation == Operator::divide || row->operation == Operator::remainder) &&
        right.value == 0) {
      fail_at(right_token, "a constant is divided by zero", "a divisor other than 0");
    }
    left = apply(row->operation, left, right);
  }
}

Constant Parser::parse_unary() {
  if (++expression_depth_ > kMaximumDepth) fail_unexpected("a simpler constant expression");
  Constant result;
  if (accept("-")) {
    result = parse_unary();
    result.value = 0 - result.value;
  } else if (accept("+")) {
    result = parse_unary();
  } else if (accept("~")) {
    result = parse_unary();
    result.value = ~result.value;
  } else if (accept("!")) {
    result = {parse_unary().value == 0 ? 1u : 0u, false};
  } else if (accept("WARP_SZ")) {
    result = {kWarpSize, false};
  } else if (is("(") && (next_.is(".s64") || next_.is(".u64"))) {
    const bool is_unsigned = advance().is(".u64");
    advance();
    expect(")", "after the type of a cast");
    result = {parse_unary().value, is_unsigned};
  } else if (accept("(")) {
    result = parse_constant();
    expect(")", "at the end of a parenthesised constant expression");
  } else if (current_.kind == TokenKind::integer) {
    result = {current_.value, current_.is_unsigned};
    advance();
  } else {
    fail_unexpected("an integer constant");
  }
  --expression_depth_;
  return result;
}

}  // namespace bw::sim::ptx
