#include "common/simulator/ptx/pair_arithmetic.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "common/simulator/isa/instruction_form.hpp"
#include "common/simulator/ptx/flow_graph.hpp"
#include "common/simulator/ptx/register_usage.hpp"

namespace bw::sim::ptx {
namespace {

constexpr uint32_t kNone = ~uint32_t{0};
/// Which operand of a `mov` is the vector of halves.
constexpr size_t kUnpacked = 0, kPacked = 1;

/// The register that a `mov` packs or unpacks, or kNone.
uint32_t pair_of(const Instruction& instruction, size_t vector) {
  if (instruction.has_guard || instruction.form().operation != Operation::move ||
      instruction.operands.size() != 2)
    return kNone;
  const Operand& pair = instruction.operands[1 - vector];
  const bool has_halves = instruction.operands[vector].elements.size() == 2;
  return has_halves && pair.kind == Operand::Kind::reg ? pair.reg : kNone;
}

class Search {
 public:
  explicit Search(const Function& function)
      : instructions_(function.instructions),
        reads_(function.registers.size(), 0),
        written_at_(function.registers.size(), kNone) {
    for (const Instruction& instruction : instructions_)
      visit_read_registers(instruction, [&](uint32_t reg) { ++reads_[reg]; });
  }

  /// Goes through a block in order.
  void add_block(const BasicBlock& block, std::vector<PairArithmetic>& found) {
    for (uint32_t i = block.first; i < block.last; ++i) {
      if (i + 1 < block.last && is_on_pairs(i)) {
        PairArithmetic pair{i, {}};
        for (size_t source = 1; source < instructions_[i].operands.size(); ++source)
          if (const uint32_t pack = pack_of(instructions_[i].operands[source], block);
              pack != kNone)
            pair.packs.push_back(pack);
        if (pair.packs.size() + 1 == instructions_[i].operands.size())
          found.push_back(std::move(pair));
      }
      visit_written_registers(instructions_[i], [&](uint32_t reg) { written_at_[reg] = i; });
    }
  }

 private:
  /// Whether it is such arithmetic and its result is unpacked.
  [[nodiscard]] bool is_on_pairs(uint32_t i) const {
    const Instruction& instruction = instructions_[i];
    if (instruction.has_guard || instruction.match->modifiers.type() != ScalarType::f32x2 ||
        instruction.operands.empty())
      return false;
    const uint32_t result = pair_of(instructions_[i + 1], kUnpacked);
    const Operand& destination = instruction.operands[0];
    return result != kNone && destination.kind == Operand::Kind::reg && destination.reg == result &&
           reads_[result] == 1;
  }

  /// The `mov` of the block that packs a source whose halves are still there, or kNone.
  [[nodiscard]] uint32_t pack_of(const Operand& source, const BasicBlock& block) const {
    if (source.kind != Operand::Kind::reg || reads_[source.reg] != 1) return kNone;
    const uint32_t pack = written_at_[source.reg];
    if (pack == kNone || pack < block.first || pair_of(instructions_[pack], kPacked) != source.reg)
      return kNone;
    bool are_there = true;
    visit_read_registers(instructions_[pack], [&](uint32_t half) {
      are_there &= written_at_[half] == kNone || written_at_[half] < pack;
    });
    return are_there ? pack : kNone;
  }

  const std::vector<Instruction>& instructions_;
  std::vector<uint32_t> reads_;       ///< by register: operands that read it
  std::vector<uint32_t> written_at_;  ///< by register: the last instruction so far that writes it
};

}  // namespace

std::vector<PairArithmetic> pair_arithmetic(const Function& function) {
  std::vector<PairArithmetic> found;
  const bool has_pairs = std::any_of(
      function.instructions.begin(), function.instructions.end(),
      [](const Instruction& one) { return one.match->modifiers.type() == ScalarType::f32x2; });
  if (!has_pairs) return found;
  Search search(function);
  for (const BasicBlock& block : FlowGraph(function).blocks) search.add_block(block, found);
  return found;
}

}  // namespace bw::sim::ptx
