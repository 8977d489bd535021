#include "common/simulator/diagnosis/exploration/sync_program.hpp"

namespace bw::sim::exploration {

bool apply(const Step& step, BarrierState& barrier) {
  switch (step.action) {
    case Action::join:
    case Action::wait:
      return false;
    case Action::init:
      barrier = {true, 0, step.amount, step.amount, 0};
      return false;
    case Action::arrive_drop:
      barrier.expected -= step.amount;
      [[fallthrough]];
    case Action::arrive:
      barrier.pending -= step.amount;
      break;
    case Action::expect_tx:
      barrier.tx_bytes += step.amount;
      if (step.paired) return false;  // the arrive of its instruction comes yet
      break;
    case Action::complete_tx:
      barrier.tx_bytes -= step.amount;
      break;
    case Action::increment:
      barrier.pending += step.amount;
      break;
  }
  if (barrier.pending != 0 || barrier.tx_bytes != 0) return false;
  ++barrier.phase;
  barrier.pending = barrier.expected;
  return true;
}

}  // namespace bw::sim::exploration
