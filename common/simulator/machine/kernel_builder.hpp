#pragma once
/// \file
/// Decodes an entry function into a Kernel: memory layout, constants, operands, instructions.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "common/simulator/machine/binder.hpp"
#include "common/simulator/machine/kernel.hpp"

namespace bw::sim {

/// Makes a Kernel of a function.
class KernelBuilder {
 public:
  KernelBuilder(Kernel& kernel, const LoadedModule& module, const ptx::Function& function);

  /// Decodes every instruction.
  void build();

  /// For Binder: location of a register.
  [[nodiscard]] Operand register_operand(uint32_t register_index) const;
  /// Scratch storage for results written to `_`.
  [[nodiscard]] Operand sink(size_t bytes) const;
  /// A constant of 2, 4, 8 or 16 bytes broadcast to all lanes, or (0 bytes) a predicate mask.
  [[nodiscard]] Operand constant(size_t bytes, uint64_t low, uint64_t high = 0);
  /// The address of a variable in its state space (device address, shared offset, local offset).
  [[nodiscard]] uint64_t variable_address(const ptx::Variable& variable) const;
  /// Adds an operand to the current instruction.
  void add_operand(const Operand& operand) { current_operands_.push_back(operand); }
  /// Keeps a value as long as the kernel.
  void keep(std::shared_ptr<void> value) { kernel_.details_.push_back(std::move(value)); }
  /// Instructions that may read a destination of tcgen05.ld before tcgen05.wait::ld execute through
  /// `reader`, with a LateRead as detail.
  void check_late_reads(StrandHandler reader) { late_reader_ = reader; }
  /// The kernel uses resources that the CTAs of an SM share.
  void note_shared_sm() { kernel_.shares_sm_ = true; }
  /// Calls `finish` once, when all instructions are decoded: for families with rules about a kernel
  /// as a whole.
  void when_decoded(void (*finish)(KernelBuilder&)) {
    if (std::find(finishers_.begin(), finishers_.end(), finish) == finishers_.end())
      finishers_.push_back(finish);
  }
  /// For finishers: an instruction, by its index in the PTX function.
  [[nodiscard]] Instruction& decoded(size_t index) { return kernel_.code_[index]; }
  /// For finishers: `handler` executes the instruction instead, with a LateRead as detail that
  /// names these registers.
  void wrap(uint32_t index, const std::vector<uint32_t>& registers, StrandHandler handler);
  /// For finishers: `handler` executes instruction `index`, which touches registers alone, with
  /// these operands, and does the work of `others` too. These then only take their time.
  void take_over(uint32_t index, Handler handler, std::vector<Operand> operands,
                 const std::vector<uint32_t>& others);
  /// Its function in the module.
  [[nodiscard]] const ptx::Function& function() const { return function_; }
  /// The kernel's name, for messages.
  [[nodiscard]] const std::string& kernel_name() const { return kernel_.name(); }
  /// The module that it comes from.
  [[nodiscard]] const ptx::Module& ptx_module() const { return module_.ptx(); }

 private:
  void lay_out_parameters();
  void lay_out_shared();
  void lay_out_local();
  void decode_instructions();
  void take_times(const std::vector<IssueTimes>& times);
  void wrap_late_reads();
  void measure_lengths();

  Kernel& kernel_;
  const LoadedModule& module_;
  const ptx::Function& function_;
  ptx::RegisterLayout layout_;
  uint32_t sink_offset_ = 0;
  std::vector<void (*)(KernelBuilder&)> finishers_;
  std::vector<uint8_t> is_idle_;         ///< by instruction: another one does what it would do
  StrandHandler late_reader_ = nullptr;  ///< null: the kernel has no tcgen05.ld
  std::vector<Operand> current_operands_;
  std::vector<uint32_t> first_operand_;  ///< per instruction, until the pool is complete
  std::map<std::pair<size_t, std::pair<uint64_t, uint64_t>>, uint32_t> constant_offsets_;
  std::unordered_map<const ptx::Variable*, uint64_t> addresses_;
};

}  // namespace bw::sim
