#pragma once
/// \file
/// Contention of one CTA's warps and units on its SM: issue slots, and units that serve one request
/// at a time.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "common/simulator/base/types.hpp"
#include "common/simulator/clock/code_fetch.hpp"

namespace bw::sim {

struct TimingTable;

/// The slots of a unit that serves one request a cycle. Users run ahead of others in simulated
/// time, so times arrive in any order: slots go to the first to ask.
class SlotCalendar {
 public:
  /// Takes `slots` from `from` on, one a cycle where they are free; returns the last one's end.
  Cycle reserve(Cycle from, uint32_t slots) {
    const uint64_t bucket = from / kBucketCycles;
    // Mostly they fit where they begin.
    if (bucket - first_ < used_.size()) {
      uint8_t& used = used_[bucket & (used_.size() - 1)];
      const auto before = static_cast<uint32_t>(from % kBucketCycles);
      if (std::max<uint32_t>(before, used) + slots <= kBucketCycles) {
        used = static_cast<uint8_t>(used + slots);
        return std::max(from + slots, bucket * kBucketCycles + used);
      }
    }
    return reserve_in_several(from, slots);
  }
  /// Takes `slots` that begin at `from`, one a cycle, if they are free and nothing is to be
  /// forgotten at `now`; returns whether it does. Mostly it does.
  bool take_at_once(Cycle now, Cycle from, uint32_t slots) {
    const uint64_t bucket = from / kBucketCycles;
    if (bucket - first_ >= used_.size() || now / kBucketCycles >= first_ + kLeastForgotten)
      return false;
    uint8_t& used = used_[bucket & (used_.size() - 1)];
    const auto before = static_cast<uint32_t>(from % kBucketCycles);
    if (used > before || before + slots > kBucketCycles) return false;
    used = static_cast<uint8_t>(used + slots);
    return true;
  }
  /// Takes `slots` between `from` and `to`, as many in each bucket as they allow; returns `to`, or
  /// the end of the last slot that did not fit.
  Cycle reserve_between(Cycle from, Cycle to, uint32_t slots) {
    uint64_t bucket = std::max(from / kBucketCycles, first_);
    for (const uint64_t end = to / kBucketCycles; bucket <= end && slots != 0; ++bucket) {
      uint8_t& used = at(bucket);
      const auto left = static_cast<uint32_t>(end - bucket) + 1;
      const uint32_t taken =
          std::min<uint32_t>((slots + left - 1) / left, uint32_t{kBucketCycles} - used);
      used = static_cast<uint8_t>(used + taken);
      slots -= taken;
    }
    return slots == 0 ? to : reserve(std::max(from, to), slots);
  }
  /// No later request asks for slots before `now`.
  void forget_before(Cycle now) {
    const uint64_t bucket = now / kBucketCycles;
    if (bucket < first_ + kLeastForgotten) return;
    const uint64_t end = std::min(bucket, first_ + used_.size());
    for (uint64_t old = first_; old < end; ++old) used_[old & (used_.size() - 1)] = 0;
    first_ = bucket;
  }

 private:
  static constexpr uint32_t kBucketCycles = 32;
  static constexpr uint64_t kLeastForgotten = 16;
  static constexpr size_t kFirstBuckets = 64;  ///< a power of two, as all sizes

  Cycle reserve_in_several(Cycle from, uint32_t slots);
  uint8_t& at(uint64_t bucket) {
    while (bucket - first_ >= used_.size()) grow();
    return used_[bucket & (used_.size() - 1)];
  }
  void grow() {
    std::vector<uint8_t> larger(std::max(kFirstBuckets, 2 * used_.size()), 0);
    for (uint64_t bucket = first_; bucket < first_ + used_.size(); ++bucket)
      larger[bucket & (larger.size() - 1)] = used_[bucket & (used_.size() - 1)];
    used_ = std::move(larger);
  }

  uint64_t first_ = 0;  ///< the earliest bucket that is kept
  std::vector<uint8_t> used_;
};

/// The issue slots of a scheduler. A warp books a whole region's slots at once, but a scheduler
/// lets warps take turns: one that issues little does not wait until another has issued much.
/// Larger requests are served in order.
class IssueCalendar {
 public:
  /// Takes `slots` for a warp, numbered within its scheduler, as SlotCalendar::take_at_once.
  bool take_at_once(Cycle now, Cycle from, uint32_t slots, uint32_t warp) {
    if (!slots_.take_at_once(now, from, slots)) return false;
    Reservation& own = reservation_of(warp);
    own.pay(from, slots);
    own.until = std::max(own.until, from + slots);
    return true;
  }
  /// Takes `slots` for a warp, numbered within its scheduler; returns the last one's end.
  Cycle reserve(Cycle from, uint32_t slots, uint32_t warp) {
    Cycle last = slots_.reserve(from, slots);
    Reservation& own = reservation_of(warp);
    // No warp is served sooner than alone.
    if (own.pay(from, slots) && last > from + slots)
      last = std::min(last, from + slots * (others(warp, from) + 1));
    own.until = std::max(own.until, last);
    return last;
  }
  /// Takes slots evenly between two times, for something that no warp issues.
  void take_between(Cycle from, Cycle to, uint32_t slots) {
    slots_.reserve_between(from, to, slots);
  }
  /// No later request asks for slots before `now`.
  void forget_before(Cycle now) { slots_.forget_before(now); }

 private:
  static constexpr uint32_t kWarps = 16;  ///< of a scheduler, at most
  // A slot that a warp gets ahead of others' bookings is booked after them: they would pay later.
  // So only warps that use few slots get credit; together they can't use up a scheduler, since it
  // has at most eight warps of a CTA. Neither constant is a hardware figure.
  static constexpr uint32_t kCyclesPerCredit = 10;
  static constexpr uint32_t kMostCredit = 128;

  struct Reservation {
    Cycle until = 0;      ///< when the warp's requests have all been served
    uint32_t credit = 0;  ///< slots that it may still have in turn
    Cycle credited_at = 0;

    /// It takes slots from `from` on; returns whether it had credit for them.
    bool pay(Cycle from, uint32_t slots) {
      if (from > credited_at) {
        const Cycle more = (from - credited_at) / kCyclesPerCredit;
        credit = static_cast<uint32_t>(std::min<Cycle>(credit + more, kMostCredit));
        credited_at += more * kCyclesPerCredit;
      }
      const bool has_credit = slots <= credit;
      credit = has_credit ? credit - slots : 0;
      return has_credit;
    }
  };

  Reservation& reservation_of(uint32_t warp) {
    warps_known_ = std::max(warps_known_, warp + 1);
    return warps_[warp];
  }

  /// How many others still have something to issue then.
  [[nodiscard]] Cycle others(uint32_t warp, Cycle at) const {
    Cycle count = 0;
    for (uint32_t other = 0; other < warps_known_; ++other)
      count += other != warp && warps_[other].until > at ? 1 : 0;
    return count;
  }

  SlotCalendar slots_;
  uint32_t warps_known_ = 0;  ///< no other has asked for any
  std::array<Reservation, kWarps> warps_{};
};

/// A unit that serves requests one at a time, in the order in which they are made.
class Server {
 public:
  /// Occupies it for `busy` cycles from `at` on; returns the start.
  Cycle take(Cycle at, Cycle busy) {
    const Cycle begin = std::max(at, free_);
    free_ = begin + busy;
    return begin;
  }
  /// When it has served all requests.
  [[nodiscard]] Cycle free_at() const { return free_; }

 private:
  Cycle free_ = 0;
};

/// A few items that an SM fetches on first use in a launch.
class FirstUses {
 public:
  /// When item `which` is available to a user that asks now; on first use, `fetch` fetches it and
  /// returns its arrival.
  template <class Fetch>
  Cycle ready(uint64_t which, Cycle now, Fetch&& fetch) {
    for (const auto& [known, ready] : ready_)
      if (known == which) return std::max(ready, now);
    return ready_.emplace_back(which, fetch()).second;
  }

 private:
  std::vector<std::pair<uint64_t, Cycle>> ready_;
};

/// The SM of a CTA, as far as the CTA's own warps and copies compete for it.
struct SmTimes {
  static constexpr uint32_t kSchedulers = 4;          ///< warp w is served by number w % 4
  static constexpr uint64_t kConstantLineBytes = 64;  ///< of the constant bank
  std::array<IssueCalendar, kSchedulers> schedulers;  ///< one instruction a cycle each
  /// Whether this is an SM's first CTA of the launch: later ones find all that one has fetched.
  bool is_first = false;
  CodeFetch code;  ///< of the kernel
  /// Lines of the constant bank, which each scheduler's warps fetch for themselves.
  std::array<FirstUses, kSchedulers> constants;
  FirstUses tensor_maps;  ///< by their addresses
  Server shared_memory;   ///< 128 bytes a cycle
  Server load_store;      ///< accesses of threads
  Server mbarrier_inits;  ///< initialisations of mbarriers

  /// When a line of the constant bank is available to a warp that reads it now. Lines that the SM's
  /// first CTA reads first use the path of the code.
  Cycle constant_line(uint64_t line, uint32_t warp, Cycle now, const TimingTable& times);
};

}  // namespace bw::sim
