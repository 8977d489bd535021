#include "common/simulator/trace/json.hpp"

#include <algorithm>
#include <cstdio>

namespace bw::sim::trace {

namespace {

/// Bytes of the UTF-8 sequence at the start of a text that is not empty; 0: invalid.
size_t utf8_length(std::string_view text) {
  const auto at = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = at(0);
  const size_t length = first < 0x80   ? 1
                        : first < 0xc2 ? 0
                        : first < 0xe0 ? 2
                        : first < 0xf0 ? 3
                        : first < 0xf5 ? 4
                                       : 0;
  if (length > text.size()) return 0;
  for (size_t i = 1; i < length; ++i)
    if ((at(i) & 0xc0) != 0x80) return 0;
  const bool is_overlong = (first == 0xe0 && at(1) < 0xa0) || (first == 0xf0 && at(1) < 0x90);
  const bool is_no_character = (first == 0xed && at(1) >= 0xa0) || (first == 0xf4 && at(1) >= 0x90);
  return length > 1 && (is_overlong || is_no_character) ? 0 : length;
}

}  // namespace

std::string json_string(std::string_view text) {
  constexpr std::string_view kReplacement = "\xef\xbf\xbd";  // U+FFFD
  std::string json = "\"";
  while (!text.empty()) {
    const size_t length = utf8_length(text);
    const char c = text.front();
    if (length != 1) {
      json += length == 0 ? kReplacement : text.substr(0, length);
      text.remove_prefix(std::max<size_t>(length, 1));
      continue;
    }
    text.remove_prefix(1);
    if (c == '"' || c == '\\') {
      json += '\\';
      json += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escaped[7];
      std::snprintf(escaped, sizeof escaped, "\\u%04x", static_cast<unsigned>(c));
      json += escaped;
    } else {
      json += c;
    }
  }
  return json + '"';
}

}  // namespace bw::sim::trace
