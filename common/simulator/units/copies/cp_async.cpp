/// \file
/// Non-bulk cp.async: per-thread copies of 4, 8 or 16 bytes from global to shared memory.
#include <array>
#include <cstring>
#include <memory>
#include <string>

#include <fmt/core.h>

#include "common/simulator/base/device_address.hpp"
#include "common/simulator/clock/costs.hpp"
#include "common/simulator/machine/binder.hpp"
#include "common/simulator/machine/kernel_builder.hpp"
#include "common/simulator/machine/late_fault.hpp"
#include "common/simulator/units/copies/copy_forms.hpp"
#include "common/simulator/units/copies/cp_async.hpp"
#include "common/simulator/units/families.hpp"
#include "common/simulator/units/memory/timed_access.hpp"
#include "common/simulator/units/synchronisation/mbarrier.hpp"
#include "common/simulator/units/units.hpp"

namespace bw::sim {
namespace {

using ptx::ScalarType;

constexpr uint32_t kLargestCopyBytes = 16;

struct CopyForm {
  AddressOperand destination;
  AddressOperand source;
  uint32_t copy_bytes = 0;
  ValueOperand source_bytes;
  ValueOperand ignore_source;
  bool in_first_level = true;  ///< .ca: the source may come from the first-level cache
};

/// The copies of one warp instruction in flight.
struct InFlight {
  struct Copy {
    AsyncGroups::Ticket ticket;
    std::byte* destination = nullptr;
    const std::byte* source = nullptr;  ///< nullptr when no byte is read
    uint32_t source_bytes = 0;
  };
  std::array<Copy, kWarpLanes> copies;
  int count = 0;
  uint32_t copy_bytes = 0;
  Origin origin;
  std::unique_ptr<CopyDescription> description;  ///< for observers; null if none requests it
};

std::unique_ptr<CopyDescription> describe(const InFlight& copies, const Cta& cta) {
  auto description = std::make_unique<CopyDescription>();
  description->id = cta.cluster->next_operation();
  description->unit = CopyUnit::cp_async;
  const auto rank = static_cast<uint16_t>(cta.rank);
  for (int i = 0; i < copies.count; ++i) {
    const InFlight::Copy& copy = copies.copies[static_cast<size_t>(i)];
    description->bytes += copies.copy_bytes;
    if (copy.source != nullptr)
      description->sources.push_back(
          {AddressSpace::global, 0, device_address(copy.source), copy.source_bytes});
    description->destinations.push_back(
        {AddressSpace::shared_cta, rank,
         static_cast<uint64_t>(copy.destination - cta.shared.data()), copies.copy_bytes});
  }
  return description;
}

uint32_t source_size(const Strand& strand, const Instruction& instruction, int lane,
                     const CopyForm& form) {
  if (form.ignore_source.present())
    return (strand.predicate(instruction.operands[form.ignore_source.index]) >> lane & 1u) != 0
               ? 0
               : form.copy_bytes;
  if (!form.source_bytes.present()) return form.copy_bytes;
  const auto bytes = static_cast<uint32_t>(form.source_bytes.of(strand, instruction, lane));
  if (bytes > form.copy_bytes)
    Site{strand, instruction, lane_bit(lane)}.fault(
        {.code = FaultCode::cp_async_size,
         .what = fmt::format("src-size {} exceeds cp-size {}", bytes, form.copy_bytes),
         .rule = "src-size is at most cp-size",
         .fix = "clamp the number of bytes that are read"});
  return bytes;
}

/// Cycles until the copies are complete. `copies` are of the active lanes, in order.
Cycle latency_of(Strand& strand, const CopyForm& form, const InFlight& copies, LaneMask active) {
  if (!strand.cluster->costs().has_model()) return costs::kGlobalLoad;
  const std::byte* sources[kWarpLanes];
  const std::byte* destinations[kWarpLanes];
  LaneMask reading = 0;
  size_t next = 0;
  for (const int lane : lanes_of(active)) {
    const InFlight::Copy& copy = copies.copies[next++];
    sources[lane] = copy.source;
    destinations[lane] = copy.destination;
    if (copy.source != nullptr) reading |= lane_bit(lane);
  }
  const Cycle issued = strand.time;
  const Cycle done = timed_access::copy(
      strand, form.in_first_level ? timed_access::Place::global : timed_access::Place::global_l2,
      {.active = reading, .bytes = form.copy_bytes, .own = sources},
      {.active = active, .bytes = form.copy_bytes, .own = destinations});
  return done - issued;
}

Flow copy(Strand& strand, const Instruction& instruction, LaneMask active) {
  const auto& form = *static_cast<const CopyForm*>(instruction.detail);
  auto in_flight = std::make_shared<InFlight>();
  in_flight->copy_bytes = form.copy_bytes;
  CpAsyncGroups& groups = units_of(strand).cp_async_groups;
  for (const int lane : lanes_of(active)) {
    const Site site{strand, instruction, lane_bit(lane)};
    InFlight::Copy& copy = in_flight->copies[static_cast<size_t>(in_flight->count++)];
    copy.source_bytes = source_size(strand, instruction, lane, form);
    const uint64_t source = form.source.of(strand, instruction, lane);
    if (copy.source_bytes > 0)
      copy.source = resolve(site, AddressSpace::global, source, copy.source_bytes, form.copy_bytes,
                            Access::read);
    const uint64_t destination = form.destination.of(strand, instruction, lane);
    copy.destination = resolve(site, AddressSpace::shared_cta, destination, form.copy_bytes,
                               form.copy_bytes, Access::write);
    copy.ticket = groups.begin(strand.thread_index(lane));
  }
  Cta* const cta = strand.cta;
  in_flight->origin = strand.origin(instruction, active);
  if (strand.cluster->observed(EventKind::copy)) {
    in_flight->description = describe(*in_flight, *cta);
    strand.cluster->notify(&Observer::on_copy,
                           CopyEvent{CopyEvent::Stage::issued, in_flight->origin, strand.time,
                                     *in_flight->description});
  }
  const Cycle issued = strand.time;
  const Cycle latency = latency_of(strand, form, *in_flight, active);
  strand.cluster->after(issued, latency, [in_flight, cta](Cycle now) {
    if (cta->exited)
      fault_at_isa(*cta->cluster, in_flight->origin, FaultCode::copy_outlives_cta, [] {
        return Fault{.code = FaultCode::copy_outlives_cta,
                     .what =
                         "the copy completes after its CTA has exited, into whose shared "
                         "memory it writes",
                     .rule = "shared memory lives as long as its CTA",
                     .fix =
                         "wait for the copy before the exit: cp.async.commit_group and "
                         "cp.async.wait_group 0 in the thread that issued it",
                     .section = "Shared State Space",
                     .hardware_accepts = true};
      });
    if (in_flight->description != nullptr)
      cta->cluster->notify(
          &Observer::on_copy,
          CopyEvent{CopyEvent::Stage::landed, in_flight->origin, now, *in_flight->description});
    for (int i = 0; i < in_flight->count; ++i) {
      const InFlight::Copy& done = in_flight->copies[static_cast<size_t>(i)];
      if (done.source != nullptr) std::memcpy(done.destination, done.source, done.source_bytes);
      std::memset(done.destination + done.source_bytes, 0,
                  in_flight->copy_bytes - done.source_bytes);
      units_of(*cta).cp_async_groups.finish(done.ticket, AsyncGroups::Stage::read, now);
      units_of(*cta).cp_async_groups.finish(done.ticket, AsyncGroups::Stage::write, now);
    }
  });
  return Flow::next;
}

void commit_lanes(Strand& strand, LaneMask active) {
  for (const int lane : lanes_of(active)) {
    units_of(strand).cp_async_groups.commit(strand.thread_index(lane));
  }
}

Flow commit_group(Strand& strand, const Instruction& instruction, LaneMask active) {
  commit_lanes(strand, active);
  notify_group_commit(strand, instruction, GroupEvent::Unit::cp_async);
  return Flow::next;
}

Flow wait_for(Strand& strand, const Instruction& instruction, LaneMask active, uint32_t allowed) {
  constexpr AsyncGroups::Stage kStage = AsyncGroups::Stage::write;
  const Flow flow = units_of(strand).cp_async_groups.wait(strand, active, allowed, kStage);
  return notify_group_wait(strand, instruction, GroupEvent::Unit::cp_async, allowed, kStage, flow);
}

Flow wait_group(Strand& strand, const Instruction& instruction, LaneMask active) {
  return wait_for(strand, instruction, active, static_cast<uint32_t>(instruction.immediate));
}

Flow wait_all(Strand& strand, const Instruction& instruction, LaneMask active) {
  if (!strand.resumed()) commit_lanes(strand, active);
  return wait_for(strand, instruction, active, 0);
}

/// Arrives on the mbarrier when all earlier cp.async of the thread are complete.
Flow arrive_on_mbarrier(Strand& strand, const Instruction& instruction, LaneMask active) {
  const bool increments =
      instruction.flags == 0;  // without .noinc the pending count does not change
  for (const int lane : lanes_of(active)) {
    const uint64_t address =
        lane_address(strand, instruction.operands[0], instruction.immediate, lane);
    const AddressSpace space =
        address > 0xffffffffu ? AddressSpace::generic : AddressSpace::shared_cta;
    const SharedPlace place = resolve_shared({strand, instruction, lane_bit(lane)}, space, address,
                                             kMbarrierObjectBytes, kMbarrierObjectBytes);
    MbarrierUnit& unit = units_of(*place.cta).mbarriers;
    (void)unit.require(place.offset_bytes, strand, instruction);
    if (increments)
      unit.increment_pending({place.offset_bytes, strand.time, strand, instruction}, 1);
    uint64_t id = kNoOperation;
    if (strand.cluster->observed(EventKind::order)) {
      OrderEvent event{.operation = OrderEvent::Operation::cp_async_arrive,
                       .origin = strand.origin(instruction, lane_bit(lane)),
                       .cycle = strand.time};
      event.id = id = strand.cluster->next_operation();
      event.cta_rank = static_cast<uint16_t>(place.cta->rank);
      event.offset_bytes = place.offset_bytes;
      strand.cluster->notify(&Observer::on_order, event);
    }
    units_of(strand).cp_async_groups.when_complete(
        strand.thread_index(lane), strand.time,
        [&unit, offset = place.offset_bytes, origin = &strand, &instruction, lane, id](Cycle now) {
          unit.arrive({offset, now, *origin, instruction, lane_bit(lane), id}, 1);
        });
  }
  return Flow::next;
}

// Binding.

// [dst], [src], cp-size {, src-size | ignore-src} {, policy}
void bind_copy(Binder& b) {
  CopyForm form;
  CopyBinder copy_binder(b);
  form.destination = copy_binder.address(b.ptx_operand(0));
  form.source = copy_binder.address(b.ptx_operand(1));
  const int64_t size = b.immediate(b.ptx_operand(2));
  const bool cached_in_l2_only = b.modifiers.get("cache") == "cg";
  if (size != kLargestCopyBytes && (cached_in_l2_only || (size != 4 && size != 8)))
    b.refuse(fmt::format("has cp-size {}", size), "cp-size is 16 with .cg and 4, 8 or 16 with .ca");
  form.copy_bytes = static_cast<uint32_t>(size);
  form.in_first_level = !cached_in_l2_only;
  const bool has_policy = b.modifiers.has("L2::cache_hint");
  size_t next = 3;
  if (b.count() > next + (has_policy ? 1 : 0)) {
    const ptx::Operand& operand = b.ptx_operand(next++);
    // A predicate is ignore-src, anything else src-size.
    const bool is_predicate =
        operand.kind == ptx::Operand::Kind::reg &&
        b.builder().function().registers[operand.reg].type == ScalarType::pred;
    if (is_predicate)
      form.ignore_source = copy_binder.predicate(operand);
    else
      form.source_bytes = copy_binder.value(operand, ScalarType::u32);
  }
  if (has_policy) copy_binder.value(b.ptx_operand(next++), ScalarType::b64);
  b.expect_count(next, next);
  b.detail(form);
  b.out.execute = copy;
}

void bind_commit(Binder& b) {
  b.expect_count(0, 0);
  b.out.execute = commit_group;
}

void bind_wait(Binder& b) {
  b.expect_count(1, 1);
  b.out.immediate = b.immediate(b.ptx_operand(0));
  if (b.out.immediate < 0)
    b.refuse("has a negative group count", "give 0 or more groups that may be pending");
  b.out.execute = wait_group;
}

void bind_wait_all(Binder& b) {
  b.expect_count(0, 0);
  b.out.execute = wait_all;
}

void bind_arrive(Binder& b) {
  b.expect_count(1, 1);
  b.address(b.ptx_operand(0));
  b.out.flags = b.modifiers.has("noinc");
  b.out.execute = arrive_on_mbarrier;
}

constexpr InstructionForm kCpAsyncRows[] = {
    {.base = "cp.async",
     .modifiers = "cache=ca|cg space=shared|shared::cta global [L2::cache_hint] "
                  "[prefetch=L2::64B|L2::128B|L2::256B]",
     .bind = bind_copy,
     .effect = Effect::cluster,
     .cycles = costs::kGlobalAccess,
     .section = "cp.async",
     .destinations = 0,
     .unit = Unit::async_copy,
     .memory = Memory::copy},
    {.base = "cp.async.commit_group",
     .modifiers = "",
     .bind = bind_commit,
     .effect = Effect::cluster,
     .cycles = costs::kAlu,
     .section = "cp.async.commit_group",
     .destinations = 0,
     .unit = Unit::async_copy,
     .ordering = Ordering::commit},
    {.base = "cp.async.wait_group",
     .modifiers = "",
     .bind = bind_wait,
     .effect = Effect::cluster,
     .cycles = costs::kAlu,
     .section = "cp.async.wait_group",
     .destinations = 0,
     .unit = Unit::async_copy,
     .ordering = Ordering::wait,
     .crossing = Crossing::closed},
    {.base = "cp.async.wait_all",
     .modifiers = "",
     .bind = bind_wait_all,
     .effect = Effect::cluster,
     .cycles = costs::kAlu,
     .section = "cp.async.wait_all",
     .destinations = 0,
     .unit = Unit::async_copy,
     .ordering = Ordering::wait_all,
     .crossing = Crossing::closed},
    {.base = "cp.async.mbarrier.arrive",
     .modifiers = "[noinc] [space=shared|shared::cta] b64",
     .bind = bind_arrive,
     .effect = Effect::cluster,
     .cycles = costs::kMbarrierArrive,
     .section = "cp.async.mbarrier.arrive",
     .destinations = 0,
     .unit = Unit::async_copy},
};

}  // namespace

Rows cp_async_rows() { return kCpAsyncRows; }

}  // namespace bw::sim
