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

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "common/simulator/base/types.hpp"

namespace bw::sim::races {

/// A value of an agent's counter; 0 is before everything.
using Clock = uint32_t;

/// What is known of the lanes of one warp beyond its other lanes.
struct LaneClock {
  uint16_t warp = 0;   ///< number of the warp in its cluster
  LaneMask lanes = 0;  ///< disjoint from the other entries of the warp
  Clock clock = 0;     ///< more than the warp's common clock
};

/// An agent of another cluster and how far it is known.
struct ForeignClock {
  uint64_t agent = 0;  ///< as whoever compares clusters numbers them
  Clock clock = 0;     ///< how far
};

/// What is known of agents of other clusters. Copies share one table until one of them learns more:
/// after a barrier of the whole grid, every thread knows the same of some thousand agents.
class ForeignClocks {
 public:
  /// How far an agent is known.
  [[nodiscard]] Clock of(uint64_t agent) const;
  /// An agent becomes known up to `clock`.
  void learn(uint64_t agent, Clock clock);
  /// Everything that `other` knows becomes known.
  void join(const ForeignClocks& other);
  /// Whether everything that `other` knows is known to be known; false may be wrong.
  [[nodiscard]] bool holds(const ForeignClocks& other) const {
    return other.table_ == table_ || other.table_ == nullptr ||
           (table_ != nullptr && table_->contains(other.table_->content));
  }
  /// The agents from `first` on, ascending.
  [[nodiscard]] std::span<const ForeignClock> from(uint64_t first) const;
  /// Whether nothing is known.
  [[nodiscard]] bool empty() const { return table_ == nullptr; }
  /// Forgets everything.
  void clear() { table_ = nullptr; }

 private:
  /// What is known. Contents have numbers, so that two of them are compared once and not by every
  /// thread. A table only grows: the contents that it has had form a lineage, of which each holds
  /// the earlier ones. One of the copies of a table goes on with its lineage, the others begin
  /// their own.
  struct Table {
    std::vector<ForeignClock> clocks;  ///< ascending by agent
    uint64_t content = 0;              ///< number: the lineage, and the position in it
    // Clusters that share a table may run on several host threads.
    std::atomic<bool> is_continued = false;  ///< whether a copy goes on with the lineage
    /// Some contents of other lineages that are part of this one.
    std::array<std::atomic<uint64_t>, 16> older{};
    std::atomic<uint32_t> next_older = 0;

    Table() = default;
    Table(const Table& other)
        : clocks(other.clocks), content(other.content), next_older(other.next_older.load()) {
      for (size_t i = 0; i < older.size(); ++i) older[i] = other.older[i].load();
    }
    Table& operator=(const Table&) = delete;
    ~Table() = default;
    /// Whether this is known to contain a content.
    [[nodiscard]] bool contains(uint64_t other) const {
      return holds(content, other) ||
             std::any_of(older.begin(), older.end(),
                         [&](const auto& known) { return holds(known, other); });
    }
    /// Remembers that this contains a content.
    void add_older(uint64_t other) {
      for (auto& known : older)
        if (lineage_of(known) == lineage_of(other)) {
          if (known < other) known = other;
          return;
        }
      older[next_older++ % older.size()] = other;
    }
    /// A new content, of the same lineage or a new one.
    void advance(bool goes_on);

   private:
    static constexpr int kPositionBits = 24;
    static uint64_t lineage_of(uint64_t number) { return number >> kPositionBits; }
    static bool holds(uint64_t number, uint64_t other) {
      return lineage_of(number) == lineage_of(other) && number >= other;
    }
  };
  /// The table for a change, after which it has another content.
  Table& own();
  /// What both tables know.
  [[nodiscard]] static std::shared_ptr<Table> merged(const Table& a, const Table& b);

  std::shared_ptr<Table> table_;  ///< null where nothing is known
};

/// How far each agent of a cluster is known. Agents that are not mentioned are known up to 0.
class VectorClock {
 public:
  /// The lanes of a warp that are known up to `clock` at least.
  [[nodiscard]] LaneMask lanes_known(uint32_t warp, Clock clock) const {
    if (warp < warps_.size() && warps_[warp] >= clock) return kAllLanes;
    LaneMask known = 0;
    for (const LaneClock& entry : lanes_)
      if (entry.warp == warp && entry.clock >= clock) known |= entry.lanes;
    return known;
  }
  /// Whether these lanes of a warp are known up to `clock`.
  [[nodiscard]] bool knows_lanes(uint32_t warp, LaneMask lanes, Clock clock) const {
    if (warp < warps_.size() && warps_[warp] >= clock) return true;
    return (lanes & ~lanes_known(warp, clock)) == 0;
  }
  /// Whether a chain of asynchronous operations is known up to `clock`.
  [[nodiscard]] bool knows_chain(uint32_t chain, Clock clock) const {
    return chain < chains_.size() && chains_[chain] >= clock;
  }
  /// How far an agent of another cluster is known.
  [[nodiscard]] Clock foreign(uint64_t agent) const { return foreign_.of(agent); }

  /// Lanes become known up to `clock`.
  void learn_lanes(uint32_t warp, LaneMask lanes, Clock clock);
  /// A chain becomes known up to `clock`.
  void learn_chain(uint32_t chain, Clock clock) {
    if (chain >= chains_.size()) chains_.resize(size_t{chain} + 1, 0);
    chains_[chain] = std::max(chains_[chain], clock);
  }
  /// An agent of another cluster becomes known up to `clock`.
  void learn_foreign(uint64_t agent, Clock clock) { foreign_.learn(agent, clock); }
  /// Lanes of a warp of another cluster become known up to `clock`.
  void learn_foreign_lanes(uint64_t cluster, uint32_t warp, LaneMask lanes, Clock clock);
  /// The lanes of a warp of another cluster that are known up to `clock` at least.
  [[nodiscard]] LaneMask foreign_lanes_known(uint64_t cluster, uint32_t warp, Clock clock) const;
  /// The lanes of an agent, of this cluster or another, that are known up to `clock` at least; of a
  /// chain all or none.
  [[nodiscard]] LaneMask known(bool is_foreign, uint64_t cluster, bool is_chain, uint32_t agent,
                               Clock clock) const {
    if (is_chain) {
      const bool is_known =
          is_foreign ? foreign(foreign_chain(cluster, agent)) >= clock : knows_chain(agent, clock);
      return is_known ? kAllLanes : 0;
    }
    return is_foreign ? foreign_lanes_known(cluster, agent, clock) : lanes_known(agent, clock);
  }
  /// A griddepcontrol.wait comes before: of this thread, or of one that has handed its past on.
  void pass_grid_wait() { is_past_grid_wait_ = true; }
  /// See pass_grid_wait().
  [[nodiscard]] bool is_past_grid_wait() const { return is_past_grid_wait_; }
  /// The same for the other clusters: agents of this one, `cluster`, are foreign there.
  [[nodiscard]] VectorClock as_foreign(uint64_t cluster) const {
    VectorClock other;
    other.join_foreign(*this, cluster);
    return other;
  }
  /// Everything that `other`, of a cluster, knows becomes known in the numbers of other clusters.
  void join_foreign(const VectorClock& other, uint64_t cluster);
  /// Whether join_foreign() is known to add nothing; false may be wrong.
  [[nodiscard]] bool holds(const VectorClock& other, uint64_t cluster) const;
  /// The same as far as agents of other clusters are concerned.
  [[nodiscard]] bool holds_foreign(const VectorClock& other) const {
    return foreign_.holds(other.foreign_) && (is_past_grid_wait_ || !other.is_past_grid_wait_);
  }
  /// What came back from other clusters of this cluster's own agents becomes known as its own. The
  /// foreign clocks keep it, so that clusters can share them.
  void take_home(uint64_t cluster);
  /// Everything that `other` knows becomes known.
  void join(const VectorClock& other);
  /// What `other` knows of asynchronous operations becomes known.
  void join_chains(const VectorClock& other) {
    if (other.chains_.size() > chains_.size()) chains_.resize(other.chains_.size(), 0);
    for (size_t chain = 0; chain < other.chains_.size(); ++chain)
      chains_[chain] = std::max(chains_[chain], other.chains_[chain]);
  }
  /// Whether nothing is known.
  [[nodiscard]] bool empty() const {
    return warps_.empty() && lanes_.empty() && chains_.empty() && foreign_.empty() &&
           !is_past_grid_wait_;
  }
  /// Forgets everything.
  void clear() {
    warps_.clear();
    lanes_.clear();
    chains_.clear();
    foreign_.clear();
    is_past_grid_wait_ = false;
  }

 private:
  /// How foreign clocks name a warp's lanes (or all of them), and a chain.
  static constexpr uint64_t foreign_warp(uint64_t cluster, uint32_t warp, uint32_t lane) {
    return cluster << 32 | uint64_t{warp} << 6 | lane;
  }
  static constexpr uint64_t foreign_chain(uint64_t cluster, uint32_t chain) {
    return cluster << 32 | kChainBit | chain;
  }
  static constexpr uint64_t kChainBit = 1ull << 31;
  static constexpr uint32_t kEveryLane = kWarpLanes;  ///< instead of a lane's number

  /// Calls use(agent, clock) for the cluster's own agents in the numbers of other clusters.
  template <class Use>
  void for_own(uint64_t cluster, Use&& use) const {
    const auto lanes_of_warp = [&](uint32_t warp, LaneMask lanes, Clock clock) {
      if (lanes == kAllLanes) return use(foreign_warp(cluster, warp, kEveryLane), clock);
      for (const int lane : lanes_of(lanes))
        use(foreign_warp(cluster, warp, static_cast<uint32_t>(lane)), clock);
    };
    for (uint32_t warp = 0; warp < warps_.size(); ++warp)
      if (warps_[warp] != 0) lanes_of_warp(warp, kAllLanes, warps_[warp]);
    for (const LaneClock& entry : lanes_) lanes_of_warp(entry.warp, entry.lanes, entry.clock);
    for (uint32_t chain = 0; chain < chains_.size(); ++chain)
      if (chains_[chain] != 0) use(foreign_chain(cluster, chain), chains_[chain]);
  }
  /// Lanes above the common clock; `lanes_` keeps its entries of a warp disjoint.
  void raise(uint32_t warp, LaneMask lanes, Clock clock);
  /// If all lanes of the warp are above its common clock, that rises to the least of them.
  void settle(uint32_t warp);

  std::vector<Clock> warps_;        ///< known of all lanes of each warp
  std::vector<LaneClock> lanes_;    ///< beyond that; few
  std::vector<Clock> chains_;       ///< of asynchronous operations
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
  /// The same for the other clusters, whose mbarriers are none of this one's.
  [[nodiscard]] View as_foreign(uint64_t cluster) const {
    View other;
    other.join_foreign(*this, cluster);
    return other;
  }
  /// See VectorClock::join_foreign.
  void join_foreign(const View& other, uint64_t cluster) {
    generic.join_foreign(other.generic, cluster);
    async.join_foreign(other.async, cluster);
    async_global.join_foreign(other.async_global, cluster);
  }
  /// See VectorClock::holds.
  [[nodiscard]] bool holds(const View& other, uint64_t cluster) const {
    return generic.holds(other.generic, cluster) && async.holds(other.async, cluster) &&
           async_global.holds(other.async_global, cluster);
  }
  /// See VectorClock::holds_foreign.
  [[nodiscard]] bool holds_foreign(const View& other) const {
    return generic.holds_foreign(other.generic) && async.holds_foreign(other.async) &&
           async_global.holds_foreign(other.async_global);
  }
  /// See VectorClock::take_home.
  void take_home(uint64_t cluster) {
    generic.take_home(cluster);
    async.take_home(cluster);
    async_global.take_home(cluster);
  }
  /// Whether nothing is known.
  [[nodiscard]] bool empty() const {
    return generic.empty() && async.empty() && async_global.empty() && performed.empty() &&
           copied.empty() && async_reads.empty() && inits.empty();
  }
  /// Forgets everything.
  void clear() {
    generic.clear();
    async.clear();
    async_global.clear();
    performed.clear();
    copied.clear();
    async_reads.clear();
    inits.clear();
  }
};

/// A view that no longer changes.
using SharedView = std::shared_ptr<const View>;

}  // namespace bw::sim::races
