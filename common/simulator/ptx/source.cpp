#include "common/simulator/ptx/source.hpp"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "common/simulator/base/error.hpp"

namespace bw::sim::ptx {
namespace {

/// Longer lines (initialisers of large tables) are shown up to here.
constexpr size_t kShownLineBytes = 160;

/// The line around `offset`, without surrounding blanks, safe to print.
std::string line_around(std::string_view text, size_t offset) {
  offset = std::min(offset, text.size());
  size_t begin = offset;
  while (begin > 0 && text[begin - 1] != '\n') --begin;
  size_t end = offset;
  while (end < text.size() && text[end] != '\n') ++end;
  while (begin < end && (text[begin] == ' ' || text[begin] == '\t')) ++begin;
  while (end > begin && (text[end - 1] == ' ' || text[end - 1] == '\t' || text[end - 1] == '\r')) {
    --end;
  }
  // Of a very long line, show the part with the fault.
  if (end - begin > kShownLineBytes) {
    begin = std::max(begin, offset > kShownLineBytes / 2 ? offset - kShownLineBytes / 2 : 0);
    end = std::min(end, begin + kShownLineBytes);
  }
  std::string shown(text.substr(begin, end - begin));
  for (char& c : shown) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\t') {
      c = ' ';
    } else if (byte < 0x20 || byte > 0x7e) {
      c = '?';
    }
  }
  return shown;
}

}  // namespace

Source::Source(std::string_view text, std::string name) : text_(text), name_(std::move(name)) {
  while (!text_.empty() && text_.back() == '\0') text_.remove_suffix(1);
}

std::string Source::where(const TextPosition& position) const {
  return fmt::format("{}:{}: `{}`", name_, position.line,
                     line_around(text_, position.offset_bytes));
}

void Source::fail(const TextPosition& position, const std::string& what,
                  const std::string& expected) const {
  Report report{.code = FaultCode::ptx_malformed};
  report.what =
      fmt::format("the PTX of {} is malformed in line {}: {}", name_, position.line, what);
  report.where = where(position);
  report.details.push_back("expected: " + expected);
  report.fix =
      "correct this line if the text (or the inline asm that it comes from) is your own; otherwise "
      "build it again with nvcc 13";
  throw SimulationError(std::move(report));
}

void Source::fail_cut_off(uint32_t line, const std::string& construct,
                          const std::string& expected) const {
  Report report{.code = FaultCode::ptx_cut_off};
  report.what =
      fmt::format("the PTX of {} ends in the middle of {}, in line {}", name_, construct, line);
  report.where = where({text_.size(), 0, line});
  report.details.push_back("expected: " + expected);
  report.fix = "the text is cut off: pass the whole module, or build it again with nvcc";
  throw SimulationError(std::move(report));
}

void Source::fail_unsupported(const TextPosition& position, const std::string& what,
                              const std::string& fix) const {
  Report report{.code = FaultCode::ptx_feature};
  report.what = what;
  report.where = where(position);
  report.fix = fix;
  throw SimulationError(std::move(report));
}

}  // namespace bw::sim::ptx
