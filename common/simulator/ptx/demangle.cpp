#include "common/simulator/ptx/demangle.hpp"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>
#include <string_view>

namespace bw::sim::ptx {
namespace {

/// Without the namespaces "_INTERNAL_1a2b3c4d_7_file_cu_..." in which nvcc puts static functions:
/// they differ from path to path and do not help a reader.
std::string without_internal_namespaces(std::string name) {
  constexpr std::string_view kInternal = "_INTERNAL_", kScope = "::";
  for (size_t begin = name.find(kInternal); begin != std::string::npos;
       begin = name.find(kInternal, begin)) {
    const size_t end = name.find(kScope, begin);
    if (end == std::string::npos) break;
    name.erase(begin, end + kScope.size() - begin);
  }
  return name;
}

/// The name of a constructor that a class inherits (CI1, CI2), after the class that it constructs,
/// as LLVM's library writes it; GNU's names it after the class that declares it.
std::string with_own_constructor(std::string name, std::string_view symbol) {
  const auto contains = [&](std::string_view text) { return symbol.find(text) != symbol.npos; };
  if (!contains("CI1N") && !contains("CI1S") && !contains("CI2N") && !contains("CI2S")) return name;
  size_t scopes[2] = {std::string::npos, std::string::npos};  // the last two "::" of the function
  size_t end = 0;
  for (int depth = 0; end < name.size(); ++end) {
    if (depth == 0 && name[end] == '(' && name.compare(end, 10, "(anonymous") != 0) break;
    if (name[end] == '<') ++depth;
    if (name[end] == '>') --depth;
    if (depth != 0 || name.compare(end, 2, "::") != 0) continue;
    scopes[0] = scopes[1];
    scopes[1] = end;
  }
  if (scopes[1] == std::string::npos) return name;
  const size_t begin = scopes[0] == std::string::npos ? 0 : scopes[0] + 2;
  const std::string own = name.substr(begin, scopes[1] - begin);
  return name.replace(scopes[1] + 2, end - scopes[1] - 2, own.substr(0, own.find('<')));
}

}  // namespace

std::string demangle(const std::string& symbol) {
  // Without the prefix of a C++ symbol the library would read the text as a type ("b" as "bool").
  if (!symbol.starts_with("_Z")) return symbol;
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status), &std::free);
  if (status != 0 || text == nullptr) return symbol;
  return without_internal_namespaces(with_own_constructor(text.get(), symbol));
}

namespace {

/// The longest name that is not shortened.
constexpr size_t kLongestName = 120;
constexpr int kDeepestArguments = 4;

/// Whether the character at `i` opens or closes a list of template arguments: not in `operator<<`,
/// `->` and their like.
bool is_bracket(const std::string& name, size_t i) {
  if (name[i] != '<' && name[i] != '>') return false;
  if (i > 0 && name[i] == '>' && name[i - 1] == '-') return false;
  constexpr std::string_view kOperator = "operator";
  size_t before = i;
  while (before > 0 && (name[before - 1] == '<' || name[before - 1] == '>' ||
                        name[before - 1] == '-' || name[before - 1] == '='))
    --before;
  return before < kOperator.size() ||
         name.compare(before - kOperator.size(), kOperator.size(), kOperator) != 0;
}

/// The name with "..." for template arguments deeper than `most`.
std::string with_depth(const std::string& name, int most) {
  std::string text;
  int depth = 0;
  for (size_t i = 0; i < name.size(); ++i) {
    const bool bracket = is_bracket(name, i);
    if (bracket && name[i] == '>') {
      --depth;
      // The demangler writes "> >".
      if (depth <= most && text.ends_with(' ')) text.pop_back();
    }
    if (depth <= most) text += name[i];
    if (bracket && name[i] == '<' && ++depth == most + 1) text += "...";
  }
  return text;
}

}  // namespace

std::string readable_name(const std::string& symbol) {
  std::string name = demangle(symbol);
  // The last parenthesis at depth 0 opens the parameters; template arguments may hold others.
  int depth = 0;
  size_t close = 0;
  for (size_t i = name.size(); i-- > 0;) {
    if (name[i] == ')' && depth++ == 0) close = i;
    if (name[i] == '(' && --depth == 0) {
      // A variable of a function: the text after the parameters belongs to the name.
      if (name.find("::", close) == std::string::npos) name.resize(i);
      break;
    }
  }
  // A function template's return type comes first.
  if (name.starts_with("void ")) name.erase(0, 5);
  if (name.size() <= kLongestName) return name;
  for (int most = kDeepestArguments; most >= 0; --most) {
    std::string shorter = with_depth(name, most);
    if (shorter.size() <= kLongestName || most == 0) return shorter;
  }
  return name;
}

}  // namespace bw::sim::ptx
