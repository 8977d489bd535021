#include "common/simulator/machine/timing/sm_times.hpp"

namespace bw::sim {

Cycle SlotCalendar::reserve_in_several(Cycle from, uint32_t slots) {
  Cycle last = from;
  uint64_t bucket = std::max(from / kBucketCycles, first_);
  uint32_t fits = kBucketCycles -
                  static_cast<uint32_t>(bucket == from / kBucketCycles ? from % kBucketCycles : 0);
  while (slots != 0) {
    uint8_t& used = at(bucket);
    const uint32_t taken = std::min({slots, uint32_t{kBucketCycles} - used, fits});
    used = static_cast<uint8_t>(used + taken);
    slots -= taken;
    if (taken != 0) last = std::max(from + taken, bucket * kBucketCycles + used);
    ++bucket;
    fits = kBucketCycles;
  }
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
