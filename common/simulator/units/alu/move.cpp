/// \file
/// mov: registers, immediates, special registers, addresses, packing and unpacking (PTX ISA, "Data
/// Movement and Conversion Instructions: mov").
#include <cstring>

#include <fmt/core.h>

#include "common/simulator/machine/address_space.hpp"
#include "common/simulator/units/alu/lanewise.hpp"
#include "common/simulator/units/alu/register_form.hpp"
#include "common/simulator/units/control/special_registers.hpp"
#include "common/simulator/units/families.hpp"

namespace bw::sim::conversion {
namespace {

using Kind = ptx::Operand::Kind;
using ptx::ScalarType;

struct Lane128 {
  uint64_t low, high;
};
static_assert(sizeof(Lane128) == 16, "a .b128 register holds 16 bytes per lane");

template <class T>
void move(const LaneRegisters& registers, const Instruction& instruction, LaneMask active) {
  T* const d = registers.lanes<T>(instruction.operands[0]);
  const T* const a = registers.lanes<T>(instruction.operands[1]);
  for_lanes(active, [=](int lane) { d[lane] = a[lane]; });
}

/// The address of a shared variable: its offset with its own CTA's rank in the bits above.
template <class T>
Flow move_shared_address(Strand& strand, const Instruction& instruction, LaneMask active) {
  T* const d = strand.lanes<T>(instruction.operands[0]);
  const T address =
      strand.lanes<T>(instruction.operands[1])[0] + (T{strand.cta->rank} << kSharedRankShift);
  for_lanes(active, [=](int lane) { d[lane] = address; });
  return Flow::next;
}

struct SpecialSource {
  SpecialValue value;
};

Flow move_special(Strand& strand, const Instruction& instruction, LaneMask active) {
  const SpecialValue value = static_cast<const SpecialSource*>(instruction.detail)->value;
  const Operand& destination = instruction.operands[0];
  for_lanes(active, [&](int lane) { strand.set_value(destination, lane, value(strand, lane)); });
  return Flow::next;
}

/// Operands: d, then the parts from the lowest; `immediate` is a part's size in bits.
void pack(const LaneRegisters& registers, const Instruction& instruction, LaneMask active) {
  const int parts = instruction.operand_count - 1;
  const auto part_bytes = static_cast<size_t>(instruction.immediate / 8);
  const Operand& destination = instruction.operands[0];
  std::byte* const d = registers.lanes<std::byte>(destination);
  for_lanes(active, [&](int lane) {
    for (int k = 0; k < parts; ++k) {
      const Operand& part = instruction.operands[k + 1];
      std::memcpy(d + lane * destination.bytes + static_cast<size_t>(k) * part_bytes,
                  registers.lanes<std::byte>(part) + lane * part.bytes, part_bytes);
    }
  });
}

/// Operands: the parts from the lowest, then the source; `immediate` is a part's size in bits.
void unpack(const LaneRegisters& registers, const Instruction& instruction, LaneMask active) {
  const int parts = instruction.operand_count - 1;
  const auto part_bytes = static_cast<size_t>(instruction.immediate / 8);
  const Operand& source = instruction.operands[parts];
  const std::byte* const a = registers.lanes<std::byte>(source);
  for_lanes(active, [&](int lane) {
    Lane128 value{};
    std::memcpy(&value, a + lane * source.bytes, source.bytes);
    const auto* const bytes = reinterpret_cast<const std::byte*>(&value);
    for (int k = 0; k < parts; ++k) {
      const Operand& part = instruction.operands[k];
      std::byte* const d = registers.lanes<std::byte>(part) + lane * part.bytes;
      // An 8-bit part lives zero-extended in two bytes.
      std::memset(d, 0, part.bytes);
      std::memcpy(d, bytes + static_cast<size_t>(k) * part_bytes, part_bytes);
    }
  });
}

// A register's lanes are read and written as a row of parts, low and high in turn: compilers then
// emit one permutation for each vector.

template <class Part>
void pack_two(const LaneRegisters& registers, const Instruction& instruction, LaneMask active) {
  Part* const d = registers.lanes<Part>(instruction.operands[0]);
  const Part* const low = registers.lanes<Part>(instruction.operands[1]);
  const Part* const high = registers.lanes<Part>(instruction.operands[2]);
  for_lanes(active, [=](int lane) {
    const Part first = low[lane], second = high[lane];
    d[2 * lane] = first;
    d[2 * lane + 1] = second;
  });
}

template <class Part>
void unpack_two(const LaneRegisters& registers, const Instruction& instruction, LaneMask active) {
  Part* const low = registers.lanes<Part>(instruction.operands[0]);
  Part* const high = registers.lanes<Part>(instruction.operands[1]);
  const Part* const a = registers.lanes<Part>(instruction.operands[2]);
  for_lanes(active, [=](int lane) {
    const Part first = a[2 * lane], second = a[2 * lane + 1];
    low[lane] = first;
    high[lane] = second;
  });
}

ScalarType bits_type(size_t bits) {
  switch (bits) {
    case 8:
      return ScalarType::b8;
    case 16:
      return ScalarType::b16;
    case 32:
      return ScalarType::b32;
    case 64:
      return ScalarType::b64;
    default:
      return ScalarType::none;
  }
}

/// The type of one element of a vector operand of `bytes` bytes.
ScalarType part_type(const Binder& binder, const ptx::Operand& vector, size_t bytes) {
  const size_t count = vector.elements.size();
  const ScalarType type =
      count == 2 || count == 4 || count == 8 ? bits_type(8 * bytes / count) : ScalarType::none;
  if (type == ScalarType::none)
    binder.refuse(fmt::format("splits {} bits into {} elements", 8 * bytes, count),
                  "use 2 or 4 elements of at least 8 bits");
  for (const ptx::Operand& element : vector.elements)
    if (element.kind == Kind::variable)
      binder.refuse("packs the address of a variable", "move the address to a register first");
  return type;
}

void bind_pack(Binder& binder, ScalarType type) {
  const size_t bytes = ptx::size_bytes(type);
  const ScalarType part = part_type(binder, binder.ptx_operand(1), bytes);
  binder.destination(binder.ptx_operand(0), bytes);
  const size_t parts = binder.source_vector(binder.ptx_operand(1), part);
  binder.out.immediate = static_cast<int64_t>(8 * ptx::size_bytes(part));
  binder.out.execute = pack;
  if (parts == 2 && bytes == 4) binder.out.execute = pack_two<uint16_t>;
  if (parts == 2 && bytes == 8) binder.out.execute = pack_two<uint32_t>;
}

void bind_unpack(Binder& binder, ScalarType type) {
  const size_t bytes = ptx::size_bytes(type);
  const ScalarType part = part_type(binder, binder.ptx_operand(0), bytes);
  const size_t parts = binder.destination_vector(binder.ptx_operand(0), ptx::size_bytes(part));
  binder.source_value(binder.ptx_operand(1), type);
  binder.out.immediate = static_cast<int64_t>(8 * ptx::size_bytes(part));
  binder.out.execute = unpack;
  if (parts == 2 && bytes == 4) binder.out.execute = unpack_two<uint16_t>;
  if (parts == 2 && bytes == 8) binder.out.execute = unpack_two<uint32_t>;
}

SpecialValue known_special(const Binder& binder, const ptx::Operand& operand) {
  const SpecialValue value = special_value(operand.text);
  if (value == nullptr)
    binder.refuse("reads the special register " + operand.text,
                  "the simulator has no value for it; see special_registers.cpp for those it has");
  return value;
}

void bind_mov(Binder& binder) {
  const ScalarType type = binder.modifiers.type();
  const size_t bytes = ptx::size_bytes(type);
  binder.expect_count(2, 2);
  const ptx::Operand& destination = binder.ptx_operand(0);
  const ptx::Operand& source = binder.ptx_operand(1);
  if (source.kind == Kind::vector) return bind_pack(binder, type);
  if (destination.kind == Kind::vector) return bind_unpack(binder, type);
  binder.destination(destination, bytes);
  if (source.kind == Kind::special) {
    binder.detail(SpecialSource{known_special(binder, source)});
    binder.out.execute = move_special;
    return;
  }
  binder.source_value(source, type);
  const bool shared_address =
      source.kind == Kind::variable && source.variable->space == ptx::StateSpace::shared;
  switch (bytes) {
    case 2:
      binder.out.execute = move<uint16_t>;
      break;
    case 4:
      binder.out.execute = shared_address ? Handler(move_shared_address<uint32_t>) : move<uint32_t>;
      break;
    case 8:
      binder.out.execute = shared_address ? Handler(move_shared_address<uint64_t>) : move<uint64_t>;
      break;
    default:
      binder.out.execute = move<Lane128>;
      break;
  }
}

void move_predicate(const LaneRegisters& registers, const Instruction& instruction,
                    LaneMask active) {
  registers.set_predicate(instruction.operands[0], active,
                          registers.predicate(instruction.operands[1]));
}

Flow move_special_predicate(Strand& strand, const Instruction& instruction, LaneMask active) {
  const SpecialValue value = static_cast<const SpecialSource*>(instruction.detail)->value;
  LaneMask result = 0;
  for_lanes(active, [&](int lane) { result |= LaneMask{value(strand, lane) != 0} << lane; });
  strand.set_predicate(instruction.operands[0], active, result);
  return Flow::next;
}

void bind_mov_predicate(Binder& binder) {
  binder.expect_count(2, 2);
  binder.destination(binder.ptx_operand(0), 0);
  const ptx::Operand& source = binder.ptx_operand(1);
  if (source.kind == Kind::special) {
    binder.detail(SpecialSource{known_special(binder, source)});
    binder.out.execute = move_special_predicate;
    return;
  }
  binder.source_predicate(source);
  binder.out.execute = move_predicate;
}

using costs::kAlu;
constexpr std::string_view kMoveSection = "mov";

/// Registers are renamed, constants are operands; sizes of the grid are in the constant bank.
Cost move(const Modifiers&, const ptx::Instruction& instruction) {
  const ptx::Operand& source = instruction.operands.back();
  if (source.kind != Kind::special) return kNoCost;
  const std::string_view name = source.text;
  if (name.starts_with("%n") || name.starts_with("%clusterid") || name.starts_with("%cluster_n"))
    return kNoCost;
  return name.starts_with("%clock") ? Cost::one(Pipe::alu) : Cost::one(Pipe::system);
}

constexpr InstructionForm kMoveRows[] = {
    computing(
        Operation::move,
        costing(move, register_form("mov", "type=b16|b32|b64|b128|u16|u32|u64|s16|s32|s64|f32|f64",
                                    bind_mov, kMoveSection, kAlu, Effect::warp))),
    computing(Operation::predicate_move,
              costing(kNoCost, register_form("mov", "pred", bind_mov_predicate, kMoveSection, kAlu,
                                             Effect::warp))),
};

}  // namespace

Rows move_rows() { return kMoveRows; }

}  // namespace bw::sim::conversion
