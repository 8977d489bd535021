/// \file
/// Replaces calls by the bodies of the called functions.
///
/// Functions are flattened callees first, so a body that is spliced in holds no further call of a
/// function of the module. No function can be active twice in a thread (recursion is refused), so
/// the locals of a callee exist once per caller, however often it is called; registers are new at
/// each call, which keeps their live ranges short.
#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>

#include <fmt/core.h>

#include "common/simulator/base/error.hpp"
#include "common/simulator/ptx/ast.hpp"
#include "common/simulator/ptx/flow_graph.hpp"
#include "common/simulator/ptx/lower_jumps.hpp"

namespace bw::sim::ptx {
namespace {

/// Calls in calls can multiply: a limit before memory runs out.
constexpr size_t kMaximumInstructions = 1'000'000;

bool is_call(const Instruction& instruction) noexcept {
  return instruction.form().transfer == Transfer::call;
}

/// Whether lower_jumps made this call from an indirect one.
bool is_lowered(const Instruction& call) noexcept {
  return call.operands.size() > 3 && call.operands[3].kind == Operand::Kind::reg;
}

class Inliner {
 public:
  explicit Inliner(Module& module) : module_(module) {
    for (const auto& function : module.functions) by_name_.emplace(function->name, function.get());
  }

  /// Functions that no entry reaches stay unchanged, whatever they call.
  void run() {
    for (const auto& function : module_.functions) {
      if (function->is_entry && function->is_defined) flatten(*function);
    }
  }

 private:
  using VariableMap = std::unordered_map<const Variable*, const Variable*>;

  [[noreturn]] void fail(FaultCode code, const Instruction& call, const std::string& what,
                         const std::string& fix) const {
    Report report{.code = code};
    report.what = what;
    report.where = fmt::format("{} ({}:{}: `{}`)", module_.describe_location(call), module_.name,
                               call.line, call.opcode);
    report.fix = fix;
    throw SimulationError(std::move(report));
  }

  /// The function that a call names, or nullptr if the call stays: extern functions.
  Function* callee_of(const Function& caller, const Instruction& call) const {
    const Operand& callee = call.operands[1];
    const auto found = by_name_.find(callee.text);
    Function* function = found == by_name_.end() ? nullptr : found->second;
    if (function != nullptr && function->is_defined) return function;
    if (function != nullptr && function->is_extern) return nullptr;
    fail(
        FaultCode::undefined_function, call,
        "`" + caller.name + "` calls `" + callee.text +
            "`, which the module declares but doesn't "
            "define",
        "define the function in the same translation unit: modules are not linked with each other");
  }

  void flatten(Function& function) {
    const bool is_done = std::find(flat_.begin(), flat_.end(), &function) != flat_.end();
    if (is_done) return;
    chain_.push_back(&function);
    bool has_inlined_calls = false;
    for (Instruction& instruction : function.instructions) {
      if (!is_call(instruction)) continue;
      Function* callee = callee_of(function, instruction);
      if (callee == nullptr) continue;
      // One of many possible targets of a pointer: recursion is a fault only if it is called.
      if (is_lowered(instruction) && is_running(*callee)) {
        instruction.set_opcode(kBadCallTargetOpcode);
        instruction.operands = {instruction.operands[3]};
        continue;
      }
      has_inlined_calls = true;
      refuse_recursion(instruction, *callee);
      check_parameters(instruction, *callee);
      flatten(*callee);
    }
    if (has_inlined_calls) splice_bodies(function);
    chain_.pop_back();
    flat_.push_back(&function);
  }

  [[nodiscard]] bool is_running(const Function& function) const {
    return std::find(chain_.begin(), chain_.end(), &function) != chain_.end();
  }

  void refuse_recursion(const Instruction& call, const Function& callee) const {
    const auto begin = std::find(chain_.begin(), chain_.end(), &callee);
    if (begin == chain_.end()) return;
    std::string chain;
    for (auto link = begin; link != chain_.end(); ++link) chain += "`" + (*link)->name + "` calls ";
    fail(FaultCode::recursion, call, "recursion: " + chain + "`" + callee.name + "`",
         "write the recursion as a loop: calls are replaced by the called function's body");
  }

  void check_parameters(const Instruction& call, const Function& callee) const {
    const auto check = [&](const std::vector<Operand>& actual,
                           const std::vector<std::unique_ptr<Variable>>& formal, const char* what) {
      if (actual.size() != formal.size()) {
        fail(FaultCode::ptx_call_arguments, call,
             fmt::format("`{}` is called with {} {}, but has {}", callee.name, actual.size(), what,
                         formal.size()),
             "pass what the function's declaration says");
      }
      for (size_t i = 0; i < actual.size(); ++i) {
        if (actual[i].kind != Operand::Kind::variable || actual[i].value != 0) {
          fail(FaultCode::call_not_inlined, call,
               "a call of `" + callee.name + "` passes a register or a number in its " + what,
               "pass .param variables, as nvcc does");
        }
        if (actual[i].variable->size_bytes < formal[i]->size_bytes) {
          fail(FaultCode::ptx_call_arguments, call,
               fmt::format("a call of `{}` passes {} bytes where `{}` has {}", callee.name,
                           actual[i].variable->size_bytes, formal[i]->name, formal[i]->size_bytes),
               "pass what the function's declaration says");
        }
      }
    };
    check(call.operands[0].elements, callee.return_parameters, "returned parameters");
    check(call.operands[2].elements, callee.parameters, "parameters");
  }

  void splice_bodies(Function& caller) {
    std::vector<Instruction> old = std::move(caller.instructions);
    caller.instructions.clear();
    // The new index of each instruction of the caller; its branches are retargeted at the end.
    std::vector<uint32_t> new_index(old.size() + 1, 0);
    std::vector<uint32_t> own;
    std::unordered_map<const Function*, VariableMap> locals;
    for (size_t i = 0; i < old.size(); ++i) {
      new_index[i] = static_cast<uint32_t>(caller.instructions.size());
      Function* callee = is_call(old[i]) ? callee_of(caller, old[i]) : nullptr;
      if (callee == nullptr) {
        own.push_back(new_index[i]);
        caller.instructions.push_back(std::move(old[i]));
        continue;
      }
      if (caller.instructions.size() + callee->instructions.size() > kMaximumInstructions) {
        fail(FaultCode::call_not_inlined, old[i],
             fmt::format("`{}` has more than {} instructions once its calls are replaced by the "
                         "called functions' bodies",
                         caller.name, kMaximumInstructions),
             "call fewer __noinline__ functions, or build with optimisation (without -G)");
      }
      auto [known, is_new] = locals.try_emplace(callee);
      if (is_new) known->second = copy_locals(caller, *callee);
      splice(caller, *callee, old[i], known->second);
    }
    new_index[old.size()] = static_cast<uint32_t>(caller.instructions.size());
    for (const uint32_t index : own) {
      retarget(caller.instructions[index], [&](uint64_t target) { return new_index[target]; });
    }
  }

  /// The callee's locals become the caller's; its shared variables now belong to the module.
  VariableMap copy_locals(Function& caller, Function& callee) {
    VariableMap map;
    for (auto& variable : callee.variables) {
      if (variable->space == StateSpace::shared) continue;
      caller.variables.push_back(std::make_unique<Variable>(*variable));
      map.emplace(variable.get(), caller.variables.back().get());
    }
    const auto first_shared =
        std::stable_partition(callee.variables.begin(), callee.variables.end(),
                              [](const auto& v) { return v->space != StateSpace::shared; });
    std::move(first_shared, callee.variables.end(), std::back_inserter(module_.variables));
    callee.variables.erase(first_shared, callee.variables.end());
    return map;
  }

  void splice(Function& caller, const Function& callee, const Instruction& call,
              VariableMap variables) {
    for (size_t i = 0; i < callee.parameters.size(); ++i) {
      variables[callee.parameters[i].get()] = call.operands[2].elements[i].variable;
    }
    for (size_t i = 0; i < callee.return_parameters.size(); ++i) {
      variables[callee.return_parameters[i].get()] = call.operands[0].elements[i].variable;
    }
    const auto first_register = static_cast<uint32_t>(caller.registers.size());
    caller.registers.insert(caller.registers.end(), callee.registers.begin(),
                            callee.registers.end());

    std::vector<Instruction>& out = caller.instructions;
    const auto body_size = static_cast<uint32_t>(callee.instructions.size());
    if (call.has_guard) {
      // Lanes whose guard is false skip the body.
      const auto behind = static_cast<uint32_t>(out.size()) + 1 + body_size;
      Instruction around = make_branch(call, behind);
      around.has_guard = true;
      around.guard = call.guard;
      around.guard_negated = !call.guard_negated;
      out.push_back(std::move(around));
    }
    const auto base = static_cast<uint32_t>(out.size());
    const uint32_t end = base + body_size;
    std::unordered_map<int32_t, int32_t> locations;
    for (const Instruction& original : callee.instructions) {
      Instruction copy = original;
      copy.guard += first_register;
      for (Operand& operand : copy.operands) rebase(operand, first_register, variables);
      retarget(copy, [&](uint64_t target) { return target + base; });
      if (copy.form().transfer == Transfer::function_return) {
        Instruction leave = make_branch(copy, end);
        leave.has_guard = copy.has_guard;
        leave.guard = copy.guard;
        leave.guard_negated = copy.guard_negated;
        copy = std::move(leave);
      }
      copy.location = location_in_call(copy.location, call.location, callee, locations);
      out.push_back(std::move(copy));
    }
  }

  static Instruction make_branch(const Instruction& at, uint32_t target) {
    Instruction branch;
    branch.set_opcode(kBranchOpcode);
    branch.line = at.line;
    branch.location = at.location;
    Operand label;
    label.kind = Operand::Kind::label;
    label.value = target;
    branch.operands.push_back(std::move(label));
    return branch;
  }

  static void rebase(Operand& operand, uint32_t first_register, const VariableMap& variables) {
    if (operand.kind == Operand::Kind::reg) operand.reg += first_register;
    if (operand.kind == Operand::Kind::variable) {
      const auto found = variables.find(operand.variable);
      if (found != variables.end()) operand.variable = found->second;
    }
    for (Operand& element : operand.elements) rebase(element, first_register, variables);
  }

  template <typename Map>
  static void retarget(Instruction& instruction, Map map) {
    if (!branches(instruction.form().transfer)) return;
    const auto aim = [&](Operand& operand) {
      if (operand.kind == Operand::Kind::label) operand.value = map(operand.value);
    };
    for (Operand& operand : instruction.operands) {
      aim(operand);
      for (Operand& element : operand.elements) aim(element);
    }
  }

  /// The callee's location, with the call at the end of its chain of call sites.
  int32_t location_in_call(int32_t location, int32_t call, const Function& callee,
                           std::unordered_map<int32_t, int32_t>& known) {
    if (call < 0) return location;
    if (location < 0) return call;
    const auto found = known.find(location);
    if (found != known.end()) return found->second;
    SourceLocation copy = module_.locations[static_cast<size_t>(location)];
    const int32_t outer = copy.inlined_at;
    copy.inlined_at = outer < 0 ? call : location_in_call(outer, call, callee, known);
    if (copy.function.empty()) copy.function = callee.name;
    const auto index = static_cast<int32_t>(module_.locations.size());
    module_.locations.push_back(std::move(copy));
    known.emplace(location, index);
    return index;
  }

  Module& module_;
  std::unordered_map<std::string_view, Function*> by_name_;
  std::vector<const Function*> chain_;
  std::vector<const Function*> flat_;
};

}  // namespace

void inline_calls(Module& module) { Inliner(module).run(); }

}  // namespace bw::sim::ptx
