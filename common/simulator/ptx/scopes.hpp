#pragma once
/// \file
/// The nested `{}` scopes of a function while it is parsed: names of registers, variables and
/// labels.

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "common/simulator/ptx/ast.hpp"
#include "common/simulator/ptx/source.hpp"

namespace bw::sim::ptx {

/// The meaning of a name.
struct Symbol {
  /// Kinds of names.
  enum class Kind : uint8_t { reg, variable, branch_table, prototype };
  Kind kind = Kind::reg;               ///< which one it is
  uint32_t index = 0;                  ///< register index, or index of the branch table
  const Variable* variable = nullptr;  ///< a variable by its name, or nullptr
};

/// A use of a label that appears further down, to be resolved when its scope ends.
struct LabelUse {
  std::string_view name;
  uint32_t instruction = 0;  ///< index of the branch
  int32_t entry = -1;        ///< which entry of a brx.idx table; -1: the branch's own target
  TextPosition position;     ///< where in the source
};

/// Names are views into the module's text, so a ScopeStack must not outlive it.
class ScopeStack {
 public:
  /// Opens a scope.
  void push() { scopes_.emplace_back(); }
  /// Ends the innermost scope. Uses of labels that it doesn't define move to the enclosing scope;
  /// those left when the outermost scope ends are returned. `resolve(use, target)` is called for
  /// the others.
  template <typename Resolve>
  [[nodiscard]] std::vector<LabelUse> pop(Resolve resolve);
  /// How many scopes are open.
  [[nodiscard]] size_t depth() const noexcept { return scopes_.size(); }

  /// Each returns false if the innermost scope has the name already.
  [[nodiscard]] bool declare(std::string_view name, const Symbol& symbol);
  /// Declares registers prefix0 to prefix(count-1), as in `.reg .b32 %r<12>`.
  [[nodiscard]] bool declare_range(std::string_view prefix, uint32_t first_register,
                                   uint32_t count);
  /// False if it is defined already.
  [[nodiscard]] bool define_label(std::string_view name, uint32_t instruction);
  /// Records a use of a label.
  void use_label(const LabelUse& use) { scopes_.back().uses.push_back(use); }

  /// Finds a name in the innermost scope that has it.
  [[nodiscard]] bool find(std::string_view name, Symbol& symbol) const;

 private:
  struct Range {
    std::string_view prefix;
    uint32_t first_register = 0, count = 0;
  };
  struct Scope {
    std::unordered_map<std::string_view, Symbol> symbols;
    std::vector<Range> ranges;
    std::unordered_map<std::string_view, uint32_t> labels;
    std::vector<LabelUse> uses;
  };
  [[nodiscard]] static bool find_in(const Scope& scope, std::string_view name, Symbol& symbol);

  std::vector<Scope> scopes_;
};

template <typename Resolve>
std::vector<LabelUse> ScopeStack::pop(Resolve resolve) {
  Scope scope = std::move(scopes_.back());
  scopes_.pop_back();
  std::vector<LabelUse> unresolved;
  for (const LabelUse& use : scope.uses) {
    const auto label = scope.labels.find(use.name);
    if (label != scope.labels.end()) {
      resolve(use, label->second);
    } else if (!scopes_.empty()) {
      scopes_.back().uses.push_back(use);
    } else {
      unresolved.push_back(use);
    }
  }
  return unresolved;
}

}  // namespace bw::sim::ptx
