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

Cycle FirstUses::ready(uint64_t which, Cycle now, Cycle fetch_cycles) {
  for (const auto& [known, ready] : ready_)
    if (known == which) return std::max(ready, now);
  ready_.emplace_back(which, now + fetch_cycles);
  return now + fetch_cycles;
}

}  // namespace bw::sim
