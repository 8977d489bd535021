#include "common/simulator/schedule/passes.hpp"

#include <algorithm>
#include <bit>

#include "common/simulator/ptx/register_usage.hpp"

namespace bw::sim {
namespace {

/// Log2 of the widest access in bytes: further address bits do not matter.
constexpr uint32_t kMostKnown = 4;
constexpr uint64_t kWordBytes = 4;

/// How many of the lowest bits of a constant are 0, up to that limit.
uint32_t zeros_of(uint64_t value) {
  return value == 0 ? kMostKnown
                    : std::min(static_cast<uint32_t>(std::countr_zero(value)), kMostKnown);
}

/// By register: how many of its lowest bits are certainly 0.
class KnownTrailingZeros {
 public:
  explicit KnownTrailingZeros(const ptx::Function& function)
      : zeros_(function.registers.size(), 0) {
    for (const ptx::Instruction& instruction : function.instructions)
      ptx::visit_written_registers(instruction, [&](uint32_t reg) { zeros_[reg] = kMostKnown; });
    // Knowledge of values that go round a loop can only decrease.
    for (bool has_changed = true; has_changed;) {
      has_changed = false;
      for (const ptx::Instruction& instruction : function.instructions) {
        const uint32_t zeros = result_of(instruction);
        ptx::visit_written_registers(instruction, [&](uint32_t reg) {
          if (zeros >= zeros_[reg]) return;
          zeros_[reg] = zeros;
          has_changed = true;
        });
      }
    }
  }

  [[nodiscard]] uint32_t of(const ptx::Operand& operand) const {
    switch (operand.kind) {
      case ptx::Operand::Kind::reg:
        return zeros_[operand.reg];
      case ptx::Operand::Kind::integer:
        return zeros_of(operand.value);
      case ptx::Operand::Kind::variable:
        // ptxas lays variables of shared memory out, and aligns arrays.
        return operand.variable != nullptr && operand.variable->space == ptx::StateSpace::shared
                   ? zeros_of(operand.value)
                   : 0;
      default:
        return 0;
    }
  }

 private:
  [[nodiscard]] uint32_t result_of(const ptx::Instruction& instruction) const {
    const std::vector<ptx::Operand>& operands = instruction.operands;
    const FormMatch& match = *instruction.match;
    if (ptx::is_float(match.modifiers.type())) return 0;
    const auto source = [&](size_t k) { return k < operands.size() ? of(operands[k]) : 0; };
    switch (match.form->operation) {
      case Operation::move:
      case Operation::convert:
        return source(1);
      case Operation::add:
      case Operation::subtract:
      case Operation::bit_or:
      case Operation::bit_xor:
      case Operation::minimum:
      case Operation::maximum:
      case Operation::select:
        return std::min(source(1), source(2));
      case Operation::bit_and:
        return std::max(source(1), source(2));
      case Operation::shift_left:
        if (operands.size() != 3 || operands[2].kind != ptx::Operand::Kind::integer) return 0;
        return sum(source(1), operands[2].value);
      case Operation::multiply_low:
      case Operation::multiply_wide:
        return sum(source(1), source(2));
      case Operation::multiply_add_low:
      case Operation::multiply_add_wide:
        return std::min(sum(source(1), source(2)), source(3));
      default:
        return 0;
    }
  }

  /// Of two numbers of bits, up to that limit.
  [[nodiscard]] static uint32_t sum(uint32_t a, uint64_t b) {
    return static_cast<uint32_t>(std::min<uint64_t>(a + b, kMostKnown));
  }

  std::vector<uint32_t> zeros_;
};

/// A load of one word, or of two or four already merged in the text, from shared memory.
struct Load {
  uint32_t instruction = 0;
  uint32_t base = 0;     ///< register
  uint32_t version = 0;  ///< of the register's value
  uint64_t offset = 0;
  const ptx::Variable* variable = nullptr;  ///< in place of a register
};

bool is_word_load(const ptx::Instruction& instruction) {
  const FormMatch& match = *instruction.match;
  return !instruction.has_guard && instruction.operands.size() == 2 &&
         instruction.operands[0].kind == ptx::Operand::Kind::reg && match.is_plain_shared_load() &&
         match.access_bytes() == kWordBytes;
}

class Merging {
 public:
  Merging(const ptx::Function& function, std::vector<MergedLoad>& result)
      : function_(function), zeros_(function), result_(result) {}

  void add(uint32_t i, const std::vector<uint32_t>& versions) {
    const ptx::Instruction& instruction = function_.instructions[i];
    if (!is_word_load(instruction)) return;
    const ptx::Operand& address = instruction.operands[1];
    if (address.kind != ptx::Operand::Kind::address || address.elements.empty()) return;
    const ptx::Operand& base = address.elements[0];
    Load load{.instruction = i, .offset = address.value};
    if (base.kind == ptx::Operand::Kind::reg) {
      load.base = base.reg;
      load.version = versions[base.reg];
    } else if (base.kind == ptx::Operand::Kind::variable) {
      load.variable = base.variable;
      load.offset += base.value;
    } else {
      return;
    }
    loads_.push_back(load);
  }

  /// Merges what was added since the last time.
  void merge() {
    std::stable_sort(loads_.begin(), loads_.end(), [](const Load& a, const Load& b) {
      if (a.variable != b.variable) return a.variable < b.variable;
      if (a.base != b.base) return a.base < b.base;
      if (a.version != b.version) return a.version < b.version;
      return a.offset < b.offset;
    });
    for (size_t k = 0; k < loads_.size();) {
      const size_t count = run_at(k);
      if (count > 1) {
        // The first in the text loads for all.
        uint32_t first = loads_[k].instruction;
        for (size_t j = k; j < k + count; ++j) first = std::min(first, loads_[j].instruction);
        for (size_t j = k; j < k + count; ++j) result_[loads_[j].instruction] = {first, 0};
        result_[first].count = static_cast<uint8_t>(count);
      }
      k += count;
    }
    loads_.clear();
  }

 private:
  /// How many loads from the k-th on are one: 4, 2 or 1.
  [[nodiscard]] size_t run_at(size_t k) const {
    const Load& load = loads_[k];
    const uint32_t base = load.variable != nullptr ? kMostKnown : zeros_.of(register_of(load));
    const uint32_t known = std::min(base, zeros_of(load.offset));
    for (const size_t count : {size_t{4}, size_t{2}}) {
      const auto log2_bytes = static_cast<uint32_t>(std::countr_zero(count * kWordBytes));
      if (known < log2_bytes || k + count > loads_.size()) continue;
      bool is_run = true;
      for (size_t j = 1; j < count; ++j) {
        const Load& next = loads_[k + j];
        is_run = is_run && next.variable == load.variable && next.base == load.base &&
                 next.version == load.version && next.offset == load.offset + j * kWordBytes;
      }
      if (is_run) return count;
    }
    return 1;
  }

  [[nodiscard]] static ptx::Operand register_of(const Load& load) {
    ptx::Operand operand;
    operand.kind = ptx::Operand::Kind::reg;
    operand.reg = load.base;
    return operand;
  }

  const ptx::Function& function_;
  KnownTrailingZeros zeros_;
  std::vector<MergedLoad>& result_;
  std::vector<Load> loads_;  ///< of the current stretch
};

}  // namespace

std::vector<MergedLoad> merged_loads(const ptx::Function& function, const ptx::FlowGraph& graph,
                                     const std::vector<uint8_t>& ends_stretch,
                                     const std::vector<uint8_t>& writes) {
  std::vector<MergedLoad> result(function.instructions.size());
  if (std::none_of(function.instructions.begin(), function.instructions.end(), is_word_load))
    return result;
  Merging merging(function, result);
  std::vector<uint32_t> versions(function.registers.size(), 0);
  for (const ptx::BasicBlock& block : graph.blocks) {
    for (uint32_t i = block.first; i < block.last; ++i) {
      if (ends_stretch[i] != 0 || writes[i] != 0) merging.merge();
      merging.add(i, versions);
      ptx::visit_written_registers(function.instructions[i],
                                   [&](uint32_t reg) { ++versions[reg]; });
    }
    merging.merge();
  }
  return result;
}

}  // namespace bw::sim
