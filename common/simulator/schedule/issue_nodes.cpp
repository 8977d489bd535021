#include "common/simulator/schedule/issue_nodes.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "common/simulator/ptx/pending_reads.hpp"
#include "common/simulator/ptx/register_usage.hpp"
#include "common/simulator/schedule/passes.hpp"

namespace bw::sim {
namespace {

/// A copy of the copy engine, requested by a thread of the warp.
bool is_copy(const InstructionForm& form) {
  return form.unit == Unit::bulk_copy && form.ordering == Ordering::none;
}

bool reads_time(const ptx::Instruction& instruction) {
  return instruction.operands.size() == 2 &&
         instruction.operands[1].kind == ptx::Operand::Kind::special &&
         (instruction.operands[1].text.starts_with("%clock") ||
          instruction.operands[1].text.starts_with("%globaltimer"));
}

Cost cost_of(const ptx::Instruction& instruction) {
  const InstructionForm& form = instruction.form();
  const Modifiers& modifiers = instruction.match->modifiers;
  if (form.cost.is_given()) return form.cost(modifiers, instruction);
  if (ends_block(form.transfer)) return {.pipe = Pipe::branch};
  return {.pipe = runs_ahead(form.effect(modifiers)) ? Pipe::alu : Pipe::load_store};
}

bool gives_shared_address(const ptx::Instruction& instruction) {
  return instruction.operands.size() == 2 && instruction.form().operation == Operation::move &&
         instruction.operands[1].kind == ptx::Operand::Kind::variable &&
         instruction.operands[1].variable != nullptr &&
         instruction.operands[1].variable->space == ptx::StateSpace::shared;
}

}  // namespace

IssueNodes::IssueNodes(ptx::Function& function, const IssueLatencies& latencies)
    : function_(function), latencies_(latencies), graph_(function) {
  find_costs();
  find_copies();
}

void IssueNodes::find_costs() {
  const std::vector<ptx::Instruction>& instructions = function_.instructions;
  std::vector<Cost> costs(instructions.size());
  nodes_.resize(instructions.size());
  for (size_t i = 0; i < instructions.size(); ++i) {
    const ptx::Instruction& instruction = instructions[i];
    if (instruction.match->is_exact) {
      nodes_[i].motion = motion_of(*instruction.match);
      costs[i] = cost_of(instruction);
    }
    nodes_[i].motion.is_fixed |= !instruction.match->is_exact || reads_time(instruction);
    list_registers(instruction, nodes_[i]);
  }
  hold_late_reads();
  find_mma_registers();
  fold_costs(function_, costs);
  find_first_values(costs);
  merge_loads(costs);
  find_shared_addresses(costs);
  for (size_t i = 0; i < instructions.size(); ++i) {
    Node& node = nodes_[i];
    node.cost = costs[i];
    const PipeTimes& pipe = latencies_.of(node.cost.pipe);
    node.interval = pipe.interval * node.cost.on_pipe;
    node.busy = pipe.busy * node.cost.on_pipe;
    if (node.cost.instructions != 0)
      node.latency = pipe.latency + node.cost.extra_cycles + node.cost.instructions - 1u;
  }
  yield_between_sums();
}

/// A constant is an operand of its user. But a register with other writes as well, such as a loop's
/// sum, has to be given its first value. (For integers ptxas finds other ways: it counts in uniform
/// registers, or from another value.)
void IssueNodes::find_first_values(std::vector<Cost>& costs) const {
  using Kind = ptx::Operand::Kind;
  constexpr uint8_t kOther = 1, kNumber = 2, kAgain = 4;  // what is written to a register
  std::vector<uint8_t> written(registers_end(), 0);
  const auto source_of = [&](size_t i) -> const ptx::Operand* {
    const ptx::Instruction& instruction = function_.instructions[i];
    return instruction.operands.size() == 2 && instruction.form().operation == Operation::move
               ? &instruction.operands[1]
               : nullptr;
  };
  const auto is_real = [&](uint32_t reg) {
    return reg < function_.registers.size() &&
           (function_.registers[reg].type == ptx::ScalarType::f32 ||
            function_.registers[reg].type == ptx::ScalarType::f64);
  };
  const auto is_number = [](const ptx::Operand* operand) {
    return operand != nullptr &&
           (operand->kind == Kind::integer || operand->kind == Kind::f32_literal ||
            operand->kind == Kind::f64_literal);
  };
  for (size_t i = 0; i < nodes_.size(); ++i) {
    const uint8_t what = is_number(source_of(i)) ? kNumber : kOther;
    for (const uint32_t reg : written_by(nodes_[i]))
      written[reg] |= written[reg] == 0 ? what : what | kAgain;
  }
  std::vector<uint32_t> number_in(registers_end(), kNoIndex);  // by register: a block
  for (uint32_t b = 0; b < graph_.blocks.size(); ++b) {
    for (uint32_t i = graph_.blocks[b].first; i < graph_.blocks[b].last; ++i) {
      const ptx::Operand* const source = source_of(i);
      const bool has_number =
          is_number(source) || (source != nullptr && source->kind == Kind::reg &&
                                (written[source->reg] == kNumber || number_in[source->reg] == b));
      for (const uint32_t reg : written_by(nodes_[i])) {
        number_in[reg] = has_number ? b : kNoIndex;
        if (has_number && is_real(reg) && costs[i].instructions == 0 &&
            (written[reg] & (kOther | kAgain)) == (kOther | kAgain))
          costs[i] = {.pipe = Pipe::fma};
      }
    }
  }
}

/// ptxas marks every second instruction of the f32 arithmetic on wgmma's results: the warp yields
/// the next cycle to another one.
void IssueNodes::yield_between_sums() {
  bool yields = false;
  for (Node& node : nodes_) {
    if (!node.uses_mma_registers || node.cost.pipe != Pipe::fma) continue;
    if (yields) node.hold = 1;
    yields = !yields;
  }
}

/// A load for others takes the time of all; these arrive with it.
void IssueNodes::merge_loads(std::vector<Cost>& costs) {
  std::vector<uint8_t> ends_stretch(nodes_.size(), 0), writes(nodes_.size(), 0);
  for (size_t i = 0; i < nodes_.size(); ++i) {
    ends_stretch[i] = nodes_[i].motion.is_fixed ? 1 : 0;
    writes[i] = (nodes_[i].motion.writes & kSharedSpace) != 0 ? 1 : 0;
  }
  const std::vector<MergedLoad> merged = merged_loads(function_, graph_, ends_stretch, writes);
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (merged[i].count == 1) continue;
    nodes_[i].merged_first = merged[i].first;
    nodes_[i].merged = merged[i].count;
    if (merged[i].count == 0) costs[i] = kNoCost;
  }
}

/// Whether ptxas would predicate the block after a branch, as IssueTimer finds it by its slots.
bool IssueNodes::is_predicated(uint32_t b) const {
  const ptx::BasicBlock& block = graph_.blocks[b];
  if (b == 0 || block.predecessors.size() != 1 || block.predecessors[0] != b - 1 ||
      !function_.instructions[block.first - 1].has_guard ||
      block.last - block.first > kLongestPredicated)
    return false;
  return std::none_of(
      nodes_.begin() + block.first, nodes_.begin() + block.last,
      [](const Node& node) { return node.motion.is_fixed || node.motion.is_collective; });
}

/// The address of a variable in shared memory is computed from the CTA's rank in its cluster, a
/// special register. ptxas hoists that out of an innermost loop whose iterations all need it;
/// elsewhere it stays. Where it is needed under a predicate, it is read ahead of that.
void IssueNodes::find_shared_addresses(std::vector<Cost>& costs) const {
  std::vector<uint8_t> keeps_constants;
  for (uint32_t b = 0; b < graph_.blocks.size(); ++b) {
    const ptx::BasicBlock& block = graph_.blocks[b];
    bool is_known = false;
    for (uint32_t i = block.first; i < block.last; ++i) {
      const ptx::Instruction& instruction = function_.instructions[i];
      if (!gives_shared_address(instruction)) continue;
      if (keeps_constants.empty()) keeps_constants = blocks_that_keep_constants(function_, graph_);
      if (keeps_constants[graph_.block_of[i]] == 0) break;
      if (!is_known && is_predicated(b))
        costs[i] = {.pipe = Pipe::alu, .instructions = 2};
      else if (!is_known)
        costs[i] = {.pipe = Pipe::system,
                    .instructions = 2,
                    .extra_cycles = static_cast<uint16_t>(latencies_.of(Pipe::alu).latency)};
      is_known = true;
    }
  }
}

/// The copy engine's operands are in registers that a whole warp computes with. ptxas knows that a
/// lane chosen by elect.sync is alone: it issues its copies back to back. Any other code might be
/// executed by several lanes, which a loop serves one after the other.
void IssueNodes::find_copies() {
  const std::vector<ptx::Instruction>& instructions = function_.instructions;
  const uint32_t operands = latencies_.copy_operands;
  std::vector<uint8_t> elected;
  for (const ptx::BasicBlock& block : graph_.blocks) {
    bool is_first = true;
    for (uint32_t i = block.first; i < block.last; ++i) {
      if (!is_copy(instructions[i].form())) continue;
      if (elected.empty()) elected = elected_blocks(function_, graph_);
      Node& node = nodes_[i];
      if (elected[graph_.block_of[i]] == 0) {
        node.prepare = operands;
        node.hold = latencies_.copy_prepare - operands;
      } else {
        node.prepare = is_first ? operands : 0;
        if (is_first) share_arithmetic(block);
      }
      is_first = false;
    }
  }
}

/// Locations and coordinates of an elected lane's copies are the warp's: ptxas computes them in
/// uniform registers ahead of the predicate, which remains for the copies and arrivals (machine
/// code of solutions/06_hopper_fp8_gemm/swap_ab_load.cuh).
void IssueNodes::share_arithmetic(const ptx::BasicBlock& block) {
  for (uint32_t i = block.first; i < block.last; ++i) {
    Node& node = nodes_[i];
    node.is_of_all_lanes = node.motion.reads == 0 && node.motion.writes == 0 &&
                           !node.motion.is_fixed && !node.motion.is_collective &&
                           !is_copy(function_.instructions[i].form());
  }
}

/// Reading a register that a tcgen05.ld may still write breaks a rule: the report names the first
/// such read in the text.
void IssueNodes::hold_late_reads() {
  const std::vector<ptx::Instruction>& instructions = function_.instructions;
  if (std::none_of(instructions.begin(), instructions.end(), [](const auto& instruction) {
        return instruction.form().unit == Unit::tensor_load && instruction.form().writes_later;
      }))
    return;
  for (const ptx::PendingRead& read : ptx::reads_of_pending_registers(function_))
    nodes_[read.instruction].motion.is_fixed = true;
}

/// Registers of wgmma's sums and fragments change while the warp runs: their users stay on their
/// side of waits for MMAs.
void IssueNodes::find_mma_registers() {
  std::vector<uint8_t> is_of_mma;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    const InstructionForm& form = function_.instructions[i].form();
    if (form.unit != Unit::wgmma || !form.writes_later) continue;
    if (is_of_mma.empty()) is_of_mma.resize(registers_end(), 0);
    for (uint32_t r = nodes_[i].reads; r < nodes_[i].end; ++r) is_of_mma[registers_[r]] = 1;
  }
  if (is_of_mma.empty()) return;
  for (Node& node : nodes_)
    node.uses_mma_registers =
        std::any_of(registers_.begin() + node.reads, registers_.begin() + node.end,
                    [&](uint32_t reg) { return is_of_mma[reg] != 0; });
}

void IssueNodes::list_registers(const ptx::Instruction& instruction, Node& node) {
  const auto add = [&](uint32_t reg) { registers_.push_back(reg); };
  node.reads = static_cast<uint32_t>(registers_.size());
  ptx::visit_read_registers(instruction, add);
  if (instruction.has_guard) ptx::visit_written_registers(instruction, add);
  node.writes = static_cast<uint32_t>(registers_.size());
  ptx::visit_written_registers(instruction, add);
  node.end = static_cast<uint32_t>(registers_.size());
}

uint32_t IssueNodes::planned_latency(const Node& node) const {
  switch (node.motion.loads_from) {
    case LoadSource::shared_memory:
      return latencies_.shared_load;
    case LoadSource::device_memory:
      return latencies_.device_load;
    case LoadSource::nothing:
      break;
  }
  return node.latency;
}

uint32_t IssueNodes::crossing(Pipe from, Pipe to) const {
  const auto is_arithmetic = [](Pipe pipe) {
    return pipe == Pipe::alu || pipe == Pipe::add || pipe == Pipe::fma || pipe == Pipe::multiply;
  };
  return from != to && is_arithmetic(from) && is_arithmetic(to) ? latencies_.other_pipe : 0;
}

void IssueNodes::reorder(const std::vector<uint32_t>& order) {
  std::vector<ptx::Instruction> moved;
  std::vector<Node> moved_nodes;
  moved.reserve(order.size());
  moved_nodes.reserve(order.size());
  for (const uint32_t index : order) {
    moved.push_back(std::move(function_.instructions[index]));
    moved_nodes.push_back(nodes_[index]);
  }
  function_.instructions = std::move(moved);
  nodes_ = std::move(moved_nodes);
}

}  // namespace bw::sim
