/// \file
/// st.async and red.async: stores and reductions that a thread sends off and does not wait for.
///
/// In the shared memory of a CTA of the cluster they take effect when they arrive there, and then
/// complete_tx their bytes on an mbarrier of that CTA. In global memory they take their place in
/// the order of the grid.
#include <array>
#include <cstring>
#include <memory>
#include <utility>

#include <fmt/core.h>

#include "common/simulator/clock/costs.hpp"
#include "common/simulator/machine/binder.hpp"
#include "common/simulator/machine/grid.hpp"
#include "common/simulator/units/copies/copy_forms.hpp"
#include "common/simulator/units/families.hpp"
#include "common/simulator/units/memory/access_events.hpp"
#include "common/simulator/units/memory/atomic_operation.hpp"
#include "common/simulator/units/synchronisation/mbarrier.hpp"
#include "common/simulator/units/units.hpp"

namespace bw::sim {
namespace {

using ptx::ScalarType;

constexpr size_t kMostElements = 4;

struct AsyncStoreForm {
  AddressOperand destination;
  AddressOperand mbarrier;
  ValueOperand source;  ///< the first element; the others follow
  uint8_t count = 1;    ///< vector elements
  uint8_t element_bytes = 4;
  bool generic = false;       ///< the addresses are generic, of shared memory only
  bool reduces = false;       ///< else it stores
  AtomicOperation operation;  ///< of a reduction
};

/// What one lane sends.
struct Message {
  std::array<uint64_t, kMostElements> elements{};
};

Message message_of(const Strand& strand, const Instruction& instruction, int lane,
                   const AsyncStoreForm& form) {
  Message message;
  for (uint16_t i = 0; i < form.count; ++i)
    message.elements[i] = strand.value(instruction.operands[form.source.index + i], lane);
  return message;
}

void deliver(const AsyncStoreForm& form, const Message& message, std::byte* memory,
             bool in_global) {
  for (size_t i = 0; i < form.count; ++i) {
    AtomicValue value{{message.elements[i], 0}};
    std::byte* const place = memory + i * form.element_bytes;
    if (form.reduces) {
      AtomicValue old{};
      std::memcpy(old.words, place, form.element_bytes);
      value = apply(in_global ? in_global_memory(form.operation) : form.operation, old, value);
    }
    std::memcpy(place, value.words, form.element_bytes);
  }
}

const AsyncStoreForm& async_form_of(const Instruction& instruction) {
  return *static_cast<const AsyncStoreForm*>(instruction.detail);
}

/// A place in shared memory of the cluster, also by a generic address.
SharedPlace shared_place(const Site& site, const AsyncStoreForm& form, uint64_t address,
                         size_t bytes, const char* what) {
  if (form.generic && space_of_generic(address) != AddressSpace::shared_cluster)
    site.fault({.code = FaultCode::not_shared_address,
                .what = fmt::format("the generic address of the {} is not in shared memory", what),
                .rule = "the address falls within the .shared::cluster window",
                .fix = "map the address of a variable in shared memory with mapa"});
  return resolve_shared(site, form.generic ? AddressSpace::generic : AddressSpace::shared_cluster,
                        address, bytes, bytes);
}

Flow send_to_shared(Strand& strand, const Instruction& instruction, LaneMask active) {
  const AsyncStoreForm& form = async_form_of(instruction);
  const uint32_t bytes = uint32_t{form.element_bytes} * form.count;
  for (const int lane : lanes_of(active)) {
    const Site site{strand, instruction, lane_bit(lane)};
    const SharedPlace place = shared_place(
        site, form, form.destination.of(strand, instruction, lane), bytes, "destination");
    const SharedPlace barrier = shared_place(
        site, form, form.mbarrier.of(strand, instruction, lane), kMbarrierObjectBytes, "mbarrier");
    if (place.cta != barrier.cta)
      site.fault({.code = FaultCode::copy_mbarrier_elsewhere,
                  .what = fmt::format("the data goes to CTA rank {}, the mbarrier is in CTA rank "
                                      "{}",
                                      place.cta->rank, barrier.cta->rank),
                  .rule = "the mbarrier is in the shared memory of the destination's CTA",
                  .fix = "map the data's and the mbarrier's address to the same CTA"});
    const Cycle arrival = units_of(strand).mbarriers.remote_time(place.cta->rank, strand.time);
    const Message message = message_of(strand, instruction, lane, form);
    std::shared_ptr<CopyDescription> copy;
    if (strand.cluster->observed(EventKind::copy)) {
      const auto rank = static_cast<uint16_t>(place.cta->rank);
      copy = std::make_shared<CopyDescription>();
      copy->id = strand.cluster->next_operation();
      copy->direction = form.reduces ? CopyDirection::reduce : CopyDirection::store;
      copy->bytes = bytes;
      copy->destinations = {{AddressSpace::shared_cta, rank, place.offset_bytes, bytes}};
      copy->signals = {{rank, barrier.offset_bytes, bytes}};
      strand.cluster->notify(
          &Observer::on_copy,
          CopyEvent{CopyEvent::Stage::issued, strand.origin(instruction, lane_bit(lane)),
                    strand.time, *copy});
    }
    strand.cluster->at(arrival, [site, &form, message, place, barrier, bytes, copy](Cycle now) {
      const Strand& sender = site.strand;
      // Where the CTA has ended, completing the bytes below says so.
      deliver(form, message, place.cta->shared.data() + place.offset_bytes, false);
      sender.cluster->note_progress();
      if (copy != nullptr)
        sender.cluster->notify(&Observer::on_copy,
                               CopyEvent{CopyEvent::Stage::landed,
                                         sender.origin(site.instruction, site.lanes), now, *copy});
      units_of(*place.cta)
          .mbarriers.complete_tx({barrier.offset_bytes, now, sender, site.instruction, site.lanes,
                                  copy != nullptr ? copy->id : kNoOperation},
                                 bytes);
    });
  }
  return Flow::next;
}

Flow send_to_global(Strand& strand, const Instruction& instruction, LaneMask active) {
  const AsyncStoreForm& form = async_form_of(instruction);
  for (const int lane : lanes_of(active)) {
    const Site site{strand, instruction, lane_bit(lane)};
    const uint64_t address = form.destination.of(strand, instruction, lane);
    if (form.generic && space_of_generic(address) != AddressSpace::global)
      site.fault({.code = FaultCode::not_global_address,
                  .what = "the generic address is not in global memory",
                  .rule = "without a completion mechanism the address falls within .global",
                  .fix = "pass an address of global memory"});
    std::byte* const memory =
        resolve(site, AddressSpace::global, address, form.element_bytes, form.element_bytes,
                form.reduces ? Access::read_write : Access::write);
    units_of(*strand.cluster).tensor_maps.write(site, address, form.element_bytes);
    const Message message = message_of(strand, instruction, lane, form);
    const auto arrive = [memory, message, &form, site, address](Cycle) {
      deliver(form, message, memory, true);
      LaneAddresses addresses{};
      addresses[static_cast<size_t>(lowest_lane(site.lanes))] = address;
      notify_access(site.strand, site.instruction, site.lanes, AddressSpace::global,
                    form.reduces ? Access::read_write : Access::write, true, form.element_bytes,
                    addresses);
      site.strand.cluster->note_progress();
    };
    if (strand.cluster->grid().lockstep())
      strand.cluster->in_global_order(strand.time, costs::kGlobalAtomic, arrive);
    else
      strand.cluster->after(strand.time, costs::kGlobalAtomic, arrive);
  }
  return Flow::next;
}

/// The pairs that red.async on shared memory has: fewer than red.
bool has_reduction(std::string_view operation, ScalarType type) {
  if (operation == "inc" || operation == "dec") return type == ScalarType::u32;
  if (operation == "min" || operation == "max")
    return type == ScalarType::u32 || type == ScalarType::s32;
  if (operation == "add") return type != ScalarType::b32;
  return type == ScalarType::b32;
}

void bind_operation(Binder& binder, AsyncStoreForm& form) {
  const ScalarType type = binder.modifiers.type();
  form.element_bytes = static_cast<uint8_t>(ptx::size_bytes(type));
  const std::string_view vector = binder.modifiers.get("vector");
  form.count = vector.empty() ? 1 : static_cast<uint8_t>(vector[1] - '0');
  form.generic = !binder.modifiers.has("space");
  const std::string_view operation = binder.modifiers.get("op");
  if (operation.empty()) return;
  if (!has_reduction(operation, type))
    binder.refuse("combines an operation and a type that the PTX ISA does not define", "");
  form.reduces = true;
  // The sum of two's complement numbers does not depend on their sign.
  const bool sum = operation == "add" && type == ScalarType::s64;
  form.operation = atomic_operation(operation, sum ? ScalarType::u64 : type);
}

/// Operands: address, value or vector of values {, mbarrier}.
template <bool with_mbarrier>
void bind(Binder& binder) {
  constexpr size_t kOperands = with_mbarrier ? 3 : 2;
  binder.expect_count(kOperands, kOperands);
  AsyncStoreForm form;
  bind_operation(binder, form);
  CopyBinder copy(binder);
  form.destination = copy.address(binder.ptx_operand(0));
  size_t count = 0;
  form.source = copy.vector(binder.ptx_operand(1), binder.modifiers.type(), count);
  if (count != form.count)
    binder.refuse(fmt::format("has {} source values, its form needs {}", count, form.count), "");
  if constexpr (with_mbarrier) form.mbarrier = copy.address(binder.ptx_operand(2));
  binder.detail(form);
  binder.out.execute = with_mbarrier ? send_to_shared : send_to_global;
}

constexpr InstructionForm row(std::string_view base, std::string_view modifiers, BindFunction bind,
                              Effect effect, Memory memory) {
  return {.base = base,
          .modifiers = modifiers,
          .bind = bind,
          .effect = effect,
          .cycles = costs::kSharedAccess,
          .awaits_loads = true,
          .section = base,
          .destinations = 0,
          .unit = Unit::async_store,
          .memory = memory};
}

constexpr InstructionForm kAsyncStoreRows[] = {
    row("st.async",
        "[order=weak] [space=shared::cluster] mbarrier::complete_tx::bytes [vector=v2|v4] "
        "type=b32|b64|u32|u64|s32|s64|f32|f64",
        bind<true>, Effect::cluster, Memory::store),
    row("st.async",
        "[mmio] release scope=gpu|sys [space=global] "
        "type=b8|b16|b32|b64|u8|u16|u32|u64|s8|s16|s32|s64|f32|f64",
        bind<false>, Effect::grid, Memory::store),
    row("red.async",
        "relaxed cluster [space=shared::cluster] mbarrier::complete_tx::bytes "
        "op=inc|dec|min|max|add|and|or|xor type=u32|s32|u64|s64|b32",
        bind<true>, Effect::cluster, Memory::update),
    row("red.async", "[mmio] release scope=gpu|sys [space=global] op=add type=u32|s32|u64|s64",
        bind<false>, Effect::grid, Memory::update),
};

}  // namespace

Rows async_store_rows() { return kAsyncStoreRows; }

}  // namespace bw::sim
