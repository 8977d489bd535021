#include "common/simulator/clock/l2_view.hpp"

#include <algorithm>

#include "common/simulator/clock/l2_launch.hpp"

namespace bw::sim {

L2View::L2View() = default;
L2View::~L2View() = default;

void L2View::begin(L2Launch& launch, Demand& demand, uint64_t cluster, uint64_t place, Cycle at) {
  state_ = launch.start(cluster, place, at, demand);
}

L2Touch L2View::touch_rows(const L2Rows& rows, Cycle at, L2Path path) {
  if (state_ == nullptr) return {.hit_bytes = rows.bytes()};
  const L2Launch& launch = *state_->launch;
  const L2Touch touch = launch.touch_rows(*state_, rows, at, path);
  state_->waited += touch.waited;
  const bool matters = touch.miss_bytes != 0 || state_->waited > state_->may_wait ||
                       state_->touched_bytes > launch.room_bytes();
  if (!matters || pauses_at_ != kNever) return touch;
  if (at >= step_end_) pauses_at_ = at;
  if (step_end_ == kNever) step_end_ = launch.step_end(std::max(at, resumed_after_));
  return touch;
}

std::unique_ptr<L2ClusterState> L2View::end() { return std::move(state_); }

}  // namespace bw::sim
