#include "common/simulator/ptx/lexer.hpp"

#include <array>
#include <bit>
#include <charconv>
#include <limits>
#include <locale>
#include <sstream>
#include <string>

#include <fmt/core.h>

namespace bw::sim::ptx {
namespace {

enum CharacterClass : uint8_t {
  kLetter = 1,
  kDigit = 2,
  kMark = 4,
  kBlank = 8,
  kPunctuation = 16,
  kOperatorEnd = 32  ///< the second character of an operator of two
};

constexpr std::string_view kTwoCharacterOperators[] = {
    "<<", ">>", "==", "!=", "<=", ">=", "&&", "||"};
constexpr std::string_view kOneCharacterTokens = "{}()[],;:@!|+-*/&^~<>=?%";

constexpr std::array<uint8_t, 256> make_classes() {
  std::array<uint8_t, 256> classes{};
  for (int c = 'a'; c <= 'z'; ++c) classes[static_cast<size_t>(c)] |= kLetter;
  for (int c = 'A'; c <= 'Z'; ++c) classes[static_cast<size_t>(c)] |= kLetter;
  for (int c = '0'; c <= '9'; ++c) classes[static_cast<size_t>(c)] |= kDigit;
  for (char c : {'_', '$'}) classes[static_cast<unsigned char>(c)] |= kMark;
  for (char c : {' ', '\t', '\r', '\n', '\v', '\f'}) {
    classes[static_cast<unsigned char>(c)] |= kBlank;
  }
  for (char c : kOneCharacterTokens) classes[static_cast<unsigned char>(c)] |= kPunctuation;
  for (std::string_view both : kTwoCharacterOperators)
    classes[static_cast<unsigned char>(both[1])] |= kOperatorEnd;
  return classes;
}
constexpr std::array<uint8_t, 256> kClasses = make_classes();

constexpr bool is_class(char c, unsigned classes) noexcept {
  return (kClasses[static_cast<unsigned char>(c)] & classes) != 0;
}
/// Decimal numbers of that many digits are below 2^63.
constexpr size_t kSafeDigits = std::numeric_limits<int64_t>::digits10;

/// What may follow the first character of an identifier.
constexpr bool is_name_character(char c) noexcept { return is_class(c, kLetter | kDigit | kMark); }

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
    } else if (is_double_colon(end) && begins_name(end + 2)) {
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
  while (is_double_colon(end) && end + 2 < text_.size() && is_name_character(text_[end + 2])) {
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
  // Not every standard library has std::from_chars for double; a stream of the classic locale
  // rounds just as well.
  size_t digits = 0;
  bool is_zero = true;
  for (; is_class(at(digits), kDigit) || at(digits) == '.'; ++digits)
    is_zero = is_zero && (at(digits) == '0' || at(digits) == '.');
  if (at(digits) == 'e' || at(digits) == 'E') {
    ++digits;
    if (at(digits) == '+' || at(digits) == '-') ++digits;
    while (is_class(at(digits), kDigit)) ++digits;
  }
  double number = 0;
  std::istringstream stream{std::string(text_.substr(offset_, digits))};
  stream.imbue(std::locale::classic());
  stream >> number;
  const bool is_number = !stream.fail() && stream.peek() == std::istringstream::traits_type::eof();
  const bool is_in_range = is_number && (number != 0 || is_zero);
  Token token = finish(TokenKind::f64_literal, end_of_name(offset_ + digits));
  if (!is_in_range || token.text.size() != digits) {
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
  const size_t begin = offset_;
  if (base == 10) {
    size_t digits = 0;
    uint64_t value = 0;
    for (; is_class(at(digits), kDigit); ++digits)
      value = value * 10 + static_cast<uint64_t>(at(digits) - '0');
    const char behind = at(digits);
    if (behind == '.' || behind == 'e' || behind == 'E') return lex_decimal_float();
    if (at(0) == '0' && digits > 1) {
      base = 8, prefix = 1;
    } else if (!is_name_character(behind) && digits <= kSafeDigits) {
      Token token = finish(TokenKind::integer, begin + digits);
      token.value = value;
      return token;
    }
  }
  const size_t name_end = end_of_name(begin);
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
  if (is_class(at(1), kOperatorEnd)) {
    for (const std::string_view spelling : kTwoCharacterOperators) {
      if (text_.substr(offset_, 2) == spelling) return finish(TokenKind::punctuation, offset_ + 2);
    }
  }
  if (!is_class(text_[offset_], kPunctuation)) {
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
