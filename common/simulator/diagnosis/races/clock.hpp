#pragma once
/// \file
/// Vector clocks: what has happened before a point of a cluster's run.
///
/// Agents are the lanes of the cluster's warps and its asynchronous operations. A warp has one
/// counter for its 32 lanes; it advances whenever one of them hands its past on, so that what the
/// lane does next is not part of what it handed on. Asynchronous operations are put on chains: a
/// chain is a row of operations each of which begins after the previous one is known to be
/// complete, so one counter represents all of them and nothing is lost.
///
/// Reference: C. Flanagan, S. N. Freund, "FastTrack: Efficient and Precise Dynamic Race Detection",
/// PLDI 2009, for epochs; the rest follows from the memory consistency model of the PTX ISA.

#include <cstdint>

#include "common/simulator/base/types.hpp"
#include "common/simulator/diagnosis/races/agent_clocks.hpp"
#include "common/simulator/diagnosis/races/foreign_clocks.hpp"

namespace bw::sim::races {

/// How far each agent is known: of the cluster itself, and of others. Agents that are not mentioned
/// are known up to 0. Copies share what they know until one of them learns more.
class VectorClock {
 public:
  /// The lanes of a warp that are known up to `clock` at least.
  [[nodiscard]] LaneMask lanes_known(uint32_t warp, Clock clock) const {
    return own_ == nullptr ? 0 : own_->lanes_known(warp, clock);
  }
  /// Whether these lanes of a warp are known up to `clock`.
  [[nodiscard]] bool knows_lanes(uint32_t warp, LaneMask lanes, Clock clock) const {
    return lanes == 0 || (own_ != nullptr && own_->knows_lanes(warp, lanes, clock));
  }
  /// Whether a chain of asynchronous operations is known up to `clock`.
  [[nodiscard]] bool knows_chain(uint32_t chain, Clock clock) const {
    return own_ != nullptr && own_->knows_chain(chain, clock);
  }
  /// The lanes of a warp of another cluster that are known up to `clock` at least.
  [[nodiscard]] LaneMask foreign_lanes_known(uint64_t cluster, uint32_t warp, Clock clock) const {
    const SharedClocks& clocks = foreign_.of(cluster);
    return clocks == nullptr ? 0 : clocks->lanes_known(warp, clock);
  }
  /// Whether a chain of another cluster is known up to `clock`.
  [[nodiscard]] bool knows_foreign_chain(uint64_t cluster, uint32_t chain, Clock clock) const {
    const SharedClocks& clocks = foreign_.of(cluster);
    return clocks != nullptr && clocks->knows_chain(chain, clock);
  }
  /// The lanes of an agent, of this cluster or another, that are known up to `clock` at least; of a
  /// chain all or none.
  [[nodiscard]] LaneMask known(bool is_foreign, uint64_t cluster, bool is_chain, uint32_t agent,
                               Clock clock) const {
    if (is_chain) {
      const bool is_known =
          is_foreign ? knows_foreign_chain(cluster, agent, clock) : knows_chain(agent, clock);
      return is_known ? kAllLanes : 0;
    }
    return is_foreign ? foreign_lanes_known(cluster, agent, clock) : lanes_known(agent, clock);
  }

  /// Lanes become known up to `clock`.
  void learn_lanes(uint32_t warp, LaneMask lanes, Clock clock) {
    if (!knows_lanes(warp, lanes, clock)) own_.own().learn_lanes(warp, lanes, clock);
  }
  /// A chain becomes known up to `clock`.
  void learn_chain(uint32_t chain, Clock clock) {
    if (!knows_chain(chain, clock)) own_.own().learn_chain(chain, clock);
  }
  /// Lanes of a warp of another cluster become known up to `clock`.
  void learn_foreign_lanes(uint64_t cluster, uint32_t warp, LaneMask lanes, Clock clock);
  /// A griddepcontrol.wait comes before: of this thread, or of one that has handed its past on.
  void pass_grid_wait() { is_past_grid_wait_ = true; }
  /// See pass_grid_wait().
  [[nodiscard]] bool is_past_grid_wait() const { return is_past_grid_wait_; }

  /// Everything that `other` knows becomes known. Mostly both share it already.
  void join(const VectorClock& other) {
    is_past_grid_wait_ = is_past_grid_wait_ || other.is_past_grid_wait_;
    if (other.own_ != own_) join_own(other.own_);
    if (other.foreign_ != foreign_) foreign_.join(other.foreign_);
  }
  /// What `other` knows of asynchronous operations becomes known.
  void join_chains(const VectorClock& other);
  /// Everything that `other`, of another cluster, knows becomes known.
  void join_foreign(const VectorClock& other, uint64_t cluster);
  /// The same of what threads of several clusters know, each of which is foreign to `other`.
  void join_foreign(const VectorClock& other) {
    foreign_.join(other.foreign_);
    is_past_grid_wait_ = is_past_grid_wait_ || other.is_past_grid_wait_;
  }
  /// What came back from other clusters of this cluster's own agents becomes known as its own. The
  /// foreign clocks keep it, so that clusters can share them.
  void take_home(uint64_t cluster) { join_own(foreign_.of(cluster)); }
  /// Whether both share what they know; otherwise they may know the same all the same.
  friend bool operator==(const VectorClock&, const VectorClock&) = default;
  /// Whether nothing is known.
  [[nodiscard]] bool empty() const {
    return own_ == nullptr && foreign_.empty() && !is_past_grid_wait_;
  }
  /// Forgets everything.
  void clear() { *this = {}; }

 private:
  void join_own(const SharedClocks& other);

  SharedClocks own_;                ///< of the cluster's own agents
  ForeignClocks foreign_;           ///< of other clusters, and what came back of this one
  bool is_past_grid_wait_ = false;  ///< see pass_grid_wait()
};

/// What an agent knows when it does something, in the ways that the PTX ISA tells apart.
struct View {
  /// C: what happens before.
  VectorClock generic;
  /// P: what of that, done through the generic proxy, the async proxy sees (fence.proxy.async) in
  /// shared memory.
  VectorClock async;
  /// The same in global memory.
  VectorClock async_global;
  /// Asynchronous operations that are over, also where nothing makes what they wrote visible: what
  /// they have read may be overwritten.
  VectorClock performed;
  /// Asynchronous operations that are over for the async proxy alone
  /// (cp.async.bulk.wait_group.sync_restrict::proxy::async): what they wrote, it sees.
  VectorClock copied;
  /// Reads of shared memory through the generic proxy that the async proxy sees, without the writes
  /// next to them (the form of fence.proxy.async for reads).
  VectorClock async_reads;
  /// I: mbarrier.init that asynchronous units and other CTAs see (fence.mbarrier_init).
  VectorClock inits;

  /// Everything that `other` knows becomes known.
  void join(const View& other) {
    generic.join(other.generic);
    async.join(other.async);
    async_global.join(other.async_global);
    performed.join(other.performed);
    copied.join(other.copied);
    async_reads.join(other.async_reads);
    inits.join(other.inits);
  }
  /// Everything that `other`, of another cluster, knows becomes known, but for mbarriers, which are
  /// none of this cluster's.
  void join_foreign(const View& other, uint64_t cluster) {
    generic.join_foreign(other.generic, cluster);
    async.join_foreign(other.async, cluster);
    async_global.join_foreign(other.async_global, cluster);
  }
  /// The same of what threads of several clusters know, each of which is foreign to `other`.
  void join_foreign(const View& other) {
    generic.join_foreign(other.generic);
    async.join_foreign(other.async);
    async_global.join_foreign(other.async_global);
  }
  /// See VectorClock::take_home.
  void take_home(uint64_t cluster) {
    generic.take_home(cluster);
    async.take_home(cluster);
    async_global.take_home(cluster);
  }
  /// See VectorClock.
  friend bool operator==(const View&, const View&) = default;
  /// Whether nothing is known.
  [[nodiscard]] bool empty() const {
    return generic.empty() && async.empty() && async_global.empty() && performed.empty() &&
           copied.empty() && async_reads.empty() && inits.empty();
  }
  /// Forgets everything.
  void clear() { *this = {}; }
};

/// A view that no longer changes.
using SharedView = SharedValue<View>;

}  // namespace bw::sim::races
