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

}  // namespace bw::sim
