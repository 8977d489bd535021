/// \file
/// Loads and stores: ld, ldu and st.
///
/// A register may be wider than the loaded type: it is then zero- or sign-extended (PTX ISA,
/// "Operand Size Exceeding Instruction-Type Size").
#include <cstring>
#include <string>

#include <fmt/core.h>

#include "common/simulator/clock/costs.hpp"
#include "common/simulator/machine/address_space.hpp"
#include "common/simulator/machine/binder.hpp"
#include "common/simulator/machine/device_memory.hpp"
#include "common/simulator/machine/execution.hpp"
#include "common/simulator/machine/grid.hpp"
#include "common/simulator/machine/kernel_builder.hpp"
#include "common/simulator/units/families.hpp"
#include "common/simulator/units/memory/access_events.hpp"
#include "common/simulator/units/memory/cache_policy.hpp"
#include "common/simulator/units/memory/lane_pointers.hpp"
#include "common/simulator/units/memory/timed_access.hpp"
#include "common/simulator/units/units.hpp"

namespace bw::sim {
namespace {

using ptx::ScalarType;
using Kind = ptx::Operand::Kind;

/// Decoded in Instruction::flags and detail.
struct AccessDetail {
  AddressSpace space = AddressSpace::generic;
  uint8_t element_bytes = 4;
  uint8_t count = 1;  ///< vector elements
  bool sign_extend = false;
  bool in_first_level = true;  ///< device memory may come from the first-level cache

  /// That a lane accesses.
  [[nodiscard]] size_t bytes() const { return size_t{element_bytes} * count; }
};

const AccessDetail& detail_of(const Instruction& instruction) {
  return *static_cast<const AccessDetail*>(instruction.detail);
}

constexpr int kData = kAddressOperand + 1;

void store_to_register(Strand& strand, const Operand& operand, int lane, const std::byte* from,
                       const AccessDetail& detail) {
  if (detail.element_bytes == 16) {
    std::memcpy(strand.lanes<std::byte>(operand) + 16 * lane, from, 16);
    return;
  }
  uint64_t value = 0;
  std::memcpy(&value, from, detail.element_bytes);
  if (detail.sign_extend) {
    const int shift = 64 - 8 * detail.element_bytes;
    value = static_cast<uint64_t>(static_cast<int64_t>(value << shift) >> shift);
  }
  strand.set_value(operand, lane, value);
}

void load_from_register(const Strand& strand, const Operand& operand, int lane, std::byte* to,
                        const AccessDetail& detail) {
  if (detail.element_bytes == 16) {
    std::memcpy(to, strand.lanes<std::byte>(operand) + 16 * lane, 16);
    return;
  }
  const uint64_t value = strand.value(operand, lane);
  std::memcpy(to, &value, detail.element_bytes);
}

timed_access::Place place_of(AddressSpace space, const AccessDetail& detail) {
  using timed_access::Place;
  if (space == AddressSpace::shared_cta || space == AddressSpace::shared_cluster)
    return Place::shared;
  if (space == AddressSpace::global || space == AddressSpace::generic)
    return detail.in_first_level ? Place::global : Place::global_l2;
  return space == AddressSpace::param ? Place::parameters : Place::thread_own;
}

timed_access::LanePlaces places_of(const LanePointers& pointers, LaneMask active,
                                   const AccessDetail& detail) {
  return {.active = active,
          .bytes = static_cast<uint32_t>(detail.bytes()),
          .base = pointers.base,
          .stride_bytes = pointers.stride_bytes,
          .own = pointers.own};
}

/// Element `element` of each lane into registers as wide as it.
template <class T>
void load_elements(T* lanes, LaneMask active, const LanePointers& from, size_t offset) {
  if (from.base != nullptr && from.stride_bytes == sizeof(T)) {
    std::memcpy(lanes, from.base, kWarpLanes * sizeof(T));
  } else if (from.base != nullptr) {
    const std::byte* const base = from.base + offset;
    const size_t stride = from.stride_bytes;
    for (size_t lane = 0; lane < kWarpLanes; ++lane)
      std::memcpy(&lanes[lane], base + lane * stride, sizeof(T));
  } else {
    for_lanes(active, [=, &from](int lane) {
      std::memcpy(&lanes[lane], from.own[lane] + offset, sizeof(T));
    });
  }
}

/// The reverse; lanes of one address write in ascending order.
template <class T>
void store_elements(const T* lanes, LaneMask active, const LanePointers& to, size_t offset) {
  if (to.base != nullptr && to.stride_bytes == sizeof(T)) {
    std::memcpy(to.base, lanes, kWarpLanes * sizeof(T));
  } else {
    for (const int lane : lanes_of(active))
      std::memcpy(to.at(lane) + offset, &lanes[lane], sizeof(T));
  }
}

/// The elements of a vector as memory holds them, lane by lane.
template <class T, size_t count>
using LaneVectors = T[kWarpLanes][count];

/// All `count` elements of each lane into registers as wide as they: one piece of memory a lane.
template <class T, size_t count>
void load_vectors(const Strand& strand, const Operand* data, LaneMask active,
                  const LanePointers& from) {
  LaneVectors<T, count> vectors;
  if (from.base != nullptr && from.stride_bytes == sizeof vectors[0]) {
    std::memcpy(vectors, from.base, sizeof vectors);
  } else {
    for (const int lane : lanes_of(active))
      std::memcpy(vectors[lane], from.at(lane), sizeof vectors[0]);
  }
  for (size_t element = 0; element < count; ++element) {
    T* const lanes = strand.lanes<T>(data[element]);
    for_lanes(active,
              [&vectors, lanes, element](int lane) { lanes[lane] = vectors[lane][element]; });
  }
}

/// The reverse; lanes of one address write in ascending order.
template <class T, size_t count>
void store_vectors(const Strand& strand, const Operand* data, LaneMask active,
                   const LanePointers& to) {
  LaneVectors<T, count> vectors;
  for (size_t element = 0; element < count; ++element) {
    const T* const lanes = strand.lanes<T>(data[element]);
    for (size_t lane = 0; lane < kWarpLanes; ++lane) vectors[lane][element] = lanes[lane];
  }
  if (to.base != nullptr && to.stride_bytes == sizeof vectors[0]) {
    std::memcpy(to.base, vectors, sizeof vectors);
  } else {
    for (const int lane : lanes_of(active))
      std::memcpy(to.at(lane), vectors[lane], sizeof vectors[0]);
  }
}

/// Whether an access is of `count` elements in registers as wide as they, `bytes` bytes.
bool is_vector(const Instruction& instruction, const AccessDetail& detail, uint32_t count,
               uint32_t bytes) {
  const Operand* const data = instruction.operands + kData;
  return detail.count == count && detail.element_bytes == bytes &&
         std::all_of(data, data + count,
                     [=](const Operand& operand) { return operand.bytes == bytes; });
}

void transfer_in(Strand& strand, const Instruction& instruction, LaneMask active,
                 const AccessDetail& detail, const LanePointers& from) {
  const Operand* const data = instruction.operands + kData;
  if (is_vector(instruction, detail, 4, sizeof(uint32_t)))
    return load_vectors<uint32_t, 4>(strand, data, active, from);
  if (is_vector(instruction, detail, 2, sizeof(uint32_t)))
    return load_vectors<uint32_t, 2>(strand, data, active, from);
  if (is_vector(instruction, detail, 2, sizeof(uint64_t)))
    return load_vectors<uint64_t, 2>(strand, data, active, from);
  for (int element = 0; element < detail.count; ++element) {
    const Operand& operand = data[element];
    const size_t offset = size_t{detail.element_bytes} * static_cast<size_t>(element);
    const bool as_wide = detail.element_bytes == operand.bytes;
    if (as_wide && operand.bytes == 4) {
      load_elements(strand.lanes<uint32_t>(operand), active, from, offset);
    } else if (as_wide && operand.bytes == 8) {
      load_elements(strand.lanes<uint64_t>(operand), active, from, offset);
    } else if (as_wide && operand.bytes == 2) {
      load_elements(strand.lanes<uint16_t>(operand), active, from, offset);
    } else {
      for_lanes(active, [&](int lane) {
        store_to_register(strand, operand, lane, from.at(lane) + offset, detail);
      });
    }
  }
}

/// Marks what a load has taken from shared memory that nothing has written: using it is a fault.
/// Registers of a vector whose own bytes were written stay as they are.
Flow mark_unwritten(Strand& strand, const Instruction& instruction, const AccessDetail& detail,
                    LaneMask active, const LanePointers& from) {
  std::unique_ptr<UndefinedLanes>& marks = strand.warp->undefined;
  const bool had_marks = marks != nullptr;
  if (!had_marks) marks = std::make_unique<UndefinedLanes>();
  for (int element = 0; element < detail.count; ++element) {
    LaneMask marked = 0;
    UndefinedLanes::Source source{.instruction = &instruction, .cta = from.cta};
    for (const int lane : lanes_of(from.unwritten & active)) {
      const auto offset = static_cast<uint32_t>(from.at(lane) - from.cta->shared.data()) +
                          uint32_t{detail.element_bytes} * static_cast<uint32_t>(element);
      if (from.cta->contents.is_written(offset, detail.element_bytes)) continue;
      if (marked == 0) {
        source.offset_bytes = offset;
        source.bytes = detail.element_bytes;
      }
      marked |= lane_bit(lane);
    }
    marks->set(instruction.operands[kData + element], active, marked, source);
  }
  return had_marks ? Flow::next : strand.cluster->yield_after(strand, instruction);
}

Flow execute_load(Strand& strand, const Instruction& instruction, LaneMask active) {
  const AccessDetail& detail = detail_of(instruction);
  if (instruction.effect == Effect::grid && strand.cluster->grid().lockstep()) {
    if (strand.resumed()) return Flow::next;
    Strand* const waiting = &strand;
    strand.cluster->in_global_order(strand.time, strand.cluster->costs().ordered_access(),
                                    [=, &instruction, &detail](Cycle now) {
                                      LanePointers from;
                                      resolve_lanes(*waiting, instruction, active, detail.space,
                                                    detail.bytes(), Access::read, from);
                                      transfer_in(*waiting, instruction, active, detail, from);
                                      waiting->cluster->wake(*waiting, now);
                                    });
    return strand.block(WaitKind::global_order, 0, 0);
  }
  if (is_strong(instruction.order)) strand.warp->last_acquire = strand.time;
  LanePointers from;
  const AddressSpace space =
      resolve_lanes(strand, instruction, active, detail.space, detail.bytes(), Access::read, from);
  timed_access::load(strand, place_of(space, detail), places_of(from, active, detail));
  transfer_in(strand, instruction, active, detail, from);
  if (from.unwritten != 0) return mark_unwritten(strand, instruction, detail, active, from);
  return Flow::next;
}

/// A load whose address is the same constant for all lanes: kernel parameters mostly.
Flow execute_uniform_load(Strand& strand, const Instruction& instruction, LaneMask active) {
  const AccessDetail& detail = detail_of(instruction);
  const int leader = lowest_lane(active);
  const size_t bytes = size_t{detail.element_bytes} * detail.count;
  const uint64_t address =
      lane_address(strand, instruction.operands[kAddressOperand], instruction.immediate, leader);
  const std::byte* const from = resolve({strand, instruction, lane_bit(leader)}, detail.space,
                                        address, bytes, bytes, Access::read);
  LanePointers all;
  all.base = const_cast<std::byte*>(from);
  transfer_in(strand, instruction, active, detail, all);
  timed_access::load(strand, place_of(detail.space, detail), places_of(all, active, detail));
  if (is_strong(instruction.order)) strand.warp->last_acquire = strand.time;
  if (strand.cluster->observed(EventKind::access)) {
    LaneAddresses addresses;
    addresses.fill(address);
    notify_access(strand, instruction, active, detail.space, Access::read, false, bytes, addresses);
  }
  if (detail.space == AddressSpace::shared_cta) {
    check_contents(strand, instruction, active, bytes, Access::read, {from, bytes}, all);
    if (all.unwritten != 0) return mark_unwritten(strand, instruction, detail, active, all);
  }
  return Flow::next;
}

void transfer_out(Strand& strand, const Instruction& instruction, LaneMask active,
                  const AccessDetail& detail, const LanePointers& to) {
  const Operand* const data = instruction.operands + kData;
  if (is_vector(instruction, detail, 4, sizeof(uint32_t)))
    return store_vectors<uint32_t, 4>(strand, data, active, to);
  if (is_vector(instruction, detail, 2, sizeof(uint32_t)))
    return store_vectors<uint32_t, 2>(strand, data, active, to);
  if (is_vector(instruction, detail, 2, sizeof(uint64_t)))
    return store_vectors<uint64_t, 2>(strand, data, active, to);
  for (int element = 0; element < detail.count; ++element) {
    const Operand& operand = data[element];
    const size_t offset = size_t{detail.element_bytes} * static_cast<size_t>(element);
    const bool as_wide = detail.element_bytes == operand.bytes;
    if (as_wide && operand.bytes == 4) {
      store_elements(strand.lanes<uint32_t>(operand), active, to, offset);
    } else if (as_wide && operand.bytes == 8) {
      store_elements(strand.lanes<uint64_t>(operand), active, to, offset);
    } else if (as_wide && operand.bytes == 2) {
      store_elements(strand.lanes<uint16_t>(operand), active, to, offset);
    } else {
      for (const int lane : lanes_of(active))
        load_from_register(strand, operand, lane, to.at(lane) + offset, detail);
    }
  }
}

void store_lanes(Strand& strand, const Instruction& instruction, LaneMask active,
                 const AccessDetail& detail) {
  LanePointers to;
  const AddressSpace space =
      resolve_lanes(strand, instruction, active, detail.space, detail.bytes(), Access::write, to);
  timed_access::store(strand, place_of(space, detail), places_of(to, active, detail));
  transfer_out(strand, instruction, active, detail, to);
  strand.cluster->note_progress();
}

/// A copy to the CTA's own shared memory of what a load has found unwritten: it is as undefined as
/// its source, and no use of it. (Bytes that were written before count as written still.)
void copy_undefined(Strand& strand, const Instruction& instruction, LaneMask lanes,
                    const AccessDetail& detail) {
  const UndefinedLanes& marks = *strand.warp->undefined;
  LanePointers to;
  resolve_lanes(strand, instruction, lanes, detail.space, detail.bytes(), Access::read_write, to);
  transfer_out(strand, instruction, lanes, detail, to);
  strand.cluster->note_progress();
  Cta& cta = *strand.cta;
  for (int element = 0; cta.contents.is_tracked() && element < detail.count; ++element)
    for (const int lane : lanes_of(lanes & ~marks.lanes(instruction.operands[kData + element])))
      cta.contents.write(static_cast<uint32_t>(to.at(lane) - cta.shared.data()) +
                             uint32_t{detail.element_bytes} * static_cast<uint32_t>(element),
                         detail.element_bytes, writer_at({strand, instruction, lane_bit(lane)}));
}

/// The lanes whose data is marked as undefined, after checking that this does not use it.
LaneMask copied_undefined(const Strand& strand, const Instruction& instruction, LaneMask active,
                          const AccessDetail& detail) {
  const UndefinedLanes& marks = *strand.warp->undefined;
  marks.require_defined(strand, instruction, instruction.operands[kAddressOperand], active);
  LaneMask copied = 0;
  for (int element = 0; element < detail.count; ++element) {
    const Operand& data = instruction.operands[kData + element];
    const LaneMask marked = marks.lanes(data) & active;
    if (marked != 0 && (detail.space != AddressSpace::shared_cta || !marks.source(data).cta))
      marks.require_defined(strand, instruction, data, marked);
    copied |= marked;
  }
  return copied;
}

Flow execute_store(Strand& strand, const Instruction& instruction, LaneMask active) {
  const AccessDetail& detail = detail_of(instruction);
  if (strand.warp->undefined != nullptr && !strand.resumed())
    if (const LaneMask copied = copied_undefined(strand, instruction, active, detail)) {
      copy_undefined(strand, instruction, copied, detail);
      active &= ~copied;
      if (active == 0) return Flow::next;
    }
  if (instruction.effect == Effect::grid && strand.cluster->grid().lockstep()) {
    if (strand.resumed()) return Flow::next;
    Strand* const waiting = &strand;
    strand.cluster->in_global_order(
        strand.time + strand.cluster->costs().release(instruction.order, instruction.scope),
        strand.cluster->costs().ordered_access(), [=, &instruction, &detail](Cycle now) {
          store_lanes(*waiting, instruction, active, detail);
          waiting->cluster->wake(*waiting, now);
        });
    return strand.block(WaitKind::global_order, 0, 0);
  }
  store_lanes(strand, instruction, active, detail);
  strand.time += strand.cluster->costs().release(instruction.order, instruction.scope);
  return Flow::next;
}

AddressSpace space_of(const Binder& binder, const ptx::Operand& address) {
  const std::string_view name = binder.modifiers.get("space");
  if (name.empty()) return AddressSpace::generic;
  if (name == "global") return AddressSpace::global;
  if (name == "const") return AddressSpace::constant;
  if (name == "local") return AddressSpace::local;
  if (name == "shared" || name == "shared::cta") return AddressSpace::shared_cta;
  if (name == "shared::cluster") return AddressSpace::shared_cluster;
  // .param: an entry's parameters are device memory; a call's live in the thread's local memory.
  const ptx::Operand& base =
      address.kind == Kind::address && !address.elements.empty() ? address.elements[0] : address;
  if (base.kind == Kind::variable)
    for (const auto& own : const_cast<Binder&>(binder).builder().function().variables)
      if (own.get() == base.variable) return AddressSpace::local;
  return AddressSpace::param;
}

uint8_t element_count(const Binder& binder) {
  const std::string_view vector = binder.modifiers.get("vector");
  return vector.empty() ? 1 : static_cast<uint8_t>(vector[1] - '0');
}

AccessDetail access_of(Binder& binder, const ptx::Operand& address) {
  AccessDetail detail;
  const ScalarType type = binder.modifiers.type();
  detail.space = space_of(binder, address);
  detail.element_bytes = static_cast<uint8_t>(ptx::size_bytes(type));
  detail.sign_extend = ptx::is_signed(type);
  detail.count = element_count(binder);
  const std::string_view cache = binder.modifiers.get("cache");
  const MemoryOrder order = binder.modifiers.order();
  const bool is_weak = order == MemoryOrder::unspecified || order == MemoryOrder::weak;
  detail.in_first_level = is_weak && cache != "cg" && cache != "cv";
  return detail;
}

void bind_load(Binder& binder) {
  expect_count_and_policy(binder, 2);
  const ptx::Operand& address = binder.ptx_operand(1);
  const AccessDetail detail = binder.detail(access_of(binder, address));
  binder.address(address);
  const size_t count = binder.destination_vector(binder.ptx_operand(0), detail.element_bytes);
  if (count != detail.count)
    binder.refuse(
        fmt::format("has {} destination registers, its form needs {}", count, detail.count), "");
  const ptx::Operand& base =
      address.kind == Kind::address && !address.elements.empty() ? address.elements[0] : address;
  const bool uniform = base.kind != Kind::reg && detail.space != AddressSpace::local &&
                       binder.out.effect != Effect::grid;
  binder.out.execute = uniform ? execute_uniform_load : execute_load;
}

void bind_store(Binder& binder) {
  expect_count_and_policy(binder, 2);
  const ptx::Operand& address = binder.ptx_operand(0);
  const AccessDetail detail = binder.detail(access_of(binder, address));
  binder.address(address);
  const size_t count = binder.source_vector(binder.ptx_operand(1), binder.modifiers.type());
  if (count != detail.count)
    binder.refuse(fmt::format("has {} source registers, its form needs {}", count, detail.count),
                  "");
  binder.out.execute = execute_store;
  binder.out.marks = Marks::own;
}

/// Parameters, constants and local memory are the thread's own. Elsewhere a strong access of a
/// scope beyond the cluster is seen by other clusters; a weak one may not be.
Effect transfer_effect_of(const Modifiers& modifiers) {
  const std::string_view space = modifiers.get("space");
  if (space == "local" || space == "const" || space.starts_with("param")) return Effect::warp;
  if (space.starts_with("shared")) return Effect::cluster;
  const std::string_view order = modifiers.get("order");
  const std::string_view scope = modifiers.get("scope");
  const bool strong = !order.empty() && order != "weak";
  return strong && scope != "cta" && scope != "cluster" ? Effect::grid : Effect::cluster;
}

#define BW_CACHE_HINTS                                                                        \
  "[l1=L1::evict_normal|L1::evict_unchanged|L1::evict_first|L1::evict_last|L1::no_allocate] " \
  "[l2=L2::evict_last|L2::evict_normal|L2::evict_first] [policy=L2::cache_hint] "             \
  "[prefetch=L2::64B|L2::128B|L2::256B] "
#define BW_ELEMENTS \
  "[vector=v2|v4|v8] type=b8|b16|b32|b64|b128|u8|u16|u32|u64|s8|s16|s32|s64|f32|f64"

/// Parameters are operands from the constant bank.
Cost load_cost(const Modifiers& modifiers, const ptx::Instruction&) {
  return modifiers.get("space").starts_with("param") ? kNoCost : Cost{.pipe = Pipe::load_store};
}

constexpr InstructionForm kLoadStoreRows[] = {
    {.base = "ld",
     .modifiers =
         "[order=weak|relaxed|acquire|volatile|mmio] [scope=cta|cluster|gpu|sys] "
         "[space=global|shared|shared::cta|shared::cluster|local|param|param::entry|param::func|"
         "const] [cache=ca|cg|cs|lu|cv] [nc] [unified] " BW_CACHE_HINTS BW_ELEMENTS,
     .bind = bind_load,
     .effect = transfer_effect_of,
     .cycles = costs::kSharedAccess,
     .cost = load_cost,
     .section = "ld",
     .takes_wider_registers = true,
     .memory = Memory::load},
    {.base = "ldu",
     .modifiers = "[space=global] " BW_ELEMENTS,
     .bind = bind_load,
     .effect = Effect::cluster,
     .cycles = costs::kSharedAccess,
     .section = "ldu",
     .takes_wider_registers = true,
     .memory = Memory::uniform_load},
    {.base = "st",
     .modifiers = "[order=weak|relaxed|release|volatile|mmio] [scope=cta|cluster|gpu|sys] "
                  "[space=global|shared|shared::cta|shared::cluster|local|param|param::func] "
                  "[cache=wb|cg|cs|wt] " BW_CACHE_HINTS BW_ELEMENTS,
     .bind = bind_store,
     .effect = transfer_effect_of,
     .cycles = costs::kSharedAccess,
     .awaits_loads = true,
     .section = "st",
     .destinations = 0,
     .takes_wider_registers = true,
     .memory = Memory::store},
};

}  // namespace

Rows load_store_rows() { return kLoadStoreRows; }

}  // namespace bw::sim
