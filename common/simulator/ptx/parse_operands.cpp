/// \file
/// Operands of instructions (PTX ISA, "Instruction Operands").
#include <cstddef>
#include <iterator>
#include <utility>
#include <vector>

#include "common/simulator/ptx/parser.hpp"

namespace bw::sim::ptx {
namespace {

/// {r0, ..., r255}: tcgen05.ld of 16x256b.x64 fills 256 registers... the largest vectors there are.
constexpr size_t kMaximumVectorElements = 256;

}  // namespace

// single, or the two destinations `a|b`
Operand Parser::parse_operand() {
  if (is("[")) return parse_address();
  if (is("{")) return parse_vector();
  Operand first = parse_single();
  const bool may_be_pair = first.kind == Operand::Kind::reg || first.kind == Operand::Kind::sink;
  if (!may_be_pair || !accept("|")) return first;
  Operand pair;
  pair.kind = Operand::Kind::pair;
  pair.elements.push_back(std::move(first));
  pair.elements.push_back(parse_single());
  const Operand::Kind second = pair.elements[1].kind;
  if (second != Operand::Kind::reg && second != Operand::Kind::sink) {
    fail("the second destination, after `|`, is neither a register nor `_`",
         "two registers, as in `%r1|%p1`");
  }
  return pair;
}

// register, !register, symbol, special register, literal, `_`
Operand Parser::parse_single() {
  if (current_.kind == TokenKind::word && !is("WARP_SZ")) return parse_word();
  if (is("!") && next_.kind == TokenKind::word && !next_.is("WARP_SZ")) {
    advance();
    Operand operand;
    operand.kind = Operand::Kind::reg;
    operand.reg = expect_predicate("a predicate register after `!`");
    operand.negated = true;
    return operand;
  }
  return parse_literal();
}

Operand Parser::parse_word() {
  Operand operand;
  if (accept("_")) return operand;
  const Token token = current_;
  operand = parse_symbol(token);
  advance();
  if (operand.kind == Operand::Kind::variable) operand.value = parse_offset();
  return operand;
}

Operand Parser::parse_symbol(const Token& token) const {
  Operand operand;
  Symbol symbol;
  if (scopes_.find(token.text, symbol)) {
    if (symbol.kind == Symbol::Kind::reg) {
      operand.kind = Operand::Kind::reg;
      operand.reg = symbol.index;
      return operand;
    }
    if (symbol.kind == Symbol::Kind::variable) {
      operand.kind = Operand::Kind::variable;
      operand.variable = symbol.variable;
      return operand;
    }
  } else if (const Variable* variable = find_module_variable(token.text); variable != nullptr) {
    operand.kind = Operand::Kind::variable;
    operand.variable = variable;
    return operand;
  } else if (token.text[0] == '%' && is_special_register(token.text)) {
    operand.kind = Operand::Kind::special;
    operand.text = std::string(token.text);
    return operand;
  } else if (find_declared_function(token.text) != nullptr) {
    operand.kind = Operand::Kind::function;
    operand.text = std::string(token.text);
    return operand;
  }
  fail(quote_current() + " is not declared",
       "a register, a variable or a special register (names that begin with `%` are declared with "
       ".reg, or special)");
}

Operand Parser::parse_literal() {
  Operand operand;
  const bool is_negative =
      is("-") && (next_.kind == TokenKind::f32_literal || next_.kind == TokenKind::f64_literal);
  if (is_negative) advance();
  const bool is_f32 = current_.kind == TokenKind::f32_literal;
  if (is_f32 || current_.kind == TokenKind::f64_literal) {
    operand.kind = is_f32 ? Operand::Kind::f32_literal : Operand::Kind::f64_literal;
    const uint64_t sign = uint64_t{1} << (is_f32 ? 31 : 63);
    operand.value = current_.value ^ (is_negative ? sign : 0);
    advance();
    return operand;
  }
  const bool can_begin = current_.kind == TokenKind::integer || is("-") || is("+") || is("~") ||
                         is("!") || is("(") || is("WARP_SZ");
  if (!can_begin) {
    fail_unexpected("an operand: a register, a name, a number, `{...}`, `[...]` or `_`");
  }
  operand.kind = Operand::Kind::integer;
  operand.value = parse_constant().value;
  return operand;
}

Operand Parser::parse_vector() {
  Operand vector;
  vector.kind = Operand::Kind::vector;
  expect("{", "at the beginning of a vector");
  const size_t outer = operands_.size();
  do {
    if (operands_.size() - outer == kMaximumVectorElements) fail_unexpected("a shorter vector");
    operands_.push_back(parse_single());
  } while (accept(","));
  expect("}", "or `,` after an element of a vector");
  vector.elements = take_operands(outer);
  return vector;
}

std::vector<Operand> Parser::take_operands(size_t count) {
  const auto first = operands_.begin() + static_cast<std::ptrdiff_t>(count);
  std::vector<Operand> taken(std::make_move_iterator(first),
                             std::make_move_iterator(operands_.end()));
  operands_.erase(first, operands_.end());
  return taken;
}

// [base], [base + constant], [map, {coordinates}]
Operand Parser::parse_address() {
  expect("[", "at the beginning of an address");
  Operand address;
  address.kind = Operand::Kind::address;
  Operand base;
  if (current_.kind == TokenKind::word && !is("WARP_SZ")) {
    const Token token = current_;
    base = parse_symbol(token);
    if (base.kind != Operand::Kind::reg && base.kind != Operand::Kind::variable) {
      fail(quote_current() + " can't be the base of an address",
           "a register, the name of a variable or a number");
    }
    advance();
    address.value = parse_offset();
  } else {
    base.kind = Operand::Kind::integer;
    base.value = parse_constant().value;
  }
  address.elements.push_back(std::move(base));
  if (accept("]")) return address;
  if (!is(",")) fail_unexpected("`]` or `,` after an address");
  advance();
  Operand tensor;
  tensor.kind = Operand::Kind::coordinates;
  tensor.elements.push_back(std::move(address));
  tensor.elements.push_back(is("{") ? parse_vector() : parse_single());
  expect("]", "at the end of a tensor operand");
  return tensor;
}

uint64_t Parser::parse_offset() {
  uint64_t offset = 0;
  while (is("+") || is("-")) {
    const bool is_minus = is("-");
    advance();
    // Each term binds as tightly as a factor; this loop handles sums.
    constexpr unsigned kTermStrength = 10;
    const uint64_t term = parse_binary(kTermStrength).value;
    offset = is_minus ? offset - term : offset + term;
  }
  return offset;
}

}  // namespace bw::sim::ptx
