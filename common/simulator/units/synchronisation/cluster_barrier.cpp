#include "common/simulator/units/synchronisation/cluster_barrier.hpp"

#include <algorithm>
#include <bit>
#include <string>

#include <fmt/core.h>

#include "common/simulator/clock/costs.hpp"

namespace bw::sim {
ClusterBarrier::ClusterBarrier(Cluster& cluster) : cluster_(cluster) {}
ClusterBarrier::~ClusterBarrier() = default;

void ClusterBarrier::prepare() {
  if (!warps_.empty()) return;
  warps_per_cta_ = static_cast<uint32_t>(cluster_.cta(0).warps.size());
  warps_.resize(size_t{warps_per_cta_} * cluster_.size());
  for (const Cta& cta : cluster_.ctas())
    for (const Warp& warp : cta.warps)
      live_threads_ += static_cast<uint32_t>(std::popcount(warp.live));
}

ClusterBarrier::WarpState& ClusterBarrier::state_of(const Warp& warp) {
  return warps_[size_t{warp.cta->rank} * warps_per_cta_ + warp.index];
}

const ClusterBarrier::WarpState& ClusterBarrier::warp_state(uint32_t cta_rank,
                                                            uint32_t warp) const {
  static constexpr WarpState kUnused;
  const size_t index = size_t{cta_rank} * warps_per_cta_ + warp;
  return index < warps_.size() ? warps_[index] : kUnused;
}

void ClusterBarrier::arrive(Strand& strand, const Instruction& instruction, LaneMask lanes,
                            Cycle performed) {
  prepare();
  performed_ = std::max(performed_, performed);
  WarpState& state = state_of(*strand.warp);
  if (const LaneMask again = state.outstanding & lanes; again != 0) {
    Site{strand, instruction, again}.fault(
        {.code = FaultCode::cluster_arrived_twice,
         .what = fmt::format(
             "a thread arrives at the cluster barrier again before it has waited for phase {}",
             phase_),
         .rule = "each barrier.cluster.arrive is followed by a barrier.cluster.wait of the same "
                 "thread before the next arrive",
         .fix = "pair every arrive with a wait"});
  }
  strand.time = strand.cta->clock->arrive_at_cluster(strand.warp->index, strand.time);
  state.outstanding |= lanes;
  state.arrived |= lanes;
  arrived_threads_ += static_cast<uint32_t>(std::popcount(lanes));
  cluster_.note_progress();
  const Origin origin = strand.origin(instruction, lanes);
  if (cluster_.observed(EventKind::barrier)) {
    BarrierEvent event;
    event.origin = origin;
    event.cycle = strand.time;
    event.of_cluster = true;
    event.threads = live_threads_;
    event.phase = phase_;
    cluster_.notify(&Observer::on_barrier, event);
  }
  complete_if_due(origin, strand.time);
}

Flow ClusterBarrier::wait(Strand& strand, const Instruction& instruction, LaneMask lanes) {
  prepare();
  WarpState& state = state_of(*strand.warp);
  if (const LaneMask missing = lanes & ~state.outstanding; missing != 0) {
    Site{strand, instruction, missing}.fault(
        {.code = FaultCode::cluster_wait_without_arrive,
         .what = "a thread waits at the cluster barrier without having arrived",
         .rule =
             "barrier.cluster.wait waits for the phase of the thread's own barrier.cluster.arrive",
         .fix = "execute barrier.cluster.arrive first, in the same threads"});
  }
  if ((state.arrived & lanes) != 0 && strand.wake == Wake::none) {
    const Flow flow = strand.block(WaitKind::cluster_barrier, phase_, 0);
    waiters_.push_back({&strand, strand.wait_token});
    return flow;
  }
  if (strand.wake == Wake::none) strand.time += cluster_.costs().cluster_wait();
  state.outstanding &= ~lanes;
  strand.warp->last_acquire = strand.time;
  if (cluster_.observed(EventKind::order)) {
    OrderEvent event{.operation = OrderEvent::Operation::cluster_barrier_pass,
                     .origin = strand.origin(instruction, lanes),
                     .cycle = strand.time};
    event.phase = phase_ - 1;
    cluster_.notify(&Observer::on_order, event);
  }
  return Flow::next;
}

void ClusterBarrier::on_lanes_exit(Warp& warp, LaneMask lanes, Cycle now) {
  if (warps_.empty()) return;
  WarpState& state = state_of(warp);
  arrived_threads_ -= static_cast<uint32_t>(std::popcount(state.arrived & lanes));
  live_threads_ -= static_cast<uint32_t>(std::popcount(lanes));
  state.arrived &= ~lanes;
  state.outstanding &= ~lanes;
  complete_if_due(
      {nullptr, static_cast<uint16_t>(warp.cta->rank), static_cast<uint16_t>(warp.index), lanes},
      now);
}

Cycle ClusterBarrier::latency() const { return cluster_.costs().cluster_barrier(cluster_.size()); }

void ClusterBarrier::complete_if_due(const Origin& last, Cycle now) {
  if (completing_ || arrived_threads_ == 0 || arrived_threads_ != live_threads_) return;
  completing_ = true;
  const Cycle latency = this->latency();
  // A passing warp sees what was released.
  const Cycle begin = performed_ < latency ? now : std::max(now, performed_ - latency + 1);
  performed_ = 0;
  cluster_.after(begin, latency, [this, last](Cycle release) {
    if (cluster_.observed(EventKind::barrier)) {
      BarrierEvent event;
      event.origin = last;
      event.cycle = release;
      event.of_cluster = true;
      event.completes = true;
      event.threads = arrived_threads_;
      event.phase = phase_;
      cluster_.notify(&Observer::on_barrier, event);
    }
    completing_ = false;
    arrived_threads_ = 0;
    ++phase_;
    for (WarpState& state : warps_) state.arrived = 0;
    for (const Waiter& waiter : waiters_) {
      if (waiter.strand->suspended && waiter.strand->wait_token == waiter.wait_token)
        cluster_.wake(*waiter.strand, release);
    }
    waiters_.clear();
    cluster_.note_progress();
  });
}

}  // namespace bw::sim
