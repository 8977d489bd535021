#include "common/simulator/isa/modifiers.hpp"

#include <algorithm>

namespace bw::sim {
namespace {

/// Splits at a character, ignoring separators inside braces; pieces are views into `text`.
std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> pieces;
  size_t begin = 0;
  int depth = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && text[i] == '{') ++depth;
    if (i < text.size() && text[i] == '}') --depth;
    if (i == text.size() || (text[i] == separator && depth == 0)) {
      if (i > begin) pieces.push_back(text.substr(begin, i - begin));
      begin = i + 1;
    }
  }
  return pieces;
}

}  // namespace

std::vector<ModifierGroup> parse_grammar(std::string_view grammar) {
  std::vector<ModifierGroup> groups;
  for (std::string_view item : split(grammar, ' ')) {
    ModifierGroup group;
    if (item.front() == '[') {
      group.required = false;
      item = item.substr(1, item.size() - 2);
    }
    const size_t equals = item.find('=');
    if (equals == item.npos) {
      group.name = item;
      group.alternatives = {item};
    } else {
      group.name = item.substr(0, equals);
      const size_t star = group.name.find('*');
      if (star != group.name.npos) {
        group.most = static_cast<size_t>(group.name[star + 1] - '0');
        group.name = group.name.substr(0, star);
      }
      group.alternatives = split(item.substr(equals + 1), '|');
    }
    groups.push_back(std::move(group));
  }
  return groups;
}

bool match_modifiers(std::string_view modifiers, std::string_view grammar, Modifiers& result) {
  if (grammar == kAnyModifiers) return true;
  const std::vector<ModifierGroup> groups = parse_grammar(grammar);
  std::vector<size_t> taken(groups.size(), 0);
  for (const std::string_view modifier : split(modifiers, '.')) {
    bool consumed = false;
    for (size_t g = 0; g < groups.size() && !consumed; ++g) {
      const ModifierGroup& group = groups[g];
      if (taken[g] == group.most) continue;
      const auto found = std::find(group.alternatives.begin(), group.alternatives.end(), modifier);
      if (found == group.alternatives.end()) continue;
      ++taken[g];
      result.matches.emplace_back(group.name, *found);
      consumed = true;
    }
    if (!consumed) return false;
  }
  for (size_t g = 0; g < groups.size(); ++g)
    if (groups[g].required && taken[g] != groups[g].most) return false;
  return true;
}

bool Modifiers::has(std::string_view name) const {
  return std::any_of(matches.begin(), matches.end(),
                     [&](const auto& match) { return match.first == name; });
}

std::string_view Modifiers::get(std::string_view name, size_t nth) const {
  for (const auto& [group, modifier] : matches)
    if (group == name && nth-- == 0) return modifier;
  return {};
}

MemoryOrder Modifiers::order() const {
  constexpr std::pair<std::string_view, MemoryOrder> kOrders[] = {
      {"weak", MemoryOrder::weak},       {"relaxed", MemoryOrder::relaxed},
      {"acquire", MemoryOrder::acquire}, {"release", MemoryOrder::release},
      {"acq_rel", MemoryOrder::acq_rel}, {"sc", MemoryOrder::sc},
      {"mmio", MemoryOrder::mmio},       {"volatile", MemoryOrder::is_volatile}};
  // The last one counts: .mmio may precede a release.
  MemoryOrder found = MemoryOrder::unspecified;
  for (const auto& [group, modifier] : matches)
    for (const auto& [name, order] : kOrders)
      if (modifier == name) found = order;
  return found;
}

MemoryScope Modifiers::scope() const {
  constexpr std::pair<std::string_view, MemoryScope> kScopes[] = {{"cta", MemoryScope::cta},
                                                                  {"cluster", MemoryScope::cluster},
                                                                  {"gpu", MemoryScope::gpu},
                                                                  {"gl", MemoryScope::gpu},
                                                                  {"sys", MemoryScope::sys}};
  for (const auto& [group, modifier] : matches)
    for (const auto& [name, scope] : kScopes)
      if (modifier == name) return scope;
  return MemoryScope::unspecified;
}

ptx::ScalarType Modifiers::type(size_t nth) const { return ptx::type_from_name(get("type", nth)); }

}  // namespace bw::sim
