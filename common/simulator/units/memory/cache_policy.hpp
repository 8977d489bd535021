#pragma once
/// \file
/// The operand that `.L2::cache_hint` announces (PTX ISA, "Cache Eviction Priority Hints"). Nothing
/// here interprets it.

#include <cstddef>
#include <cstdint>

#include "common/simulator/machine/binder.hpp"
#include "common/simulator/machine/kernel_builder.hpp"

namespace bw::sim {

/// Expects `count` operands, followed by a 64-bit policy if the form has `.L2::cache_hint`.
inline void expect_count_and_policy(Binder& binder, size_t count) {
  const bool has_policy = !binder.modifiers.get("policy").empty();
  binder.expect_count(count + (has_policy ? 1 : 0), count + (has_policy ? 1 : 0));
  if (!has_policy) return;
  const ptx::Operand& policy = binder.ptx_operand(count);
  const bool is_wide = policy.kind == ptx::Operand::Kind::reg &&
                       binder.builder().register_operand(policy.reg).bytes == sizeof(uint64_t);
  if (!is_wide && policy.kind != ptx::Operand::Kind::integer)
    binder.refuse("has a cache policy that is not a register of 64 bits",
                  "pass what createpolicy has written");
}

}  // namespace bw::sim
