#include "common/simulator/units/external_call.hpp"

#include <cstring>
#include <string>

#include "common/simulator/machine/address_space.hpp"
#include "common/simulator/machine/execution.hpp"
#include "common/simulator/machine/kernel_builder.hpp"
#include "common/simulator/units/device_calls.hpp"

namespace bw::sim {
namespace {

using Kind = ptx::Operand::Kind;

/// Decoded arguments: their places in the thread's local memory, where st.param has put the values.
struct CallDetail {
  static constexpr std::size_t kMostArguments = 5;
  std::uint64_t argument_offset[kMostArguments] = {};
  std::uint64_t result_offset = 0;
  bool has_result = false;
};

template <class T>
T argument(Strand& strand, const Instruction& instruction, std::size_t index, int lane) {
  const auto& detail = *static_cast<const CallDetail*>(instruction.detail);
  T value{};
  std::memcpy(&value,
              resolve(strand, instruction, AddressSpace::local, detail.argument_offset[index],
                      sizeof value, alignof(T), Access::read, lane),
              sizeof value);
  return value;
}

Flow execute_vprintf(Strand& strand, const Instruction& instruction, LaneMask active) {
  const auto& detail = *static_cast<const CallDetail*>(instruction.detail);
  for (LaneMask rest = active; rest != 0; rest &= rest - 1) {
    const int lane = lowest_lane(rest);
    const auto format = argument<std::uint64_t>(strand, instruction, 0, lane);
    const auto arguments = argument<std::uint64_t>(strand, instruction, 1, lane);
    const std::int32_t written =
        device_vprintf(strand, instruction, lane, format, arguments, strand.cluster->output());
    if (!detail.has_result) continue;
    std::memcpy(resolve(strand, instruction, AddressSpace::local, detail.result_offset,
                        sizeof written, alignof(std::int32_t), Access::write, lane),
                &written, sizeof written);
  }
  strand.cluster->note_progress();
  return Flow::next;
}

Flow execute_assertion(Strand& strand, const Instruction& instruction, LaneMask active) {
  const int lane = lowest_lane(active);
  device_assert_fail(strand, instruction, lane,
                     {argument<std::uint64_t>(strand, instruction, 0, lane),
                      argument<std::uint64_t>(strand, instruction, 1, lane),
                      argument<std::uint32_t>(strand, instruction, 2, lane),
                      argument<std::uint64_t>(strand, instruction, 3, lane)});
}

}  // namespace

void bind_external_call(Binder& binder) {
  const ptx::Operand& results = binder.ptx_operand(0);
  const ptx::Operand& callee = binder.ptx_operand(1);
  const ptx::Operand& arguments = binder.ptx_operand(2);
  if (callee.kind != Kind::function)
    binder.refuse("calls through a pointer", "make the call direct, so that it can be inlined");
  constexpr std::size_t kVprintfArguments = 2;
  constexpr std::size_t kAssertArguments = 5;
  const bool is_vprintf = callee.text == "vprintf";
  const bool is_assertion = callee.text == "__assertfail";
  if (!is_vprintf && !is_assertion) throw SimulationError(refuse_device_call(callee.text));
  const std::size_t expected = is_vprintf ? kVprintfArguments : kAssertArguments;
  if (arguments.elements.size() != expected)
    binder.refuse("passes " + std::to_string(arguments.elements.size()) + " arguments to " +
                      callee.text + ", which takes " + std::to_string(expected),
                  "");
  CallDetail detail;
  for (std::size_t i = 0; i < expected; ++i) {
    const ptx::Operand& element = arguments.elements[i];
    if (element.kind != Kind::variable)
      binder.refuse("passes an argument that is not a .param variable", "");
    detail.argument_offset[i] = binder.builder().variable_address(*element.variable);
  }
  if (!results.elements.empty() && results.elements[0].kind == Kind::variable) {
    detail.has_result = true;
    detail.result_offset = binder.builder().variable_address(*results.elements[0].variable);
  }
  binder.detail(detail);
  binder.out.execute = is_vprintf ? execute_vprintf : execute_assertion;
}

}  // namespace bw::sim
