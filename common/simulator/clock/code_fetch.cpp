#include "common/simulator/clock/code_fetch.hpp"

#include <algorithm>
#include <limits>

namespace bw::sim {

namespace {

/// How far ahead a warp that fetches alone books: turns cost host time. Not a hardware figure.
constexpr double kLeadAlone = 64;

}  // namespace

CodeFetch::Stretch CodeFetch::stretch(uint32_t begin, uint32_t instructions, Cycle from) {
  const uint32_t end = (begin + instructions - 1) / kLineInstructions + 1;
  if (begin >= of_stretch_.size()) {
    of_stretch_.reserve(rate_.instructions);
    of_stretch_.resize(begin + 1, 0);
  }
  if (ready_.size() < end + rate_.ahead_lines) {
    ready_.reserve(rate_.instructions / kLineInstructions + 1 + rate_.ahead_lines);
    ready_.resize(end + rate_.ahead_lines, 0);
  }
  Stretch stretch{.begin = begin,
                  .line = begin / kLineInstructions,
                  .end = end,
                  .at = static_cast<double>(from)};
  ++waiting_;
  pass_fetched(stretch);
  return stretch;
}

void CodeFetch::pass_fetched(Stretch& stretch) {
  for (; stretch.line < stretch.end; ++stretch.line) {
    // A warp that reaches a line triggers the prefetch.
    if (ready_[stretch.line] == 0 || ready_[stretch.line + rate_.ahead_lines] == 0) return;
    stretch.at = std::max(stretch.at, ready_[stretch.line]);
  }
  of_stretch_[stretch.begin] = std::max<Cycle>(static_cast<Cycle>(stretch.at), 1);
  stretch.end = 0;
  --waiting_;
}

double CodeFetch::occupy_link(double at, double lines) {
  const double begin = std::max(at, link_free_);
  link_idle_ += begin - link_free_;
  link_free_ = begin + lines * rate_.fetch_link_cycles;
  return begin;
}

bool CodeFetch::is_far(uint32_t line, double at) const {
  if (rate_.far_cycles == 0) return false;
  const double idle = link_idle_ + std::max(0.0, at - link_free_);
  return line >= rate_.launched_lines + idle / rate_.launched_cycles;
}

double CodeFetch::brought(uint32_t line, double at) {
  const uint32_t part = line / kPartLines;
  if (brought_.size() < part + 2) brought_.resize(part + 2, 0);
  if (brought_[part] == 0) {
    brought_[part] = at + rate_.far_cycles;
    if (brought_[part + 1] == 0) brought_[part + 1] = brought_[part];
  }
  return brought_[part];
}

void CodeFetch::fetch_line(Stretch& stretch) {
  const uint32_t first = stretch.line;
  const uint32_t jump = first == 0 ? 0 : rate_.jump_cycles;  // a launch begins at 0
  for (uint32_t line = first; line <= first + rate_.ahead_lines; ++line) {
    if (ready_[line] != 0) continue;
    const bool far = is_far(line, stretch.at);
    const uint32_t part = line / kPartLines;
    const bool is_asked = part < brought_.size() && brought_[part] != 0;
    if (far && line != first && !is_asked) break;  // far code is not prefetched
    const double begin = occupy_link(stretch.at, 1);
    double behind = line == first ? begin + jump : std::max(begin, ready_[line - 1]);
    if (far) behind = std::max(behind, brought(line, begin));
    ready_[line] = std::max(behind + rate_.line_cycles, 1.0);
  }
  stretch.at = std::max(stretch.at, ready_[first]);
  ++stretch.line;
  pass_fetched(stretch);
}

double CodeFetch::lead() const {
  // Near code does not occupy the path.
  if (rate_.fetch_link_cycles == 0) return std::numeric_limits<double>::infinity();
  return waiting_ == 1 ? kLeadAlone : 0;
}

}  // namespace bw::sim
