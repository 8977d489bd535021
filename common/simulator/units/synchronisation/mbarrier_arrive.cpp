/// \file
/// mbarrier.init, inval, expect_tx, complete_tx, arrive and arrive_drop.
#include <bit>

#include <fmt/core.h>

#include "common/simulator/clock/costs.hpp"
#include "common/simulator/machine/execution.hpp"
#include "common/simulator/units/families.hpp"
#include "common/simulator/units/synchronisation/mbarrier.hpp"
#include "common/simulator/units/synchronisation/mbarrier_operations.hpp"
#include "common/simulator/units/units.hpp"

namespace bw::sim::mbarrier_operations {
namespace {

using ptx::ScalarType;

/// Instruction::flags of an arrival, above the address space.
enum ArriveFlag : uint8_t {
  kDrop = 1 << 2,
  kExpectTx = 1 << 3,
  kNoComplete = 1 << 4,
  kHasCount = 1 << 5,
};

constexpr uint32_t kStateBytes = 8;

SharedPlace place_of(Strand& strand, const Instruction& instruction, const Operand& base,
                     int lane) {
  const uint64_t address = lane_address(strand, base, instruction.immediate, lane);
  return resolve_mbarrier({strand, instruction, lane_bit(lane)}, address_space(instruction.flags),
                          address, kMbarrierBytes);
}

/// Forms that only exist for the executing CTA's memory.
SharedPlace own_place_of(Strand& strand, const Instruction& instruction, const Operand& base,
                         int lane) {
  const SharedPlace place = place_of(strand, instruction, base, lane);
  if (place.cta != strand.cta) {
    Site{strand, instruction, lane_bit(lane)}.fault(
        {.code = FaultCode::mbarrier_of_other_cta,
         .what = fmt::format("the mbarrier is in CTA rank {}, but this form works on the "
                             "executing CTA's shared memory (rank {})",
                             place.cta->rank, strand.cta->rank),
         .rule = "a generic address must fall into the .shared::cta window",
         .fix = "let the CTA that owns the barrier do this",
         .section = "mbarrier"});
  }
  return place;
}

/// What one lane's (or several lanes' equal) arrive does to the object; also at the end of a remote
/// one's way.
uint64_t perform_arrive(MbarrierUnit& unit, const MbarrierOperation& by, uint32_t value) {
  const uint8_t flags = by.instruction.flags;
  uint32_t count = static_cast<uint32_t>(std::popcount(by.lanes));
  // A value out of range must not become a valid one by the multiplication.
  const uint32_t total = value > kMbarrierLargestCount ? value : value * count;
  if ((flags & kExpectTx) != 0) {
    unit.check_arrival(by, count);
    unit.expect_tx(by, total);
  } else {
    count = total;
  }
  if ((flags & kNoComplete) != 0) unit.check_no_complete(by, count);
  return (flags & kDrop) != 0 ? unit.arrive_drop(by, count) : unit.arrive(by, count);
}

/// The equal arrives of several lanes. The PTX ISA lets all of them belong to one phase only; on
/// hardware each belongs to the phase that it finds.
uint64_t perform_arrives(MbarrierUnit& unit, const MbarrierOperation& by, uint32_t value) {
  if (by.strand.cluster->at_isa_level()) return perform_arrive(unit, by, value);
  uint64_t state = 0;
  for (const int lane : lanes_of(by.lanes)) {
    MbarrierOperation own = by;
    own.lanes = lane_bit(lane);
    state = perform_arrive(unit, own, value);
  }
  return state;
}

void arrive_at(Strand& strand, const Instruction& instruction, SharedPlace place, uint32_t value,
               LaneMask lanes) {
  const int first_lane = lowest_lane(lanes);
  const Operand& destination = instruction.operands[0];
  const Cycle released =
      strand.time + strand.cluster->costs().release(instruction.order, instruction.scope);
  if (place.cta == strand.cta && released > strand.time && destination.sink) {
    strand.cluster->at(released, [&strand, &instruction, place, value, lanes](Cycle now) {
      perform_arrives(units_of(*place.cta).mbarriers,
                      {place.offset_bytes, now, strand, instruction, lanes}, value);
    });
    return;
  }
  if (place.cta == strand.cta) {
    const uint64_t state =
        perform_arrives(units_of(*place.cta).mbarriers,
                        {place.offset_bytes, strand.time, strand, instruction, lanes}, value);
    if (!destination.sink) strand.set_value(destination, first_lane, state);
    return;
  }
  if (!destination.sink) {
    Site{strand, instruction, lane_bit(first_lane)}.fault(
        {.code = FaultCode::mbarrier_remote_state,
         .what = fmt::format("an arrive on a barrier of CTA rank {} asks for the state",
                             place.cta->rank),
         .rule = "an arrive on an object outside .shared::cta returns no value: the destination is "
                 "the sink symbol _",
         .fix = "write _ as the destination and wait by parity"});
  }
  const Cycle arrival = units_of(strand).mbarriers.remote_time(place.cta->rank, released);
  uint64_t id = kNoOperation;
  if (strand.cluster->observed(EventKind::order)) {
    OrderEvent event{.operation = OrderEvent::Operation::mbarrier_send,
                     .origin = strand.origin(instruction, lanes),
                     .cycle = strand.time};
    event.id = id = strand.cluster->next_operation();
    event.cta_rank = static_cast<uint16_t>(place.cta->rank);
    event.offset_bytes = place.offset_bytes;
    strand.cluster->notify(&Observer::on_order, event);
  }
  strand.cluster->at(arrival, [&strand, &instruction, place, value, lanes, id](Cycle now) {
    perform_arrives(units_of(*place.cta).mbarriers,
                    {place.offset_bytes, now, strand, instruction, lanes, id}, value);
  });
}

Flow arrive(Strand& strand, const Instruction& instruction, LaneMask active) {
  const Operand* const operands = instruction.operands;
  const bool has_value = (instruction.flags & (kHasCount | kExpectTx)) != 0;
  const auto value_of = [&](int lane) {
    return has_value ? static_cast<uint32_t>(strand.value(operands[2], lane)) : 1u;
  };
  if (operands[0].sink && is_uniform(strand, operands[1], active) &&
      (!has_value || is_uniform(strand, operands[2], active))) {
    const int lane = lowest_lane(active);
    arrive_at(strand, instruction, place_of(strand, instruction, operands[1], lane), value_of(lane),
              active);
  } else {
    for (const int lane : lanes_of(active)) {
      arrive_at(strand, instruction, place_of(strand, instruction, operands[1], lane),
                value_of(lane), lane_bit(lane));
    }
  }
  strand.time += strand.cluster->costs().mbarrier_arrival() +
                 strand.cluster->costs().release(instruction.order, instruction.scope);
  return Flow::next;
}

Flow init(Strand& strand, const Instruction& instruction, LaneMask active) {
  for (const int lane : lanes_of(active)) {
    const SharedPlace place = own_place_of(strand, instruction, instruction.operands[0], lane);
    const auto count = static_cast<uint32_t>(strand.value(instruction.operands[1], lane));
    units_of(*place.cta)
        .mbarriers.init({place.offset_bytes, strand.time, strand, instruction, lane_bit(lane)},
                        count, (instruction.flags & kLayoutOne) != 0 ? 1 : 0);
  }
  strand.time = strand.cta->clock->init_mbarrier(strand.time);
  return Flow::next;
}

Flow inval(Strand& strand, const Instruction& instruction, LaneMask active) {
  for (const int lane : lanes_of(active)) {
    const SharedPlace place = own_place_of(strand, instruction, instruction.operands[0], lane);
    units_of(*place.cta)
        .mbarriers.invalidate(
            {place.offset_bytes, strand.time, strand, instruction, lane_bit(lane)});
  }
  return Flow::next;
}

/// expect_tx or complete_tx.
template <bool completes>
Flow change_tx(Strand& strand, const Instruction& instruction, LaneMask active) {
  const auto change = [&strand, &instruction](SharedPlace place, uint32_t bytes, int lane,
                                              Cycle now) {
    MbarrierUnit& unit = units_of(*place.cta).mbarriers;
    const MbarrierOperation by{place.offset_bytes, now, strand, instruction, lane_bit(lane)};
    if constexpr (completes)
      unit.complete_tx(by, bytes);
    else
      unit.expect_tx(by, bytes);
  };
  for (const int lane : lanes_of(active)) {
    const SharedPlace place = place_of(strand, instruction, instruction.operands[0], lane);
    const auto bytes = static_cast<uint32_t>(strand.value(instruction.operands[1], lane));
    if (place.cta == strand.cta) {
      change(place, bytes, lane, strand.time);
      continue;
    }
    strand.cluster->at(units_of(strand).mbarriers.remote_time(place.cta->rank, strand.time),
                       [=](Cycle now) { change(place, bytes, lane, now); });
  }
  return Flow::next;
}

void bind_address_and_value(Binder& binder, Handler handler) {
  binder.expect_count(2, 2);
  check_sem_and_scope(binder);
  binder.out.flags = space_flag(binder.modifiers);
  binder.address(binder.ptx_operand(0));
  binder.source_value(binder.ptx_operand(1), ScalarType::u32);
  binder.out.execute = handler;
}

void bind_init(Binder& binder) {
  bind_address_and_value(binder, init);
  if (binder.modifiers.get("layout") == "layout::v1") binder.out.flags |= kLayoutOne;
}

void bind_inval(Binder& binder) {
  binder.expect_count(1, 1);
  binder.out.flags = space_flag(binder.modifiers);
  binder.address(binder.ptx_operand(0));
  binder.out.execute = inval;
}

void bind_expect_tx(Binder& binder) { bind_address_and_value(binder, change_tx<false>); }

void bind_complete_tx(Binder& binder) { bind_address_and_value(binder, change_tx<true>); }

template <uint8_t which_form>
void bind_arrive(Binder& binder) {
  constexpr bool kNeedsValue = (which_form & (kExpectTx | kNoComplete)) != 0;
  binder.expect_count(kNeedsValue ? 3 : 2, 3);
  check_sem_and_scope(binder);
  binder.out.flags = static_cast<uint8_t>(which_form | space_flag(binder.modifiers));
  binder.destination(binder.ptx_operand(0), kStateBytes);
  binder.address(binder.ptx_operand(1));
  if (binder.count() == 3) {
    if ((which_form & kExpectTx) == 0) binder.out.flags |= kHasCount;
    binder.source_value(binder.ptx_operand(2), ScalarType::u32);
  }
  binder.out.execute = arrive;
}

/// An object of the executing CTA.
constexpr std::string_view kOwn = "[space=shared|shared::cta] b64";
constexpr std::string_view kInit = "[layout=layout::v0|layout::v1] [space=shared|shared::cta] b64";
constexpr std::string_view kTx =
    "[sem=relaxed] [scope=cta|cluster] [space=shared|shared::cta|shared::cluster] b64";
constexpr std::string_view kArrive =
    "[sem=release|relaxed] [scope=cta|cluster] [space=shared|shared::cta|shared::cluster] b64";
constexpr std::string_view kArriveExpectTx =
    "expect_tx [sem=release|relaxed] [scope=cta|cluster] "
    "[space=shared|shared::cta|shared::cluster] b64";
constexpr std::string_view kArriveNoComplete =
    "noComplete [sem=release] [scope=cta] [space=shared|shared::cta] b64";

constexpr InstructionForm row(std::string_view base, std::string_view modifiers, BindFunction bind,
                              uint8_t destinations = 1, uint16_t cycles = costs::kMbarrierArrive,
                              Lifetime lifetime = Lifetime::none) {
  return {.base = base,
          .modifiers = modifiers,
          .bind = bind,
          .effect = Effect::cluster,
          .cycles = cycles,
          .section = base,
          .destinations = destinations,
          .unit = Unit::mbarrier,
          .lifetime = lifetime};
}

constexpr InstructionForm kArriveRows[] = {
    row("mbarrier.init", kInit, bind_init, 0, costs::kSharedAccess, Lifetime::begins),
    row("mbarrier.inval", kOwn, bind_inval, 0, costs::kSharedAccess, Lifetime::ends),
    row("mbarrier.expect_tx", kTx, bind_expect_tx, 0),
    row("mbarrier.complete_tx", kTx, bind_complete_tx, 0),
    row("mbarrier.arrive", kArrive, bind_arrive<0>),
    row("mbarrier.arrive", kArriveExpectTx, bind_arrive<kExpectTx>),
    row("mbarrier.arrive", kArriveNoComplete, bind_arrive<kNoComplete>),
    row("mbarrier.arrive_drop", kArrive, bind_arrive<kDrop>),
    row("mbarrier.arrive_drop", kArriveExpectTx, bind_arrive<kDrop | kExpectTx>),
    row("mbarrier.arrive_drop", kArriveNoComplete, bind_arrive<kDrop | kNoComplete>),
};

}  // namespace

uint8_t space_flag(const Modifiers& modifiers) {
  const std::string_view space = modifiers.get("space");
  if (space.empty()) return kGeneric;
  return space == "shared::cluster" ? kSharedCluster : kSharedCta;
}

AddressSpace address_space(uint8_t flags) {
  switch (flags & kSpaceMask) {
    case kSharedCta:
      return AddressSpace::shared_cta;
    case kSharedCluster:
      return AddressSpace::shared_cluster;
    default:
      return AddressSpace::generic;
  }
}

void check_sem_and_scope(const Binder& binder) {
  if (binder.modifiers.has("sem") == binder.modifiers.has("scope")) return;
  binder.refuse("has only one of .sem and .scope", "write both, as in .release.cta, or neither");
}

bool is_uniform(const Strand& strand, const Operand& operand, LaneMask active) {
  return strand.lanes_that_differ(operand, active) == 0;
}

Rows arrive_rows() { return kArriveRows; }

}  // namespace bw::sim::mbarrier_operations
