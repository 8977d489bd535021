/// \file
/// Grid::run_independent: clusters that do not see each other.
///
/// Each runs to its end at once, while its memory is in the host's caches; in a launch of several
/// waves what they take from each other is computed after the run (grid_time.cpp).
///
/// In a launch of one wave with a timing model, how long a cluster waits for bandwidth depends on
/// what others request at the same time. There a cluster that waits pauses. When all others have
/// come as far, it continues, with their requests known. Which clusters pause does not depend on
/// the host's threads.
///
/// "Two forms of a launch's time" in common/simulator/README.md says why both exist.

#include <algorithm>
#include <atomic>
#include <exception>
#include <iterator>
#include <memory>
#include <mutex>
#include <numeric>
#include <utility>
#include <vector>

#include "common/simulator/clock/free_slots.hpp"
#include "common/simulator/clock/l2_launch.hpp"
#include "common/simulator/machine/device.hpp"
#include "common/simulator/machine/grid.hpp"
#include "common/simulator/machine/host_pool.hpp"

namespace bw::sim {
namespace {

/// So long some clusters run ahead of the others: mostly the first copies of all stages of a
/// pipeline are under way then.
constexpr Cycle kPilotCycles = 8192;

}  // namespace

class IndependentClusters {
 public:
  IndependentClusters(Grid& grid, LaunchResult& result)
      : grid_(grid),
        result_(result),
        pool_(grid.host_threads(), grid.device().settings().pin_threads),
        members_(grid.clusters().volume()),
        profiles_(grid.l2() == nullptr ? 0 : members_.size()),
        first_failed_(members_.size()) {}

  void run() {
    std::vector<uint64_t> all(members_.size());
    std::iota(all.begin(), all.end(), 0);
    if (grid_.in_steps_)
      run_in_steps(std::move(all));
    else
      run_round(all, kNever);
    hand_on();
  }

 private:
  /// A cluster from its start to its end.
  struct Member {
    std::unique_ptr<Cluster> cluster;    ///< null before its start and when it has finished
    std::unique_ptr<L2ClusterState> l2;  ///< in steps, when it has finished
    Cycle pauses_after = 0;              ///< the end of the step after which it pauses
    Cycle cycles = 0;                    ///< when it has ended: how long it has run
    Cycle ends_at = 0;                   ///< when it has finished
    Cycle written_at = 0;                ///< in steps: when the L2 cache has what it has written
    uint64_t instructions = 0;           ///< when it has finished
    RunStatus status = RunStatus::reached_limit;
    std::exception_ptr fault;
  };

  void run_in_steps(std::vector<uint64_t> advanced) {
    std::vector<uint64_t> round = advanced;
    if (run_pilots()) {
      // They go on first, the last one first. When they have ended, one cluster after the other
      // reuses the memory of the one before, which is in the host's caches.
      round = those_that_run();
      std::stable_partition(round.begin(), round.end(),
                            [&](uint64_t index) { return members_[index].cluster == nullptr; });
    }
    while (!round.empty()) {
      run_round(round, kNever);
      const Cycle until = first_pause();
      std::vector<uint64_t> running;
      for (uint64_t index = 0; index < members_.size(); ++index)
        if (members_[index].status == RunStatus::reached_limit || members_[index].ends_at > until)
          running.push_back(index);
      follow_clock(until);
      grid_.l2()->step(states_of(advanced), until, running);
      for (const uint64_t index : advanced) members_[index].l2 = nullptr;
      round = those_that_run();
      std::erase_if(round, [&](uint64_t index) { return members_[index].pauses_after != until; });
      advanced = round;
    }
  }

  /// Tells how much the SMs have multiplied since the last step.
  void follow_clock(Cycle until) {
    if (until == kNever || until / Demand::kInterval == clock_at_ / Demand::kInterval) return;
    TensorUse::Interval done;
    double ctas = 0;
    for (uint64_t index = 0; index < counted(); ++index) {
      const Member& member = members_[index];
      const Demand* const demand = member.cluster ? &member.cluster->demand() : nullptr;
      const auto used = [&](Resource resource, Cycle from) {
        return demand != nullptr ? demand->used(resource, from, until)
                                 : profiles_[index].used(resource, from, until);
      };
      if (used(Resource::tensor_cycles, 0) == 0) continue;
      ctas += static_cast<double>(grid_.configuration().cluster.volume());
      done.tensor += used(Resource::tensor_cycles, clock_at_);
      done.copies += used(Resource::loading_cycles, clock_at_);
    }
    const auto cycles = static_cast<double>(until - clock_at_);
    clock_at_ = until;
    if (ctas == 0) return;
    const double most = ctas * cycles;
    const uint32_t sms = grid_.device().settings().sm_count;
    grid_.l2()->follow_clock(cycles, {.sms = std::min(1.0, ctas / sms),
                                      .busy = std::min(1.0, done.tensor / most),
                                      .copies = std::min(1.0, done.copies / most)});
  }

  /// Those of one port run ahead, so that it is known what clusters read together. Launches of few
  /// clusters have none. Whether there were any.
  bool run_pilots() {
    std::vector<uint64_t> pilots;
    for (uint64_t index = 0; index < members_.size(); ++index)
      if (grid_.l2()->is_pilot(index)) pilots.push_back(index);
    if (pilots.size() < 2 || pilots.size() == members_.size()) return false;
    grid_.l2()->begin_pilots();
    run_round(pilots, grid_.previous_ends_ + kPilotCycles);
    grid_.l2()->learn(states_of(pilots), first_pause());
    return true;
  }

  /// Host threads advance these clusters. Every second time they take the last one first: those
  /// that ran last have their memory in the host's caches.
  void run_round(const std::vector<uint64_t>& round, Cycle limit) {
    std::atomic<size_t> next{0};
    pool_.run([&](uint32_t) {
      for (size_t i = next++; i < round.size(); i = next++) {
        const uint64_t index = round[is_backwards_ ? round.size() - 1 - i : i];
        if (index <= first_failed_.load()) advance(index, limit);
      }
    });
    is_backwards_ = !is_backwards_;
  }

  [[nodiscard]] std::unique_ptr<Cluster> make(uint64_t index) {
    const uint64_t slot = index % grid_.resident_clusters();
    // A cluster that runs as if it were alone begins at 0, unless it may wait for the previous
    // grid.
    const bool has_begin = grid_.in_steps_ || (grid_.previous_ends_ != 0 && slot == index);
    return std::make_unique<Cluster>(grid_, index, slot, has_begin ? grid_.begin_of(slot) : 0);
  }

  /// Runs a cluster until it ends or pauses, but not beyond `limit`. Any host thread.
  void advance(uint64_t index, Cycle limit) {
    Member& member = members_[index];
    try {
      if (member.cluster == nullptr)
        member.cluster = make(index);
      else
        member.cluster->l2().resume();
      member.status = member.cluster->run(limit);
    } catch (...) {
      member.fault = std::current_exception();
      member.status = RunStatus::fault;
    }
    if (member.status == RunStatus::reached_limit) {
      const L2View& l2 = member.cluster->l2();
      member.pauses_after = l2.pauses_at() == kNever ? limit : l2.pauses_after();
      return;
    }
    if (member.cluster != nullptr) grid_.finish_cluster(*member.cluster, member.status);
    if (member.status == RunStatus::finished) {
      finish(index);
      return;
    }
    {
      const std::lock_guard lock(mutex_);
      first_failed_ = std::min(first_failed_.load(), index);
    }
    if (grid_.l2() != nullptr) grid_.l2()->cancel_waits();
  }

  /// Keeps of a cluster what the launch still needs.
  void finish(uint64_t index) {
    Member& member = members_[index];
    Cluster& cluster = *member.cluster;
    member.cycles = cluster.statistics().cycles;
    member.ends_at = cluster.start() + member.cycles;
    member.instructions = cluster.statistics().warp_instructions;
    if (grid_.l2() != nullptr) profiles_[index] = cluster.demand().profile(member.cycles);
    if (grid_.in_steps_) {
      member.l2 = cluster.l2().end();
      member.written_at =
          member.ends_at + static_cast<Cycle>(member.l2->l2_writes.writes_left_at(member.ends_at));
    } else if (grid_.l2() != nullptr) {
      grid_.l2()->finish(index, cluster.l2());
    }
    member.cluster.reset();
  }

  /// Behind the first cluster that has failed it depends on the host's threads who has run: they
  /// count no more.
  [[nodiscard]] uint64_t counted() const {
    return std::min<uint64_t>(members_.size(), first_failed_);
  }
  [[nodiscard]] std::vector<uint64_t> those_that_run() const {
    std::vector<uint64_t> result;
    for (uint64_t index = 0; index < counted(); ++index)
      if (members_[index].status == RunStatus::reached_limit) result.push_back(index);
    return result;
  }
  /// The first end of a step after which a cluster pauses.
  [[nodiscard]] Cycle first_pause() const {
    Cycle until = kNever;
    for (uint64_t index = 0; index < counted(); ++index)
      if (members_[index].status == RunStatus::reached_limit && members_[index].cluster != nullptr)
        until = std::min(until, members_[index].pauses_after);
    return until;
  }
  [[nodiscard]] std::vector<L2ClusterState*> states_of(const std::vector<uint64_t>& clusters) {
    std::vector<L2ClusterState*> states;
    for (const uint64_t index : clusters)
      if (Member& member = members_[index]; index < counted())
        states.push_back(member.l2 ? member.l2.get() : member.cluster->l2().state());
    return states;
  }

  void hand_on() {
    // A launch that fails without steps reports none.
    if (grid_.in_steps_ || first_failed_ == members_.size())
      for (uint64_t index = 0; index < counted(); ++index)
        result_.warp_instructions += members_[index].instructions;
    if (const uint64_t index = first_failed_; index < members_.size()) {
      Member& failed = members_[index];
      grid_.last_warning_ = index;
      result_.status = failed.status;
      if (failed.fault) std::rethrow_exception(failed.fault);
      grid_.stuck_ = std::move(failed.cluster);
      return;
    }
    find_times();
  }

  /// When each cluster runs, and where, if none takes anything from another: the next one takes the
  /// places that become free first, after the turnover.
  [[nodiscard]] std::vector<ClusterLife> lives_apart() const {
    const TimingTable* const times = grid_.device().settings().times();
    const auto turnover = times == nullptr ? 0 : static_cast<double>(times->cta_turnover);
    const auto ctas = static_cast<uint32_t>(grid_.configuration().cluster.volume());
    FreeSlots free(ctas, grid_.gpcs_);
    std::vector<ClusterLife> lives;
    for (uint64_t index = 0; index < members_.size(); ++index) {
      const auto cycles = static_cast<double>(members_[index].cycles);
      double start = 0;
      std::vector<FreeSlots::FreeSlot> taken(ctas);
      if (index < grid_.resident_clusters()) {
        start = static_cast<double>(grid_.begin_of(index));
        for (uint32_t cta = 0; cta < ctas; ++cta)
          taken[cta].place = static_cast<uint32_t>(index * ctas + cta);
      } else {
        taken = *free.take();  // those of a cluster that has ended are always enough
        start = taken.back().at + turnover;
      }
      for (uint32_t cta = 0; cta < ctas; ++cta) {
        const bool is_known = index < profiles_.size() && !profiles_[index].ends.empty();
        taken[cta].at =
            start + (is_known ? static_cast<double>(profiles_[index].ends[cta]) : cycles);
        free.add(taken[cta]);
      }
      lives.push_back({.begin = start, .end = start + cycles, .place = taken.front().place / ctas});
    }
    return lives;
  }

  void find_times() {
    grid_.lives_ = lives_apart();
    double end = 0;
    for (const ClusterLife& life : grid_.lives_) end = std::max(end, life.end);
    result_.alone_cycles = static_cast<Cycle>(end);
    result_.cycles = grid_.l2() == nullptr ? result_.alone_cycles : grid_.corrected_time(profiles_);
    if (!grid_.in_steps_) return;
    Cycle written_at = 0;
    for (const Member& member : members_) written_at = std::max(written_at, member.written_at);
    grid_.writing_cycles_ = written_at - result_.alone_cycles;
  }

  Grid& grid_;
  LaunchResult& result_;
  HostPool pool_;
  std::vector<Member> members_;
  std::vector<DemandProfile> profiles_;
  std::atomic<uint64_t> first_failed_;  ///< clusters after it need not run
  std::mutex mutex_;                    ///< held while `first_failed_` changes
  bool is_backwards_ = false;
  Cycle clock_at_ = 0;  ///< when the clock was last followed
};

void Grid::run_independent(LaunchResult& result) {
  next_cluster_ = clusters_.volume();  // all start here; none is left for cluster launch control
  IndependentClusters(*this, result).run();
}

}  // namespace bw::sim
