#include "common/simulator/clock/wgmma_times.hpp"

#include <algorithm>

#include "common/simulator/clock/cta_clock.hpp"
#include "common/simulator/clock/timing_table.hpp"

namespace bw::sim {
namespace {

constexpr Cycle kFewestCycles = 16;  // of the smallest MMA, an estimate
constexpr Cycle kLatency = 32;       // from issue to the first result, beyond the product's own

/// Without a timing model: cycles between two MMAs of a full queue.
Cycle interval(const WgmmaCost& mma) { return std::max<Cycle>(kFewestCycles, mma.n / 2); }

}  // namespace

Cycle WgmmaTimes::latency(const WgmmaCost& mma) const {
  if (sm_.table == nullptr) return kLatency + interval(mma);
  return sm_.table->wgmma_latency;
}

Cycle WgmmaTimes::completion(const WgmmaCost& mma, Cycle issued, Cycle disturbance) {
  if (sm_.table == nullptr)
    return free_ = std::max(issued + latency(mma) + disturbance, free_ + interval(mma));
  const Cycle begin = std::max(issued, free_);
  const Cycle multiplied = begin + std::max<Cycle>(sm_.table->wgmma_least_interval, mma.n / 2);
  const Cycle passes = mma.operand_bytes / kSharedPassBytes;
  const Cycle read = sm_.memory.pass_between(begin, std::max(multiplied, begin + passes), passes);
  free_ = std::max(multiplied, read);
  sm_.demand.use(Resource::tensor_cycles, sm_.rank, begin, multiplied - begin);
  // Issue slots of each scheduler that arithmetic lacks because the MMA reads and writes its sums
  // in the register file.
  const auto slots =
      static_cast<uint32_t>(sm_.table->wgmma_register_slots * static_cast<double>(mma.d_registers));
  for (IssueCalendar& scheduler : sm_.schedulers)
    if (slots != 0) scheduler.take_between(begin, free_, slots);
  return last_completion_ = std::max(last_completion_, free_ + latency(mma) + disturbance);
}

}  // namespace bw::sim
