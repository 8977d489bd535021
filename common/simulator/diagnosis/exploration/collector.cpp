#include "common/simulator/diagnosis/exploration/collector.hpp"

#include <algorithm>
#include <bit>

#include <fmt/core.h>

#include "common/simulator/machine/execution.hpp"
#include "common/simulator/machine/grid.hpp"
#include "common/simulator/machine/kernel.hpp"

namespace bw::sim::exploration {

using Operation = MbarrierEvent::Operation;

Collector::Collector(const Kernel& kernel, bool has_ranks, bool keeps_joins, Sink sink)
    : kernel_(kernel), has_ranks_(has_ranks), keeps_joins_(keeps_joins), sink_(std::move(sink)) {}

std::vector<uint32_t> Collector::last_of(const Origin& origin) {
  const WarpSteps& warp = warps_[{origin.cta_rank, origin.warp}];
  std::vector<uint32_t> found;
  for (const int lane : lanes_of(origin.lanes)) {
    const uint32_t last = warp.last[static_cast<size_t>(lane)];
    if (last != kNone && std::find(found.begin(), found.end(), last) == found.end())
      found.push_back(last);
  }
  return found;
}

Step& Collector::act(Action action, uint32_t object, int64_t amount, const Origin& origin) {
  Step step{.action = action, .object = object, .amount = amount, .origin = origin};
  step.after = last_of(origin);
  const auto index = static_cast<uint32_t>(program_.steps.size());
  WarpSteps& warp = warps_[{origin.cta_rank, origin.warp}];
  for (const int lane : lanes_of(origin.lanes)) warp.last[static_cast<size_t>(lane)] = index;
  return program_.steps.emplace_back(std::move(step));
}

void Collector::join(const Origin& origin) {
  const WarpSteps& warp = warps_[{origin.cta_rank, origin.warp}];
  const uint32_t first = warp.last[static_cast<size_t>(lowest_lane(origin.lanes))];
  const bool is_join = first != kNone && program_.steps[first].action == Action::join;
  // A lane that has done nothing yet follows what the others have done.
  for (const int lane : lanes_of(origin.lanes))
    if (warp.last[static_cast<size_t>(lane)] != first || (keeps_joins_ && !is_join)) {
      act(Action::join, 0, 0, origin);
      return;
    }
}

uint32_t Collector::object_of(uint16_t cta_rank, uint32_t offset_bytes) const {
  const auto found = mbarriers_.find({cta_rank, offset_bytes});
  return found == mbarriers_.end() ? kNone : found->second;
}

void Collector::on_mbarrier(const MbarrierEvent& event) {
  if (event.operation == Operation::init) {
    std::string name = "mbarrier " + kernel_.describe_shared(event.offset_bytes);
    if (has_ranks_) name += fmt::format(" of CTA rank {}", event.cta_rank);
    const auto object = static_cast<uint32_t>(program_.objects.size());
    program_.objects.push_back({std::move(name)});
    mbarriers_[{event.cta_rank, event.offset_bytes}] = object;
    act(Action::init, object, static_cast<int64_t>(event.amount), event.origin);
    return;
  }
  const uint32_t object = object_of(event.cta_rank, event.offset_bytes);
  if (object == kNone) return;
  const auto action = [&]() -> Action {
    switch (event.operation) {
      case Operation::arrive:
        return Action::arrive;
      case Operation::arrive_drop:
        return Action::arrive_drop;
      case Operation::expect_tx:
        return Action::expect_tx;
      case Operation::complete_tx:
        return Action::complete_tx;
      case Operation::increment_pending:
        return Action::increment;
      case Operation::test:
        return event.done ? Action::wait : Action::join;
      default:
        return Action::join;
    }
  }();
  if (action == Action::join) return;
  const auto amount = static_cast<int64_t>(event.amount);
  if (event.operation_id != kNoOperation) {
    if (held_ && held_->origin.instruction == event.origin.instruction &&
        held_->origin.warp == event.origin.warp) {
      MbarrierEvent announcement = *held_;
      held_.reset();
      announcement.operation_id = event.operation_id;
      const uint32_t expect = act_later(Action::expect_tx, object, announcement);
      program_.steps[expect].paired = true;
      program_.steps[act_later(action, object, event)].after.push_back(expect);
      return;
    }
    release_held();
    act_later(action, object, event);
    return;
  }
  release_held();
  if (action == Action::expect_tx && event.cta_rank != event.origin.cta_rank) {
    held_ = event;
    return;
  }
  if (action == Action::arrive && !program_.steps.empty()) {
    // arrive.expect_tx is told as two operations.
    Step& previous = program_.steps.back();
    previous.paired = previous.paired || (previous.action == Action::expect_tx && !previous.later &&
                                          previous.object == object &&
                                          previous.origin.instruction == event.origin.instruction &&
                                          previous.origin.warp == event.origin.warp &&
                                          previous.origin.cta_rank == event.origin.cta_rank);
  }
  act(action, object, amount, event.origin).phase = event.waited_phase;
}

uint32_t Collector::act_later(Action action, uint32_t object, const MbarrierEvent& event) {
  Step step{.action = action, .object = object, .amount = static_cast<int64_t>(event.amount)};
  step.later = true;
  step.origin = event.origin;
  if (const auto issue = issued_.find(event.operation_id); issue != issued_.end())
    step.after = issue->second;
  program_.steps.push_back(std::move(step));
  return static_cast<uint32_t>(program_.steps.size() - 1);
}

void Collector::release_held() {
  if (!held_) return;
  const MbarrierEvent event = *held_;
  held_.reset();
  if (const uint32_t object = object_of(event.cta_rank, event.offset_bytes); object != kNone)
    act(Action::expect_tx, object, static_cast<int64_t>(event.amount), event.origin);
}

uint32_t Collector::phase_object(bool of_cluster, const Origin& origin, uint32_t id,
                                 uint64_t phase) {
  const std::array<uint64_t, 3> key = {of_cluster ? 0 : 1 + uint64_t{origin.cta_rank}, id, phase};
  const auto [place, is_new] = phases_.emplace(key, static_cast<uint32_t>(program_.objects.size()));
  if (is_new) {
    std::string name = of_cluster ? fmt::format("the cluster's barrier, phase {}", phase)
                                  : fmt::format("named barrier {}, phase {}", id, phase);
    if (!of_cluster && has_ranks_) name += fmt::format(" of CTA rank {}", origin.cta_rank);
    program_.objects.push_back({std::move(name), false, 0});
  }
  return place->second;
}

void Collector::on_barrier(const BarrierEvent& event) {
  if (event.completes) return;
  const uint32_t object = phase_object(event.of_cluster, event.origin, event.id, event.phase);
  const auto lanes = static_cast<uint32_t>(std::popcount(event.origin.lanes));
  program_.objects[object].expected += lanes;
  act(Action::arrive, object, lanes, event.origin);
  if (event.waits) act(Action::wait, object, 0, event.origin);
}

void Collector::on_order(const OrderEvent& event) {
  switch (event.operation) {
    case OrderEvent::Operation::warp_sync:
      join(event.origin);
      break;
    case OrderEvent::Operation::aligned:
      if (keeps_joins_) join(event.origin);
      break;
    case OrderEvent::Operation::mbarrier_pass:
      if (const uint32_t object = object_of(event.cta_rank, event.offset_bytes); object != kNone)
        act(Action::wait, object, 0, event.origin).phase = static_cast<int64_t>(event.phase);
      break;
    case OrderEvent::Operation::cluster_barrier_pass:
      act(Action::wait, phase_object(true, event.origin, 0, event.phase), 0, event.origin);
      break;
    case OrderEvent::Operation::mbarrier_send:
    case OrderEvent::Operation::cp_async_arrive:
    case OrderEvent::Operation::launch_control_request:
      issued_[event.id] = last_of(event.origin);
      break;
    default:
      break;
  }
}

void Collector::on_copy(const CopyEvent& event) {
  if (event.stage == CopyEvent::Stage::issued) issued_[event.copy.id] = last_of(event.origin);
}

void Collector::on_group(const GroupEvent& event) {
  if (event.id != kNoOperation) issued_[event.id] = last_of(event.origin);
}

void Collector::on_end(RunStatus status) {
  release_held();
  sink_(std::move(program_), status);
}

}  // namespace bw::sim::exploration
