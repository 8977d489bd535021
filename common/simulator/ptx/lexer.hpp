#pragma once
/// \file
/// Splits PTX text into tokens (PTX ISA, "Syntax").

#include <cstdint>
#include <cstring>
#include <string_view>

#include "common/simulator/ptx/source.hpp"

namespace bw::sim::ptx {

/// Kinds of tokens.
enum class TokenKind : uint8_t {
  end,          ///< nothing is left
  word,         ///< identifier, register, opcode with modifiers, special register: "%tid.x"
  directive,    ///< ".reg", ".u32"; `text` includes the dot
  integer,      ///< `value`, `is_unsigned` with a U suffix or above INT64_MAX
  f32_literal,  ///< 0fXXXXXXXX, bits in `value`
  f64_literal,  ///< 0dXXXXXXXXXXXXXXXX or decimal, bits of the double in `value`
  string,       ///< "...", `text` without the quotes
  punctuation,  ///< one character, or one of << >> == != <= >= && ||
};

/// A piece of the text.
struct Token {
  TokenKind kind = TokenKind::end;  ///< which one it is
  bool is_unsigned = false;         ///< whether it has a suffix that says so
  uint64_t value = 0;               ///< of a number
  std::string_view text;
  TextPosition position;  ///< where in the source

  /// True for this punctuation, word or directive.
  [[nodiscard]] bool is(std::string_view spelling) const noexcept {
    // Of a literal the length is a constant, and the comparison needs no call: the parser's time
    // is mostly this.
    return text.size() == spelling.size() &&
           std::memcmp(text.data(), spelling.data(), spelling.size()) == 0 &&
           (kind == TokenKind::punctuation || kind == TokenKind::word ||
            kind == TokenKind::directive);
  }
};

/// Reads one token at a time. Comments and blanks are skipped; trailing NUL bytes (the padding of a
/// fat binary) end the text.
class Lexer {
 public:
  /// Over a source.
  explicit Lexer(const Source& source);

  /// Throws SimulationError{parse} for characters and literals that PTX doesn't have.
  [[nodiscard]] Token next();
  /// Continues at `offset_bytes` of the text, which is in line `line`.
  void continue_at(size_t offset_bytes, uint32_t line) noexcept {
    offset_ = offset_bytes;
    line_ = line;
  }

 private:
  void skip_blanks_and_comments();
  [[nodiscard]] Token lex_word();
  [[nodiscard]] Token lex_directive();
  [[nodiscard]] Token lex_number();
  [[nodiscard]] Token lex_hex_float(size_t digits, TokenKind kind);
  [[nodiscard]] Token lex_decimal_float();
  [[nodiscard]] Token lex_string();
  [[nodiscard]] Token lex_punctuation();
  [[nodiscard]] Token finish(TokenKind kind, size_t end);
  /// The byte `ahead` of the current one; NUL past the end.
  [[nodiscard]] char at(size_t ahead) const noexcept {
    return offset_ + ahead < text_.size() ? text_[offset_ + ahead] : '\0';
  }
  [[nodiscard]] size_t end_of_name(size_t offset) const noexcept;
  [[nodiscard]] bool is_double_colon(size_t offset) const noexcept {
    return offset + 1 < text_.size() && text_[offset] == ':' && text_[offset + 1] == ':';
  }
  [[nodiscard]] TextPosition position(size_t length) const noexcept {
    return {offset_, length, line_};
  }

  const Source& source_;
  std::string_view text_;
  size_t offset_ = 0;
  uint32_t line_ = 1;
};

/// True for the spelling of an opcode: lower-case mnemonic and modifiers joined by `.` and `::`.
[[nodiscard]] bool looks_like_opcode(std::string_view word) noexcept;

/// True for a special register of PTX ISA 9.0, "Special Registers", with its component if it has
/// any.
[[nodiscard]] bool is_special_register(std::string_view word) noexcept;

}  // namespace bw::sim::ptx
