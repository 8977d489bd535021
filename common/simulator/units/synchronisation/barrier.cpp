/// \file
/// bar, barrier and barrier.cluster (PTX ISA, "bar, barrier", "barrier.cluster").
#include <algorithm>
#include <string>

#include <fmt/core.h>

#include "common/simulator/clock/costs.hpp"
#include "common/simulator/machine/binder.hpp"
#include "common/simulator/machine/execution.hpp"
#include "common/simulator/units/families.hpp"
#include "common/simulator/units/synchronisation/aligned.hpp"
#include "common/simulator/units/synchronisation/cluster_barrier.hpp"
#include "common/simulator/units/synchronisation/named_barriers.hpp"
#include "common/simulator/units/units.hpp"

namespace bw::sim {
namespace {

using ptx::ScalarType;

constexpr uint8_t kAligned = 1;
constexpr uint8_t kHasCount = 2;
constexpr uint8_t kRelaxed = 4;

uint32_t uniform_value(Strand& strand, const Instruction& instruction, const Operand& operand,
                       LaneMask active, const char* what) {
  const uint64_t first = strand.value(operand, lowest_lane(active));
  const LaneMask different = strand.lanes_that_differ(operand, active);
  if (different != 0) {
    const uint64_t other = strand.value(operand, lowest_lane(different));
    Site{strand, instruction, active}.fault(
        {.code = FaultCode::operand_differs,
         .what =
             fmt::format("the lanes of one warp give different {}s: {} and {}", what, first, other),
         .rule = "a warp arrives at one barrier with one thread count",
         .fix = std::string("make the ") + what + " the same in all lanes of a warp"});
  }
  return static_cast<uint32_t>(first);
}

/// Operands: id, [count], [result, predicate].
template <BarrierOperation which_operation>
Flow barrier(Strand& strand, const Instruction& instruction, LaneMask active) {
  if (strand.resumed()) return Flow::next;
  if ((instruction.flags & kAligned) != 0) require_converged(strand, instruction, active);
  const Operand* operand = instruction.operands;
  BarrierRequest request;
  request.operation = which_operation;
  request.id = uniform_value(strand, instruction, *operand++, active, "barrier id");
  request.has_count = (instruction.flags & kHasCount) != 0;
  if (request.has_count)
    request.threads = uniform_value(strand, instruction, *operand++, active, "thread count");
  if constexpr (which_operation != BarrierOperation::sync &&
                which_operation != BarrierOperation::arrive) {
    request.result = operand++;
    request.predicate = strand.predicate(*operand);
  }
  return units_of(strand).named_barriers.execute(strand, instruction, active, request);
}

/// How a form says that it is .aligned: bar always is, barrier by its modifier.
enum class Alignment : uint8_t { always, by_modifier };

template <Alignment alignment>
void bind_common(Binder& binder, size_t first, bool has_count) {
  binder.source_value(binder.ptx_operand(first), ScalarType::u32);
  if (has_count) {
    binder.out.flags |= kHasCount;
    binder.source_value(binder.ptx_operand(first + 1), ScalarType::u32);
  }
  if (alignment == Alignment::always || binder.modifiers.has("aligned"))
    binder.out.flags |= kAligned;
}

template <Alignment alignment>
void bind_sync(Binder& binder) {
  binder.expect_count(1, 2);
  bind_common<alignment>(binder, 0, binder.count() == 2);
  binder.out.execute = barrier<BarrierOperation::sync>;
}

template <Alignment alignment>
void bind_arrive(Binder& binder) {
  binder.expect_count(2, 2);
  bind_common<alignment>(binder, 0, true);
  binder.out.execute = barrier<BarrierOperation::arrive>;
}

template <BarrierOperation which_operation, Alignment alignment>
void bind_reduction(Binder& binder) {
  binder.expect_count(3, 4);
  const bool has_count = binder.count() == 4;
  bind_common<alignment>(binder, 1, has_count);
  constexpr size_t kResultBytes = which_operation == BarrierOperation::red_popc ? 4 : 0;
  binder.destination(binder.ptx_operand(0), kResultBytes);
  binder.source_predicate(binder.ptx_operand(has_count ? 3 : 2));
  binder.out.execute = barrier<which_operation>;
}

Flow cluster_arrive(Strand& strand, const Instruction& instruction, LaneMask active) {
  if ((instruction.flags & kAligned) != 0) require_converged(strand, instruction, active);
  const bool releases = (instruction.flags & kRelaxed) == 0;
  Cycle performed = releases ? units_of(strand).mbarriers.last_remote_time() : 0;
  ClusterBarrier& barrier = units_of(*strand.cluster).cluster_barrier;
  const Costs& costs = strand.cluster->costs();
  if (!costs.has_model() || !releases) {
    barrier.arrive(strand, instruction, active, performed);
    return Flow::next;
  }
  // The arrival follows what it waits for.
  const MemoryScope scope = strand.cluster->size() > 1 ? MemoryScope::cluster : MemoryScope::cta;
  const Cycle membar = costs.fence(scope);
  performed = std::max(performed, strand.time + membar + barrier.latency());
  barrier.arrive(strand, instruction, active, performed);
  strand.time += membar;
  return Flow::next;
}

Flow cluster_wait(Strand& strand, const Instruction& instruction, LaneMask active) {
  if ((instruction.flags & kAligned) != 0 && !strand.resumed())
    require_converged(strand, instruction, active);
  return units_of(*strand.cluster).cluster_barrier.wait(strand, instruction, active);
}

template <StrandHandler handler>
void bind_cluster(Binder& binder) {
  binder.expect_count(0, 0);
  if (binder.modifiers.has("aligned")) binder.out.flags |= kAligned;
  if (binder.modifiers.get("sem") == "relaxed") binder.out.flags |= kRelaxed;
  binder.out.execute = handler;
}

constexpr InstructionForm row(std::string_view base, std::string_view modifiers, BindFunction bind,
                              std::string_view section, uint8_t destinations = 0) {
  return {.base = base,
          .modifiers = modifiers,
          .bind = bind,
          .effect = Effect::cluster,
          .cycles = costs::kBarrier,
          .section = section,
          .destinations = destinations,
          .crossing = Crossing::closed};
}

constexpr std::string_view kNamed = "bar, barrier";
constexpr std::string_view kCluster = "barrier.cluster";
constexpr Alignment kBar = Alignment::always, kBarrier = Alignment::by_modifier;

constexpr InstructionForm kBarrierRows[] = {
    row("bar", "[cta] sync", bind_sync<kBar>, kNamed),
    row("bar", "[cta] arrive", bind_arrive<kBar>, kNamed),
    row("bar", "[cta] red popc u32", bind_reduction<BarrierOperation::red_popc, kBar>, kNamed, 1),
    row("bar", "[cta] red and pred", bind_reduction<BarrierOperation::red_and, kBar>, kNamed, 1),
    row("bar", "[cta] red or pred", bind_reduction<BarrierOperation::red_or, kBar>, kNamed, 1),
    row("barrier", "[cta] sync [aligned]", bind_sync<kBarrier>, kNamed),
    row("barrier", "[cta] arrive [aligned]", bind_arrive<kBarrier>, kNamed),
    row("barrier", "[cta] red popc [aligned] u32",
        bind_reduction<BarrierOperation::red_popc, kBarrier>, kNamed, 1),
    row("barrier", "[cta] red and [aligned] pred",
        bind_reduction<BarrierOperation::red_and, kBarrier>, kNamed, 1),
    row("barrier", "[cta] red or [aligned] pred",
        bind_reduction<BarrierOperation::red_or, kBarrier>, kNamed, 1),
    row("barrier.cluster.arrive", "[sem=release|relaxed] [aligned]", bind_cluster<cluster_arrive>,
        kCluster),
    row("barrier.cluster.wait", "[acquire] [aligned]", bind_cluster<cluster_wait>, kCluster),
};

}  // namespace

Rows barrier_rows() { return kBarrierRows; }

}  // namespace bw::sim
