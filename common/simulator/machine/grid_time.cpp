/// \file
/// A launch with a timing model: how its SMs fetch code, and what independent clusters took
/// together when each has run as if it were alone.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "common/simulator/base/bits.hpp"
#include "common/simulator/clock/l2_launch.hpp"
#include "common/simulator/clock/launch_time.hpp"
#include "common/simulator/clock/sm_times.hpp"
#include "common/simulator/machine/device.hpp"
#include "common/simulator/machine/grid.hpp"
#include "common/simulator/machine/kernel.hpp"
#include "common/simulator/schedule/passes.hpp"

namespace bw::sim {
namespace {

/// How often the reads that were merged are recomputed.
constexpr int kReadRounds = 3;

constexpr auto kL2Read = static_cast<size_t>(Resource::l2_read_bytes);

/// What a cluster has asked the L2 cache for, by intervals.
std::vector<float> l2_reads(const DemandProfile& profile) {
  std::vector<float> bytes;
  for (const Amounts& amounts : profile.intervals.front()) bytes.push_back(amounts[kL2Read]);
  return bytes;
}

}  // namespace

void Grid::find_code_rates(const TimingTable& times) {
  const uint64_t bytes = code_bytes(kernel_.module().schedule_of(kernel_.function())->times);
  const uint64_t since =
      device_.code_since(kernel_.function().name, bytes, times.code_gpc_cache_bytes);
  // SMs of a pair fetch a line together; the pairs of a GPC, one after the other.
  constexpr uint32_t kPair = 2;
  std::map<uint32_t, std::set<uint32_t>> pairs;
  const auto ctas = static_cast<uint32_t>(configuration_.cluster.volume());
  for (uint64_t slot = 0; slot < resident_clusters_; ++slot)
    for (uint32_t cta = 0; cta < ctas; ++cta) pairs[gpcs_[slot]].insert(sm_of(slot, cta) / kPair);
  for (const auto& [gpc, of_gpc] : pairs) {
    CodeFetch::Rate& rate = code_rates_[gpc];
    rate = {.jump_cycles = times.code_jump_cycles,
            .ahead_lines = times.code_ahead_lines,
            .instructions = static_cast<uint32_t>(bytes / kInstructionBytes)};
    if (since <= times.code_cache_bytes) continue;
    rate.line_cycles = times.code_line_cycles;
    rate.fetch_link_cycles = times.code_fetch_link_cycles * static_cast<double>(of_gpc.size());
    if (since <= times.code_gpc_cache_bytes) continue;
    rate.launched_lines = times.code_launched_lines;
    rate.launched_cycles = times.code_launched_cycles;
    rate.far_cycles = times.code_far_cycles;
  }
}

const CodeFetch::Rate& Grid::code_rate(uint64_t slot) const { return code_rates_.at(gpcs_[slot]); }

LaunchCapacity Grid::capacity() const {
  const TimingTable& times = *device_.settings().times();
  // A cluster that waited for its share while it ran is not slowed down again after the run.
  constexpr float kNoLimit = std::numeric_limits<float>::infinity();
  const bool has_waited = l2_->shares();
  const uint64_t cluster_ctas = configuration_.cluster.volume();
  // Not all SMs hold clusters of more than two CTAs.
  const uint64_t used_sms =
      ceil_div(device_.resident_clusters(ctas_per_sm_, cluster_ctas) * cluster_ctas, ctas_per_sm_);
  std::vector<uint32_t> ports(resident_clusters_);
  for (uint64_t slot = 0; slot < resident_clusters_; ++slot)
    ports[slot] = places_[slot % places_.size()].port;
  const std::set<uint32_t> used_ports(ports.begin(), ports.end());
  const double l2_a_cycle =
      std::min(times.l2_bytes_per_cycle,
               times.l2_port_bytes_per_cycle * static_cast<double>(used_ports.size()));
  return {.places = resident_clusters_,
          .ctas_per_cluster = static_cast<uint32_t>(cluster_ctas),
          .sms = std::min(device_.settings().sm_count, static_cast<uint32_t>(used_sms)),
          .gpcs = gpcs_,
          .a_cycle = {SmTimes::kSchedulers, 1, 1, 1, 1,
                      has_waited ? kNoLimit : static_cast<float>(l2_a_cycle),
                      has_waited ? kNoLimit : static_cast<float>(times.l2_write_bytes_per_cycle),
                      has_waited ? kNoLimit : static_cast<float>(times.hbm_bytes_per_cycle)},
          .ports = ports,
          .port_a_cycle = has_waited ? kNoLimit : times.l2_port_bytes_per_cycle,
          .l2_queue_cycles = has_waited ? 0 : times.l2_queue_cycles,
          .copy_cycles = static_cast<double>(times.l2_load_latency + times.tma_load_cycles),
          .begins = begins_,
          .credit = static_cast<double>(times.bandwidth_credit),
          .landing_passes =
              times.tma_load_bytes_per_cycle / kSharedPassBytes * times.copy_landing_passes,
          .turnover = times.cta_turnover,
          .follow = configuration_.in_clusters ? times.begin_many_clusters_cycles
                                               : times.begin_many_cycles};
}

Cycle Grid::corrected_time(std::vector<DemandProfile>& profiles) {
  for (uint64_t index = 0; !in_steps_ && index < profiles.size(); ++index)
    l2_->correct(index, profiles[index]);
  const LaunchCapacity resources = capacity();
  const FallingClock clock{.times = device_.settings().times(), .sms = device_.settings().sm_count};
  LaunchTime time = launch_time(profiles, resources, clock);
  if (!in_steps_ && profiles.size() > 1) {
    // When clusters run says what they read together, and that says how long they take.
    std::vector<std::vector<float>> asked(profiles.size());
    std::transform(profiles.begin(), profiles.end(), asked.begin(), l2_reads);
    std::vector<double> before(profiles.size(), 1);
    for (int round = 0; round < kReadRounds; ++round) {
      const std::vector<double> parts =
          l2_->reads().parts(*device_.settings().times(), time, profiles);
      if (parts == before) break;
      for (size_t i = 0; i < profiles.size(); ++i)
        for (size_t interval = 0; interval < asked[i].size(); ++interval)
          profiles[i].intervals.front()[interval][kL2Read] =
              asked[i][interval] * static_cast<float>(parts[i]);
      before = parts;
      time = launch_time(profiles, resources, clock);
    }
  }
  lives_ = std::move(time.lives);
  tensor_use_ = std::move(time.tensor_use);
  writing_cycles_ = time.writing;
  return time.cycles;
}

}  // namespace bw::sim
