#pragma once
/// \file
/// A kernel ready to run: decoded instructions and the layout of its memory.

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "common/simulator/machine/instruction.hpp"
#include "common/simulator/ptx/ast.hpp"
#include "common/simulator/ptx/control_flow.hpp"
#include "common/simulator/schedule/static_schedule.hpp"

namespace bw::sim {

class DeviceMemory;
struct MachineDescription;
struct TimingTable;

/// A module whose global and constant variables were placed in device memory.
class LoadedModule {
 public:
  /// Places the module's variables in memory.
  /// `times`: what its kernels are scheduled by; null without a timing model.
  LoadedModule(std::unique_ptr<ptx::Module> module, const MachineDescription& machine,
               const TimingTable* times, DeviceMemory& memory);
  ~LoadedModule();
  LoadedModule(const LoadedModule&) = delete;
  LoadedModule& operator=(const LoadedModule&) = delete;

  /// The module as it was parsed.
  [[nodiscard]] const ptx::Module& ptx() const { return *module_; }
  /// Device address of a module-scope .global or .const variable; 0 if it does not exist.
  [[nodiscard]] uint64_t variable_address(std::string_view name) const;
  /// A variable by its name, or nullptr.
  [[nodiscard]] const ptx::Variable* variable(std::string_view name) const;
  /// A function's instructions in the order in which the machine issues them.
  struct Schedule {
    std::vector<IssueTimes> times;      ///< one for each instruction
    uint32_t registers_per_thread = 0;  ///< that the order of the text needs
  };
  /// Puts the function's instructions in that order on the first call. Null without a timing model:
  /// the order is that of the text.
  [[nodiscard]] const Schedule* schedule_of(const ptx::Function& function) const;
  [[nodiscard]] DeviceMemory& memory() const { return memory_; }
  [[nodiscard]] const MachineDescription& machine() const { return machine_; }
  /// The numbers of the timing model; null without one.
  [[nodiscard]] const TimingTable* times() const { return times_; }

 private:
  std::unique_ptr<ptx::Module> module_;
  const MachineDescription& machine_;
  const TimingTable* times_;
  DeviceMemory& memory_;
  std::unordered_map<std::string, uint64_t> addresses_;
  mutable std::unordered_map<const ptx::Function*, Schedule> schedules_;
};

/// A parameter of an entry in its parameter buffer.
struct ParameterLayout {
  size_t offset_bytes = 0;  ///< from the beginning, in bytes
  size_t size_bytes = 0;
};

/// A kernel, decoded.
class Kernel {
 public:
  /// Decodes entry `name`. Throws SimulationError{unsupported} that names each instruction form
  /// that the simulator knows but does not execute, or does not know, with file and line. With
  /// a timing model its instructions are in the order in which the machine issues them.
  Kernel(const LoadedModule& module, std::string_view name);
  ~Kernel();

  /// The name as the reader wrote it: "bw::gemm_kernel<128, 128>(bw::Arguments)".
  [[nodiscard]] const std::string& name() const { return name_; }
  /// Its function in the module.
  [[nodiscard]] const ptx::Function& function() const { return *function_; }
  /// The module that it comes from.
  [[nodiscard]] const LoadedModule& module() const { return module_; }
  /// Its instructions, decoded.
  [[nodiscard]] const std::vector<Instruction>& code() const { return code_; }
  /// An instruction as it was parsed.
  [[nodiscard]] const ptx::Instruction& source(const Instruction& instruction) const {
    return function_->instructions[instruction.source_index];
  }
  /// The record of the instruction's form.
  [[nodiscard]] const InstructionForm& form(const Instruction& instruction) const {
    return source(instruction).form();
  }
  /// Immediates, each for 32 lanes.
  [[nodiscard]] const std::vector<std::byte>& constants() const { return constants_; }
  /// Registers of a warp.
  [[nodiscard]] uint32_t register_file_bytes() const { return register_file_bytes_; }
  /// Registers of a thread: from ptxas if the kernel's machine code accompanies the PTX, else how
  /// many values the PTX holds at once.
  [[nodiscard]] uint32_t registers_per_thread() const { return registers_per_thread_; }
  /// Static shared memory of a CTA.
  [[nodiscard]] size_t static_shared_bytes() const { return static_shared_bytes_; }
  /// Local memory of a thread.
  [[nodiscard]] size_t local_bytes() const { return local_bytes_; }
  [[nodiscard]] const std::vector<ParameterLayout>& parameters() const { return parameters_; }
  /// Bytes of all parameters.
  [[nodiscard]] size_t parameter_bytes() const { return parameter_bytes_; }
  /// Whether clusters can see each other's operations (global atomics, strong accesses, launch
  /// control), so that they advance in lockstep.
  [[nodiscard]] bool clusters_interact() const { return clusters_interact_; }
  /// Whether CTAs on one SM compete for something there (tensor memory).
  [[nodiscard]] bool shares_sm() const { return shares_sm_; }
  /// The .shared variable that holds an offset, as "name+12", or "shared memory +offset".
  [[nodiscard]] std::string describe_shared(uint32_t offset_bytes) const;

 private:
  friend class KernelBuilder;
  const LoadedModule& module_;
  const ptx::Function* function_ = nullptr;
  std::string name_;
  std::vector<Instruction> code_;
  std::vector<Operand> operands_;
  std::vector<std::byte> constants_;
  std::vector<std::shared_ptr<void>> details_;
  std::vector<ParameterLayout> parameters_;
  size_t parameter_bytes_ = 0;
  uint32_t register_file_bytes_ = 0;
  uint32_t registers_per_thread_ = 0;
  size_t static_shared_bytes_ = 0;  ///< from the window's start, so it includes the reserved bytes
  size_t local_bytes_ = 0;
  bool clusters_interact_ = false;
  bool shares_sm_ = false;
  struct SharedSymbol {
    uint32_t offset_bytes;
    size_t size_bytes;
    std::string name;
  };
  std::vector<SharedSymbol> shared_symbols_;
};

}  // namespace bw::sim
