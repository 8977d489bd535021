#include "common/simulator/ptx/lexer.hpp"

#include <array>
#include <bit>
#include <charconv>
#include <limits>
#include <string>

#include <fmt/core.h>

namespace bw::sim::ptx {
namespace {

enum CharacterClass : uint8_t { kLetter = 1, kDigit = 2, kHexLetter = 4, kMark = 8, kBlank = 16 };

constexpr std::array<uint8_t, 256> make_classes() {
  std::array<uint8_t, 256> classes{};
  for (int c = 'a'; c <= 'z'; ++c) classes[static_cast<size_t>(c)] |= kLetter;
  for (int c = 'A'; c <= 'Z'; ++c) classes[static_cast<size_t>(c)] |= kLetter;
  for (int c = '0'; c <= '9'; ++c) classes[static_cast<size_t>(c)] |= kDigit;
  for (int c = 'a'; c <= 'f'; ++c) classes[static_cast<size_t>(c)] |= kHexLetter;
  for (int c = 'A'; c <= 'F'; ++c) classes[static_cast<size_t>(c)] |= kHexLetter;
  for (char c : {'_', '$'}) classes[static_cast<unsigned char>(c)] |= kMark;
  for (char c : {' ', '\t', '\r', '\n', '\v', '\f'}) {
    classes[static_cast<unsigned char>(c)] |= kBlank;
  }
  return classes;
}
constexpr std::array<uint8_t, 256> kClasses = make_classes();

constexpr bool is_class(char c, unsigned classes) noexcept {
  return (kClasses[static_cast<unsigned char>(c)] & classes) != 0;
}
/// What may follow the first character of an identifier.
constexpr bool is_name_character(char c) noexcept { return is_class(c, kLetter | kDigit | kMark); }

constexpr std::string_view kTwoCharacterOperators[] = {
    "<<", ">>", "==", "!=", "<=", ">=", "&&", "||"};
constexpr std::string_view kOneCharacterTokens = "{}()[],;:@!|+-*/&^~<>=?%";

}  // namespace

Lexer::Lexer(const Source& source) : source_(source), text_(source.text()) {}

void Lexer::skip_blanks_and_comments() {
  for (;;) {
    while (offset_ < text_.size() && is_class(text_[offset_], kBlank)) {
      if (text_[offset_] == '\n') ++line_;
      ++offset_;
    }
    if (at(0) != '/' || (at(1) != '/' && at(1) != '*')) return;
    if (at(1) == '/') {
      const size_t end = text_.find('\n', offset_);
      offset_ = end == std::string_view::npos ? text_.size() : end;
      continue;
    }
    const uint32_t first_line = line_;
    const size_t end = text_.find("*/", offset_ + 2);
    for (const char c : text_.substr(offset_, end - offset_)) line_ += c == '\n' ? 1 : 0;
    if (end == std::string_view::npos) {
      source_.fail_cut_off(line_, fmt::format("the comment that begins in line {}", first_line),
                           "`*/`");
    }
    offset_ = end + 2;
  }
}

Token Lexer::next() {
  skip_blanks_and_comments();
  if (offset_ >= text_.size()) return finish(TokenKind::end, text_.size());
  const char c = text_[offset_];
  if (is_class(c, kLetter | kMark) || (c == '%' && is_name_character(at(1)))) return lex_word();
  if (c == '.') return lex_directive();
  if (is_class(c, kDigit)) return lex_number();
  if (c == '"') return lex_string();
  return lex_punctuation();
}

Token Lexer::finish(TokenKind kind, size_t end) {
  Token token;
  token.kind = kind;
  token.text = text_.substr(offset_, end - offset_);
  token.position = position(end - offset_);
  offset_ = end;
  return token;
}

size_t Lexer::end_of_name(size_t offset) const noexcept {
  while (offset < text_.size() && is_name_character(text_[offset])) ++offset;
  return offset;
}

// Modifiers and components belong to the word: "ld.global.L2::128B.v4.f32", "%tid.x". A single
// colon does not: it ends a label.
Token Lexer::lex_word() {
  size_t end = end_of_name(offset_ + 1);
  for (;;) {
    const auto begins_name = [&](size_t offset) {
      return offset < text_.size() && is_name_character(text_[offset]);
    };
    if (end < text_.size() && text_[end] == '.' && begins_name(end + 1)) {
      end = end_of_name(end + 1);
    } else if (text_.substr(end, 2) == "::" && begins_name(end + 2)) {
      end = end_of_name(end + 2);
    } else {
      return finish(TokenKind::word, end);
    }
  }
}

Token Lexer::lex_directive() {
  size_t end = end_of_name(offset_ + 1);
  if (end == offset_ + 1) {
    if (end == text_.size()) source_.fail_cut_off(line_, "a directive", "the directive's name");
    source_.fail(position(1), "a dot without a name", "a directive such as `.reg`");
  }
  while (text_.substr(end, 2) == "::" && end + 2 < text_.size() &&
         is_name_character(text_[end + 2])) {
    end = end_of_name(end + 2);
  }
  return finish(TokenKind::directive, end);
}

Token Lexer::lex_hex_float(size_t digits, TokenKind kind) {
  const size_t begin = offset_ + 2;
  const size_t end = end_of_name(begin);
  Token token = finish(kind, end);
  uint64_t bits = 0;
  const char* first = text_.data() + begin;
  const char* last = text_.data() + end;
  const auto [stop, error] = std::from_chars(first, last, bits, 16);
  if (error != std::errc{} || stop != last || end - begin != digits) {
    const std::string expected = fmt::format("exactly {} hexadecimal digits", digits);
    if (end == text_.size() && end - begin < digits) {
      source_.fail_cut_off(line_, "the literal `" + std::string(token.text) + "`", expected);
    }
    source_.fail(token.position,
                 "`" + std::string(token.text) + "` is not a floating-point bit pattern", expected);
  }
  token.value = bits;
  return token;
}

Token Lexer::lex_decimal_float() {
  double number = 0;
  const char* first = text_.data() + offset_;
  const char* last = text_.data() + text_.size();
  const auto [stop, error] = std::from_chars(first, last, number);
  const auto end = static_cast<size_t>(stop - text_.data());
  Token token = finish(TokenKind::f64_literal, end_of_name(end));
  if (error != std::errc{} || token.text.size() != static_cast<size_t>(stop - first)) {
    source_.fail(token.position, "`" + std::string(token.text) + "` is not a number",
                 "a decimal floating-point literal in the range of a double, such as 1.5e-3");
  }
  token.value = std::bit_cast<uint64_t>(number);
  return token;
}

Token Lexer::lex_number() {
  const char second = at(1);
  int base = 10;
  size_t prefix = 0;
  if (at(0) == '0') {
    if (second == 'f' || second == 'F') return lex_hex_float(8, TokenKind::f32_literal);
    if (second == 'd' || second == 'D') return lex_hex_float(16, TokenKind::f64_literal);
    if (second == 'x' || second == 'X') {
      base = 16, prefix = 2;
    } else if (second == 'b' || second == 'B') {
      base = 2, prefix = 2;
    }
  }
  const size_t name_end = end_of_name(offset_);
  if (base == 10) {
    size_t digits = 0;
    while (is_class(at(digits), kDigit)) ++digits;
    const char behind = at(digits);
    if (behind == '.' || behind == 'e' || behind == 'E') return lex_decimal_float();
    if (at(0) == '0' && digits > 1) base = 8, prefix = 1;
  }

  const size_t begin = offset_;
  Token token = finish(TokenKind::integer, name_end);
  const bool has_suffix = token.text.size() > prefix + 1 && token.text.back() == 'U';
  const char* first = text_.data() + begin + prefix;
  const char* last = text_.data() + name_end - (has_suffix ? 1 : 0);
  const auto [stop, error] = std::from_chars(first, last, token.value, base);
  if (error != std::errc{} || stop != last) {
    const std::string expected =
        "a decimal, octal (0..), hexadecimal (0x..) or binary (0b..) number below 2^64";
    if (first == last && name_end == text_.size()) {
      source_.fail_cut_off(line_, "the literal `" + std::string(token.text) + "`", expected);
    }
    source_.fail(token.position, "`" + std::string(token.text) + "` is not an integer", expected);
  }
  token.is_unsigned =
      has_suffix || token.value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  return token;
}

Token Lexer::lex_string() {
  size_t end = offset_ + 1;
  while (end < text_.size() && text_[end] != '"' && text_[end] != '\n') {
    end += text_[end] == '\\' && end + 1 < text_.size() && text_[end + 1] != '\n' ? 2 : 1;
  }
  if (end >= text_.size()) source_.fail_cut_off(line_, "a string", "`\"` at its end");
  if (text_[end] == '\n') {
    source_.fail(position(end - offset_), "a string has no end in its line", "`\"` at its end");
  }
  Token token = finish(TokenKind::string, end + 1);
  token.text = token.text.substr(1, token.text.size() - 2);
  return token;
}

Token Lexer::lex_punctuation() {
  for (const std::string_view spelling : kTwoCharacterOperators) {
    if (text_.substr(offset_, 2) == spelling) return finish(TokenKind::punctuation, offset_ + 2);
  }
  if (kOneCharacterTokens.find(text_[offset_]) == std::string_view::npos) {
    const auto byte = static_cast<unsigned char>(text_[offset_]);
    const bool printable = byte > 0x20 && byte < 0x7f;
    source_.fail(position(1),
                 printable ? "`" + std::string(1, text_[offset_]) + "` has no meaning here"
                           : fmt::format("the text contains a byte of value {}", byte),
                 "a directive, a name, a number or one of " + std::string(kOneCharacterTokens));
  }
  return finish(TokenKind::punctuation, offset_ + 1);
}

}  // namespace bw::sim::ptx
