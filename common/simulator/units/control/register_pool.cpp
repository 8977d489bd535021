#include "common/simulator/units/control/register_pool.hpp"

#include <algorithm>

#include "common/simulator/machine/kernel.hpp"
#include "common/simulator/machine/limits.hpp"

namespace bw::sim {
namespace {

constexpr int64_t kMostRegistersAtLaunch = 255;

}  // namespace

int64_t RegisterPool::at_launch() const {
  const ptx::EntryDirectives& directives = cta_.cluster->kernel().function().directives;
  const auto threads = static_cast<int64_t>(cta_.warps.size()) * kWarpLanes;
  const int64_t share = kRegistersPerSm / std::max(1u, directives.min_ctas_per_sm);
  int64_t count = std::min(share / threads, kMostRegistersAtLaunch);
  if (directives.max_registers != 0) count = std::min<int64_t>(count, directives.max_registers);
  return count / kRegisterGranularity * kRegisterGranularity;
}

int64_t& RegisterPool::of(const Warp& warp) {
  if (per_warp_.empty()) per_warp_.assign(cta_.warps.size(), at_launch());
  return per_warp_[warp.index];
}

bool RegisterPool::take(const Warp& warp, int64_t count) {
  int64_t& own = of(warp);
  const int64_t missing = (count - own) * kWarpLanes;
  if (missing <= 0) return true;
  if (missing > free_) return false;
  free_ -= missing;
  own = count;
  return true;
}

Flow RegisterPool::increase(Strand& strand, int64_t count) {
  if (strand.resumed() || take(*strand.warp, count)) return Flow::next;
  waiters_.push_back({&strand, count});
  const int64_t missing = (count - of(*strand.warp)) * kWarpLanes - free_;
  return strand.block(WaitKind::register_pool, static_cast<uint64_t>(count),
                      static_cast<uint64_t>(missing));
}

void RegisterPool::decrease(const Strand& strand, int64_t count) {
  int64_t& own = of(*strand.warp);
  if (count >= own) return;
  free_ += (own - count) * kWarpLanes;
  own = count;
  Cluster& cluster = *strand.cluster;
  cluster.note_progress();
  std::erase_if(waiters_, [&](const Waiter& waiter) {
    if (!take(*waiter.strand->warp, waiter.count)) return false;
    cluster.wake(*waiter.strand, strand.time);
    return true;
  });
}

}  // namespace bw::sim
