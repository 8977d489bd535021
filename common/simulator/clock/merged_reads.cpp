#include "common/simulator/clock/merged_reads.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <tuple>

#include "common/simulator/clock/timing_table.hpp"

namespace bw::sim {
namespace {

// Nearly all are at first, and `l2_merge_part` of them later (rings.first_slots, rings.window).
constexpr double kMergedAtFirst = 0.9;
constexpr double kDriftCycles = 6000;

}  // namespace

double merged_part(const TimingTable& times, double at, bool ctas_share_sms) {
  const double later = ctas_share_sms ? (1 + times.l2_merge_part) / 2 : times.l2_merge_part;
  return later + (kMergedAtFirst - later) * std::exp(-at / kDriftCycles);
}

void MergedReads::count(const TimingTable& times, Cycle until) {
  const auto end = std::partition(reads_.begin(), reads_.end(),
                                  [&](const L2Read& read) { return read.at < until; });
  if (end == reads_.begin()) return;
  std::sort(reads_.begin(), end, [](const L2Read& a, const L2Read& b) {
    return std::tie(a.key, a.port, a.at) < std::tie(b.key, b.port, b.at);
  });
  for (Count& port : ports_) {
    port.asked_bytes *= kCountedBefore;
    port.saved_bytes *= kCountedBefore;
  }
  OpenRequest open(static_cast<double>(times.l2_merge_cycles));
  const std::span<const L2Read> counted(reads_.data(), static_cast<size_t>(end - reads_.begin()));
  for (const L2Read& read : counted) {
    if (read.port >= ports_.size()) ports_.resize(read.port + 1);
    ports_[read.port].asked_bytes += read.bytes;
    const auto at = static_cast<double>(read.at);
    if (open.is_joined_by(read.key, read.port, at))
      ports_[read.port].saved_bytes += read.bytes * merged_part(times, at);
  }
  reads_.erase(reads_.begin(), end);
  all_ = {};
  const auto find_part = [&](Count& count) {
    if (count.asked_bytes != 0) count.part = 1 - count.saved_bytes / count.asked_bytes;
  };
  for (Count& port : ports_) {
    find_part(port);
    all_.asked_bytes += port.asked_bytes;
    all_.saved_bytes += port.saved_bytes;
  }
  find_part(all_);
}

}  // namespace bw::sim
