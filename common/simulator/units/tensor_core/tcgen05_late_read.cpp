/// \file
/// Registers of a tcgen05.ld that are read before tcgen05.wait::ld (TensorMemory::WarpState).
#include <algorithm>
#include <array>

#include <fmt/core.h>

#include "common/simulator/machine/kernel.hpp"
#include "common/simulator/machine/late_read.hpp"
#include "common/simulator/ptx/pending_reads.hpp"
#include "common/simulator/units/tensor_core/tcgen05_forms.hpp"
#include "common/simulator/units/units.hpp"

namespace bw::sim::tcgen05 {
namespace {

/// A register of a load under way that an instruction reads, or a copy of one.
struct LateRegister {
  const LateRead::Register* read = nullptr;  ///< the register; none
  LaneMask lanes = 0;                        ///< that read it
  const Instruction* load = nullptr;         ///< that writes it
  const uint32_t* data = nullptr;            ///< what the load brings, by lane
};

LateRegister find_late(const Strand& strand, const LateRead& late, LaneMask active,
                       const TensorMemory::WarpState& state) {
  const auto look_at = [&](const Operand& written, auto&& value_before, LateRegister& found) {
    for (const LateRead::Register& reg : late.registers) {
      if (reg.operand.offset_bytes != written.offset_bytes) continue;
      const uint32_t* const values = strand.lanes<uint32_t>(reg.operand);
      for (const int lane : lanes_of(active))
        if (values[lane] == value_before(lane)) found.lanes |= lane_bit(lane);
      if (found.lanes != 0) found.read = &reg;
      return found.lanes != 0;
    }
    return false;
  };
  LateRegister found;
  const uint32_t* data = state.data.data();
  for (const TensorMemory::WarpState::Load& load : state.loads) {
    found.load = load.instruction;
    found.data = data;
    if (look_at(
            *load.destination, [&](int) { return load.pattern; }, found))
      return found;
    data += kWarpLanes;
  }
  for (const TensorMemory::WarpState::Copy& copy : state.copies) {
    found.load = copy.instruction;
    found.data = copy.words.data();
    const auto of_lane = [&](int lane) { return copy.words[static_cast<size_t>(lane)]; };
    if (look_at(*copy.destination, of_lane, found)) return found;
  }
  return {};
}

Fault late_read_fault(const Strand& strand, const LateRegister& late, const char* how) {
  const Kernel& kernel = strand.cluster->kernel();
  const ptx::Instruction& source = kernel.source(*late.load);
  return {.code = FaultCode::tmem_load_not_awaited,
          .what = fmt::format("register {} is {} before the tcgen05.wait::ld of the load that "
                              "writes it",
                              kernel.function().registers[late.read->index].name, how),
          .rule = "the destination registers of tcgen05.ld are undefined until tcgen05.wait::ld",
          .fix =
              "execute tcgen05.wait::ld between the load and the first use, and tie the "
              "registers to it (\"+r\") or put load and wait into one asm statement, so that "
              "the compiler moves no conversion between the two",
          .details = {fmt::format("the load: {}: `{}`",
                                  kernel.module().ptx().describe_location(source), source.opcode)},
          .section = "tcgen05.wait",
          .hardware_accepts = true};
}

/// The copy gets what the load brings; the register that it reads keeps its pattern.
void copy_late_register(Strand& strand, const LateRead& late, LaneMask active,
                        const LateRegister& found, TensorMemory::WarpState& state) {
  std::array<uint32_t, kWarpLanes> before{};
  uint32_t* const values = strand.lanes<uint32_t>(found.read->operand);
  std::copy_n(values, kWarpLanes, before.begin());
  for (const int lane : lanes_of(found.lanes)) values[lane] = found.data[lane];
  (void)late.original.execute(strand, late.original, active);
  const Operand& destination = late.original.operands[0];
  std::copy_n(before.begin(), kWarpLanes, values);
  TensorMemory::WarpState::Copy copy{&destination, {}, found.load};
  std::copy_n(strand.lanes<uint32_t>(destination), kWarpLanes, copy.words.begin());
  state.copies.push_back(copy);
}

}  // namespace

void deliver_loads(Strand& strand, TensorMemory::WarpState& state) {
  const uint32_t* data = state.data.data();
  for (const TensorMemory::WarpState::Load& load : state.loads) {
    uint32_t* const target = strand.lanes<uint32_t>(*load.destination);
    const uint32_t pattern = load.pattern;
    for (int lane = 0; lane < kWarpLanes; ++lane)
      target[lane] = target[lane] == pattern ? data[lane] : target[lane];
    data += kWarpLanes;
  }
  state.loads.clear();
  state.copies.clear();
  state.data.clear();
  state.waited(true);
  strand.time = std::max(strand.time, state.loads_done);
}

Flow execute_late_read(Strand& strand, const Instruction& i, LaneMask active) {
  const auto& late = *static_cast<const LateRead*>(i.detail);
  TensorMemory::WarpState& state = units_of(strand).tensor_memory.warp_state(strand.warp->index);
  const LateRegister found = find_late(strand, late, active, state);
  if (found.read == nullptr) return late.original.execute(strand, late.original, active);
  const Site site{strand, i, found.lanes};
  if (strand.cluster->at_isa_level()) {
    // The compiler itself moves copies to before a wait that the registers are not tied to, and
    // ptxas makes them wait for the load. By the ISA's words they read undefined values.
    if (ptx::copies_register(strand.cluster->kernel().source(i))) {
      site.warn(FaultCode::tmem_load_not_awaited,
                [&] { return late_read_fault(strand, found, "copied"); });
      copy_late_register(strand, late, active, found, state);
      return Flow::next;
    }
    site.fault_at_isa(FaultCode::tmem_load_not_awaited,
                      [&] { return late_read_fault(strand, found, "read"); });
  }
  deliver_loads(strand, state);
  return late.original.execute(strand, late.original, active);
}

}  // namespace bw::sim::tcgen05
