#pragma once
/// \file
/// Jumps whose target is in a register, as chains of comparisons and plain branches and calls.

#include <cstdint>
#include <optional>
#include <string_view>

#include "common/simulator/ptx/ast.hpp"

namespace bw::sim::ptx {

/// The value of `mov.u64 %rd, function`, and of an initialiser that names a function: a unique
/// number for each of the module's functions, outside all memory. nullopt: the function does not
/// exist.
[[nodiscard]] std::optional<uint64_t> function_address(const Module& module,
                                                       std::string_view name) noexcept;

/// Replaces, in all functions, calls through a register and brx.idx. A call through a register
/// becomes, for each function whose address the module takes and whose parameters match the call's,
/// a comparison and a call of that function. (A list .calltargets names functions whose address is
/// taken, so it is ignored.) A lowered call has the operands of `call`, then the register. Run it
/// before `inline_calls`.
void lower_jumps(Module& module);

}  // namespace bw::sim::ptx
