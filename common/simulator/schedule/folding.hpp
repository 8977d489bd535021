#pragma once
/// \file
/// Cost of PTX sequences that ptxas fuses into one instruction.

#include <vector>

#include "common/simulator/isa/cost.hpp"
#include "common/simulator/ptx/ast.hpp"

namespace bw::sim {

/// Removes from `costs` (one for each instruction) what ptxas merges into the instruction that uses
/// the result: shifts and products into additions, additions and logic of two operands into those
/// of three, predicates into comparisons.
void fold_costs(const ptx::Function& function, std::vector<Cost>& costs);

}  // namespace bw::sim
