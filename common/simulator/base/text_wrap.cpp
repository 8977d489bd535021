#include "common/simulator/base/text_wrap.hpp"

#include <algorithm>

namespace bw::sim {
namespace {

constexpr size_t kHangingIndent = 2;
/// Narrower terminals get lines of this width: an indented word needs some room.
constexpr size_t kLeastWidth = 30;

void wrap_line(std::string_view line, size_t width, std::string& out) {
  const size_t indent = std::min(line.find_first_not_of(' '), line.size());
  size_t column = 0;
  size_t begin = indent;
  out.append(indent, ' ');
  column = indent;
  bool first_word = true;
  while (begin < line.size()) {
    const size_t end = std::min(line.find(' ', begin), line.size());
    const std::string_view word = line.substr(begin, end - begin);
    if (!first_word && column + 1 + word.size() > width) {
      out += '\n';
      out.append(indent + kHangingIndent, ' ');
      column = indent + kHangingIndent;
    } else if (!first_word) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
    first_word = false;
    begin = end + 1;
  }
}

}  // namespace

std::string wrap_lines(std::string_view text, size_t width) {
  if (width == 0) return std::string(text);
  width = std::max(width, kLeastWidth);
  std::string out;
  while (true) {
    const size_t end = text.find('\n');
    wrap_line(text.substr(0, end), width, out);
    if (end == text.npos) return out;
    out += '\n';
    text.remove_prefix(end + 1);
  }
}

}  // namespace bw::sim
