#include "common/simulator/machine/kernel.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include <fmt/core.h>

#include "common/simulator/base/device_address.hpp"
#include "common/simulator/base/error.hpp"
#include "common/simulator/clock/issue_latencies.hpp"
#include "common/simulator/machine/address_space.hpp"
#include "common/simulator/machine/device_memory.hpp"
#include "common/simulator/machine/kernel_builder.hpp"
#include "common/simulator/ptx/demangle.hpp"
#include "common/simulator/ptx/lower_jumps.hpp"

namespace bw::sim {
LoadedModule::LoadedModule(std::unique_ptr<ptx::Module> module, const MachineDescription& machine,
                           const TimingTable* times, DeviceMemory& memory)
    : module_(std::move(module)), machine_(machine), times_(times), memory_(memory) {
  constexpr size_t kLeastAlignment = 256;
  for (const auto& variable : module_->variables) {
    if (variable->space != ptx::StateSpace::global && variable->space != ptx::StateSpace::constant)
      continue;
    if (variable->is_extern) continue;
    const uint64_t address =
        memory_.allocate(variable->size_bytes, "variable " + ptx::readable_name(variable->name),
                         std::max(variable->alignment_bytes, kLeastAlignment),
                         variable->space == ptx::StateSpace::global);
    if (address == 0) {
      throw SimulationError(Report{
          .code = FaultCode::device_memory_used_up,
          .what = fmt::format("device memory is used up: variable {} of {} bytes does not fit",
                              variable->name, variable->size_bytes),
          .where = module_->name,
          .fix = "raise BW_SIM_MEMORY_GB"});
    }
    addresses_[variable->name] = address;
    std::byte* const target = host_pointer(address);
    std::memset(target, 0, variable->size_bytes);
    if (!variable->initial.empty())
      std::memcpy(target, variable->initial.data(), variable->initial.size());
  }
  for (const auto& variable : module_->variables) {
    for (const ptx::Variable::Relocation& relocation : variable->relocations) {
      const std::optional<uint64_t> function = ptx::function_address(*module_, relocation.symbol);
      const uint64_t address = function ? *function : variable_address(relocation.symbol);
      const uint64_t value =
          (address + static_cast<uint64_t>(relocation.addend)) >> relocation.shift_bits;
      std::memcpy(host_pointer(addresses_[variable->name] + relocation.offset_bytes), &value,
                  std::min(relocation.size_bytes, sizeof value));
    }
  }
}

LoadedModule::~LoadedModule() {
  for (const auto& [name, address] : addresses_) memory_.free(address);
}

uint64_t LoadedModule::variable_address(std::string_view name) const {
  const auto found = addresses_.find(std::string(name));
  return found == addresses_.end() ? 0 : found->second;
}

const ptx::Variable* LoadedModule::variable(std::string_view name) const {
  for (const auto& candidate : module_->variables)
    if (candidate->name == name) return candidate.get();
  return nullptr;
}

const LoadedModule::Schedule* LoadedModule::schedule_of(const ptx::Function& function) const {
  if (times_ == nullptr) return nullptr;
  const auto [found, is_new] = schedules_.try_emplace(&function);
  if (is_new) {
    found->second.registers_per_thread = ptx::allocate_registers(function).live_32bit_registers;
    for (const auto& own : module_->functions)
      if (own.get() == &function) found->second.times = schedule(*own, issue_latencies(*times_));
  }
  return &found->second;
}

Kernel::Kernel(const LoadedModule& module, std::string_view name) : module_(module) {
  function_ = module.ptx().find_function(name);
  if (function_ == nullptr || !function_->is_entry) {
    throw SimulationError(Report{
        .code = FaultCode::kernel_unknown,
        .what = "module " + module.ptx().name + " has no kernel named " + std::string(name)});
  }
  name_ = ptx::readable_name(function_->name);
  KernelBuilder(*this, module, *function_).build();
}

Kernel::~Kernel() = default;

std::string Kernel::describe_shared(uint32_t offset_bytes) const {
  const SharedSymbol* best = nullptr;
  for (const SharedSymbol& symbol : shared_symbols_) {
    const bool inside = symbol.size_bytes == 0
                            ? offset_bytes >= symbol.offset_bytes
                            : offset_bytes - symbol.offset_bytes < symbol.size_bytes;
    if (inside && (best == nullptr || symbol.offset_bytes >= best->offset_bytes)) best = &symbol;
  }
  if (best == nullptr) return fmt::format("shared memory +{}", offset_bytes);
  const uint32_t distance = offset_bytes - best->offset_bytes;
  return distance == 0 ? best->name : fmt::format("{}+{}", best->name, distance);
}

}  // namespace bw::sim
