#include "common/simulator/ptx/demangle.hpp"

#include <cxxabi.h>

#include <algorithm>
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
  if (symbol.find("CI1") == symbol.npos && symbol.find("CI2") == symbol.npos) return name;
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
  // The other class: nested, a substitution, or the name that GNU's library gives the constructor.
  const std::string given = name.substr(scopes[1] + 2, end - scopes[1] - 2);
  const std::string plain = std::to_string(given.size()) + given;
  const auto follows = [&](const std::string& kind) {
    const auto contains = [&](const std::string& text) { return symbol.find(text) != symbol.npos; };
    return contains(kind + "N") || contains(kind + "S") || contains(kind + plain);
  };
  if (!follows("CI1") && !follows("CI2")) return name;
  const size_t begin = scopes[0] == std::string::npos ? 0 : scopes[0] + 2;
  const std::string own = name.substr(begin, scopes[1] - begin);
  return name.replace(scopes[1] + 2, end - scopes[1] - 2, own.substr(0, own.find('<')));
}

/// The scopes of a mangled symbol, without template arguments: "cutlass::gemm::GemmUniversal::run".
/// nvcc numbers the substitutions (`S4_`) in the names of large templates differently from the C++
/// library, which then demangles nothing. This skips them: only the grammar's brackets are read.
class MangledScopes {
 public:
  explicit MangledScopes(std::string_view symbol) : symbol_(symbol) {}

  /// Empty if the symbol ends early. Of something inside of a function it is the function's name.
  std::string name() {
    constexpr std::string_view kQualifiers = "rVKRO";
    at_ = kPrefix.size();
    while (peek() == 'Z') ++at_;
    const bool is_nested = peek() == 'N';
    if (is_nested) ++at_;
    while (is_nested && is_one_of(kQualifiers)) ++at_;
    bool goes_on = true;
    while (goes_on) {
      if (at_ >= symbol_.size() || !read_scope()) return {};
      goes_on = (is_nested && peek() != 'E') || peek() == 'I';
    }
    return text_;
  }

 private:
  static constexpr std::string_view kPrefix = "_Z";

  char peek(size_t ahead = 0) const {
    return at_ + ahead < symbol_.size() ? symbol_[at_ + ahead] : '\0';
  }
  bool is_one_of(std::string_view letters) const {
    return peek() != '\0' && letters.find(peek()) != std::string_view::npos;
  }
  bool is_digit() const { return is_one_of("0123456789"); }

  void add(std::string_view scope) {
    if (!text_.empty()) text_ += "::";
    text_ += scope;
  }

  /// "7cutlass": a length, and that many characters.
  std::string_view read_identifier() {
    size_t length = 0;
    for (; is_digit(); ++at_) length = length * 10 + static_cast<size_t>(peek() - '0');
    const std::string_view found = symbol_.substr(std::min(at_, symbol_.size()), length);
    at_ += length;
    return found;
  }

  /// Up to `end`, which is the next character that isn't a digit or a capital letter.
  void skip_number() {
    while (is_digit() || (peek() >= 'A' && peek() <= 'Z')) ++at_;
    if (peek() == '_') ++at_;
  }

  /// One scope, or what belongs to the one before.
  bool read_scope() {
    const char first = peek();
    if (is_digit()) {
      last_ = read_identifier();
      add(last_);
    } else if (first == 'I') {
      return skip_group();
    } else if (first == 'C' || first == 'D') {
      add(first == 'C' ? std::string(last_) : "~" + std::string(last_));
      at_ += 2;
    } else if (first >= 'a' && first <= 'z') {
      add(symbol_.substr(at_, 2) == "cl" ? "operator()" : "operator");
      at_ += 2;
    } else {
      skip_one();
    }
    return at_ < symbol_.size();
  }

  /// A group from the letter that opens it to the E that closes it.
  bool skip_group() {
    int depth = 0;
    do depth += skip_one();
    while (depth > 0 && at_ < symbol_.size());
    return depth == 0;
  }

  /// The smallest part at which nothing is cut; 1 if it opens a group, -1 if it closes one.
  int skip_one() {
    const char first = peek(), second = peek(1);
    const auto is_lower = [](char letter) { return letter >= 'a' && letter <= 'z'; };
    if (is_digit()) {
      read_identifier();
      return 0;
    }
    if (first == 'L') return skip_literal();
    ++at_;
    switch (first) {
      case 'N':
      case 'I':
      case 'J':
      case 'X':
      case 'F':
      case 'Z':
        return 1;
      case 'E':
        return -1;
      case 'S':  // "St", "S_", "S1A_"
        if (is_lower(second))
          ++at_;
        else
          skip_number();
        return 0;
      case 'T':  // "T_", "T0_"
      case 'A':  // "A128_"
      case '_':  // "_0"
        skip_number();
        return 0;
      case 'D':  // "DtE", "Dp"
        ++at_;
        return second == 't' || second == 'T' ? 1 : 0;
      case 'U':  // "UliE0_"
        ++at_;
        while (second == 'l' && at_ < symbol_.size() && peek() != 'E') skip_one();
        if (second == 'l') ++at_;
        skip_number();
        return 0;
      case 'f':  // "fp0_"
        if (second == 'p') {
          ++at_;
          skip_number();
        }
        return 0;
      case 's':  // "sr7cutlass4bitsE5value": no letter opens this group
        if (second != 'r') return 0;
        ++at_;
        return is_digit() ? 1 : 0;
      default:
        return 0;
    }
  }

  /// "Li128E", "LN2bw4ModeE2E", "L_Z3runvE": its value may begin with a digit.
  int skip_literal() {
    ++at_;
    if (symbol_.substr(at_, kPrefix.size()) == kPrefix) {
      at_ += kPrefix.size();
      return 1;
    }
    if (peek() == 'N')
      skip_group();
    else
      skip_one();
    while (at_ < symbol_.size() && peek() != 'E') ++at_;
    ++at_;
    return 0;
  }

  std::string_view symbol_;
  size_t at_ = 0;
  std::string text_;
  std::string_view last_;
};

}  // namespace

std::string demangle(const std::string& symbol) {
  // Without the prefix of a C++ symbol the library would read the text as a type ("b" as "bool").
  if (!symbol.starts_with("_Z")) return symbol;
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status), &std::free);
  if (status == 0 && text != nullptr)
    return without_internal_namespaces(with_own_constructor(text.get(), symbol));
  const std::string scopes = MangledScopes(symbol).name();
  return scopes.empty() ? symbol : scopes;
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
      if (name.find("::", close) == std::string::npos &&
          !std::string_view(name).substr(0, i).ends_with("operator"))
        name.resize(i);
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
