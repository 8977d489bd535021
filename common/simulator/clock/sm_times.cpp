#include "common/simulator/clock/sm_times.hpp"

#include "common/simulator/clock/timing_table.hpp"

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

Cycle SmTimes::constant_line(uint64_t line, uint32_t warp, Cycle now, const TimingTable& times) {
  if (!is_first) return now;
  return constants[warp % kSchedulers].ready(line, now, [&] {
    return code.use_link(now, times.constant_link_lines) + times.constant_line_cycles;
  });
}

}  // namespace bw::sim
