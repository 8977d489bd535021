#include "common/simulator/machine/timing/sm_times.hpp"

namespace bw::sim {

// What a warp gets ahead of others' bookings is taken behind them: they would pay for it later. So
// only those have it who take little of all slots; they can't use up a scheduler together, since a
// CTA has at most eight warps on one. These two are no numbers of hardware.
constexpr uint32_t kCyclesPerCredit = 10;
constexpr uint32_t kMostCredit = 128;

Cycle IssueCalendar::reserve(Cycle from, uint32_t slots, uint32_t warp) {
  Cycle last = slots_.reserve(from, slots);
  Booked& own = warps_[warp];
  if (from > own.credited_at) {
    const Cycle more = (from - own.credited_at) / kCyclesPerCredit;
    own.credit = static_cast<uint32_t>(std::min<Cycle>(own.credit + more, kMostCredit));
    own.credited_at += more * kCyclesPerCredit;
  }
  if (slots > own.credit) {
    own.credit = 0;
  } else {
    own.credit -= slots;
    if (last > from + slots) {  // nobody is served sooner than alone
      Cycle others = 0;
      for (const Booked& other : warps_) others += &other != &own && other.until > from ? 1 : 0;
      last = std::min(last, from + slots * (others + 1));
    }
  }
  own.until = std::max(own.until, last);
  return last;
}

bool CodeFetch::follows(uint32_t line, uint32_t ahead_lines) const {
  if (line == 0) return true;  // a launch begins there
  for (uint32_t before = 1; before <= std::min(line, ahead_lines); ++before)
    if (ready_[line - before] != 0) return true;
  return false;
}

Cycle CodeFetch::fetch(uint32_t begin, uint32_t instructions, Cycle from, const Rate& rate) {
  const uint32_t last = (begin + instructions - 1) / kLineInstructions;
  if (ready_.size() <= last) ready_.resize(last + 1, 0);
  auto all = static_cast<double>(from);
  for (uint32_t line = begin / kLineInstructions; line <= last; ++line) {
    Cycle& ready = ready_[line];
    if (ready == 0) {
      all += rate.line_cycles + (follows(line, rate.ahead_lines) ? 0 : rate.jump_cycles);
      ready = std::max<Cycle>(static_cast<Cycle>(all), 1);
    }
    all = std::max(all, static_cast<double>(ready));
  }
  return static_cast<Cycle>(all);
}

Cycle FirstUses::ready(uint64_t which, Cycle now, Cycle fetch_cycles) {
  for (const auto& [known, ready] : ready_)
    if (known == which) return std::max(ready, now);
  ready_.emplace_back(which, now + fetch_cycles);
  return now + fetch_cycles;
}

}  // namespace bw::sim
