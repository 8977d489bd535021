/// \file
/// Declarations of variables in every state space, and of registers.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "common/simulator/ptx/parser.hpp"

namespace bw::sim::ptx {
namespace {

/// Larger than any device memory: keeps sizes from overflowing.
constexpr auto kMaximumVariableBytes =
    static_cast<size_t>(std::min<uint64_t>(uint64_t{1} << 48, SIZE_MAX));
/// No function approaches this; it bounds the cost of `.reg .b32 %r<4000000000>`.
constexpr uint64_t kMaximumRegisters = 4'000'000;

constexpr size_t kMaximumExtents = 16;

size_t vector_length_of(const Token& token) noexcept {
  if (token.is(".v2")) return 2;
  if (token.is(".v4")) return 4;
  if (token.is(".v8")) return 8;
  return 1;
}

}  // namespace

ScalarType Parser::expect_type() {
  const ScalarType type = current_.kind == TokenKind::directive
                              ? type_from_name(current_.text.substr(1))
                              : ScalarType::none;
  if (type == ScalarType::none) fail_unexpected("a type such as `.b32` or `.f64`");
  advance();
  return type;
}

size_t Parser::expect_alignment() {
  advance();
  const uint32_t alignment = expect_number("an alignment in bytes");
  if (alignment == 0 || (alignment & (alignment - 1)) != 0) {
    fail(fmt::format("an alignment of {} bytes is impossible", alignment), "a power of two");
  }
  return alignment;
}

// {.attribute(...)} {.align n} {.v4} .type: in any order up to the type.
Parser::Declaration Parser::parse_declaration(StateSpace space) {
  Declaration declaration;
  declaration.space = space;
  for (;;) {
    if (is(".align")) {
      declaration.alignment_bytes = expect_alignment();
    } else if (is(".attribute")) {
      advance();
      expect("(", "after .attribute");
      while (!is(")")) {
        if (current_.kind == TokenKind::end || is(";") || is("{")) {
          fail_unexpected("`)` at the end of .attribute");
        }
        advance();
      }
      advance();
    } else if (vector_length_of(current_) > 1) {
      declaration.vector_length = vector_length_of(current_);
      advance();
    } else {
      break;
    }
  }
  declaration.type = expect_type();
  if (declaration.type == ScalarType::pred) {
    fail("a variable in memory can't be a predicate", "a type with a size, such as `.b8`");
  }
  return declaration;
}

// {.ptr {.space} {.align n}}: the target of a pointer parameter; no effect on the parameter.
void Parser::parse_pointer_attribute() {
  if (!accept(".ptr")) return;
  for (const std::string_view space : {".const", ".global", ".local", ".shared"}) {
    if (accept(space)) break;
  }
  if (is(".align")) (void)expect_alignment();
}

void Parser::parse_variables(StateSpace space, Linkage linkage) {
  advance();
  Declaration declaration = parse_declaration(space);
  declaration.linkage = linkage;
  do {
    const std::string_view name = current_.text;
    keep_variable(name, parse_declarator(declaration));
  } while (accept(","));
  expect(";", "at the end of the declaration");
}

std::unique_ptr<Variable> Parser::parse_declarator(const Declaration& declaration) {
  auto variable = std::make_unique<Variable>();
  variable->line = current_.position.line;
  const std::string_view name = expect_name("the name of a variable");
  variable->name = std::string(name);
  variable->space = declaration.space;
  variable->type = declaration.type;
  variable->linkage = declaration.linkage;
  variable->is_extern = declaration.linkage == Linkage::external;
  const size_t natural = size_bytes(declaration.type) * declaration.vector_length;
  variable->alignment_bytes =
      declaration.alignment_bytes != 0 ? declaration.alignment_bytes : natural;

  std::vector<size_t> extents = parse_extents(declaration, name);
  if (is("=")) {
    const bool can_have_values =
        declaration.space == StateSpace::global || declaration.space == StateSpace::constant;
    if (!can_have_values || variable->is_extern) {
      fail("`" + std::string(name) + "` can't have an initial value",
           "`;`: only .global and .const variables that are not .extern have initial values");
    }
    const Construct construct(*this, "the initialiser of", name);
    advance();
    parse_initialiser(*variable, extents);
  }
  const bool size_is_open = !extents.empty() && extents[0] == 0;
  if (size_is_open && !variable->is_extern && declaration.space != StateSpace::param) {
    fail("the array `" + std::string(name) + "` has no size",
         "a size in `[]`, or an initialiser; only .extern arrays may be open");
  }
  variable->size_bytes = byte_size(extents, declaration.type);
  return variable;
}

std::vector<size_t> Parser::parse_extents(const Declaration& declaration, std::string_view name) {
  std::vector<size_t> extents;
  while (accept("[")) {
    size_t extent = 0;
    if (!is("]")) {
      const Token token = current_;
      const uint64_t count = parse_constant().value;
      if (count == 0 || count > kMaximumVariableBytes) {
        fail_at(token, "`" + std::string(name) + "` has an impossible array size",
                "a number of elements from 1 to 2^48");
      }
      extent = static_cast<size_t>(count);
    } else if (!extents.empty()) {
      fail_unexpected("a size: only the first dimension of an array may be open");
    }
    expect("]", "after the array's size");
    extents.push_back(extent);
    if (extents.size() > kMaximumExtents) fail_unexpected("an array of fewer dimensions");
  }
  if (declaration.vector_length > 1) extents.push_back(declaration.vector_length);
  (void)byte_size(extents, declaration.type);
  return extents;
}

size_t Parser::byte_size(const std::vector<size_t>& extents, ScalarType type) const {
  size_t size = ptx::size_bytes(type);
  for (const size_t extent : extents) {
    if (extent != 0 && size > kMaximumVariableBytes / extent) {
      fail("an array is larger than any memory", "a size of at most 2^48 bytes");
    }
    size *= extent;
  }
  return size;
}

/// Adds a variable to its owner and declares its name (a view into the text).
void Parser::keep_variable(std::string_view name, std::unique_ptr<Variable> variable) {
  const auto fail_declared_twice = [&](const char* place) {
    fail("`" + std::string(name) + "` is declared twice in " + place,
         "a name of its own for each variable");
  };
  if (function_ != nullptr) {
    const bool is_module_wide =
        variable->space == StateSpace::global || variable->space == StateSpace::constant;
    auto& owner = is_module_wide ? module_->variables : function_->variables;
    owner.push_back(std::move(variable));
    if (!scopes_.declare(name, {Symbol::Kind::variable, 0, owner.back().get()})) {
      fail_declared_twice("one scope");
    }
    return;
  }
  if (find_declared_function(name) != nullptr) fail_declared_twice("the module");
  Variable* existing = find_module_variable(name);
  if (existing == nullptr) {
    module_->variables.push_back(std::move(variable));
    variables_.emplace(name, module_->variables.back().get());
  } else if (existing->is_extern) {
    // The definition replaces its .extern declaration, whose address may be in use.
    *existing = std::move(*variable);
  } else if (!variable->is_extern) {
    fail_declared_twice("the module");
  }
}

// .reg {.v4} .type name, name<count>, ...;
void Parser::parse_registers() {
  const Construct construct(*this, "a .reg declaration");
  advance();
  if (vector_length_of(current_) > 1) {
    source_.fail_unsupported(current_.position,
                             "a register is declared as a vector (" + std::string(current_.text) +
                                 "), which the simulator doesn't have",
                             "declare one register per element and write them as {a, b, ...}");
  }
  const ScalarType type = expect_type();
  do {
    const std::string_view name = expect_name("the name of a register");
    const auto first = static_cast<uint32_t>(function_->registers.size());
    uint64_t count = 1;
    bool is_new = false;
    const bool is_range = accept("<");
    if (is_range) {
      count = expect_number("the number of registers in `<>`");
      expect(">", "after the number of registers");
      is_new = scopes_.declare_range(name, first, static_cast<uint32_t>(count));
    } else {
      is_new = scopes_.declare(name, {Symbol::Kind::reg, first, nullptr});
    }
    if (!is_new) {
      fail("the register `" + std::string(name) + "` is declared twice in one scope",
           "a name of its own for each register");
    }
    if (function_->registers.size() + count > kMaximumRegisters) {
      fail(fmt::format("the function declares more than {} registers", kMaximumRegisters),
           "fewer registers");
    }
    function_->registers.resize(first + static_cast<size_t>(count), {std::string(name), type});
    for (size_t i = first; is_range && i < function_->registers.size(); ++i)
      function_->registers[i].name += std::to_string(i - first);
  } while (accept(","));
  expect(";", "at the end of .reg");
}

}  // namespace bw::sim::ptx
