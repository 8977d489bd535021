#include "common/simulator/ptx/wgmma_registers.hpp"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "common/simulator/ptx/flow_graph.hpp"
#include "common/simulator/ptx/register_usage.hpp"

namespace bw::sim::ptx {
namespace {

bool is_of(const Instruction& instruction, Ordering ordering) {
  return instruction.form().unit == Unit::wgmma && instruction.form().ordering == ordering;
}

bool is_mma(const Instruction& instruction) { return is_of(instruction, Ordering::none); }
bool is_commit(const Instruction& instruction) { return is_of(instruction, Ordering::commit); }
bool is_fence(const Instruction& instruction) { return is_of(instruction, Ordering::fence); }

/// Calls visit(register) for each register of a fragment of A.
template <class Visit>
void visit_fragment(const Instruction& mma, Visit&& visit) {
  if (mma.operands.size() > 1 && mma.operands[1].kind == Operand::Kind::vector)
    visit_operand_registers(mma.operands[1], visit);
}

/// Registers of MMAs.
struct MmaRegisters {
  std::unordered_set<uint32_t> results, fragments;

  [[nodiscard]] size_t size() const { return results.size() + fragments.size(); }
  void add(const MmaRegisters& other) {
    results.insert(other.results.begin(), other.results.end());
    fragments.insert(other.fragments.begin(), other.fragments.end());
  }
};

/// Registers of MMAs that may be in flight. A wait covers committed ones.
struct Pending {
  MmaRegisters open, committed;

  [[nodiscard]] size_t size() const { return open.size() + committed.size(); }
  void add(const Pending& other) {
    open.add(other.open);
    committed.add(other.committed);
  }
  void step(const Instruction& instruction) {
    if (ends_asynchronous_writes(instruction)) committed = {};
    if (is_commit(instruction)) committed.add(std::exchange(open, {}));
    if (!is_mma(instruction)) return;
    visit_written_registers(instruction, [&](uint32_t reg) { open.results.insert(reg); });
    visit_fragment(instruction, [&](uint32_t reg) { open.fragments.insert(reg); });
  }
  [[nodiscard]] bool is_result(uint32_t reg) const {
    return open.results.contains(reg) || committed.results.contains(reg);
  }
  [[nodiscard]] bool is_in_fragment(uint32_t reg) const {
    return open.fragments.contains(reg) || committed.fragments.contains(reg);
  }
  /// Registers that an instruction touches. An MMA may reuse the D of another.
  [[nodiscard]] std::vector<uint32_t> touched(const Instruction& instruction) const {
    std::vector<uint32_t> registers;
    const auto add = [&](uint32_t reg) {
      if (std::find(registers.begin(), registers.end(), reg) == registers.end())
        registers.push_back(reg);
    };
    const auto read = [&](uint32_t reg) {
      if (is_result(reg)) add(reg);
    };
    if (is_mma(instruction)) {
      visit_fragment(instruction, read);
      return registers;
    }
    visit_read_registers(instruction, read);
    visit_written_registers(instruction, [&](uint32_t reg) {
      if (is_result(reg) || is_in_fragment(reg)) add(reg);
    });
    return registers;
  }
};

/// Whether MMAs use a register as D or in a fragment of A, for each register.
std::vector<bool> registers_of_mmas(const Function& function) {
  std::vector<bool> are_used(function.registers.size());
  const auto use = [&](uint32_t reg) { are_used[reg] = true; };
  for (const Instruction& instruction : function.instructions) {
    if (!is_mma(instruction)) continue;
    visit_written_registers(instruction, use);
    visit_fragment(instruction, use);
  }
  return are_used;
}

/// Registers of MMAs that were written since the last fence, on every path.
struct Written {
  bool is_reached = false;
  bool is_fenced = false;                          ///< else everything counts as written
  std::unordered_map<uint32_t, uint32_t> writers;  ///< register to instruction

  void step(const Instruction& instruction, uint32_t index, const std::vector<bool>& of_mmas) {
    if (is_fence(instruction)) {
      is_fenced = true;
      writers.clear();
    } else if (!is_mma(instruction) && !instruction.has_guard) {
      visit_written_registers(instruction, [&](uint32_t reg) {
        if (of_mmas[reg]) writers[reg] = index;
      });
    }
  }
  /// Keeps what holds on both paths; whether that changed anything.
  bool meet(const Written& other) {
    if (!is_reached) {
      *this = other;
      return true;
    }
    if (!other.is_fenced) return false;
    if (!is_fenced) {
      is_fenced = true;
      writers = other.writers;
      return true;
    }
    return std::erase_if(writers, [&](const auto& entry) {
             return !other.writers.contains(entry.first);
           }) != 0;
  }
};

}  // namespace

std::vector<PrematureAccess> premature_wgmma_accesses(const Function& function) {
  const std::vector<Instruction>& instructions = function.instructions;
  const FlowGraph graph(function);
  std::vector<Pending> pending_in(graph.blocks.size());
  for (bool has_changed = true; has_changed;) {
    has_changed = false;
    for (size_t b = 0; b < graph.blocks.size(); ++b) {
      Pending pending = pending_in[b];
      for (uint32_t i = graph.blocks[b].first; i < graph.blocks[b].last; ++i)
        pending.step(instructions[i]);
      for (const uint32_t successor : graph.blocks[b].successors) {
        const size_t before = pending_in[successor].size();
        pending_in[successor].add(pending);
        has_changed |= pending_in[successor].size() != before;
      }
    }
  }
  std::vector<PrematureAccess> touches;
  for (size_t b = 0; b < graph.blocks.size(); ++b) {
    Pending pending = std::move(pending_in[b]);
    for (uint32_t i = graph.blocks[b].first; i < graph.blocks[b].last; ++i) {
      if (pending.size() != 0) {
        PrematureAccess touch{i, pending.touched(instructions[i])};
        if (!touch.registers.empty()) touches.push_back(std::move(touch));
      }
      pending.step(instructions[i]);
    }
  }
  return touches;
}

std::vector<UnfencedUse> wgmma_without_fence(const Function& function) {
  const std::vector<Instruction>& instructions = function.instructions;
  const FlowGraph graph(function);
  const std::vector<bool> of_mmas = registers_of_mmas(function);
  std::vector<Written> written_in(graph.blocks.size());
  if (!written_in.empty()) written_in[0].is_reached = true;
  for (bool has_changed = true; has_changed;) {
    has_changed = false;
    for (size_t b = 0; b < graph.blocks.size(); ++b) {
      if (!written_in[b].is_reached) continue;
      Written written = written_in[b];
      for (uint32_t i = graph.blocks[b].first; i < graph.blocks[b].last; ++i)
        written.step(instructions[i], i, of_mmas);
      for (const uint32_t successor : graph.blocks[b].successors)
        has_changed |= written_in[successor].meet(written);
    }
  }
  std::vector<UnfencedUse> uses;
  for (size_t b = 0; b < graph.blocks.size(); ++b) {
    Written written = std::move(written_in[b]);
    for (uint32_t i = graph.blocks[b].first; written.is_reached && i < graph.blocks[b].last; ++i) {
      const Instruction& instruction = instructions[i];
      if (is_mma(instruction)) {
        std::optional<UnfencedUse> use;
        const auto look = [&](uint32_t reg) {
          if (use) return;
          const auto found = written.writers.find(reg);
          if (found != written.writers.end())
            use = UnfencedUse{i, reg, found->second};
          else if (!written.is_fenced)
            use = UnfencedUse{i, reg, std::nullopt};
        };
        visit_written_registers(instruction, look);
        visit_fragment(instruction, look);
        if (use) uses.push_back(*use);
      }
      written.step(instruction, i, of_mmas);
    }
  }
  return uses;
}

}  // namespace bw::sim::ptx
