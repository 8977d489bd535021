#include "common/simulator/diagnosis/races/stored_values.hpp"

#include "common/simulator/isa/instruction_form.hpp"
#include "common/simulator/machine/kernel.hpp"

namespace bw::sim::races {

void StoredValues::set(Cluster& cluster, const AccessEvent& event, Accessor& accessor) {
  constexpr uint16_t kAddressAndValue = 2;
  constexpr uint32_t kMostBytes = sizeof(uint64_t);
  const Origin& origin = event.origin;
  const Instruction& store = *origin.instruction;
  if (event.access != sim::Access::write || event.atomic || event.bytes > kMostBytes ||
      store.operand_count != kAddressAndValue ||
      cluster.kernel().form(store).memory != Memory::store)
    return;
  const Warp& warp = cluster.cta(origin.cta_rank).warps[origin.warp];
  if (warp.strands.empty()) return;
  const LaneRegisters& registers = *warp.strands.front();  // the same for all strands of the warp
  const Operand& operand = store.operands[1];
  if (operand.bytes > kMostBytes || operand.bytes < event.bytes) return;
  const uint64_t mask =
      event.bytes == kMostBytes ? ~uint64_t{0} : (uint64_t{1} << 8 * event.bytes) - 1;
  const uint64_t value = registers.value(operand, lowest_lane(origin.lanes)) & mask;
  for (const int lane : lanes_of(origin.lanes))
    if ((registers.value(operand, lane) & mask) != value) return;
  if (first_.try_emplace(&store, value).first->second != value) return;
  accessor.value = value;
  accessor.value_bytes = static_cast<uint8_t>(event.bytes);
}

}  // namespace bw::sim::races
