#include "common/simulator/diagnosis/races/polls.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "common/simulator/machine/opcode_table.hpp"

namespace bw::sim::races {
namespace {

bool is_memory_access(const OpcodeRow& row) {
  return row.base.starts_with("ld") || row.base.starts_with("st") || row.base.starts_with("atom") ||
         row.base.starts_with("red");
}

bool is_poll(const Kernel& kernel, const Instruction& load) {
  const std::vector<Instruction>& code = kernel.code();
  const auto index = static_cast<size_t>(&load - code.data());
  for (size_t next = index + 1; next < code.size(); ++next) {
    const OpcodeRow& row = kernel.row(code[next]);
    if (is_memory_access(row) || row.base == "ret" || row.base == "exit") return false;
    if (row.base != "bra" || code[next].target > index) continue;
    const auto begin = code.begin() + code[next].target;
    return std::none_of(begin, code.begin() + static_cast<std::ptrdiff_t>(index),
                        [&](const Instruction& one) { return is_memory_access(kernel.row(one)); });
  }
  return false;
}

}  // namespace

bool Polls::contains(const Kernel& kernel, const Instruction& load) {
  const auto [found, is_new] = known_.try_emplace(&load, false);
  if (is_new) found->second = is_poll(kernel, load);
  return found->second;
}

}  // namespace bw::sim::races
