#include "common/simulator/base/report_text.hpp"

#include <algorithm>
#include <fstream>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "common/simulator/base/text_wrap.hpp"

namespace bw::sim {
namespace {

constexpr std::string_view kError = "\x1b[1;31m", kWarning = "\x1b[1;33m", kLabel = "\x1b[1m",
                           kCaret = "\x1b[1;32m", kPlain = "\x1b[0m";
constexpr std::string_view kStart = "simulator: ";
/// Generated code may be one endless line.
constexpr size_t kLongestExcerpt = 160;

/// Line `number` of a file, counted from 1; empty if it does not exist.
std::string line_of_file(const std::string& path, uint32_t number) {
  std::ifstream file(path, std::ios::binary);
  std::string line;
  for (uint32_t at = 0; at < number; ++at)
    if (!std::getline(file, line)) return {};
  while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.pop_back();
  return line;
}

/// A long kernel name is given once; after that, "gemm<...>" is enough.
class KernelNames {
 public:
  explicit KernelNames(const Report& report) {
    for (const ReportPlace& place : report.places) {
      const size_t arguments = place.kernel.find('<');
      if (place.kernel.size() > kLongest && arguments != std::string::npos)
        names_.push_back({place.kernel, place.kernel.substr(0, arguments) + "<...>"});
    }
  }
  /// The text with the short names of kernels that were named before.
  [[nodiscard]] std::string shorten(std::string text) {
    for (Name& name : names_) {
      for (size_t at = text.find(name.whole); at != std::string::npos;
           at = text.find(name.whole, at + 1)) {
        if (std::exchange(name.is_known, true)) text.replace(at, name.whole.size(), name.brief);
      }
    }
    return text;
  }

 private:
  static constexpr size_t kLongest = 48;
  struct Name {
    std::string whole, brief;
    bool is_known = false;
  };
  std::vector<Name> names_;
};

class Text {
 public:
  explicit Text(const Presentation& how) : how_(how) {}

  /// A line whose first `marked` characters are highlighted.
  void add(const std::string& line, size_t marked = 0, std::string_view colour = kLabel) {
    std::string wrapped = wrap_lines(line, how_.columns);
    // What is marked is a label of two characters or more, which no terminal breaks.
    if (how_.colours && marked != 0 && wrapped.compare(0, marked, line, 0, marked) == 0) {
      const size_t begin = std::min(wrapped.find_first_not_of(' '), marked);
      wrapped.insert(marked, kPlain).insert(begin, colour);
    }
    if (!text_.empty()) text_ += '\n';
    text_ += wrapped;
  }
  void add_excerpt(const ReportPlace& place) {
    if (how_.shows_code) text_ += excerpt(place, how_);
  }
  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  const Presentation& how_;
  std::string text_;
};

}  // namespace

std::string excerpt(const ReportPlace& place, const Presentation& how) {
  std::string line = place.line == 0 ? std::string() : line_of_file(place.path, place.line);
  if (line.empty()) return {};
  const std::string number = std::to_string(place.line);
  const std::string margin = "  " + number + " | ";
  const size_t most =
      how.columns == 0 ? kLongestExcerpt : std::max(how.columns, margin.size() + 1) - margin.size();
  std::string below;
  if (place.column != 0 && place.column <= line.size()) {
    // Tabs stay, so that the caret is where the terminal puts the character above.
    for (size_t at = 0; at + 1 < place.column; ++at) below += line[at] == '\t' ? '\t' : ' ';
    below += '^';
  }
  if (line.size() > most) {
    line.resize(most);
    if (below.size() > most) below.clear();
  }
  std::string text = "\n" + margin + line;
  if (!below.empty()) {
    if (how.colours) below.insert(below.size() - 1, kCaret).append(kPlain);
    text += "\n" + std::string(number.size() + 2, ' ') + " | " + below;
  }
  return text;
}

std::string present(const Report& report, const Presentation& how) {
  Text text(how);
  KernelNames kernels(report);
  const std::string head = std::string(kStart) + report.title() + ":";
  text.add(head + " " + kernels.shorten(report.what), head.size(),
           report.severity() == Severity::warning ? kWarning : kError);
  const auto labelled = [&](std::string_view label, const std::string& words) {
    if (!words.empty())
      text.add("  " + std::string(label) + kernels.shorten(words), 2 + label.find(':') + 1);
  };
  labelled("where: ", report.where);
  for (const ReportPlace& place : report.places)
    if (place.role.empty()) text.add_excerpt(place);
  // A detail may name a place already: its source is printed below it then.
  const auto is_about = [](const std::string& line, const ReportPlace& place) {
    return !place.role.empty() &&
           (line.starts_with(place.role + ":") || line.starts_with(place.role + " "));
  };
  for (const std::string& line : report.details) {
    text.add("  " + kernels.shorten(line));
    for (const ReportPlace& place : report.places)
      if (is_about(line, place)) text.add_excerpt(place);
  }
  for (const ReportPlace& place : report.places) {
    const bool is_told = std::any_of(report.details.begin(), report.details.end(),
                                     [&](const auto& line) { return is_about(line, place); });
    if (place.role.empty() || is_told) continue;
    text.add("  " + place.role + ": " + place.describe(), 2 + place.role.size() + 1);
    text.add_excerpt(place);
  }
  labelled("rule:  ", report.rule);
  labelled("fix:   ", report.fix);
  if (report.hardware_accepts && !report.is_tolerated)
    labelled(
        "level: ",
        "isa (the PTX ISA's wording); with BW_SIM_STRICTNESS=hardware the simulator continues");
  // A run can be repeated if its schedule has a seed.
  if (report.event && report.seed)
    labelled("again: ", fmt::format("this is event {} of the schedule; with BW_SIM_SEED={} "
                                    "BW_SIM_UNTIL_EVENT={} a run stops before it",
                                    report.event->text(), *report.seed, report.event->text()));
  return text.take();
}

}  // namespace bw::sim
