#pragma once
/// \file
/// What several PTX instructions cost where ptxas makes one of them.

#include <vector>

#include "common/simulator/isa/cost.hpp"
#include "common/simulator/ptx/ast.hpp"

namespace bw::sim {

/// Takes away from `costs` (one for each instruction) what ptxas merges into the instruction that
/// uses the result: shifts and products into additions, additions and logic of two operands into
/// ones of three, predicates into comparisons.
void fold_costs(const ptx::Function& function, std::vector<Cost>& costs);

}  // namespace bw::sim
