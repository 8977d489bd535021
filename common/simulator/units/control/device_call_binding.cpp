/// \file
/// The call instruction for external functions: fetches arguments, stores results.
#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include <fmt/core.h>

#include "common/simulator/machine/address_space.hpp"
#include "common/simulator/machine/binder.hpp"
#include "common/simulator/machine/execution.hpp"
#include "common/simulator/machine/grid.hpp"
#include "common/simulator/machine/kernel_builder.hpp"
#include "common/simulator/units/control/device_calls.hpp"

namespace bw::sim {
namespace {

using ptx::ScalarType;
using Kind = ptx::Operand::Kind;

constexpr size_t kMostArguments = 5;
// So much text of a cluster is not kept until it ends, if it need not be.
constexpr size_t kPrintedEarlyBytes = size_t{256} << 10;

// An argument is a call .param variable (in the thread's local memory), a register or a constant.
struct CallArgument {
  bool in_local_memory = false;
  uint64_t local_offset = 0;
  size_t operand = 0;  ///< index into the instruction's operands
  size_t bytes = 0;
};

struct CallDetail {
  std::array<CallArgument, kMostArguments> arguments;
  bool has_result = false;
  uint64_t result_offset = 0;  ///< in local memory
};

const CallDetail& detail_of(const Instruction& instruction) {
  return *static_cast<const CallDetail*>(instruction.detail);
}

uint64_t argument(Strand& strand, const Instruction& instruction, size_t index, int lane) {
  const CallArgument& place = detail_of(instruction).arguments[index];
  if (!place.in_local_memory) return strand.value(instruction.operands[place.operand], lane);
  uint64_t value = 0;
  std::memcpy(&value,
              resolve({strand, instruction, lane_bit(lane)}, AddressSpace::local,
                      place.local_offset, place.bytes, place.bytes, Access::read),
              place.bytes);
  return value;
}

Flow execute_vprintf(Strand& strand, const Instruction& instruction, LaneMask active) {
  const CallDetail& detail = detail_of(instruction);
  for (const int lane : lanes_of(active)) {
    const int32_t result =
        device_vprintf(strand, instruction, lane, argument(strand, instruction, 0, lane),
                       argument(strand, instruction, 1, lane), strand.cluster->output());
    if (!detail.has_result) continue;
    std::memcpy(resolve({strand, instruction, lane_bit(lane)}, AddressSpace::local,
                        detail.result_offset, sizeof result, sizeof result, Access::write),
                &result, sizeof result);
  }
  if (strand.cluster->output().size() >= kPrintedEarlyBytes)
    strand.cluster->grid().print_early(*strand.cluster);
  strand.cluster->note_progress();
  return Flow::next;
}

Flow execute_assert_fail(Strand& strand, const Instruction& instruction, LaneMask active) {
  const int lane = lowest_lane(active);
  AssertionCall call;
  call.message = argument(strand, instruction, 0, lane);
  call.file = argument(strand, instruction, 1, lane);
  call.line = static_cast<uint32_t>(argument(strand, instruction, 2, lane));
  call.function = argument(strand, instruction, 3, lane);
  device_assert_fail(strand, instruction, lane, call);
}

// What a function that is provided takes.
struct DeviceFunction {
  std::string_view name;
  Handler execute;
  size_t argument_count;
  std::array<ScalarType, kMostArguments> types;
};

constexpr DeviceFunction kFunctions[] = {
    {"vprintf", execute_vprintf, 2, {ScalarType::b64, ScalarType::b64}},
    {"__assertfail",
     execute_assert_fail,
     5,
     {ScalarType::b64, ScalarType::b64, ScalarType::b32, ScalarType::b64, ScalarType::b64}},
};

CallArgument bind_argument(Binder& binder, const ptx::Operand& operand, ScalarType type,
                           size_t& operand_count) {
  CallArgument place;
  place.bytes = ptx::size_bytes(type);
  if (operand.kind == Kind::variable) {
    if (operand.variable->size_bytes != place.bytes) {
      binder.refuse(fmt::format("passes `{}` of {} bytes where {} are taken",
                                operand.variable->name, operand.variable->size_bytes, place.bytes),
                    "declare the function as nvcc does");
    }
    place.in_local_memory = true;
    place.local_offset = binder.builder().variable_address(*operand.variable);
  } else {
    binder.source_value(operand, type);
    place.operand = operand_count++;
  }
  return place;
}

void bind_result(Binder& binder, const ptx::Operand& results, CallDetail& detail) {
  if (results.elements.empty()) return;
  const ptx::Operand& result = results.elements[0];
  if (results.elements.size() > 1 || result.kind != Kind::variable ||
      result.variable->size_bytes != sizeof(int32_t)) {
    binder.refuse("takes a result that the function does not return",
                  "declare the function as nvcc does");
  }
  detail.has_result = true;
  detail.result_offset = binder.builder().variable_address(*result.variable);
}

[[noreturn]] void refuse_function(const Binder& binder, const std::string& name) {
  const bool heap = name == "malloc" || name == "free";
  binder.refuse("calls `" + name +
                    "`, which device code cannot call in the simulator: only vprintf (printf) and "
                    "__assertfail (assert) are provided",
                heap ? "allocate with cudaMalloc on the host and pass the pointer to the kernel"
                     : "define the function in the same file, so that its body is in the PTX");
}

}  // namespace

void bind_device_call(Binder& binder) {
  binder.expect_count(3, 4);
  const ptx::Operand& callee = binder.ptx_operand(1);
  if (callee.kind != Kind::function)
    binder.refuse("is an indirect call, which the simulator does not execute",
                  "call the function by its name");
  for (const DeviceFunction& function : kFunctions) {
    if (function.name != callee.text) continue;
    const ptx::Operand& arguments = binder.ptx_operand(2);
    if (arguments.elements.size() != function.argument_count) {
      binder.refuse(fmt::format("passes {} arguments to `{}`, which takes {}",
                                arguments.elements.size(), callee.text, function.argument_count),
                    "declare the function as nvcc does");
    }
    CallDetail detail;
    size_t operand_count = 0;
    for (size_t i = 0; i < function.argument_count; ++i)
      detail.arguments[i] =
          bind_argument(binder, arguments.elements[i], function.types[i], operand_count);
    bind_result(binder, binder.ptx_operand(0), detail);
    binder.detail(detail);
    binder.out.execute = function.execute;
    return;
  }
  refuse_function(binder, callee.text);
}

}  // namespace bw::sim
