#include "common/simulator/machine/kernel_builder.hpp"

#include <algorithm>
#include <cstring>
#include <set>
#include <string>

#include <fmt/core.h>

#include "common/simulator/base/bits.hpp"
#include "common/simulator/base/error.hpp"
#include "common/simulator/base/text.hpp"
#include "common/simulator/isa/machine_description.hpp"
#include "common/simulator/isa/ptx_version.hpp"
#include "common/simulator/machine/address_space.hpp"
#include "common/simulator/machine/device_memory.hpp"
#include "common/simulator/machine/late_read.hpp"
#include "common/simulator/ptx/demangle.hpp"
#include "common/simulator/ptx/flow_graph.hpp"
#include "common/simulator/ptx/pending_reads.hpp"

namespace bw::sim {
namespace {

constexpr size_t kConstantAlignment = 64;  // one host cache line
constexpr size_t kSinkBytes = 16 * kWarpLanes;

void collect_variables(const ptx::Operand& operand, std::vector<const ptx::Variable*>& found) {
  if (operand.variable != nullptr &&
      std::find(found.begin(), found.end(), operand.variable) == found.end())
    found.push_back(operand.variable);
  for (const ptx::Operand& element : operand.elements) collect_variables(element, found);
}

/// The handler of an instruction whose work another one does.
void do_nothing(const LaneRegisters&, const Instruction&, LaneMask) {}

bool is_missing_on(const MachineDescription& machine, const FormMatch& match) {
  return (match.form->machines(match.modifiers) & machine.instructions) == 0;
}

}  // namespace

KernelBuilder::KernelBuilder(Kernel& kernel, const LoadedModule& module,
                             const ptx::Function& function)
    : kernel_(kernel), module_(module), function_(function) {}

void KernelBuilder::build() {
  const LoadedModule::Schedule* const schedule = module_.schedule_of(function_);
  layout_ = ptx::allocate_registers(function_);
  sink_offset_ = static_cast<uint32_t>(align_up(layout_.total_bytes, kConstantAlignment));
  kernel_.register_file_bytes_ = sink_offset_ + static_cast<uint32_t>(kSinkBytes);
  const uint32_t estimate =
      schedule == nullptr ? layout_.live_32bit_registers : schedule->registers_per_thread;
  kernel_.registers_per_thread_ =
      function_.machine_registers != 0 ? function_.machine_registers : estimate;
  lay_out_parameters();
  lay_out_shared();
  lay_out_local();
  decode_instructions();
  if (schedule != nullptr) take_times(schedule->times);
  wrap_late_reads();
  is_idle_.assign(kernel_.code_.size(), 0);
  for (void (*const finish)(KernelBuilder&) : finishers_) finish(*this);
  measure_lengths();
}

void KernelBuilder::take_times(const std::vector<IssueTimes>& times) {
  for (size_t index = 0; index < times.size(); ++index) {
    Instruction& instruction = kernel_.code_[index];
    instruction.cycles = times[index].cycles;
    instruction.skip_cycles = times[index].skip_cycles;
    instruction.issue_slots = times[index].issue_slots;
    instruction.issued = times[index].issued;
    instruction.awaits = times[index].awaits;
    instruction.scoreboard = times[index].scoreboard;
    instruction.merged = times[index].merged;
    instruction.code_begin = times[index].code_begin;
  }
}

void KernelBuilder::lay_out_parameters() {
  const uint64_t buffer = module_.memory().parameter_buffer();
  size_t offset = 0;
  for (const auto& parameter : function_.parameters) {
    offset = align_up(offset, std::max<size_t>(parameter->alignment_bytes, 1));
    addresses_[parameter.get()] = buffer + offset;
    kernel_.parameters_.push_back({offset, parameter->size_bytes});
    offset += parameter->size_bytes;
  }
  kernel_.parameter_bytes_ = offset;
}

void KernelBuilder::lay_out_shared() {
  std::vector<const ptx::Variable*> used;
  for (const ptx::Instruction& instruction : function_.instructions)
    for (const ptx::Operand& operand : instruction.operands) collect_variables(operand, used);
  // Only variables that the kernel names take space; the dynamic arrays share the end.
  std::vector<const ptx::Variable*> fixed, dynamic;
  for (const auto& variable : function_.variables)
    if (variable->space == ptx::StateSpace::shared) fixed.push_back(variable.get());
  for (const auto& variable : module_.ptx().variables) {
    if (variable->space != ptx::StateSpace::shared) continue;
    if (std::find(used.begin(), used.end(), variable.get()) == used.end()) continue;
    (variable->is_extern && variable->size_bytes == 0 ? dynamic : fixed).push_back(variable.get());
  }
  size_t offset = kReservedSharedBytes;
  for (const ptx::Variable* variable : fixed) {
    offset = align_up(offset, std::max<size_t>(variable->alignment_bytes, 1));
    addresses_[variable] = offset;
    kernel_.shared_symbols_.push_back(
        {static_cast<uint32_t>(offset), variable->size_bytes, ptx::readable_name(variable->name)});
    offset += variable->size_bytes;
  }
  constexpr size_t kDynamicAlignment = 16;
  size_t alignment = kDynamicAlignment;
  for (const ptx::Variable* variable : dynamic)
    alignment = std::max(alignment, variable->alignment_bytes);
  if (!dynamic.empty()) offset = align_up(offset, alignment);
  for (const ptx::Variable* variable : dynamic) {
    addresses_[variable] = offset;
    kernel_.shared_symbols_.push_back(
        {static_cast<uint32_t>(offset), 0, ptx::readable_name(variable->name)});
  }
  kernel_.static_shared_bytes_ = offset;
}

void KernelBuilder::lay_out_local() {
  size_t offset = 0;
  for (const auto& variable : function_.variables) {
    // The parameters of calls to external functions live in the thread's local memory.
    if (variable->space != ptx::StateSpace::local && variable->space != ptx::StateSpace::param)
      continue;
    offset = align_up(offset, std::max<size_t>(variable->alignment_bytes, 1));
    addresses_[variable.get()] = offset;
    offset += variable->size_bytes;
  }
  constexpr size_t kLocalAlignment = 16;
  kernel_.local_bytes_ = align_up(offset, kLocalAlignment);
}

uint64_t KernelBuilder::variable_address(const ptx::Variable& variable) const {
  const auto found = addresses_.find(&variable);
  if (found != addresses_.end()) return found->second;
  return module_.variable_address(variable.name);
}

Operand KernelBuilder::register_operand(uint32_t register_index) const {
  Operand operand;
  operand.offset_bytes = layout_.offset_bytes[register_index];
  const ptx::ScalarType type = function_.registers[register_index].type;
  operand.bytes = type == ptx::ScalarType::pred
                      ? 0
                      : static_cast<uint8_t>(ptx::register_storage_bytes(type) / kWarpLanes);
  return operand;
}

Operand KernelBuilder::sink(size_t bytes) const {
  Operand operand;
  operand.offset_bytes = sink_offset_;
  operand.bytes = static_cast<uint8_t>(bytes == 1 ? 2 : bytes);
  operand.sink = true;
  operand.written = true;
  return operand;
}

Operand KernelBuilder::constant(size_t bytes, uint64_t low, uint64_t high) {
  if (bytes == 1) bytes = 2;
  const auto key = std::make_pair(bytes, std::make_pair(low, high));
  auto found = constant_offsets_.find(key);
  if (found == constant_offsets_.end()) {
    std::vector<std::byte>& storage = kernel_.constants_;
    const size_t offset = align_up(storage.size(), kConstantAlignment);
    const size_t length = bytes == 0 ? sizeof(LaneMask) : bytes * kWarpLanes;
    storage.resize(offset + length);
    if (bytes == 0) {
      const LaneMask mask = low != 0 ? kAllLanes : 0;
      std::memcpy(storage.data() + offset, &mask, sizeof mask);
    } else {
      const uint64_t words[2] = {low, high};
      for (int lane = 0; lane < kWarpLanes; ++lane)
        std::memcpy(storage.data() + offset + static_cast<size_t>(lane) * bytes, words, bytes);
    }
    found = constant_offsets_.emplace(key, static_cast<uint32_t>(offset)).first;
  }
  Operand operand;
  operand.offset_bytes = found->second;
  operand.bytes = static_cast<uint8_t>(bytes);
  operand.base = 1;
  return operand;
}

void KernelBuilder::decode_instructions() {
  const std::vector<ptx::Instruction>& sources = function_.instructions;
  const std::vector<uint32_t> reconvergence = ptx::reconvergence_points(function_);
  kernel_.code_.resize(sources.size());
  std::vector<std::string> refused;
  std::set<std::string> seen;
  for (size_t index = 0; index < sources.size(); ++index) {
    const ptx::Instruction& source = sources[index];
    Instruction& out = kernel_.code_[index];
    first_operand_.push_back(static_cast<uint32_t>(kernel_.operands_.size()));
    const FormMatch& match = *source.match;
    const InstructionForm& form = *match.form;
    const bool is_missing = is_missing_on(module_.machine(), match);
    if (is_missing || !match.is_exact || form.bind == nullptr) {
      if (seen.insert(source.opcode).second) {
        refused.push_back(
            module_.ptx().describe_location(source) + ": `" + source.opcode + "` " +
            (is_missing
                 ? fmt::format("is not an instruction of the machine {}", module_.machine().name)
             : match.is_exact ? "is known but not executed by this simulator"
                              : "is not an instruction form that this simulator knows") +
            version_note(source.opcode,
                         {module_.ptx().version_major, module_.ptx().version_minor}));
      }
      continue;
    }
    out.source_index = static_cast<uint32_t>(index);
    out.cycles = form.cycles;
    out.effect = form.effect(match.modifiers);
    out.order = match.modifiers.order();
    out.scope = match.modifiers.scope();
    out.awaits = form.awaits_loads ? kAwaitsLoads : 0;
    out.reconvergence = reconvergence[index];
    out.has_guard = source.has_guard;
    out.guard_negated = source.guard_negated;
    if (source.has_guard) out.guard_offset_bytes = layout_.offset_bytes[source.guard];
    current_operands_.clear();
    Binder binder(*this, source, out);
    form.bind(binder);
    check_handler(form, out.effect, out.execute);
    if (out.marks == Marks::compute && !out.execute.is_of_lanes()) out.marks = Marks::use;
    out.operand_count = static_cast<uint16_t>(current_operands_.size());
    kernel_.operands_.insert(kernel_.operands_.end(), current_operands_.begin(),
                             current_operands_.end());
    if (out.effect == Effect::grid) kernel_.clusters_interact_ = true;
  }
  if (!refused.empty()) {
    constexpr size_t kMostListed = 12;
    const size_t total = refused.size();
    if (refused.size() > kMostListed) {
      refused.resize(kMostListed);
      refused.push_back(fmt::format("... and {} more", total - kMostListed));
    }
    const std::string first = refused.front();
    refused.erase(refused.begin());
    throw SimulationError(
        Report{.code = FaultCode::form_not_executed,
               .what = fmt::format("kernel {} uses {} that cannot run here", kernel_.name(),
                                   counted(total, "instruction form")),
               .where = first,
               .details = refused,
               .fix = "run this kernel on hardware, or replace the instruction; "
                      "common/simulator/README.md says what is modelled and how to add a form"});
  }
  for (size_t index = 0; index < sources.size(); ++index)
    kernel_.code_[index].operands = kernel_.operands_.data() + first_operand_[index];
}

void KernelBuilder::wrap(uint32_t index, const std::vector<uint32_t>& registers,
                         StrandHandler handler) {
  Instruction& instruction = kernel_.code_[index];
  auto late = std::make_shared<LateRead>();
  late->original = instruction;
  for (const uint32_t reg : registers) late->registers.push_back({register_operand(reg), reg});
  instruction.execute = handler;
  instruction.detail = late.get();
  keep(std::move(late));
}

void KernelBuilder::take_over(uint32_t index, Handler handler, std::vector<Operand> operands,
                              const std::vector<uint32_t>& others) {
  const auto kept = std::make_shared<std::vector<Operand>>(std::move(operands));
  Instruction& instruction = kernel_.code_[index];
  instruction.execute = handler;
  instruction.operands = kept->data();
  instruction.operand_count = static_cast<uint16_t>(kept->size());
  keep(kept);
  for (const uint32_t other : others) {
    kernel_.code_[other].execute = do_nothing;
    kernel_.code_[other].operand_count = 0;
    is_idle_[other] = 1;
  }
}

void KernelBuilder::measure_lengths() {
  constexpr uint8_t kLongest = 64;
  std::vector<Instruction>& code = kernel_.code_;
  for (Instruction& instruction : code) instruction.length_cycles = instruction.cycles;
  if (std::none_of(is_idle_.begin(), is_idle_.end(), [](uint8_t idle) { return idle != 0; }))
    return;
  // Within a basic block, since lanes may meet before another one; and not beyond the end of a
  // stretch that takes issue slots.
  const ptx::FlowGraph graph(function_);
  for (size_t index = code.size() - 1; index-- > 0;) {
    Instruction& here = code[index];
    const Instruction& next = code[index + 1];
    if (is_idle_[index + 1] == 0 || graph.block_of[index] != graph.block_of[index + 1] ||
        here.issue_slots != 0 || next.issue_slots != 0 || next.awaits != 0 ||
        next.length == kLongest)
      continue;
    here.length = static_cast<uint8_t>(1 + next.length);
    here.length_cycles = static_cast<uint16_t>(here.cycles + next.length_cycles);
  }
}

void KernelBuilder::wrap_late_reads() {
  if (late_reader_ == nullptr) return;
  for (const ptx::PendingRead& read : ptx::reads_of_pending_registers(function_))
    wrap(read.instruction, read.registers, late_reader_);
}

}  // namespace bw::sim
