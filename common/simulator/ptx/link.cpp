/// \file
/// Links separately compiled modules.
///
/// Operands point to variables, so replacing a variable redirects pointers; functions and the
/// symbols in initialisers are found by name, so a renamed one is renamed there too. Only names
/// internal to a module are renamed.
#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>

#include <fmt/core.h>

#include "common/simulator/base/error.hpp"
#include "common/simulator/ptx/ast.hpp"

namespace bw::sim::ptx {
namespace {

class Linker {
 public:
  Linker(std::vector<std::unique_ptr<Module>>& modules, std::string name)
      : modules_(modules), program_(std::make_unique<Module>()) {
    program_->name = std::move(name);
    program_->files.emplace_back("<unknown>");
  }

  std::unique_ptr<Module> run() {
    count_names();
    for (size_t i = 0; i < modules_.size(); ++i) {
      Module& module = *modules_[i];
      take_version(module);
      take_locations(module);
      rename_own(module, i + 1);
      for (auto& variable : module.variables) add(std::move(variable), module);
      for (auto& function : module.functions) add(std::move(function), module);
    }
    for (const auto& variable : dropped_)
      kept_[variable.get()] = variables_.at(variable->name).get();
    for (const std::string& name : names_in_order_)
      program_->variables.push_back(std::move(variables_.at(name)));
    for (const auto& function : program_->functions) {
      for (Instruction& instruction : function->instructions) {
        for (Operand& operand : instruction.operands) redirect(operand, *function);
      }
    }
    return std::move(program_);
  }

 private:
  [[noreturn]] void fail(const std::string& what, const std::string& fix) const {
    Report report{.code = FaultCode::ptx_link};
    report.what = what;
    report.where = program_->name;
    report.fix = fix;
    throw SimulationError(std::move(report));
  }

  void refuse_second(const std::string& name, const Module& second) const {
    fail("`" + name + "` is defined in two modules, " + origin_.at(name) + " and " + second.name,
         "give one of the two another name, or keep it to its file (`static`)");
  }

  void count_names() {
    for (const auto& module : modules_) {
      for (const auto& variable : module->variables) ++uses_of_name_[variable->name];
      for (const auto& function : module->functions) ++uses_of_name_[function->name];
    }
  }

  void take_version(const Module& module) {
    if (program_->target.empty()) program_->target = module.target;
    if (std::pair(module.version_major, module.version_minor) <=
        std::pair(program_->version_major, program_->version_minor))
      return;
    program_->version_major = module.version_major;
    program_->version_minor = module.version_minor;
  }

  /// Appends the module's files and locations to those of the modules before it.
  void take_locations(Module& module) {
    const auto files = static_cast<uint32_t>(program_->files.size()) - 1;
    const auto locations = static_cast<int32_t>(program_->locations.size());
    for (size_t i = 1; i < module.files.size(); ++i) program_->files.push_back(module.files[i]);
    for (SourceLocation& location : module.locations) {
      if (location.file != 0) location.file += files;
      if (location.inlined_at >= 0) location.inlined_at += locations;
      program_->locations.push_back(std::move(location));
    }
    for (const auto& function : module.functions) {
      for (Instruction& instruction : function->instructions) {
        if (instruction.location >= 0) instruction.location += locations;
      }
    }
  }

  /// Gives internal symbols of this module names that no other module has.
  void rename_own(Module& module, size_t number) {
    std::unordered_map<std::string, std::string> changed;
    const auto rename = [&](auto& entity) {
      if (entity.linkage != Linkage::local || uses_of_name_.at(entity.name) == 1) return;
      std::string name = fmt::format("{}.{}", entity.name, number);
      changed[entity.name] = name;
      entity.name = std::move(name);
    };
    for (const auto& variable : module.variables) rename(*variable);
    for (const auto& function : module.functions) rename(*function);
    if (changed.empty()) return;
    for (const auto& variable : module.variables) {
      for (Variable::Relocation& relocation : variable->relocations) {
        const auto found = changed.find(relocation.symbol);
        if (found != changed.end()) relocation.symbol = found->second;
      }
    }
    for (const auto& function : module.functions) {
      for (Instruction& instruction : function->instructions) {
        for (Operand& operand : instruction.operands) rename_callees(operand, changed);
      }
    }
  }

  static void rename_callees(Operand& operand,
                             const std::unordered_map<std::string, std::string>& changed) {
    if (operand.kind == Operand::Kind::function) {
      const auto found = changed.find(operand.text);
      if (found != changed.end()) operand.text = found->second;
    }
    for (Operand& element : operand.elements) rename_callees(element, changed);
  }

  void add(std::unique_ptr<Variable> variable, const Module& module) {
    std::unique_ptr<Variable>& known = variables_[variable->name];
    if (!known) names_in_order_.push_back(variable->name);
    const size_t alignment =
        std::max(known ? known->alignment_bytes : 0, variable->alignment_bytes);
    if (!known || replaces(*known, *variable, module)) {
      origin_[variable->name] = module.name;
      std::swap(known, variable);
    }
    known->alignment_bytes = alignment;
    if (variable) dropped_.push_back(std::move(variable));  // operands may still point to it
  }

  /// Whether the second of two variables of one name is the program's.
  bool replaces(const Variable& known, const Variable& other, const Module& module) const {
    if (other.linkage == Linkage::external) return false;
    if (known.linkage == Linkage::external) return true;
    if (known.linkage == Linkage::common && other.linkage == Linkage::common)
      return other.size_bytes > known.size_bytes;
    const bool is_strong = other.linkage == Linkage::visible;
    if (is_strong && known.linkage == Linkage::visible) refuse_second(known.name, module);
    return is_strong;
  }

  void add(std::unique_ptr<Function> function, const Module& module) {
    const auto [found, is_first] = functions_.try_emplace(function->name, function.get());
    if (is_first) {
      origin_[function->name] = module.name;
      program_->functions.push_back(std::move(function));
      return;
    }
    Function& known = *found->second;
    if (!function->is_defined) return;
    const bool is_strong = function->linkage == Linkage::visible;
    if (known.is_defined && is_strong && known.linkage == Linkage::visible)
      refuse_second(function->name, module);
    if (known.is_defined && !is_strong) return;
    origin_[function->name] = module.name;
    known = std::move(*function);  // calls name functions, so it can replace the other
  }

  void redirect(Operand& operand, const Function& function) const {
    if (operand.kind == Operand::Kind::variable) {
      const auto found = kept_.find(operand.variable);
      if (found != kept_.end()) operand.variable = found->second;
      const Variable& variable = *operand.variable;
      if (variable.linkage == Linkage::external && variable.space != StateSpace::shared) {
        fail("`" + function.name + "` uses the variable `" + variable.name +
                 "`, which no module of the program defines",
             "link the object file that defines it into the program");
      }
    }
    for (Operand& element : operand.elements) redirect(element, function);
  }

  std::vector<std::unique_ptr<Module>>& modules_;
  std::unique_ptr<Module> program_;
  std::unordered_map<std::string, size_t> uses_of_name_;
  std::unordered_map<std::string, std::string> origin_;  ///< name of the module of a definition
  std::unordered_map<std::string, std::unique_ptr<Variable>> variables_;
  std::unordered_map<std::string, Function*> functions_;
  std::vector<std::string> names_in_order_;  ///< of variables_: addresses are the same in each run
  std::vector<std::unique_ptr<Variable>> dropped_;  ///< replaced by another of their name
  std::unordered_map<const Variable*, const Variable*> kept_;  ///< the replacement
};

}  // namespace

std::unique_ptr<Module> link(std::vector<std::unique_ptr<Module>> modules, std::string name) {
  return Linker(modules, std::move(name)).run();
}

}  // namespace bw::sim::ptx
