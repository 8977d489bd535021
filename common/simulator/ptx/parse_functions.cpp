/// \file
/// .func and .entry: headers, performance directives, bodies.
#include <utility>

#include <fmt/core.h>

#include "common/simulator/ptx/parser.hpp"

namespace bw::sim::ptx {
namespace {

constexpr size_t kMaximumScopeDepth = 256;

/// Directives with numbers that do not affect the simulation.
constexpr std::string_view kIgnoredDirectives[] = {".maxnctapersm", ".abi_preserve",
                                                   ".abi_preserve_control"};

}  // namespace

// {.extern ...} .func {(returns)} name {(parameters)} {directives} ; or { body }
void Parser::parse_function(Linkage linkage) {
  const Construct construct(*this, is(".entry") ? "an .entry header" : "a .func header");
  auto function = std::make_unique<Function>();
  function->is_entry = is(".entry");
  function->is_extern = linkage == Linkage::external;
  function->linkage = linkage;
  function->line = current_.position.line;
  advance();
  if (!function->is_entry && is("(")) parse_parameters(function->return_parameters, false);
  const std::string_view name = expect_name("the function's name");
  const Construct named(*this, "the function", name);
  function->name = std::string(name);
  if (is("(")) parse_parameters(function->parameters, function->is_entry);
  parse_function_directives(*function);

  // Instructions point to parameters, so a body needs its final Function object.
  Function* known = find_declared_function(name);
  if (known != nullptr && known->is_defined && is("{")) {
    fail("the function `" + std::string(name) + "` is defined twice", "one body for each function");
  }
  if (find_module_variable(name) != nullptr) {
    fail("`" + std::string(name) + "` is declared twice in the module",
         "a name of its own for each function");
  }
  if (known == nullptr) {
    module_->functions.push_back(std::move(function));
    known = module_->functions.back().get();
    functions_.emplace(name, known);
  } else if (!known->is_defined) {
    *known = std::move(*function);
  }
  if (accept(";")) return;
  if (!is("{")) fail_unexpected("a function directive such as .maxntid, `{` or `;`");
  parse_body(*known);
}

void Parser::parse_parameters(std::vector<std::unique_ptr<Variable>>& parameters, bool is_entry) {
  expect("(", "at the beginning of the parameters");
  if (accept(")")) return;
  do {
    if (is(".reg")) {
      source_.fail_unsupported(current_.position, "a parameter is declared in a register",
                               "declare it as .param, as nvcc does");
    }
    const bool is_param = is(".param") || is(".param::entry") || is(".param::func");
    if (!is_param) fail_unexpected("`.param`");
    advance();
    Declaration declaration = parse_declaration(StateSpace::param);
    if (is_entry) parse_pointer_attribute();
    const std::string_view name = current_.text;
    parameters.push_back(parse_declarator(declaration));
    for (size_t i = 0; i + 1 < parameters.size(); ++i) {
      if (parameters[i]->name == name && name != "_") {
        fail("the parameter `" + std::string(name) + "` is declared twice",
             "a name of its own for each parameter");
      }
    }
  } while (accept(","));
  expect(")", "or `,` after a parameter");
}

void Parser::parse_dimensions(uint32_t (&extents)[3]) {
  advance();
  size_t count = 0;
  do {
    if (count == 3) fail_unexpected("at most three dimensions");
    extents[count++] = expect_number("the extent of a dimension");
  } while (accept(","));
  while (count < 3) extents[count++] = 1;
}

void Parser::parse_function_directives(Function& function) {
  EntryDirectives& directives = function.directives;
  const auto number_after = [&](const char* expected) {
    advance();
    return expect_number(expected);
  };
  while (current_.kind == TokenKind::directive) {
    if (is(".maxntid")) {
      parse_dimensions(directives.max_threads);
    } else if (is(".reqntid")) {
      parse_dimensions(directives.required_threads);
    } else if (is(".reqnctapercluster")) {
      parse_dimensions(directives.required_cluster);
    } else if (is(".maxclusterrank")) {
      directives.max_cluster_rank = number_after("the greatest number of CTAs in a cluster");
    } else if (is(".minnctapersm")) {
      directives.min_ctas_per_sm = number_after("the least number of CTAs on an SM");
    } else if (is(".maxnreg")) {
      directives.max_registers = number_after("the greatest number of registers");
    } else if (accept(".explicitcluster")) {
      directives.explicit_cluster = true;
    } else if (accept(".blocksareclusters")) {
      directives.blocks_are_clusters = true;
    } else if (accept(".noreturn")) {
      function.no_return = true;
    } else if (is(".pragma")) {
      advance();
      do {
        (void)expect_string("a string with the pragma's name");
      } while (accept(","));
      expect(";", "at the end of .pragma");
    } else {
      bool is_ignored = false;
      for (const std::string_view ignored : kIgnoredDirectives) is_ignored |= is(ignored);
      if (!is_ignored) {
        fail("the function directive " + quote_current() + " is unknown",
             ".maxntid, .reqntid, .minnctapersm, .maxnctapersm, .maxnreg, .reqnctapercluster, "
             ".explicitcluster, .maxclusterrank, .blocksareclusters, .noreturn, .abi_preserve or "
             ".pragma");
      }
      (void)number_after("the directive's number");
    }
  }
}

void Parser::parse_body(Function& function) {
  function_ = &function;
  location_ = -1;
  newest_location_.clear();
  branch_tables_.clear();
  scopes_.push();
  for (auto* list : {&function.return_parameters, &function.parameters}) {
    for (const auto& parameter : *list) {
      if (parameter->name == "_") continue;
      if (!scopes_.declare(parameter->name, {Symbol::Kind::variable, 0, parameter.get()})) {
        fail("the parameter `" + parameter->name + "` is declared twice",
             "a name of its own for each parameter");
      }
    }
  }
  scopes_.push();
  expect("{", "at the beginning of the body");
  while (scopes_.depth() > 1) parse_statement();
  end_scope();
  function.is_defined = true;
  function.is_extern = false;
  function_ = nullptr;
}

void Parser::end_scope() {
  const auto resolve = [this](const LabelUse& use, uint32_t target) {
    Instruction& branch = function_->instructions[use.instruction];
    Operand& operand = use.entry < 0 ? branch.operands[0]
                                     : branch.operands[1].elements[static_cast<size_t>(use.entry)];
    operand.value = target;
  };
  const std::vector<LabelUse> unresolved = scopes_.pop(resolve);
  if (!unresolved.empty()) {
    source_.fail(unresolved.front().position,
                 "the label `" + std::string(unresolved.front().name) + "` is not defined in `" +
                     function_->name + "`, or only in a scope `{}` outside of which this branch is",
                 "a label of this scope or of one around it");
  }
}

void Parser::parse_statement() {
  if (current_.kind == TokenKind::word) {
    if (!next_.is(":")) return parse_instruction();
    const Token label = current_;
    advance();
    advance();
    return parse_label(label);
  }
  if (current_.kind == TokenKind::directive) return parse_body_directive();
  if (is("@")) return parse_instruction();
  if (accept(";")) return;
  if (is("{")) {
    if (scopes_.depth() >= kMaximumScopeDepth) {
      fail(fmt::format("scopes are nested more than {} deep", kMaximumScopeDepth),
           "fewer nested `{`");
    }
    advance();
    return scopes_.push();
  }
  if (is("}")) {
    // The names of the function's own scope end with it, whatever follows the brace.
    end_scope();
    advance();
    return;
  }
  fail_unexpected("an instruction, a label, a directive, `{` or `}`");
}

void Parser::parse_label(const Token& label) {
  if (is(".branchtargets")) return parse_branch_table(label);
  if (is(".callprototype") || is(".calltargets")) {
    // Only indirect calls use them, and those are refused when calls are inlined.
    const Construct construct(*this, "a .callprototype or .calltargets directive");
    advance();
    while (!is(";")) {
      if (current_.kind == TokenKind::end || is("{") || is("}")) fail_unexpected("`;` at its end");
      advance();
    }
    advance();
    if (!scopes_.declare(label.text, {Symbol::Kind::prototype, 0, nullptr})) {
      fail_at(label, "`" + std::string(label.text) + "` is declared twice", "a name of its own");
    }
    return;
  }
  if (label.text.find_first_of(".:") != std::string_view::npos) {
    if (current_.kind == TokenKind::end || is(":")) fail_unexpected("the rest of an opcode");
    fail_at(label, "`" + std::string(label.text) + "` is not a name for a label",
            "letters, digits, `_` and `$`");
  }
  const auto index = static_cast<uint32_t>(function_->instructions.size());
  if (!scopes_.define_label(label.text, index)) {
    fail_at(label, "the label `" + std::string(label.text) + "` is defined twice in one scope",
            "a label of its own, or braces `{}` around the inline asm that defines it");
  }
}

// name: .branchtargets label, label, ...;
void Parser::parse_branch_table(const Token& label) {
  const Construct construct(*this, "a .branchtargets directive");
  advance();
  std::vector<Token> targets;
  do {
    targets.push_back(current_);
    (void)expect_name("a label");
  } while (accept(","));
  expect(";", "at the end of .branchtargets");
  const auto index = static_cast<uint32_t>(branch_tables_.size());
  branch_tables_.push_back(std::move(targets));
  if (!scopes_.declare(label.text, {Symbol::Kind::branch_table, index, nullptr})) {
    fail_at(label, "`" + std::string(label.text) + "` is declared twice",
            "a name of its own for each table");
  }
}

void Parser::parse_body_directive() {
  if (is(".loc")) return parse_location();
  if (is(".reg")) return parse_registers();
  if (is(".file")) return parse_file();
  if (is(".pragma")) return parse_pragma();
  const Construct construct(*this, "a declaration");
  const Linkage linkage = accept(".extern") ? Linkage::external : Linkage::local;
  if (is(".local")) return parse_variables(StateSpace::local, Linkage::local);
  if (is(".param") || is(".param::func")) {
    return parse_variables(StateSpace::param, Linkage::local);
  }
  if (is(".shared") || is(".shared::cta")) return parse_variables(StateSpace::shared, linkage);
  if (is(".global")) return parse_variables(StateSpace::global, linkage);
  if (is(".const")) return parse_variables(StateSpace::constant, linkage);
  fail("the directive " + quote_current() + " is unknown in a function's body",
       ".reg, .local, .shared, .param, .global, .const, .loc, .file, .pragma, or a label before "
       ".branchtargets or .callprototype");
}

}  // namespace bw::sim::ptx
