#include "common/simulator/machine/timing/l2_view.hpp"

#include "common/simulator/machine/timing/l2_launch.hpp"

namespace bw::sim {

L2View::L2View() = default;
L2View::~L2View() = default;

void L2View::begin(L2Launch& launch, Demand& demand, uint64_t cluster, uint64_t place, Cycle at) {
  state_ = launch.start(cluster, place, at, demand);
}

L2Touch L2View::touch_rows(uint64_t first, uint64_t row_bytes, uint64_t pitch_bytes, uint64_t rows,
                           Cycle at, L2Path path) {
  if (state_ == nullptr) return {row_bytes * rows, 0, 0};
  return state_->launch->touch_rows(*state_, first, row_bytes, pitch_bytes, rows, at, path);
}

std::unique_ptr<L2ClusterState> L2View::end() { return std::move(state_); }

}  // namespace bw::sim
