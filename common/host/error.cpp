#include "common/host/error.hpp"

#include <array>
#include <cstdio>

namespace bw {

void MessagePart::append_to(std::string& message) const {
  std::array<char, 32> number{};  // the longest is a 64-bit integer with its sign
  switch (kind_) {
    case Kind::kText:
      message.append(value_.text, length_);
      return;
    case Kind::kLetter:
      message += static_cast<char>(value_.integer);
      return;
    case Kind::kInteger:
      std::snprintf(number.data(), number.size(), "%lld", value_.integer);
      break;
    case Kind::kNatural:
      std::snprintf(number.data(), number.size(), "%llu", value_.natural);
      break;
    case Kind::kReal:
      std::snprintf(number.data(), number.size(), "%g", value_.real);
      break;
    case Kind::kAddress:
      std::snprintf(number.data(), number.size(), "%#llx", value_.natural);
      break;
  }
  message += number.data();
}

void throw_error(std::initializer_list<MessagePart> parts) {
  std::string message;
  for (const MessagePart& part : parts) part.append_to(message);
  throw Error(message);
}

}  // namespace bw
