/// \file
/// Atomics: atom and red.
///
/// Lanes perform one after the other, ascending. On global memory the operation takes its place in
/// the order that holds among all clusters of the grid; on shared memory it happens at once in
/// simulated time order.
#include <bit>
#include <cmath>
#include <cstring>
#include <string>

#include <fmt/core.h>

#include "common/simulator/clock/costs.hpp"
#include "common/simulator/machine/address_space.hpp"
#include "common/simulator/machine/binder.hpp"
#include "common/simulator/machine/execution.hpp"
#include "common/simulator/machine/grid.hpp"
#include "common/simulator/units/families.hpp"
#include "common/simulator/units/memory/access_events.hpp"
#include "common/simulator/units/memory/atomic_operation.hpp"
#include "common/simulator/units/memory/cache_policy.hpp"
#include "common/simulator/units/memory/timed_access.hpp"
#include "common/simulator/units/units.hpp"

namespace bw::sim {
namespace {

using ptx::ScalarType;

struct AtomicDetail {
  AddressSpace space = AddressSpace::generic;
  AtomicOperation operation;
  uint8_t count = 1;  ///< vector elements
  bool has_result = false;
  bool has_compare = false;  ///< cas: two source operands per element
};

// Operands: address, results (count, if any), first sources (count), second sources (cas).
void perform(Strand& strand, const Instruction& instruction, LaneMask active) {
  const auto& detail = *static_cast<const AtomicDetail*>(instruction.detail);
  const size_t element_bytes = detail.operation.bytes;
  const size_t bytes = element_bytes * detail.count;
  const int results = detail.has_result ? detail.count : 0;
  LaneAddresses addresses;
  const std::byte* places[kWarpLanes];
  bool all_in_global = true;
  bool changes = false;
  for (const int lane : lanes_of(active)) {
    const uint64_t address =
        lane_address(strand, instruction.operands[0], instruction.immediate, lane);
    addresses[static_cast<size_t>(lane)] = address;
    std::byte* const target = resolve({strand, instruction, lane_bit(lane)}, detail.space, address,
                                      bytes, bytes, Access::read_write);
    places[lane] = target;
    if (const Cta* const cta = strand.cta;
        target >= cta->shared.data() && target < cta->shared.data() + cta->shared.size()) {
      const Site site{strand, instruction, lane_bit(lane)};
      const auto offset = static_cast<uint32_t>(target - cta->shared.data());
      require_written(site, *cta, offset, bytes, "this changes");
      note_written(site, *strand.cta, offset, bytes);
    }
    const bool in_global =
        detail.space == AddressSpace::global || (detail.space == AddressSpace::generic &&
                                                 space_of_generic(address) == AddressSpace::global);
    all_in_global &= in_global;
    if (in_global)
      units_of(*strand.cluster)
          .tensor_maps.write({strand, instruction, lane_bit(lane)}, address, bytes);
    const AtomicOperation operation =
        in_global ? in_global_memory(detail.operation) : detail.operation;
    for (int element = 0; element < detail.count; ++element) {
      std::byte* const place = target + element_bytes * static_cast<size_t>(element);
      const auto wide = [&](int index) {
        AtomicValue value{};
        const Operand& operand = instruction.operands[index];
        if (operand.bytes == 16) {
          std::memcpy(value.words, strand.lanes<uint64_t>(operand) + 2 * lane, 16);
        } else {
          value.words[0] = strand.value(operand, lane);
        }
        return value;
      };
      const AtomicValue first = wide(1 + results + element);
      const AtomicValue second =
          detail.has_compare ? wide(1 + results + detail.count + element) : AtomicValue{};
      AtomicValue old{};
      std::memcpy(old.words, place, element_bytes);
      const AtomicValue updated = apply(operation, old, first, second);
      changes = changes || std::memcmp(place, updated.words, element_bytes) != 0;
      std::memcpy(place, updated.words, element_bytes);
      if (!detail.has_result) continue;
      const Operand& result = instruction.operands[1 + element];
      if (result.bytes == 16) {
        std::memcpy(strand.lanes<uint64_t>(result) + 2 * lane, old.words, 16);
      } else {
        strand.set_value(result, lane, old.words[0]);
      }
    }
  }
  timed_access::atomic(
      strand, all_in_global ? timed_access::Place::global : timed_access::Place::shared,
      {.active = active, .bytes = static_cast<uint32_t>(bytes), .own = places}, detail.has_result);
  notify_access(strand, instruction, active, detail.space, Access::read_write, true, bytes,
                addresses);
  strand.warp->last_acquire = strand.time;
  // Trying in vain to take a lock changes nothing.
  if (changes) strand.cluster->note_progress();
}

bool all_in_shared(const Strand& strand, const Instruction& instruction, LaneMask active,
                   AddressSpace space) {
  if (space != AddressSpace::generic)
    return space == AddressSpace::shared_cta || space == AddressSpace::shared_cluster;
  for (const int lane : lanes_of(active)) {
    const uint64_t address =
        lane_address(strand, instruction.operands[0], instruction.immediate, lane);
    if (space_of_generic(address) == AddressSpace::global) return false;
  }
  return true;
}

Flow execute_atomic(Strand& strand, const Instruction& instruction, LaneMask active) {
  if (strand.resumed()) return Flow::next;
  const auto& detail = *static_cast<const AtomicDetail*>(instruction.detail);
  if (!strand.cluster->grid().lockstep() ||
      all_in_shared(strand, instruction, active, detail.space)) {
    perform(strand, instruction, active);
    strand.time += strand.cluster->costs().release(instruction.order, instruction.scope);
    return Flow::next;
  }
  Strand* const waiting = &strand;
  const Cycle latency = strand.cluster->costs().ordered_atomic();
  const Cycle issued =
      strand.time + strand.cluster->costs().release(instruction.order, instruction.scope);
  strand.cluster->in_global_order(issued, latency, [=, &instruction](Cycle now) {
    perform(*waiting, instruction, active);
    waiting->cluster->wake(*waiting, now);
  });
  return strand.block(WaitKind::global_order, 0, 0);
}

AddressSpace space_of(const Binder& binder) {
  const std::string_view name = binder.modifiers.get("space");
  if (name == "global") return AddressSpace::global;
  if (name == "shared" || name == "shared::cta") return AddressSpace::shared_cta;
  if (name == "shared::cluster") return AddressSpace::shared_cluster;
  return AddressSpace::generic;
}

void bind(Binder& binder, bool has_result) {
  AtomicDetail detail;
  detail.space = space_of(binder);
  detail.operation = atomic_operation(binder.modifiers.get("op"), binder.modifiers.type());
  detail.has_result = has_result;
  detail.has_compare = binder.modifiers.get("op") == "cas";
  const std::string_view vector = binder.modifiers.get("vector");
  detail.count = vector.empty() ? 1 : static_cast<uint8_t>(vector[1] - '0');
  if (detail.operation.function == nullptr)
    binder.refuse("combines an operation and a type that the PTX ISA does not define", "");
  const size_t first = has_result ? 1 : 0;
  expect_count_and_policy(binder, first + (detail.has_compare ? 3 : 2));
  binder.address(binder.ptx_operand(first));
  const auto check_count = [&](size_t elements) {
    if (elements != detail.count)
      binder.refuse(
          fmt::format("has an operand of {}, its form takes {}", elements, size_t{detail.count}),
          "write as many registers as the vector modifier says");
  };
  if (has_result)
    check_count(binder.destination_vector(binder.ptx_operand(0), detail.operation.bytes));
  check_count(binder.source_vector(binder.ptx_operand(first + 1), binder.modifiers.type()));
  if (detail.has_compare)
    check_count(binder.source_vector(binder.ptx_operand(first + 2), binder.modifiers.type()));
  binder.detail(detail);
  binder.out.execute = execute_atomic;
}

void bind_atom(Binder& binder) { bind(binder, true); }
void bind_red(Binder& binder) { bind(binder, false); }

/// Global memory unless a shared space is named; a generic address may be either.
Effect effect_of(const Modifiers& modifiers) {
  const std::string_view space = modifiers.get("space");
  const bool may_be_global = space.empty() || space == "global";
  return may_be_global && modifiers.get("scope") != "cta" ? Effect::grid : Effect::cluster;
}

constexpr InstructionForm atomic_row(std::string_view base, BindFunction bind,
                                     uint8_t destinations) {
  return {.base = base,
          .modifiers =
              "[order=relaxed|acquire|release|acq_rel] [scope=cta|cluster|gpu|sys] "
              "[space=global|shared|shared::cta|shared::cluster] "
              "op=and|or|xor|cas|exch|add|inc|dec|min|max [noftz] [policy=L2::cache_hint] "
              "[vector=v2|v4|v8] "
              "type=b16|b32|b64|b128|u32|u64|s32|s64|f16|f16x2|bf16|bf16x2|f32|f64",
          .bind = bind,
          .effect = effect_of,
          .cycles = costs::kGlobalAccess,
          .awaits_loads = true,
          .section = base,
          .destinations = destinations,
          .memory = Memory::update};
}

constexpr InstructionForm kAtomicRows[] = {atomic_row("atom", bind_atom, 1),
                                           atomic_row("red", bind_red, 0)};

}  // namespace

Rows atomic_rows() { return kAtomicRows; }

}  // namespace bw::sim
