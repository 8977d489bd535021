/// \file
/// Grid::run_lockstep: clusters that see each other advance in steps. Ordered operations among them
/// happen between two steps, by time and then by cluster.

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <iterator>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "common/simulator/clock/costs.hpp"
#include "common/simulator/clock/l2_launch.hpp"
#include "common/simulator/machine/device.hpp"
#include "common/simulator/machine/grid.hpp"
#include "common/simulator/machine/host_pool.hpp"

namespace bw::sim {

class Lockstep {
 public:
  Lockstep(Grid& grid, LaunchResult& result)
      : grid_(grid),
        result_(result),
        running_(grid.running_),
        goes_on_(grid.device().settings().checks == Checks::races),
        pool_(grid.host_threads(), grid.device().settings().pin_threads) {
    const TimingTable* const times = grid.device().settings().times();
    if (times != nullptr) turnover_ = times->cta_turnover;
  }

  void run() {
    begin();
    while (!running_.empty()) {
      const Cycle limit = grid_.now_ + costs::kLockstepQuantum;
      advance(limit);
      if (goes_on_) leave_faults_out(limit);
      if (first_fault_ && none_goes_on(limit)) rethrow(first_fault_);
      if (!look_at_ends()) return;
      const bool was_ordered = perform_ordered(limit);
      grid_.now_ = limit;
      step_l2();
      replace_finished();
      const Cycle earliest = skip_to_next_event();
      if (result_.status == RunStatus::waiting) return;
      if (earliest == kNever && !was_ordered && !running_.empty() && none_is_ordered())
        return end_in_deadlock();
    }
    if (first_fault_) std::rethrow_exception(first_fault_);
    result_.alone_cycles = result_.cycles;
    if (grid_.lockstep_time_) result_.cycles += grid_.lockstep_time_->missing();
  }

 private:
  /// The first clusters, unless the launch resumes.
  void begin() {
    while (grid_.now_ == 0 && running_.size() < grid_.resident_clusters()) {
      uint64_t index = 0;
      if (!grid_.take_pending_cluster(index)) break;
      const uint64_t slot = running_.size();
      running_.push_back(std::make_unique<Cluster>(grid_, index, slot, grid_.begin_of(slot)));
    }
  }

  /// Host threads run every cluster until `limit`.
  void advance(Cycle limit) {
    faults_.assign(running_.size(), nullptr);
    status_.assign(running_.size(), RunStatus::reached_limit);
    std::atomic<size_t> next{0};
    pool_.run([&](uint32_t) {
      for (size_t i = next++; i < running_.size(); i = next++) {
        try {
          status_[i] = running_[i]->run(limit);
        } catch (...) {
          faults_[i] = std::current_exception();
          status_[i] = RunStatus::fault;
        }
      }
    });
  }

  void end_all() {
    for (size_t i = 0; i < running_.size(); ++i) grid_.finish_cluster(*running_[i], status_[i]);
  }
  [[noreturn]] void rethrow(const std::exception_ptr& fault) {
    end_all();
    std::rethrow_exception(fault);
  }

  /// At the level `races` the others continue for a while after a fault, since their later accesses
  /// may race with earlier ones.
  void leave_faults_out(Cycle limit) {
    for (size_t i = 0; i < running_.size();) {
      if (!faults_[i]) {
        ++i;
        continue;
      }
      if (!first_fault_) {
        first_fault_ = faults_[i];
        last_step_ = limit + Cluster::kCyclesAfterFault;
      }
      grid_.finish_cluster(*running_[i], status_[i]);
      const auto at = static_cast<std::ptrdiff_t>(i);
      running_.erase(running_.begin() + at);
      status_.erase(status_.begin() + at);
      faults_.erase(faults_.begin() + at);
    }
  }
  [[nodiscard]] bool none_goes_on(Cycle limit) const {
    return limit >= last_step_ ||
           std::any_of(status_.begin(), status_.end(), [](RunStatus one) { return is_stuck(one); });
  }

  /// Throws the first fault; keeps the first cluster that is stuck. Returns whether the launch
  /// continues with this step.
  bool look_at_ends() {
    for (size_t i = 0; i < running_.size(); ++i) {
      if (faults_[i]) rethrow(faults_[i]);
      if (status_[i] == RunStatus::livelock && grid_.can_wait_) {
        status_[i] = RunStatus::reached_limit;
        result_.status = RunStatus::waiting;
        grid_.waiting_index_ = i;
        running_[i]->resume();
        continue;
      }
      if (is_stuck(status_[i])) {
        end_all();
        result_.status = status_[i];
        grid_.stuck_ = std::move(running_[i]);
        return false;
      }
    }
    return true;
  }

  /// Whether there was anything.
  bool perform_ordered(Cycle limit) {
    std::vector<Cluster::OrderedOperation> operations;
    for (const auto& cluster : running_) {
      auto& own = cluster->ordered_operations();
      std::move(own.begin(), own.end(), std::back_inserter(operations));
      own.clear();
    }
    std::sort(operations.begin(), operations.end(), [](const auto& a, const auto& b) {
      return std::tie(a.time, a.cluster, a.sequence) < std::tie(b.time, b.cluster, b.sequence);
    });
    for (Cluster::OrderedOperation& operation : operations) {
      try {
        operation.action(std::max(operation.time + operation.latency, limit));
      } catch (...) {
        for (size_t i = 0; i < running_.size(); ++i)
          if (running_[i]->index() == operation.cluster) status_[i] = RunStatus::fault;
        end_all();
        throw;
      }
    }
    return !operations.empty();
  }

  void step_l2() {
    if (grid_.l2_ == nullptr) return;
    std::vector<L2View*> views;
    views.reserve(running_.size());
    for (const auto& cluster : running_) views.push_back(&cluster->l2());
    grid_.l2_->step(views);
  }

  /// The next cluster takes the slot of a finished one, whose SM resources are released.
  void replace_finished() {
    for (size_t i = 0; i < running_.size(); ++i) {
      if (status_[i] != RunStatus::finished) continue;
      count(*running_[i], status_[i]);
      uint64_t index = 0;
      const uint64_t slot = running_[i]->slot();
      running_[i].reset();
      if (grid_.take_pending_cluster(index))
        running_[i] = std::make_unique<Cluster>(grid_, index, slot, grid_.now_ + turnover_);
    }
    const uint64_t waiting =
        result_.status == RunStatus::waiting ? running_[grid_.waiting_index_]->index() : 0;
    std::erase(running_, nullptr);
    if (result_.status != RunStatus::waiting) return;
    grid_.waiting_index_ = static_cast<size_t>(
        std::find_if(running_.begin(), running_.end(),
                     [&](const auto& cluster) { return cluster->index() == waiting; }) -
        running_.begin());
  }
  /// A cluster has finished.
  void count(Cluster& cluster, RunStatus status) {
    const ClusterStatistics& statistics = cluster.statistics();
    result_.warp_instructions += statistics.warp_instructions;
    result_.cycles = std::max(result_.cycles, cluster.start() + statistics.cycles);
    grid_.finish_cluster(cluster, status);
    if (grid_.l2_ == nullptr) return;
    grid_.l2_->finish(cluster.index(), cluster.l2());
    const DemandProfile profile = cluster.demand().profile(statistics.cycles);
    grid_.tensor_use_.add(profile, static_cast<double>(cluster.start()));
    if (grid_.lockstep_time_) grid_.lockstep_time_->add(profile, cluster.start(), cluster.slot());
  }

  /// Skips steps in which nothing happens; when the next event does.
  Cycle skip_to_next_event() {
    Cycle earliest = kNever;
    for (const auto& cluster : running_)
      earliest = std::min(earliest, cluster->queue().next_time());
    if (earliest != kNever && earliest > grid_.now_)
      grid_.now_ = earliest / costs::kLockstepQuantum * costs::kLockstepQuantum;
    return earliest;
  }

  [[nodiscard]] bool none_is_ordered() const {
    return std::all_of(running_.begin(), running_.end(),
                       [](const auto& cluster) { return cluster->ordered_operations().empty(); });
  }
  /// All wait for resources that others on their SM hold, which wait as well.
  void end_in_deadlock() {
    result_.status = RunStatus::deadlock;
    for (const auto& cluster : running_) grid_.finish_cluster(*cluster, RunStatus::deadlock);
    if (first_fault_) std::rethrow_exception(first_fault_);
    grid_.stuck_ = std::move(running_.front());
  }

  Grid& grid_;
  LaunchResult& result_;
  std::vector<std::unique_ptr<Cluster>>& running_;
  std::vector<RunStatus> status_;           ///< of the running ones, at the end of a step
  std::vector<std::exception_ptr> faults_;  ///< likewise
  const bool goes_on_;                      ///< after a fault
  std::exception_ptr first_fault_;
  Cycle last_step_ = kNever;  ///< with a fault: ends here at the latest
  Cycle turnover_ = 0;
  HostPool pool_;
};

void Grid::run_lockstep(LaunchResult& result) { Lockstep(*this, result).run(); }

}  // namespace bw::sim
