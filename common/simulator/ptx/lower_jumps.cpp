#include "common/simulator/ptx/lower_jumps.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/simulator/ptx/flow_graph.hpp"

namespace bw::sim::ptx {
namespace {

/// Function addresses are separate from all windows of memory.
constexpr uint64_t kFirstFunctionAddress = 0x0300'0000'0000'0000ull;
constexpr uint64_t kFunctionStride = 16;

bool is_indirect_call(const Instruction& instruction) {
  return instruction.form().transfer == Transfer::call && instruction.operands.size() >= 3 &&
         instruction.operands[1].kind == Operand::Kind::reg;
}

bool is_indexed_branch(const Instruction& instruction) {
  return instruction.form().transfer == Transfer::indexed_branch;
}

/// Calls visit(name) for each function that operands name, other than the callee of a call.
template <class Visit>
void visit_functions(const Operand& operand, Visit&& visit) {
  if (operand.kind == Operand::Kind::function) visit(operand.text);
  for (const Operand& element : operand.elements) visit_functions(element, visit);
}

std::set<std::string, std::less<>> functions_with_taken_address(const Module& module) {
  std::set<std::string, std::less<>> names;
  const auto take = [&](const std::string& name) { names.insert(name); };
  for (const auto& variable : module.variables)
    for (const Variable::Relocation& relocation : variable->relocations)
      if (module.find_function(relocation.symbol) != nullptr) take(relocation.symbol);
  for (const auto& function : module.functions)
    for (const Instruction& instruction : function->instructions) {
      if (instruction.form().transfer == Transfer::call) continue;
      for (const Operand& operand : instruction.operands) visit_functions(operand, take);
    }
  return names;
}

bool fit(const std::vector<Operand>& actual, const std::vector<std::unique_ptr<Variable>>& formal) {
  return std::equal(actual.begin(), actual.end(), formal.begin(), formal.end(),
                    [](const Operand& given, const std::unique_ptr<Variable>& taken) {
                      return given.kind == Operand::Kind::variable &&
                             given.variable->size_bytes == taken->size_bytes;
                    });
}

class Lowering {
 public:
  Lowering(const Module& module, Function& function, std::vector<const Function*> candidates)
      : module_(module), function_(function), candidates_(std::move(candidates)) {}

  void run() {
    std::vector<Instruction> old = std::move(function_.instructions);
    function_.instructions.clear();
    std::vector<uint32_t> new_index(old.size() + 1, 0);
    std::vector<bool> is_own;  // whether the labels of a new instruction are old indices
    for (size_t i = 0; i < old.size(); ++i) {
      new_index[i] = size();
      if (is_indirect_call(old[i])) {
        lower_call(old[i]);
        is_own.resize(size(), false);
      } else if (is_indexed_branch(old[i])) {
        // Its labels are old indices; the guard's branch goes to the next old instruction.
        lower_branch(old[i], i + 1);
        is_own.resize(size(), true);
      } else {
        function_.instructions.push_back(std::move(old[i]));
        is_own.push_back(true);
      }
    }
    new_index[old.size()] = size();
    for (size_t i = 0; i < function_.instructions.size(); ++i)
      if (is_own[i]) retarget(function_.instructions[i], new_index);
  }

 private:
  [[nodiscard]] uint32_t size() const {
    return static_cast<uint32_t>(function_.instructions.size());
  }

  Instruction& add(const Instruction& at, std::string_view opcode) {
    Instruction& added = function_.instructions.emplace_back();
    added.set_opcode(opcode);
    added.line = at.line;
    added.location = at.location;
    return added;
  }

  uint32_t new_predicate() {
    function_.registers.push_back({"%lowered", ScalarType::pred});
    return static_cast<uint32_t>(function_.registers.size() - 1);
  }

  static Operand make(Operand::Kind kind, uint64_t value, uint32_t reg = 0) {
    Operand operand;
    operand.kind = kind;
    operand.value = value;
    operand.reg = reg;
    return operand;
  }

  /// Jumps if `predicate` is true, or false; forward targets are set later.
  void add_branch(const Instruction& at, uint32_t predicate, bool negated, uint64_t target) {
    Instruction& branch = add(at, kBranchOpcode);
    branch.has_guard = true;
    branch.guard = predicate;
    branch.guard_negated = negated;
    branch.operands.push_back(make(Operand::Kind::label, target));
  }

  /// Sets a new predicate if the register equals a number.
  uint32_t add_comparison(const Instruction& at, std::string_view opcode, const Operand& value,
                          uint64_t number) {
    const uint32_t equal = new_predicate();
    Instruction& comparison = add(at, opcode);
    comparison.operands = {make(Operand::Kind::reg, 0, equal), value,
                           make(Operand::Kind::integer, number)};
    return equal;
  }

  void lower_call(const Instruction& call) {
    std::vector<uint32_t> to_end;  // branches past the last instruction
    const auto leave = [&] { to_end.push_back(size() - 1); };
    if (call.has_guard) {
      add_branch(call, call.guard, !call.guard_negated, 0);
      leave();
    }
    const Operand& callee = call.operands[1];
    for (const Function* const candidate : candidates_) {
      if (!fit(call.operands[0].elements, candidate->return_parameters) ||
          !fit(call.operands[2].elements, candidate->parameters))
        continue;
      const uint64_t address = *function_address(module_, candidate->name);
      const uint32_t equal = add_comparison(call, kEqual64Opcode, callee, address);
      const uint32_t around = size();
      add_branch(call, equal, true, 0);
      Operand name = make(Operand::Kind::function, 0);
      name.text = candidate->name;
      add(call, kLoweredCallOpcode).operands = {call.operands[0], std::move(name), call.operands[2],
                                                callee};
      Instruction& done = add(call, kBranchOpcode);
      done.operands.push_back(make(Operand::Kind::label, 0));
      leave();
      function_.instructions[around].operands[0].value = size();
    }
    add(call, kBadCallTargetOpcode).operands = {callee};
    for (const uint32_t index : to_end) function_.instructions[index].operands[0].value = size();
  }

  void lower_branch(const Instruction& branch, uint64_t next) {
    if (branch.has_guard) add_branch(branch, branch.guard, !branch.guard_negated, next);
    const std::vector<Operand>& targets = branch.operands[1].elements;
    for (uint64_t i = 0; i < targets.size(); ++i) {
      const uint32_t equal = add_comparison(branch, kEqual32Opcode, branch.operands[0], i);
      add_branch(branch, equal, false, targets[i].value);
    }
    add(branch, kBadBranchIndexOpcode).operands = {branch.operands[0]};
  }

  static void retarget(Instruction& instruction, const std::vector<uint32_t>& new_index) {
    if (!branches(instruction.form().transfer)) return;
    for (Operand& operand : instruction.operands)
      if (operand.kind == Operand::Kind::label) operand.value = new_index[operand.value];
  }

  const Module& module_;
  Function& function_;
  std::vector<const Function*> candidates_;
};

}  // namespace

std::optional<uint64_t> function_address(const Module& module, std::string_view name) noexcept {
  for (size_t i = 0; i < module.functions.size(); ++i)
    if (module.functions[i]->name == name) return kFirstFunctionAddress + kFunctionStride * i;
  return std::nullopt;
}

void lower_jumps(Module& module) {
  std::vector<const Function*> candidates;
  for (const std::string& name : functions_with_taken_address(module)) {
    const Function* const function = module.find_function(name);
    if (function->is_defined && !function->is_entry) candidates.push_back(function);
  }
  for (const auto& function : module.functions) {
    const bool has_jump = std::any_of(
        function->instructions.begin(), function->instructions.end(),
        [](const Instruction& i) { return is_indirect_call(i) || is_indexed_branch(i); });
    if (has_jump) Lowering(module, *function, candidates).run();
  }
}

}  // namespace bw::sim::ptx
