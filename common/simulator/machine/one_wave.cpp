/// \file
/// Grid::run_together: the clusters of a launch of one wave, with a timing model.
///
/// How long a cluster waits for bandwidth depends on what others request at the same time. A
/// cluster that never waits runs to its end at once, while its memory is in the host's caches; any
/// other pauses. When all others have come as far, it continues, with their requests known. Which
/// clusters pause does not depend on the host's threads.

#include <algorithm>
#include <atomic>
#include <exception>
#include <iterator>
#include <memory>
#include <mutex>
#include <numeric>
#include <utility>
#include <vector>

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

class OneWave {
 public:
  OneWave(Grid& grid, LaunchResult& result)
      : grid_(grid),
        result_(result),
        pool_(grid.host_threads(), grid.device().settings().pin_threads),
        members_(grid.clusters().volume()),
        profiles_(members_.size()),
        first_failed_(members_.size()) {}

  void run() {
    std::vector<uint64_t> advanced(members_.size());
    std::iota(advanced.begin(), advanced.end(), 0);
    std::vector<uint64_t> round = run_pilots() ? those_that_run() : advanced;
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
    hand_on();
  }

 private:
  /// A cluster from its start to its end.
  struct Member {
    std::unique_ptr<Cluster> cluster;    ///< null before its start and when it has finished
    std::unique_ptr<L2ClusterState> l2;  ///< when it has finished
    Cycle pauses_after = 0;              ///< the end of the step after which it pauses
    Cycle ends_at = 0;                   ///< when it has finished
    Cycle written_at = 0;                ///< when the L2 cache has what it has written
    RunStatus status = RunStatus::reached_limit;
    std::exception_ptr fault;
  };

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

  /// Runs a cluster until it ends or pauses, but not beyond `limit`. Any host thread.
  void advance(uint64_t index, Cycle limit) {
    Member& member = members_[index];
    try {
      if (member.cluster == nullptr)
        member.cluster = std::make_unique<Cluster>(grid_, index, index, grid_.begin_of(index));
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
    const std::lock_guard lock(mutex_);
    first_failed_ = std::min(first_failed_.load(), index);
  }

  /// Keeps of a cluster what the launch still needs.
  void finish(uint64_t index) {
    Member& member = members_[index];
    const Cycle cycles = member.cluster->statistics().cycles;
    member.ends_at = member.cluster->start() + cycles;
    profiles_[index] = member.cluster->demand().profile(cycles);
    {
      const std::lock_guard lock(mutex_);
      result_.warp_instructions += member.cluster->statistics().warp_instructions;
    }
    member.l2 = member.cluster->l2().end();
    member.written_at =
        member.ends_at + static_cast<Cycle>(member.l2->l2_writes.writes_left_at(member.ends_at));
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
    if (const uint64_t index = first_failed_; index < members_.size()) {
      Member& failed = members_[index];
      grid_.last_warning_ = index;
      result_.status = failed.status;
      if (failed.fault) std::rethrow_exception(failed.fault);
      grid_.stuck_ = std::move(failed.cluster);
      return;
    }
    Cycle written_at = 0;
    for (const Member& member : members_) {
      result_.alone_cycles = std::max(result_.alone_cycles, member.ends_at);
      written_at = std::max(written_at, member.written_at);
    }
    result_.cycles = grid_.corrected_time(profiles_);
    grid_.writing_cycles_ = written_at - result_.alone_cycles;
  }

  Grid& grid_;
  LaunchResult& result_;
  HostPool pool_;
  std::vector<Member> members_;
  std::vector<DemandProfile> profiles_;
  std::atomic<uint64_t> first_failed_;  ///< clusters after it need not run
  std::mutex mutex_;                    ///< held while a cluster that has ended is counted
  bool is_backwards_ = false;
  Cycle clock_at_ = 0;  ///< when the clock was last followed
};

void Grid::run_together(LaunchResult& result) {
  next_cluster_ = clusters_.volume();  // all start here; none is left for cluster launch control
  OneWave(*this, result).run();
}

}  // namespace bw::sim
