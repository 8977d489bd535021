/// \file
/// Binder: from PTX operands to decoded operands.
#include <algorithm>
#include <bit>
#include <cmath>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "common/simulator/base/error.hpp"
#include "common/simulator/machine/binder.hpp"
#include "common/simulator/machine/kernel_builder.hpp"
#include "common/simulator/ptx/lower_jumps.hpp"

namespace bw::sim {

using ptx::ScalarType;
using Kind = ptx::Operand::Kind;

namespace {

/// The bits of a literal in the representation of a type.
uint64_t literal_bits(const ptx::Operand& operand, ScalarType type) {
  if (operand.kind == Kind::integer) {
    if (type == ScalarType::f32)
      return std::bit_cast<uint32_t>(static_cast<float>(static_cast<int64_t>(operand.value)));
    if (type == ScalarType::f64)
      return std::bit_cast<uint64_t>(static_cast<double>(static_cast<int64_t>(operand.value)));
    return operand.value;
  }
  if (operand.kind == Kind::f32_literal) {
    if (type == ScalarType::f64)
      return std::bit_cast<uint64_t>(
          static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(operand.value))));
    return operand.value;
  }
  // A double literal in a 32-bit float context is rounded to it.
  if (type == ScalarType::f32)
    return std::bit_cast<uint32_t>(static_cast<float>(std::bit_cast<double>(operand.value)));
  return operand.value;
}

/// The name of a register of this size in a report; 0: a predicate.
std::string register_text(size_t bytes) {
  return bytes == 0 ? "a predicate" : fmt::format("a register of {} bits", 8 * bytes);
}

/// Whether a register of `bytes` a lane fits where the form has `wanted`. A handler takes the
/// operand for an array of its type, so another width would read other lanes' values or the next
/// register.
bool fits(size_t bytes, size_t wanted, const InstructionForm& form) {
  // 8-bit values are in registers of 16 bits, the smallest ones.
  const size_t least = wanted == 1 ? 2 : wanted;
  if (bytes == least) return true;
  return bytes > least && least != 0 && form.takes_wider_registers;
}

/// A report's text about a register that does not fit.
std::string misfit(size_t bytes, size_t wanted, const char* role) {
  return fmt::format("has {} as its {}, where the form takes {}", register_text(bytes), role,
                     register_text(wanted == 1 ? 2 : wanted));
}

constexpr const char* kDeclareFitting = "declare the register with the size of the form's type";

}  // namespace

const ptx::Operand& Binder::ptx_operand(size_t index) const {
  if (index >= source.operands.size())
    refuse(fmt::format("has {} operands, too few for its form", source.operands.size()), "");
  return source.operands[index];
}

void Binder::expect_count(size_t least, size_t most) const {
  if (count() >= least && count() <= most) return;
  refuse(fmt::format("has {} operands; its form takes {}{}", count(), least,
                     most == least ? "" : fmt::format(" to {}", most)),
         "");
}

void Binder::destination(const ptx::Operand& operand, size_t sink_bytes) {
  if (operand.kind == Kind::sink) {
    builder_.add_operand(builder_.sink(sink_bytes));
  } else if (operand.kind == Kind::reg) {
    Operand decoded = builder_.register_operand(operand.reg);
    decoded.written = true;
    if (!fits(decoded.bytes, sink_bytes, source.form()))
      refuse(misfit(decoded.bytes, sink_bytes, "destination"), kDeclareFitting);
    builder_.add_operand(decoded);
  } else {
    refuse("has a destination that is not a register", "");
  }
}

void Binder::source_value(const ptx::Operand& operand, ScalarType type) {
  switch (operand.kind) {
    case Kind::reg: {
      const Operand decoded = builder_.register_operand(operand.reg);
      if (const size_t wanted = ptx::size_bytes(type); !fits(decoded.bytes, wanted, source.form()))
        refuse(misfit(decoded.bytes, wanted, "source"), kDeclareFitting);
      builder_.add_operand(decoded);
      return;
    }
    case Kind::integer:
    case Kind::f32_literal:
    case Kind::f64_literal: {
      const uint64_t bits = literal_bits(operand, type);
      const uint64_t high =
          operand.kind == Kind::integer && static_cast<int64_t>(operand.value) < 0 ? ~0ull : 0;
      builder_.add_operand(builder_.constant(ptx::size_bytes(type), bits, high));
      return;
    }
    case Kind::function:
      builder_.add_operand(builder_.constant(
          ptx::size_bytes(type),
          ptx::function_address(builder_.ptx_module(), operand.text).value_or(0)));
      return;
    case Kind::variable:
      builder_.add_operand(builder_.constant(
          ptx::size_bytes(type), builder_.variable_address(*operand.variable) + operand.value));
      return;
    default:
      refuse("has a source operand that is neither a register nor a constant", "");
  }
}

void Binder::source_predicate(const ptx::Operand& operand) {
  Operand decoded;
  if (operand.kind == Kind::reg) {
    decoded = builder_.register_operand(operand.reg);
    if (decoded.bytes != 0) refuse("needs a predicate register as a source", "");
  } else if (operand.kind == Kind::integer) {
    decoded = builder_.constant(0, operand.value);
  } else {
    refuse("needs a predicate as a source", "");
  }
  decoded.negated = operand.negated;
  builder_.add_operand(decoded);
}

void Binder::address(const ptx::Operand& operand) {
  if (operand.kind != Kind::address || operand.elements.empty())
    refuse("has an operand without brackets where its form takes an address",
           "write the address in brackets: [name + offset]");
  const ptx::Operand& base = operand.elements[0];
  out.immediate += static_cast<int64_t>(operand.value);
  constexpr size_t kAddressBytes = 8;
  switch (base.kind) {
    case Kind::reg: {
      const Operand decoded = builder_.register_operand(base.reg);
      if (decoded.bytes < sizeof(uint32_t))
        refuse(misfit(decoded.bytes, sizeof(uint64_t), "address"), kDeclareFitting);
      builder_.add_operand(decoded);
      return;
    }
    case Kind::integer:
      builder_.add_operand(builder_.constant(kAddressBytes, base.value));
      return;
    case Kind::variable:
      builder_.add_operand(
          builder_.constant(kAddressBytes, builder_.variable_address(*base.variable) + base.value));
      return;
    default:
      refuse("has an address operand of a kind that its form does not take", "");
  }
}

size_t Binder::destination_vector(const ptx::Operand& operand, size_t sink_bytes) {
  if (operand.kind != Kind::vector) {
    destination(operand, sink_bytes);
    return 1;
  }
  for (const ptx::Operand& element : operand.elements) destination(element, sink_bytes);
  return operand.elements.size();
}

size_t Binder::source_vector(const ptx::Operand& operand, ScalarType type) {
  if (operand.kind != Kind::vector) {
    source_value(operand, type);
    return 1;
  }
  for (const ptx::Operand& element : operand.elements) source_value(element, type);
  return operand.elements.size();
}

int64_t Binder::immediate(const ptx::Operand& operand) const {
  if (operand.kind != Kind::integer) refuse("needs an immediate integer", "");
  return static_cast<int64_t>(operand.value);
}

void Binder::refuse(std::string what, std::string fix) const {
  throw SimulationError(Report{
      .code = FaultCode::operands_refused,
      .what = "`" + source.opcode + "` " + std::move(what),
      .where = builder_.ptx_module().describe_location(source) + ", in " + builder_.kernel_name(),
      .rule = fmt::format("the form takes what its section says (PTX ISA, \"{}\")",
                          source.form().section),
      .fix = std::move(fix)});
}

void Binder::keep(std::shared_ptr<void> value) { builder_.keep(std::move(value)); }

void check_handler(const InstructionForm& form, Effect effect, const Handler& handler) {
  const char* fault = nullptr;
  if (handler.empty())
    fault = "its bind function has chosen no handler";
  else if (effect == Effect::lane && !handler.is_of_lanes())
    fault = "its effect is lane, but its handler takes the strand: take LaneRegisters, or say warp";
  else if (!runs_ahead(effect) && handler.is_of_lanes())
    fault = "its effect is seen by others, but its handler takes LaneRegisters: say lane";
  if (fault != nullptr)
    throw std::logic_error(
        fmt::format("the record of {} with \"{}\": {}", form.base, form.modifiers, fault));
}

}  // namespace bw::sim
