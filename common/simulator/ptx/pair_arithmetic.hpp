#pragma once
/// \file
/// Arithmetic on pairs of f32 as inline assembly contains it: `mov.b64 a, {x, y}` packs its
/// sources, `mov.b64 {v, w}, d` unpacks its result.

#include <cstdint>
#include <vector>

#include "common/simulator/ptx/ast.hpp"

namespace bw::sim::ptx {

/// An instruction of type .f32x2 that can take the halves of its sources from where they were
/// packed: nothing else reads the pairs, and no half is written in between. The instruction that
/// follows it unpacks its result, which nothing else reads. All are in one basic block, without
/// guards.
struct PairArithmetic {
  uint32_t index = 0;           ///< of the arithmetic
  std::vector<uint32_t> packs;  ///< by source: index of the `mov`
};

/// Those of a function, whose instructions are matched, in the order of the text.
[[nodiscard]] std::vector<PairArithmetic> pair_arithmetic(const Function& function);

}  // namespace bw::sim::ptx
