#pragma once
/// \file
/// The one error type of the workbook's host code.

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>

namespace bw {

/// What was given, what is allowed, what to do: one sentence or paragraph for the reader.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A piece of a message, as a stream writes it: text, a number, an address. It refers to its text
/// and owns nothing, so that whoever checks something pays for no message.
class MessagePart {
 public:
  /// Of text.
  MessagePart(std::string_view text)
      : kind_(Kind::kText), value_{.text = text.data()}, length_(text.size()) {}
  /// Of text.
  MessagePart(const char* text) : MessagePart(std::string_view(text)) {}
  /// Of text.
  MessagePart(const std::string& text) : MessagePart(std::string_view(text)) {}
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

  /// Adds the piece to the end of `message`.
  void append_to(std::string& message) const;

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
