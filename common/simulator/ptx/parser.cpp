/// \file
/// Token handling of the parser, and the public entry `parse`.
#include "common/simulator/ptx/parser.hpp"

#include <limits>
#include <utility>

namespace bw::sim::ptx {

std::unique_ptr<Module> parse(std::string_view text, std::string name) {
  return Parser(text, std::move(name)).run();
}

Parser::Parser(std::string_view text, std::string name)
    : source_(text, std::move(name)), lexer_(source_), module_(std::make_unique<Module>()) {
  module_->name = source_.name();
  module_->files.emplace_back("<unknown>");
  advance();
  advance();
}

const Token& Parser::advance() {
  current_ = next_;
  next_ = lexer_.next();
  return current_;
}

void Parser::expect(std::string_view spelling, const char* purpose) {
  if (!accept(spelling)) fail_unexpected("`" + std::string(spelling) + "` " + purpose);
}

std::string_view Parser::expect_name(const char* expected) {
  if (current_.kind != TokenKind::word) fail_unexpected(expected);
  const std::string_view name = current_.text;
  if (name.find_first_of(".:") != std::string_view::npos) {
    fail("the name " + quote_current() + " holds a character that names don't have",
         std::string(expected) + " made of letters, digits, `_`, `$` and a leading `%`");
  }
  advance();
  return name;
}

uint32_t Parser::expect_number(const char* expected) {
  if (current_.kind != TokenKind::integer) fail_unexpected(expected);
  if (current_.value > std::numeric_limits<uint32_t>::max()) {
    fail("the number " + quote_current() + " is too large", expected);
  }
  const auto value = static_cast<uint32_t>(current_.value);
  advance();
  return value;
}

std::string_view Parser::expect_string(const char* expected) {
  if (current_.kind != TokenKind::string) fail_unexpected(expected);
  const std::string_view text = current_.text;
  advance();
  return text;
}

std::string Parser::quote_current() const { return "`" + std::string(current_.text) + "`"; }

void Parser::fail(const std::string& what, const std::string& expected) const {
  fail_at(current_, what, expected);
}

void Parser::fail_at(const Token& token, const std::string& what,
                     const std::string& expected) const {
  // A name or number at the very end of the text is most likely truncated; so may these be.
  const bool may_be_half =
      token.kind != TokenKind::punctuation || token.is("%") || token.is("/") || token.is(":");
  const bool touches_end =
      token.position.offset_bytes + token.position.length_bytes == source_.text().size();
  if (token.kind == TokenKind::end || (may_be_half && touches_end)) {
    std::string construct = construct_kind_;
    if (!construct_name_.empty()) construct += " `" + std::string(construct_name_) + "`";
    source_.fail_cut_off(token.position.line, construct, expected);
  }
  source_.fail(token.position, what, expected);
}

void Parser::fail_unexpected(const std::string& expected) const {
  const std::string found = current_.kind == TokenKind::string ? "a string" : quote_current();
  fail(found + " is not allowed here in " + construct_kind_ +
           (construct_name_.empty() ? "" : " `" + std::string(construct_name_) + "`"),
       expected);
}

}  // namespace bw::sim::ptx
