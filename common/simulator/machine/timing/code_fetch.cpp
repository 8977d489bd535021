#include "common/simulator/machine/timing/code_fetch.hpp"

#include <algorithm>
#include <limits>

namespace bw::sim {

namespace {

/// A warp that fetches alone books so far ahead: turns cost the host time. No number of hardware.
constexpr double kLeadAlone = 64;

}  // namespace

CodeFetch::Stretch CodeFetch::stretch(uint32_t begin, uint32_t instructions, Cycle from) {
  const uint32_t end = (begin + instructions - 1) / kLineInstructions + 1;
  if (begin >= of_stretch_.size()) of_stretch_.resize(begin + 1, 0);
  if (ready_.size() < end) ready_.resize(end, 0);
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
    const Cycle ready = ready_[stretch.line];
    if (ready == 0) return;
    stretch.at = std::max(stretch.at, static_cast<double>(ready));
  }
  of_stretch_[stretch.begin] = std::max<Cycle>(static_cast<Cycle>(stretch.at), 1);
  stretch.end = 0;
  --waiting_;
}

bool CodeFetch::follows(uint32_t line) const {
  if (line == 0) return true;  // a launch begins there
  for (uint32_t before = 1; before <= std::min(line, rate_.ahead_lines); ++before)
    if (ready_[line - before] != 0) return true;
  return false;
}

void CodeFetch::fetch_line(Stretch& stretch) {
  if (ready_[stretch.line] != 0) {  // another warp has fetched it meanwhile
    pass_fetched(stretch);
    return;
  }
  const double begin = std::max(stretch.at, way_free_);
  way_free_ = begin + rate_.way_cycles;
  stretch.at = begin + rate_.line_cycles + (follows(stretch.line) ? 0 : rate_.jump_cycles);
  ready_[stretch.line] = std::max<Cycle>(static_cast<Cycle>(stretch.at), 1);
  ++stretch.line;
  pass_fetched(stretch);
}

double CodeFetch::lead() const {
  // What is near takes up nobody's way.
  if (rate_.way_cycles == 0) return std::numeric_limits<double>::infinity();
  return waiting_ == 1 ? kLeadAlone : 0;
}

}  // namespace bw::sim
