#include "common/simulator/clock/tensor_clock.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "common/simulator/clock/demand.hpp"
#include "common/simulator/clock/timing_table.hpp"

namespace bw::sim {
namespace {

constexpr auto kTensor = static_cast<size_t>(Resource::tensor_cycles);
constexpr auto kCopies = static_cast<size_t>(Resource::loading_cycles);
constexpr auto kInterval = static_cast<double>(Demand::kInterval);
/// Averaging window of the tensor cores' utilisation: K blocks, not single MMAs.
constexpr double kMeanCycles = 2048;

/// Walks over the first `cycles` of intervals: `in(i)` returns what `used_sms` SMs of `sms` do in
/// interval i. MMAs that exceed an interval carry over to the next ones.
template <class In>
double walk(double cycles, double used_sms, double sms, const TimingTable& times, In&& in) {
  TensorClock clock(times);
  const double most = used_sms * kInterval;
  double more = 0, carried = 0;
  for (size_t i = 0; static_cast<double>(i) * kInterval < cycles; ++i) {
    const double length = std::min(kInterval, cycles - static_cast<double>(i) * kInterval);
    const TensorUse::Interval interval = in(i);
    const double wanted = carried + interval.tensor;
    const double done = std::min(wanted, most);
    carried = wanted - done;
    more += clock.more_cycles(length, {.sms = used_sms / sms,
                                       .busy = done / most,
                                       .copies = std::min(1.0, interval.copies / most)});
  }
  return more;
}

}  // namespace

double TensorClock::more_cycles(double cycles, const TensorLoad& load) {
  const auto part_in = [&](double span) { return 1 - std::exp(-cycles / span); };
  const auto hold = static_cast<double>(times_.tensor_clock_hold);
  const double busy = load.sms * load.busy;
  bool is_low = true;
  if (busy > 0) {
    // The MMAs' position in the interval is unknown: half of its idle time precedes them.
    const double half = (1 - load.busy) * cycles / 2;
    const double rested = rest_ + half;
    if (rested >= static_cast<double>(times_.tensor_clock_rest)) dip_ = times_.tensor_clock_dip;
    if (rested >= hold) busy_ = busy;
    rest_ = half;
  } else {
    is_low = rest_ + cycles / 2 < hold;
    rest_ += cycles;
  }
  recovered_ += ((is_low ? 1 : 0) - recovered_) * part_in(times_.tensor_clock_recovery_cycles);
  if (!is_low) return 0;
  busy_ += (busy - busy_) * part_in(kMeanCycles);
  // A steady load of a part u costs u^p: while there is some, u^(p - 1).
  const double multiplying =
      times_.tensor_clock_load * busy * std::pow(busy_, times_.tensor_clock_power - 1);
  const double lost = times_.tensor_clock_drop +
                      multiplying * (1 - times_.tensor_clock_recovery * recovered_) +
                      times_.tensor_clock_copies * load.sms * load.copies;
  const double dipped = dip_ * part_in(times_.tensor_clock_dip_cycles);
  dip_ -= dipped;
  return cycles * (1 / (1 - lost) - 1) + dipped;
}

void TensorUse::add(double from, double to, const Interval& done) {
  if (done.tensor <= 0 && done.copies <= 0) return;
  const auto first = static_cast<size_t>(from / kInterval);
  const auto last = std::max(first, static_cast<size_t>(std::ceil(to / kInterval)) - 1);
  if (intervals_.size() <= last) intervals_.resize(last + 1);
  for (size_t i = first; i <= last; ++i) {
    const double begin = std::max(from, static_cast<double>(i) * kInterval);
    const double end = std::min(to, static_cast<double>(i + 1) * kInterval);
    const double part = first == last ? 1 : (end - begin) / (to - from);
    intervals_[i].tensor += part * done.tensor;
    intervals_[i].copies += part * done.copies;
  }
}

void TensorUse::add(const DemandProfile& cluster, double begin) {
  const auto length = static_cast<double>(cluster.interval);
  for (const auto& cta : cluster.intervals)
    for (size_t i = 0; i < cta.size(); ++i)
      add(begin + static_cast<double>(i) * length, begin + static_cast<double>(i + 1) * length,
          {.tensor = static_cast<double>(cta[i][kTensor]),
           .copies = static_cast<double>(cta[i][kCopies])});
  count_ctas(cluster);
}

void TensorUse::count_ctas(const DemandProfile& cluster) {
  for (const auto& cta : cluster.intervals)
    ctas_ += std::any_of(cta.begin(), cta.end(),
                         [](const Amounts& amounts) { return amounts[kTensor] > 0; })
                 ? 1
                 : 0;
}

Cycle TensorUse::stretched(Cycle cycles, uint32_t sms, const TimingTable& times) const {
  if (ctas_ == 0) return cycles;
  const double more =
      walk(static_cast<double>(cycles), std::min(ctas_, sms), sms, times,
           [&](size_t i) { return i < intervals_.size() ? intervals_[i] : Interval{}; });
  return cycles + static_cast<Cycle>(more);
}

double tensor_clock_delay(const Demand& cluster, Cycle cycles, double sms,
                          const TimingTable& times) {
  const std::vector<double> used = cluster.intervals_of(Resource::tensor_cycles);
  if (used.empty()) return 0;
  const std::vector<double> copies = cluster.intervals_of(Resource::loading_cycles);
  const double ctas = cluster.ctas();
  return walk(static_cast<double>(cycles), ctas, ctas / sms, times, [&](size_t i) {
    return TensorUse::Interval{.tensor = i < used.size() ? used[i] : 0,
                               .copies = i < copies.size() ? copies[i] : 0};
  });
}

}  // namespace bw::sim
