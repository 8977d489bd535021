#include "common/simulator/schedule/passes.hpp"

#include <string_view>

#include "common/simulator/ptx/register_usage.hpp"

namespace bw::sim {
namespace {

/// What a value implies about its lane.
enum class Implication : uint8_t {
  nothing,
  elected_if_set,    ///< where it is true (or 1), the lane is the elected one
  elected_if_clear,  ///< where it is false (or 0)
};

Implication opposite(Implication implication) {
  switch (implication) {
    case Implication::elected_if_set:
      return Implication::elected_if_clear;
    case Implication::elected_if_clear:
      return Implication::elected_if_set;
    case Implication::nothing:
      break;
  }
  return Implication::nothing;
}

class Elections {
 public:
  Elections(const ptx::Function& function, const ptx::FlowGraph& graph)
      : function_(function),
        graph_(graph),
        implications_(function.registers.size(), Implication::nothing) {
    find_values();
  }

  /// A block counts as elected until a path is found on which it is not.
  std::vector<uint8_t> run() {
    std::vector<uint8_t> elected(graph_.blocks.size(), 1);
    if (elected.empty()) return elected;
    elected[0] = 0;
    for (bool has_changed = true; has_changed;) {
      has_changed = false;
      for (uint32_t b = 1; b < graph_.blocks.size(); ++b) {
        if (elected[b] == 0) continue;
        const std::vector<uint32_t>& before = graph_.blocks[b].predecessors;
        bool is_elected = !before.empty();
        for (const uint32_t predecessor : before)
          is_elected = is_elected && (elected[predecessor] != 0 || elects(predecessor, b));
        if (is_elected) continue;
        elected[b] = 0;
        has_changed = true;
      }
    }
    return elected;
  }

 private:
  /// In text order: a value's source precedes it, if each has one.
  void find_values() {
    std::vector<uint32_t> writes(function_.registers.size(), 0);
    for (const ptx::Instruction& instruction : function_.instructions)
      ptx::visit_written_registers(instruction, [&](uint32_t reg) { ++writes[reg]; });
    for (const ptx::Instruction& instruction : function_.instructions) {
      if (instruction.has_guard) continue;
      const Implication implication = implied_by(instruction);
      if (implication == Implication::nothing) continue;
      ptx::visit_written_registers(instruction, [&](uint32_t reg) {
        const bool is_lane_number = instruction.form().operation == Operation::elect &&
                                    function_.registers[reg].type != ptx::ScalarType::pred;
        if (writes[reg] == 1 && !is_lane_number) implications_[reg] = implication;
      });
    }
  }

  [[nodiscard]] Implication of(const ptx::Operand& operand) const {
    if (operand.kind != ptx::Operand::Kind::reg) return Implication::nothing;
    return operand.negated ? opposite(implications_[operand.reg]) : implications_[operand.reg];
  }

  [[nodiscard]] static bool is_constant(const ptx::Operand& operand, uint64_t value) {
    return operand.kind == ptx::Operand::Kind::integer && operand.value == value;
  }

  [[nodiscard]] Implication implied_by(const ptx::Instruction& instruction) const {
    const FormMatch& match = *instruction.match;
    const std::vector<ptx::Operand>& operands = instruction.operands;
    const size_t count = operands.size();
    switch (match.form->operation) {
      case Operation::elect:
        return Implication::elected_if_set;
      case Operation::predicate_not:
        return count == 2 ? opposite(of(operands[1])) : Implication::nothing;
      case Operation::predicate_move:
        return count == 2 ? of(operands[1]) : Implication::nothing;
      case Operation::select:
        if (count != 4 || ptx::size_bytes(match.modifiers.type()) != sizeof(uint32_t)) break;
        if (is_constant(operands[1], 1) && is_constant(operands[2], 0)) return of(operands[3]);
        if (is_constant(operands[1], 0) && is_constant(operands[2], 1))
          return opposite(of(operands[3]));
        break;
      case Operation::compare:
        if (count != 3 || !is_constant(operands[2], 0)) break;
        if (match.compares_unequal()) return of(operands[1]);
        if (match.compares_equal()) return opposite(of(operands[1]));
        break;
      case Operation::predicate_and:
        return count == 3 ? either(operands, Implication::elected_if_set) : Implication::nothing;
      case Operation::predicate_or:
        return count == 3 ? either(operands, Implication::elected_if_clear) : Implication::nothing;
      default:
        break;
    }
    return Implication::nothing;
  }

  /// What follows if one of the two sources implies it.
  [[nodiscard]] Implication either(const std::vector<ptx::Operand>& operands,
                                   Implication implication) const {
    return of(operands[1]) == implication || of(operands[2]) == implication ? implication
                                                                            : Implication::nothing;
  }

  /// Whether only an elected lane goes from `from` to `to`.
  [[nodiscard]] bool elects(uint32_t from, uint32_t to) const {
    const ptx::Instruction& last = function_.instructions[graph_.blocks[from].last - 1];
    if (!last.has_guard || last.form().transfer != Transfer::branch || last.operands.size() != 1 ||
        last.operands[0].kind != ptx::Operand::Kind::label)
      return false;
    const uint64_t target = last.operands[0].value;
    if (target >= graph_.block_of.size()) return false;
    const bool is_target = graph_.block_of[target] == to;
    const bool is_next = from + 1 == to;
    if (is_target == is_next) return false;
    const bool is_set = is_target != last.guard_negated;
    return implications_[last.guard] ==
           (is_set ? Implication::elected_if_set : Implication::elected_if_clear);
  }

  const ptx::Function& function_;
  const ptx::FlowGraph& graph_;
  std::vector<Implication> implications_;  ///< by register
};

}  // namespace

std::vector<uint8_t> elected_blocks(const ptx::Function& function, const ptx::FlowGraph& graph) {
  return Elections(function, graph).run();
}

}  // namespace bw::sim
