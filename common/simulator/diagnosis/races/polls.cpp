#include "common/simulator/diagnosis/races/polls.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "common/simulator/isa/instruction_form.hpp"

namespace bw::sim::races {
namespace {

/// Whether the thread itself accesses memory; copies are their unit's.
bool accesses_memory(const InstructionForm& form) {
  return form.memory != Memory::none && form.unit != Unit::bulk_copy &&
         form.unit != Unit::async_copy;
}

bool ends_thread(const InstructionForm& form) {
  return form.transfer == Transfer::function_return || form.transfer == Transfer::thread_exit;
}

bool is_poll(const Kernel& kernel, const Instruction& load) {
  const std::vector<Instruction>& code = kernel.code();
  const auto index = static_cast<size_t>(&load - code.data());
  for (size_t next = index + 1; next < code.size(); ++next) {
    const InstructionForm& form = kernel.form(code[next]);
    if (accesses_memory(form) || ends_thread(form)) return false;
    if (form.transfer != Transfer::branch || code[next].target > index) continue;
    const auto begin = code.begin() + code[next].target;
    return std::none_of(begin, code.begin() + static_cast<std::ptrdiff_t>(index),
                        [&](const Instruction& one) { return accesses_memory(kernel.form(one)); });
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
