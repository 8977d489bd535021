/// \file
/// Instructions: guard, opcode, operands; branches and calls in their own forms.
#include <utility>

#include "common/simulator/ptx/parser.hpp"

namespace bw::sim::ptx {
namespace {

constexpr size_t kMaximumOperands = 64;

}  // namespace

// {@{!}predicate} opcode operand, operand, ... ;
void Parser::parse_instruction() {
  const Construct construct(*this, "the function", function_->name);
  Instruction instruction;
  instruction.line = current_.position.line;
  instruction.location = location_;
  if (is("@")) parse_guard(instruction);
  if (current_.kind != TokenKind::word || !looks_like_opcode(current_.text)) {
    if (current_.kind == TokenKind::word && next_.is(":")) {
      fail("a guard precedes the label " + quote_current(), "an instruction after a guard");
    }
    fail_unexpected("an opcode such as `add.s32`, or `:` after a label");
  }
  instruction.set_opcode(current_.text);
  advance();
  switch (instruction.form().transfer) {
    case Transfer::branch:
      parse_branch(instruction);
      break;
    case Transfer::indexed_branch:
      parse_indexed_branch(instruction);
      break;
    case Transfer::call:
      parse_call(instruction);
      break;
    default:
      parse_operands(instruction);
  }
  expect(";", "at the end of the instruction, or `,` between operands");
  function_->instructions.push_back(std::move(instruction));
}

void Parser::parse_operands(Instruction& instruction) {
  if (is(";")) return;
  do {
    if (operands_.size() == kMaximumOperands) fail_unexpected("fewer operands");
    operands_.push_back(parse_operand());
  } while (accept(","));
  instruction.operands = take_operands(0);
}

void Parser::parse_guard(Instruction& instruction) {
  advance();
  instruction.has_guard = true;
  instruction.guard_negated = accept("!");
  instruction.guard = expect_predicate("a predicate register after `@`");
}

uint32_t Parser::expect_predicate(const char* expected) {
  if (current_.kind != TokenKind::word) fail_unexpected(expected);
  Symbol symbol;
  if (!scopes_.find(current_.text, symbol) || symbol.kind != Symbol::Kind::reg) {
    fail(quote_current() + " is not declared as a register", expected);
  }
  if (function_->registers[symbol.index].type != ScalarType::pred) {
    fail(quote_current() + " is a register of type ." +
             type_name(function_->registers[symbol.index].type) + ", not a predicate",
         expected);
  }
  advance();
  return symbol.index;
}

// bra{.uni} label
void Parser::parse_branch(Instruction& instruction) {
  const Token target = current_;
  Operand operand;
  operand.kind = Operand::Kind::label;
  operand.text = std::string(expect_name("the label to branch to"));
  instruction.operands.push_back(std::move(operand));
  const auto index = static_cast<uint32_t>(function_->instructions.size());
  scopes_.use_label({target.text, index, -1, target.position});
}

// brx.idx{.uni} register, table
void Parser::parse_indexed_branch(Instruction& instruction) {
  instruction.operands.push_back(parse_operand());
  if (instruction.operands[0].kind != Operand::Kind::reg) {
    fail("the index of brx.idx is not a register", "a 32-bit register");
  }
  expect(",", "between the index and the table of brx.idx");
  Symbol symbol;
  if (current_.kind != TokenKind::word || !scopes_.find(current_.text, symbol) ||
      symbol.kind != Symbol::Kind::branch_table) {
    fail(quote_current() + " is not the name of a table of branch targets",
         "a name that is declared with .branchtargets before the branch");
  }
  advance();
  Operand table;
  table.kind = Operand::Kind::vector;
  const auto index = static_cast<uint32_t>(function_->instructions.size());
  for (const Token& target : branch_tables_[symbol.index]) {
    Operand label;
    label.kind = Operand::Kind::label;
    label.text = std::string(target.text);
    const auto entry = static_cast<int32_t>(table.elements.size());
    table.elements.push_back(std::move(label));
    scopes_.use_label({target.text, index, entry, target.position});
  }
  instruction.operands.push_back(std::move(table));
}

// call{.uni} {(returns),} callee {, (arguments)} {, prototype}
void Parser::parse_call(Instruction& instruction) {
  Operand returns, arguments;
  returns.kind = arguments.kind = Operand::Kind::vector;
  if (is("(")) {
    returns = parse_call_list();
    expect(",", "after the returned parameters of call");
  }
  Operand callee;
  Symbol symbol;
  if (current_.kind != TokenKind::word) fail_unexpected("the name of the called function");
  if (scopes_.find(current_.text, symbol) && symbol.kind == Symbol::Kind::reg) {
    callee.kind = Operand::Kind::reg;
    callee.reg = symbol.index;
    advance();
  } else {
    if (find_declared_function(current_.text) == nullptr) {
      fail("the function " + quote_current() + " is called but not declared",
           "a function that is declared with .func before the call");
    }
    callee.kind = Operand::Kind::function;
    callee.text = std::string(expect_name("the name of the called function"));
  }
  Operand prototype;
  bool has_prototype = false;
  if (accept(",")) {
    if (is("(")) {
      arguments = parse_call_list();
      has_prototype = accept(",");
    } else {
      has_prototype = true;
    }
    if (has_prototype) {
      prototype.kind = Operand::Kind::text;
      prototype.text = std::string(expect_name("the name of a .callprototype or .calltargets"));
    }
  }
  instruction.operands.push_back(std::move(returns));
  instruction.operands.push_back(std::move(callee));
  instruction.operands.push_back(std::move(arguments));
  if (has_prototype) instruction.operands.push_back(std::move(prototype));
}

Operand Parser::parse_call_list() {
  Operand list;
  list.kind = Operand::Kind::vector;
  expect("(", "at the beginning of a parameter list");
  if (accept(")")) return list;
  do {
    list.elements.push_back(parse_single());
  } while (accept(","));
  expect(")", "or `,` after a parameter of call");
  return list;
}

}  // namespace bw::sim::ptx
