#pragma once
/// \file
/// Checks that end in an Error (error.hpp). What checks needs neither that class nor strings, whose
/// headers nvcc reads three times in each file.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>

namespace bw {

/// Text that knows its length: std::string, std::string_view.
template <class Type>
concept SizedText = requires(const Type& text, const char* begin, size_t length) {
  begin = text.data();
  length = text.size();
};

/// A piece of a message, as a stream writes it: text, a number, an address. It refers to its text
/// and owns nothing, so that whoever checks something pays for no message.
class MessagePart {
 public:
  /// Of text.
  template <SizedText Text>
  MessagePart(const Text& text)
      : kind_(Kind::kText), value_{.text = text.data()}, length_(text.size()) {}
  /// Of text.
  MessagePart(const char* text)
      : kind_(Kind::kText), value_{.text = text}, length_(std::strlen(text)) {}
  /// Of one letter.
  MessagePart(char letter) : kind_(Kind::kLetter), value_{.integer = letter} {}
  /// Of a number.
  MessagePart(int number) : MessagePart(static_cast<long long>(number)) {}
  /// Of a number.
  MessagePart(long number) : MessagePart(static_cast<long long>(number)) {}
  /// Of a number.
  MessagePart(long long number) : kind_(Kind::kInteger), value_{.integer = number} {}
  /// Of a number.
  MessagePart(unsigned number) : MessagePart(static_cast<unsigned long long>(number)) {}
  /// Of a number.
  MessagePart(unsigned long number) : MessagePart(static_cast<unsigned long long>(number)) {}
  /// Of a number.
  MessagePart(unsigned long long number) : kind_(Kind::kNatural), value_{.natural = number} {}
  /// Of a number, as a stream prints it.
  MessagePart(double number) : kind_(Kind::kReal), value_{.real = number} {}
  /// Of an address.
  MessagePart(const void* address)
      : kind_(Kind::kAddress), value_{.natural = reinterpret_cast<uintptr_t>(address)} {}

  /// Where the piece's characters are, and how many.
  struct Characters {
    const char* begin;  ///< not terminated
    size_t length;      ///< in bytes
  };
  /// The longest number: a 64-bit integer with its sign.
  static constexpr size_t kMostDigits = 32;
  /// The characters: the text itself, or the number as it is written into `digits`.
  [[nodiscard]] Characters characters(char (&digits)[kMostDigits]) const;

 private:
  enum class Kind { kText, kLetter, kInteger, kNatural, kReal, kAddress };

  union Value {
    const char* text;
    long long integer;
    unsigned long long natural;
    double real;
  };

  Kind kind_;
  Value value_;
  size_t length_ = 0;  ///< of a text
};

/// Throws Error with the concatenation of `parts`.
[[noreturn]] void throw_error(std::initializer_list<MessagePart> parts);

/// Throws Error with the concatenation of `parts` unless `condition` holds.
template <class... Parts>
void require(bool condition, const Parts&... parts) {
  if (!condition) throw_error({MessagePart(parts)...});
}

}  // namespace bw
