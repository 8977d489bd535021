#include "common/host/error.hpp"

#include <array>
#include <cstdio>

namespace bw {

void MessagePart::append_to(std::string& message) const {
  std::array<char, 32> number{};  // the longest is a 64-bit integer with its sign
  switch (kind_) {
    case Kind::kText:
      message += text_;
      return;
    case Kind::kLetter:
      message += static_cast<char>(integer_);
      return;
    case Kind::kInteger:
      std::snprintf(number.data(), number.size(), "%lld", integer_);
      break;
    case Kind::kNatural:
      std::snprintf(number.data(), number.size(), "%llu", natural_);
      break;
    case Kind::kReal:
      std::snprintf(number.data(), number.size(), "%g", real_);
      break;
    case Kind::kAddress:
      std::snprintf(number.data(), number.size(), "%#llx", natural_);
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
