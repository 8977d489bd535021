#pragma once
/// \file
/// Jumps whose target is in a register, as chains of comparisons and plain branches and calls.

#include <cstdint>
#include <optional>
#include <string_view>

#include "common/simulator/ptx/ast.hpp"

namespace bw::sim::ptx {

/// What `mov.u64 %rd, function` gives, and an initialiser that names a function: a number of its
/// own for each of the module's functions, which is no address of memory. nullopt: no such
/// function.
[[nodiscard]] std::optional<uint64_t> function_address(const Module& module,
                                                       std::string_view name) noexcept;

/// Replaces, in all functions, calls through a register and brx.idx. A call through a register
/// becomes, for each function whose address the module takes and whose parameters are those of the
/// call, a comparison and a call of that function. (A list .calltargets names functions whose
/// address is taken, so it is not asked.) A lowered call has the operands of `call`, then the
/// register. To be run before `inline_calls`.
void lower_jumps(Module& module);

}  // namespace bw::sim::ptx
