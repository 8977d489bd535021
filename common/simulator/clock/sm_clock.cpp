#include "common/simulator/clock/sm_clock.hpp"

#include "common/simulator/clock/timing_table.hpp"

namespace bw::sim {

Cycle SmClock::wait_for_map(uint64_t map, Cycle now) {
  if (table == nullptr || !is_first) return 0;
  return tensor_maps.ready(map, now, [&] { return now + table->tensor_map_cycles; }) - now;
}

Cycle SmClock::init_mbarrier(Cycle now) {
  return table == nullptr ? now : mbarrier_inits.take(now, table->mbarrier_init_cycles);
}

Cycle SmClock::arrive_at_cluster(uint32_t warp, Cycle now) {
  if (table == nullptr) return now;
  // ptxas reads from the constant bank, at 0x140, whether there is a cluster at all.
  constexpr uint64_t kLine = 0x140 / kConstantLineBytes;
  return constant_line(kLine, warp, now, *table) + table->cluster_arrive_cycles;
}

}  // namespace bw::sim
