#pragma once
/// \file
/// The modifiers of an opcode, and the grammar in which a form's record describes them.
///
/// A row's modifiers are written as a small grammar, groups separated by spaces:
///   x            the modifier .x is required
///   [x]          .x is optional
///   n=a|b|c      exactly one of .a .b .c is required; the match is called n
///   [n=a|b|c]    at most one of them
///   n*2=a|b|c    exactly two, in order (cvt's destination and source types)
///   *            alone: any modifiers (for forms that are refused by name)
///   {text}       the modifier may hold '::' and so on; '|' separates alternatives
/// Modifiers may come in any order (nvcc and inline PTX differ in it); every modifier must be
/// consumed, a group takes the first modifier not yet taken that it allows. The first row that fits
/// wins.

#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include "common/simulator/isa/memory_order.hpp"
#include "common/simulator/isa/scalar_type.hpp"

namespace bw::sim {

/// The modifiers of one instruction, matched against a row.
class Modifiers {
 public:
  /// Whether the (optional) group or literal was present.
  [[nodiscard]] bool has(std::string_view name) const;
  /// The modifier that group `name` took (its nth), "" when absent.
  [[nodiscard]] std::string_view get(std::string_view name, size_t nth = 0) const;
  /// The memory order and scope among them.
  [[nodiscard]] MemoryOrder order() const;
  /// The memory order and scope among them.
  [[nodiscard]] MemoryScope scope() const;
  /// The nth match of group "type" as a type.
  [[nodiscard]] ptx::ScalarType type(size_t nth = 0) const;

  std::vector<std::pair<std::string_view, std::string_view>> matches;  ///< group name, modifier
};

/// The grammar of forms that are refused by name, whatever their modifiers.
inline constexpr std::string_view kAnyModifiers = "*";

/// One group of a grammar.
struct ModifierGroup {
  std::string_view name;                       ///< the group's name
  std::vector<std::string_view> alternatives;  ///< what it takes
  bool required = true;                        ///< whether one has to be there
  size_t most = 1;  ///< how many of the alternatives it takes; a required group takes them all
};

/// The groups of a row's modifiers, in order.
[[nodiscard]] std::vector<ModifierGroup> parse_grammar(std::string_view grammar);

/// Matches the modifiers of an opcode ("x.y.z") against a grammar; false where they do not fit. The
/// views in `result` point into the grammar.
[[nodiscard]] bool match_modifiers(std::string_view modifiers, std::string_view grammar,
                                   Modifiers& result);

}  // namespace bw::sim
