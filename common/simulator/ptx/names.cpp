/// \file
/// Which words are opcodes and special registers, by their spelling.
#include <algorithm>
#include <charconv>
#include <string_view>

#include "common/simulator/ptx/lexer.hpp"

namespace bw::sim::ptx {
namespace {

constexpr bool is_lower(char c) noexcept { return c >= 'a' && c <= 'z'; }
constexpr bool is_alphanumeric(char c) noexcept {
  return is_lower(c) || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/// Vectors of three components (and `.w`, which reads as zero).
constexpr std::string_view kVectorRegisters[] = {"%tid",           "%ntid",          "%ctaid",
                                                 "%nctaid",        "%clusterid",     "%nclusterid",
                                                 "%cluster_ctaid", "%cluster_nctaid"};

constexpr std::string_view kScalarRegisters[] = {"%laneid",
                                                 "%warpid",
                                                 "%nwarpid",
                                                 "%smid",
                                                 "%nsmid",
                                                 "%gridid",
                                                 "%is_explicit_cluster",
                                                 "%cluster_ctarank",
                                                 "%cluster_nctarank",
                                                 "%lanemask_eq",
                                                 "%lanemask_le",
                                                 "%lanemask_lt",
                                                 "%lanemask_ge",
                                                 "%lanemask_gt",
                                                 "%clock",
                                                 "%clock_hi",
                                                 "%clock64",
                                                 "%globaltimer",
                                                 "%globaltimer_lo",
                                                 "%globaltimer_hi",
                                                 "%total_smem_size",
                                                 "%aggr_smem_size",
                                                 "%dynamic_smem_size",
                                                 "%current_graph_exec",
                                                 "%reserved_smem_offset_begin",
                                                 "%reserved_smem_offset_end",
                                                 "%reserved_smem_offset_cap",
                                                 "%reserved_smem_offset_0",
                                                 "%reserved_smem_offset_1"};

/// A numbered family: "%envreg0" to "%envreg31", "%pm0_64" to "%pm7_64".
struct NumberedRegisters {
  std::string_view prefix, suffix;
  unsigned count;
};
constexpr NumberedRegisters kNumberedRegisters[] = {
    {"%envreg", "", 32}, {"%pm", "_64", 8}, {"%pm", "", 8}};

template <size_t count>
bool contains(const std::string_view (&names)[count], std::string_view name) noexcept {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

bool matches(const NumberedRegisters& family, std::string_view word) noexcept {
  if (word.size() <= family.prefix.size() + family.suffix.size() ||
      word.substr(0, family.prefix.size()) != family.prefix ||
      word.substr(word.size() - family.suffix.size()) != family.suffix) {
    return false;
  }
  const char* first = word.data() + family.prefix.size();
  const char* last = word.data() + word.size() - family.suffix.size();
  unsigned number = 0;
  const auto [stop, error] = std::from_chars(first, last, number);
  return error == std::errc{} && stop == last && number < family.count &&
         (*first != '0' || last - first == 1);
}

}  // namespace

bool looks_like_opcode(std::string_view word) noexcept {
  if (word.empty() || !is_lower(word[0])) return false;
  for (size_t i = 1; i < word.size(); ++i) {
    if (is_alphanumeric(word[i]) || word[i] == '_') continue;
    // Separators are between names: `.`, or two colons after the mnemonic's first modifier or name.
    if (word[i] == ':' && i + 1 < word.size() && word[i + 1] == ':')
      ++i;
    else if (word[i] != '.')
      return false;
    if (i + 1 >= word.size() || !is_alphanumeric(word[i + 1])) return false;
  }
  return true;
}

bool is_special_register(std::string_view word) noexcept {
  if (contains(kScalarRegisters, word) || contains(kVectorRegisters, word)) return true;
  const size_t dot = word.find('.');
  if (dot != std::string_view::npos) {
    const std::string_view component = word.substr(dot + 1);
    return contains(kVectorRegisters, word.substr(0, dot)) &&
           (component == "x" || component == "y" || component == "z" || component == "w");
  }
  return std::any_of(std::begin(kNumberedRegisters), std::end(kNumberedRegisters),
                     [&](const NumberedRegisters& family) { return matches(family, word); });
}

}  // namespace bw::sim::ptx
