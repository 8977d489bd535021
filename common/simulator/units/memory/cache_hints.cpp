/// \file
/// Hints that only touch caches: prefetch, discard, applypriority and createpolicy.
#include <string_view>

#include "common/simulator/machine/binder.hpp"
#include "common/simulator/machine/execution.hpp"
#include "common/simulator/units/families.hpp"

namespace bw::sim {
namespace {

void execute_hint(const LaneRegisters&, const Instruction&, LaneMask) {}

void bind_hint(Binder& binder) { binder.out.execute = execute_hint; }

/// An L2 policy is an opaque value that no instruction here interprets.
void execute_policy(const LaneRegisters& registers, const Instruction& instruction,
                    LaneMask active) {
  uint64_t* const d = registers.lanes<uint64_t>(instruction.operands[0]);
  for_lanes(active, [=](int lane) { d[lane] = 0; });
}

void bind_policy(Binder& binder) {
  binder.destination(binder.ptx_operand(0), 8);
  binder.out.execute = execute_policy;
}

/// A form that only speaks to caches, which this machine does not have.
constexpr InstructionForm hint(std::string_view base, std::string_view modifiers, BindFunction bind,
                               std::string_view section, uint8_t destinations = 0) {
  return {.base = base,
          .modifiers = modifiers,
          .bind = bind,
          .effect = Effect::lane,
          .cycles = 1,
          .section = section,
          .destinations = destinations};
}

constexpr InstructionForm kCacheHintRows[] = {
    hint("prefetch", "[space=global|local] level=L1|L2|L2::evict_last|L2::evict_normal", bind_hint,
         "prefetch, prefetchu"),
    hint("prefetch", "global L1::32B valid_addr", bind_hint, "prefetch, prefetchu"),
    hint("prefetchu", "L1", bind_hint, "prefetch, prefetchu"),
    hint("applypriority", "[global] L2::evict_normal", bind_hint, "applypriority"),
    hint("discard", "[global] L2", bind_hint, "discard"),
    hint("createpolicy",
         "kind=fractional|range [global] "
         "primary=L2::evict_last|L2::evict_normal|L2::evict_first|L2::evict_unchanged "
         "[secondary=L2::evict_first|L2::evict_unchanged] b64",
         bind_policy, "createpolicy", 1),
    hint("createpolicy.cvt", "L2 b64", bind_policy, "createpolicy", 1),
};

}  // namespace

Rows cache_hint_rows() { return kCacheHintRows; }

}  // namespace bw::sim
