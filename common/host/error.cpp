#include "common/host/error.hpp"

#include <cstdio>

namespace bw {

MessagePart::Characters MessagePart::characters(char (&digits)[kMostDigits]) const {
  switch (kind_) {
    case Kind::kText:
      return {value_.text, length_};
    case Kind::kLetter:
      digits[0] = static_cast<char>(value_.integer);
      return {digits, 1};
    case Kind::kInteger:
      std::snprintf(digits, kMostDigits, "%lld", value_.integer);
      break;
    case Kind::kNatural:
      std::snprintf(digits, kMostDigits, "%llu", value_.natural);
      break;
    case Kind::kReal:
      std::snprintf(digits, kMostDigits, "%g", value_.real);
      break;
    case Kind::kAddress:
      std::snprintf(digits, kMostDigits, "%#llx", value_.natural);
      break;
  }
  return {digits, std::strlen(digits)};
}

std::string concatenate(std::span<const MessagePart> parts) {
  std::string text;
  for (const MessagePart& part : parts) {
    char digits[MessagePart::kMostDigits];
    const auto [begin, length] = part.characters(digits);
    text.append(begin, length);
  }
  return text;
}

void throw_error(std::initializer_list<MessagePart> parts) { throw Error(concatenate(parts)); }

}  // namespace bw
