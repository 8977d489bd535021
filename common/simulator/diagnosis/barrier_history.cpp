#include "common/simulator/diagnosis/barrier_history.hpp"

#include <stdexcept>

namespace bw::sim {
namespace {

constexpr size_t kMostContributions = 32;
/// Of most barriers: room for them is made at once.
constexpr size_t kUsualContributions = 8;

void contribute(BarrierRecord& record, const MbarrierEvent& event, const Actor& actor) {
  Contribution* oldest = nullptr;
  for (Contribution& known : record.contributions) {
    if (known.operation == event.operation && known.actor.instruction == actor.instruction &&
        known.actor.warp == actor.warp && known.actor.cta_rank == actor.cta_rank) {
      known.amount = known.phase == event.phase ? known.amount + event.amount : event.amount;
      known.phase = event.phase;
      known.actor.time = actor.time;
      return;
    }
    if (oldest == nullptr || known.phase < oldest->phase) oldest = &known;
  }
  const Contribution added{event.operation, actor, event.phase, event.amount};
  if (record.contributions.empty()) record.contributions.reserve(kUsualContributions);
  if (record.contributions.size() < kMostContributions)
    record.contributions.push_back(added);
  else
    *oldest = added;
}

}  // namespace

void BarrierHistory::on_mbarrier(const MbarrierEvent& event) {
  if (records_.size() <= event.cta_rank) records_.resize(size_t{event.cta_rank} + 1);
  std::vector<BarrierRecord>& records = records_[event.cta_rank];
  if (records.size() <= event.slot) records.resize(size_t{event.slot} + 1);
  BarrierRecord& record = records[event.slot];
  const Actor actor{event.origin.instruction, event.origin.cta_rank, event.origin.warp,
                    event.cycle};
  switch (event.operation) {
    case MbarrierEvent::Operation::init:
      record = {};
      record.initialiser = actor;
      break;
    case MbarrierEvent::Operation::test:
      record.last_waiter = actor;
      break;
    case MbarrierEvent::Operation::arrive:
    case MbarrierEvent::Operation::arrive_drop:
    case MbarrierEvent::Operation::expect_tx:
    case MbarrierEvent::Operation::complete_tx:
      contribute(record, event, actor);
      break;
    case MbarrierEvent::Operation::invalidate:
    case MbarrierEvent::Operation::increment_pending:
    case MbarrierEvent::Operation::complete:
      break;
  }
}

const BarrierHistory& history_of(const Cluster& cluster) {
  const auto* const history = cluster.observers().find<BarrierHistory>();
  if (history == nullptr && cluster.settings().checks == Checks::off) {
    static const BarrierHistory kNone;
    return kNone;
  }
  if (history == nullptr)
    throw std::logic_error("a cluster of a device that is not watched cannot be explained");
  return *history;
}

}  // namespace bw::sim
