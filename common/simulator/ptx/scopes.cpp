#include "common/simulator/ptx/scopes.hpp"

#include <algorithm>
#include <charconv>

namespace bw::sim::ptx {
namespace {

constexpr bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

/// Reads the whole of `digits` as a number without leading zeros.
bool read_number(std::string_view digits, uint32_t& number) noexcept {
  if (digits.empty() || (digits.size() > 1 && digits[0] == '0')) return false;
  const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return error == std::errc{} && stop == digits.data() + digits.size();
}

}  // namespace

bool ScopeStack::find_in(const Scope& scope, std::string_view name, Symbol& symbol) {
  const auto found = scope.symbols.find(name);
  if (found != scope.symbols.end()) {
    symbol = found->second;
    return true;
  }
  if (scope.ranges.empty() || !is_digit(name.back())) return false;
  for (const Range& range : scope.ranges) {
    // Two characters rule out most ranges: `%p` for `%r1`, and `%r` for `%rd1`.
    const size_t length = range.prefix.size();
    if (name.size() <= length || name[length - 1] != range.prefix.back() || !is_digit(name[length]))
      continue;
    uint32_t number = 0;
    if (name.starts_with(range.prefix) && read_number(name.substr(length), number) &&
        number < range.count) {
      symbol = {Symbol::Kind::reg, range.first_register + number, nullptr};
      return true;
    }
  }
  return false;
}

bool ScopeStack::find(std::string_view name, Symbol& symbol) const {
  return std::any_of(scopes_.rbegin(), scopes_.rend(),
                     [&](const Scope& scope) { return find_in(scope, name, symbol); });
}

bool ScopeStack::declare(std::string_view name, const Symbol& symbol) {
  Symbol existing;
  if (find_in(scopes_.back(), name, existing) || scopes_.back().labels.contains(name)) return false;
  scopes_.back().symbols.emplace(name, symbol);
  return true;
}

bool ScopeStack::declare_range(std::string_view prefix, uint32_t first_register, uint32_t count) {
  for (const Range& range : scopes_.back().ranges) {
    if (range.prefix == prefix) return false;
  }
  scopes_.back().ranges.push_back({prefix, first_register, count});
  return true;
}

bool ScopeStack::define_label(std::string_view name, uint32_t instruction) {
  Symbol existing;
  if (find_in(scopes_.back(), name, existing)) return false;
  return scopes_.back().labels.emplace(name, instruction).second;
}

}  // namespace bw::sim::ptx
