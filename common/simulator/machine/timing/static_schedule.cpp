#include "common/simulator/machine/timing/static_schedule.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <functional>
#include <limits>
#include <optional>
#include <queue>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "common/simulator/base/bits.hpp"
#include "common/simulator/machine/opcode_table.hpp"
#include "common/simulator/machine/timing/code_motion.hpp"
#include "common/simulator/machine/timing/cost.hpp"
#include "common/simulator/machine/timing/elected_blocks.hpp"
#include "common/simulator/machine/timing/folding.hpp"
#include "common/simulator/machine/timing/timing_table.hpp"
#include "common/simulator/ptx/control_flow.hpp"
#include "common/simulator/ptx/flow_graph.hpp"
#include "common/simulator/ptx/liveness.hpp"
#include "common/simulator/ptx/pending_reads.hpp"
#include "common/simulator/ptx/register_usage.hpp"

namespace bw::sim {
namespace {

constexpr uint32_t kNone = 0xffffffffu;
constexpr uint8_t kNoScoreboard = 0xff;
/// Longest stretch that is ordered at once: registers would be used up long before.
constexpr uint32_t kLongestRegion = 512;
/// ptxas predicates a body of as many instructions instead of branching around it.
constexpr uint32_t kLongestPredicated = 7;
/// With so many registers a thread an SM is full of warps: ptxas keeps to them where it can.
constexpr uint32_t kFullOccupancyRegisters = 32;
/// Where what lives across blocks leaves fewer than these, it takes as many more than the order of
/// the text needs.
constexpr uint32_t kSpareRegisters = 8;
/// The stack's, which ptxas keeps always.
constexpr uint32_t kStackRegisters = 1;

/// What the opcode alone says, found once for each opcode of a function.
struct OpcodeFacts {
  std::optional<RowMatch> match;
  Motion motion;
};

/// An instruction as the scheduler sees it.
struct Node {
  Cost cost;
  Motion motion;
  uint32_t latency = 0;   ///< until its result can be used; of loads: as ptxas would plan for
  uint32_t interval = 0;  ///< how long it keeps its pipe
  uint32_t busy = 0;      ///< how long other warps cannot have it
  uint32_t prepare = 0;   ///< of a copy: what its operands take on their way to the engine
  uint32_t hold = 0;      ///< of a copy: what the warp waits behind it
  /// Its registers, in Scheduler::registers_: what it reads, then what it writes. Under a guard it
  /// also reads what it writes: some lanes keep the old value.
  uint32_t reads = 0, writes = 0, end = 0;
};

/// A register that is not yet there where a block ends.
struct Late {
  uint32_t reg = 0;
  uint32_t cycles = 0;  ///< behind the block's end
  Pipe pipe = Pipe::none;
};

/// Of a block: how it goes on.
struct BlockEnd {
  uint32_t taken_cycles = 0;   ///< of its branch, when it is taken
  uint32_t passed_cycles = 0;  ///< when it isn't
  bool is_predicated = false;  ///< there is no branch: ptxas predicates the block behind it
};

class Scheduler {
 public:
  Scheduler(ptx::Function& function, const TimingTable& times)
      : function_(function), times_(times), graph_(function) {
    for (size_t pipe = 0; pipe < kPipeCount; ++pipe)
      pipes_[pipe] = pipe_times(times, static_cast<Pipe>(pipe));
  }

  std::vector<IssueTimes> run() {
    const size_t count = function_.instructions.size();
    find_costs();
    find_copies();
    find_block_ends();
    find_pressure();
    order_.resize(count);
    last_write_.assign(pseudo_registers_end(), kNone);
    first_read_.assign(pseudo_registers_end(), kNone);
    value_of_.assign(pseudo_registers_end(), kNone);
    for (const ptx::BasicBlock& block : graph_.blocks) order_block(block);
    permute();
    result_.resize(count);
    ready_.assign(pseudo_registers_end(), {});
    loaded_.assign(pseudo_registers_end(), 0);
    scoreboards_.assign(count, kNoScoreboard);
    late_.resize(graph_.blocks.size());
    awaited_.resize(graph_.blocks.size());
    // The second time with what comes back along the edges of loops.
    for (int pass = 0; pass < 2; ++pass)
      for (uint32_t block = 0; block < graph_.blocks.size(); ++block) time_block(block);
    return std::move(result_);
  }

 private:
  // ---- What each instruction costs

  [[nodiscard]] uint32_t carry_register() const {
    return static_cast<uint32_t>(function_.registers.size());
  }
  [[nodiscard]] uint32_t collective_register() const { return carry_register() + 1; }
  [[nodiscard]] uint32_t pseudo_registers_end() const { return carry_register() + 2; }

  void find_costs() {
    const std::vector<ptx::Instruction>& instructions = function_.instructions;
    std::unordered_map<std::string_view, OpcodeFacts> facts;
    std::vector<Cost> costs(instructions.size());
    nodes_.resize(instructions.size());
    for (size_t i = 0; i < instructions.size(); ++i) {
      const ptx::Instruction& instruction = instructions[i];
      auto [found, is_new] = facts.try_emplace(instruction.opcode);
      OpcodeFacts& known = found->second;
      if (is_new) {
        known.match = find_row(instruction.opcode);
        if (known.match)
          known.motion = motion_of(*known.match, instruction.opcode);
        else
          known.motion.is_fixed = true;
      }
      nodes_[i].motion = known.motion;
      nodes_[i].motion.is_fixed |= reads_time(instruction);
      if (known.match) costs[i] = cost_of(*known.match, instruction);
      list_registers(instruction, nodes_[i]);
    }
    hold_late_reads();
    fold_costs(function_, costs);
    for (size_t i = 0; i < instructions.size(); ++i) {
      Node& node = nodes_[i];
      node.cost = costs[i];
      const PipeTimes& pipe = pipes_[static_cast<size_t>(node.cost.pipe)];
      node.interval = pipe.interval * node.cost.on_pipe;
      node.busy = pipe.busy * node.cost.on_pipe;
      if (node.cost.instructions != 0)
        node.latency = pipe.latency + node.cost.extra_cycles + node.cost.instructions - 1u;
    }
  }

  /// The copy engine's operands stand in registers that a whole warp computes with. Of a lane that
  /// elect.sync has chosen ptxas knows that it is alone; any other code might be executed by
  /// several lanes, which a loop serves one after the other.
  void find_copies() {
    const std::vector<ptx::Instruction>& instructions = function_.instructions;
    std::vector<uint8_t> elected;
    for (const ptx::BasicBlock& block : graph_.blocks)
      for (uint32_t i = block.first; i < block.last; ++i) {
        if (!is_copy(instructions[i].opcode)) continue;
        if (elected.empty()) elected = elected_blocks(function_, graph_);
        const Cycle takes = elected[graph_.block_of[i]] != 0 ? times_.tma_elected_cycles
                                                             : times_.tma_prepare_cycles;
        nodes_[i].prepare = static_cast<uint32_t>(times_.tma_operand_cycles);
        nodes_[i].hold = static_cast<uint32_t>(takes - times_.tma_operand_cycles);
      }
  }
  [[nodiscard]] static bool is_copy(std::string_view opcode) {
    if (!opcode.starts_with("cp.async.bulk") && !opcode.starts_with("cp.reduce.async.bulk"))
      return false;
    for (const std::string_view other : {".commit_group", ".wait_group"})
      if (opcode.find(other) != std::string_view::npos) return false;
    return true;
  }

  /// Who reads what a tcgen05.ld may still write breaks a rule: the report names the first of them
  /// in the text.
  void hold_late_reads() {
    const std::vector<ptx::Instruction>& instructions = function_.instructions;
    if (std::none_of(instructions.begin(), instructions.end(), [](const auto& instruction) {
          return instruction.opcode.starts_with("tcgen05.ld");
        }))
      return;
    for (const ptx::PendingRead& read : ptx::reads_of_pending_registers(function_))
      nodes_[read.instruction].motion.is_fixed = true;
  }

  void list_registers(const ptx::Instruction& instruction, Node& node) {
    const auto add = [&](uint32_t reg) { registers_.push_back(reg); };
    node.reads = static_cast<uint32_t>(registers_.size());
    ptx::visit_read_registers(instruction, add);
    if (instruction.has_guard) ptx::visit_written_registers(instruction, add);
    node.writes = static_cast<uint32_t>(registers_.size());
    ptx::visit_written_registers(instruction, add);
    node.end = static_cast<uint32_t>(registers_.size());
  }
  /// The registers that it reads, or writes.
  [[nodiscard]] std::span<const uint32_t> read_by(const Node& node) const {
    return {registers_.data() + node.reads, registers_.data() + node.writes};
  }
  [[nodiscard]] std::span<const uint32_t> written_by(const Node& node) const {
    return {registers_.data() + node.writes, registers_.data() + node.end};
  }

  [[nodiscard]] static bool reads_time(const ptx::Instruction& instruction) {
    return instruction.operands.size() == 2 &&
           instruction.operands[1].kind == ptx::Operand::Kind::special &&
           (instruction.operands[1].text.starts_with("%clock") ||
            instruction.operands[1].text.starts_with("%globaltimer"));
  }

  [[nodiscard]] static Cost cost_of(const RowMatch& match, const ptx::Instruction& instruction) {
    const OpcodeRow& row = *match.row;
    if (row.cost.is_given()) return row.cost(match.modifiers, instruction);
    if (ptx::transfer_of(instruction.opcode) != ptx::Transfer::none) return {.pipe = Pipe::branch};
    return {.pipe = runs_ahead(row.effect(match.modifiers)) ? Pipe::alu : Pipe::load_store};
  }

  [[nodiscard]] uint32_t planned_latency(const Node& node) const {
    switch (node.motion.loads_from) {
      case LoadedFrom::shared_memory:
        return times_.planned_shared_latency;
      case LoadedFrom::device_memory:
        return static_cast<uint32_t>(times_.l2_load_latency);
      case LoadedFrom::nothing:
        break;
    }
    return node.latency;
  }

  // ---- Registers

  /// How many 32-bit registers hold values before each instruction, in the order of the text.
  void find_pressure() {
    segments_ = ptx::live_segments(function_);
    weight_.resize(pseudo_registers_end(), 0);
    for (uint32_t reg = 0; reg < segments_.size(); ++reg)
      weight_[reg] = static_cast<uint8_t>(
          ceil_div(ptx::size_bytes(function_.registers[reg].type), sizeof(uint32_t)));
    const std::vector<uint8_t> varies = varying_registers();
    for (uint32_t reg = 0; reg < segments_.size(); ++reg)
      if (varies[reg] == 0 && !ptx::is_float(function_.registers[reg].type)) weight_[reg] = 0;
    std::vector<int32_t> change(nodes_.size() + 2, 0);
    for (uint32_t reg = 0; reg < segments_.size(); ++reg)
      for (const ptx::LiveSegment& segment : segments_[reg])
        if (segment.last > segment.first + 1) {
          change[segment.first + 1] += weight_[reg];
          change[segment.last] -= weight_[reg];
        }
    pressure_.resize(nodes_.size() + 1);
    int32_t sum = 0;
    for (size_t i = 0; i < pressure_.size(); ++i) {
      sum += change[i];
      pressure_[i] = static_cast<uint32_t>(sum);
    }
    uint32_t across_blocks = 0;
    for (const ptx::BasicBlock& block : graph_.blocks)
      across_blocks = std::max(across_blocks, pressure_[block.first]);
    register_limit_ = across_blocks + kSpareRegisters <= kFullOccupancyRegisters
                          ? kFullOccupancyRegisters
                          : *std::max_element(pressure_.begin(), pressure_.end()) + kSpareRegisters;
  }

  /// Registers whose values differ between the threads of a warp, or that are computed where not
  /// all of them come together. The others come from the constant bank or lie in uniform registers,
  /// of which there are enough.
  [[nodiscard]] std::vector<uint8_t> varying_registers() const {
    std::vector<uint8_t> varies(pseudo_registers_end(), 0);
    std::vector<uint8_t> diverges(graph_.blocks.size(), 0);
    const std::vector<uint32_t> meeting = ptx::reconvergence_points(function_);
    for (bool has_changed = true; has_changed;) {
      has_changed = false;
      for (uint32_t b = 0; b < graph_.blocks.size(); ++b)
        for (uint32_t i = graph_.blocks[b].first; i < graph_.blocks[b].last; ++i) {
          const Node& node = nodes_[i];
          const ptx::Instruction& instruction = function_.instructions[i];
          const std::span<const uint32_t> reads = read_by(node);
          const bool reads_varying = std::any_of(reads.begin(), reads.end(),
                                                 [&](uint32_t reg) { return varies[reg] != 0; });
          if (reads_varying && ptx::transfer_of(instruction.opcode) == ptx::Transfer::branch)
            has_changed |= diverge(b, meeting[i], diverges);
          if (!reads_varying && !gives_each_its_own(instruction, node) &&
              (diverges[b] == 0 || node.cost.instructions == 0))
            continue;
          for (const uint32_t reg : written_by(node)) {
            has_changed |= varies[reg] == 0;
            varies[reg] = 1;
          }
        }
    }
    return varies;
  }

  /// Marks the blocks between a branch at the end of block `from`, which lanes take differently,
  /// and the instruction where they meet again; whether one is new.
  bool diverge(uint32_t from, uint32_t meeting, std::vector<uint8_t>& diverges) const {
    bool is_new = false;
    std::vector<uint32_t> open = graph_.blocks[from].successors;
    std::vector<uint8_t> seen(graph_.blocks.size(), 0);
    while (!open.empty()) {
      const uint32_t block = open.back();
      open.pop_back();
      if (seen[block] != 0 || graph_.blocks[block].first == meeting) continue;
      seen[block] = 1;
      is_new |= diverges[block] == 0;
      diverges[block] = 1;
      const std::vector<uint32_t>& next = graph_.blocks[block].successors;
      open.insert(open.end(), next.begin(), next.end());
    }
    return is_new;
  }

  /// Whether the threads of a warp get different values from the same operands.
  [[nodiscard]] static bool gives_each_its_own(const ptx::Instruction& instruction,
                                               const Node& node) {
    if (node.motion.reads != 0) return node.cost.instructions != 0;
    if (node.cost.pipe != Pipe::system) return false;
    const std::string_view source = instruction.operands.back().text;
    return source.starts_with("%tid") || source.starts_with("%lane");
  }

  /// Whether the register holds a value that is needed where instruction `index` begins.
  [[nodiscard]] bool is_live_at(uint32_t reg, uint32_t index) const {
    if (reg >= segments_.size()) return false;
    return std::any_of(segments_[reg].begin(), segments_[reg].end(),
                       [=](const ptx::LiveSegment& segment) {
                         return segment.first < index && segment.last > index;
                       });
  }

  // ---- Branches

  void find_block_ends() {
    block_ends_.resize(graph_.blocks.size());
    for (uint32_t b = 0; b < graph_.blocks.size(); ++b) {
      const ptx::BasicBlock& block = graph_.blocks[b];
      const ptx::Instruction& last = function_.instructions[block.last - 1];
      if (ptx::transfer_of(last.opcode) == ptx::Transfer::none) continue;
      BlockEnd& end = block_ends_[b];
      end.taken_cycles = times_.branch_taken_cycles;
      end.passed_cycles = times_.branch_passed_cycles;
      const uint32_t target = branch_target(last);
      if (target == kNone || b + 1 >= graph_.blocks.size()) continue;
      if (!last.has_guard) {
        if (target == b + 1) end.taken_cycles = 0;  // it goes on there anyway
        continue;
      }
      if (target != b + 2) continue;
      const ptx::BasicBlock& body = graph_.blocks[b + 1];
      if (body.predecessors.size() != 1) continue;
      const ptx::Instruction& body_end = function_.instructions[body.last - 1];
      if (body.last - body.first == 1 && branch_target(body_end) != kNone && !body_end.has_guard) {
        // `@p bra A; bra B; A:` is `@!p bra B`.
        end.taken_cycles = times_.branch_passed_cycles;
        end.passed_cycles = 0;
      } else if (const std::optional<uint32_t> size = predicated_size(body)) {
        end = {.taken_cycles = *size, .passed_cycles = 0, .is_predicated = true};
      }
    }
  }

  /// The block that a direct branch goes to.
  [[nodiscard]] uint32_t branch_target(const ptx::Instruction& instruction) const {
    if (!instruction.opcode.starts_with("bra") || instruction.operands.size() != 1 ||
        instruction.operands[0].kind != ptx::Operand::Kind::label ||
        instruction.operands[0].value >= graph_.block_of.size())
      return kNone;
    return graph_.block_of[instruction.operands[0].value];
  }

  /// The issue slots of a block that can be executed under a predicate instead of branched around.
  [[nodiscard]] std::optional<uint32_t> predicated_size(const ptx::BasicBlock& block) const {
    uint32_t size = 0;
    for (uint32_t i = block.first; i < block.last; ++i) {
      if (nodes_[i].motion.is_fixed || nodes_[i].motion.is_collective) return std::nullopt;
      size += nodes_[i].cost.instructions;
    }
    return size <= kLongestPredicated ? std::optional(size) : std::nullopt;
  }

  // ---- Dependences of a region, and its order

  struct Edge {
    uint32_t from = 0, to = 0;
    uint32_t cycles = 0;
  };
  /// A list of readers of a register since its last write.
  struct Reader {
    uint32_t node = 0, next = kNone;
  };
  /// A value of a register, and how many nodes have not read it yet.
  struct Value {
    uint32_t weight = 0, readers = 0;
    bool is_loaded = false;
  };
  /// A node that reads or writes a value.
  struct ValueUse {
    uint32_t node = 0, value = 0;
  };
  /// An access to memory in the region.
  struct Access {
    uint32_t node = 0;
    uint8_t reads = 0, writes = 0;
    uint32_t base = kNone;  ///< register of a plain access, and its value's number
    uint32_t version = 0;
    int64_t offset = 0, bytes = 0;
  };

  void order_block(const ptx::BasicBlock& block) {
    const bool has_branch =
        ptx::transfer_of(function_.instructions[block.last - 1].opcode) != ptx::Transfer::none;
    const uint32_t end = has_branch ? block.last - 1 : block.last;
    if (has_branch) order_[end] = end;
    for (uint32_t first = block.first; first < end;) {
      if (nodes_[first].motion.is_fixed) {
        order_[first] = first;
        ++first;
        continue;
      }
      uint32_t last = first + 1;
      while (last < end && last - first < kLongestRegion && !nodes_[last].motion.is_fixed) ++last;
      order_region(first, last, last == block.last - 1 && has_branch);
      first = last;
    }
  }

  /// Orders instructions [first, last); the block's branch follows if `before_branch`.
  void order_region(uint32_t first, uint32_t last, bool before_branch) {
    const uint32_t count = last - first;
    if (count == 1) {
      order_[first] = first;
      return;
    }
    edges_.clear();
    readers_.clear();
    accesses_.clear();
    touched_.clear();
    values_.clear();
    value_uses_.clear();
    value_writes_.clear();
    for (uint32_t i = first; i < last; ++i) add_dependences(i, first);
    for (const uint32_t reg : touched_) {
      // Somebody behind the region reads it.
      if (is_live_at(reg, last)) ++values_[value_of_[reg]].readers;
      last_write_[reg] = first_read_[reg] = value_of_[reg] = kNone;
    }
    sort_edges(count);
    find_priorities(
        first, count,
        before_branch
            ? function_.instructions[last].has_guard ? function_.instructions[last].guard : kNone
            : kNone);
    list_schedule(first, count);
  }

  void touch(uint32_t reg) {
    if (last_write_[reg] == kNone && first_read_[reg] == kNone) touched_.push_back(reg);
  }

  void read(uint32_t reg, uint32_t i, uint32_t first) {
    touch(reg);
    if (value_of_[reg] == kNone) new_value(reg);
    ++values_[value_of_[reg]].readers;
    value_uses_.push_back({i - first, value_of_[reg]});
    if (last_write_[reg] != kNone) {
      const Node& writer = nodes_[first + last_write_[reg]];
      edges_.push_back({last_write_[reg], i - first,
                        planned_latency(writer) + crossing(writer.cost.pipe, nodes_[i].cost.pipe)});
    }
    readers_.push_back({i - first, first_read_[reg]});
    first_read_[reg] = static_cast<uint32_t>(readers_.size() - 1);
  }

  void write(uint32_t reg, uint32_t i, uint32_t first) {
    touch(reg);
    const uint32_t node = i - first;
    // An instruction may name a destination twice.
    if (last_write_[reg] != kNone && last_write_[reg] != node)
      edges_.push_back({last_write_[reg], node, 0});
    for (uint32_t r = first_read_[reg]; r != kNone; r = readers_[r].next)
      if (readers_[r].node != node) edges_.push_back({readers_[r].node, node, 0});
    last_write_[reg] = node;
    first_read_[reg] = kNone;
    new_value(reg);
    value_writes_.push_back({node, value_of_[reg]});
  }

  void new_value(uint32_t reg) {
    value_of_[reg] = static_cast<uint32_t>(values_.size());
    values_.push_back({.weight = weight_[reg]});
  }

  /// More cycles where another pipe uses a result of arithmetic.
  [[nodiscard]] uint32_t crossing(Pipe from, Pipe to) const {
    const auto is_arithmetic = [](Pipe pipe) {
      return pipe == Pipe::alu || pipe == Pipe::add || pipe == Pipe::fma || pipe == Pipe::multiply;
    };
    return from != to && is_arithmetic(from) && is_arithmetic(to) ? times_.other_pipe_cycles : 0;
  }

  void add_dependences(uint32_t i, uint32_t first) {
    const Motion& motion = nodes_[i].motion;
    for (const uint32_t reg : read_by(nodes_[i])) read(reg, i, first);
    if (motion.uses_carry) write(carry_register(), i, first);
    if (motion.is_collective) write(collective_register(), i, first);
    if ((motion.reads | motion.writes) != 0) add_access(i, first);
    for (const uint32_t reg : written_by(nodes_[i])) write(reg, i, first);
  }

  void add_access(uint32_t i, uint32_t first) {
    Access access{
        .node = i - first, .reads = nodes_[i].motion.reads, .writes = nodes_[i].motion.writes};
    if (nodes_[i].motion.is_plain_access) find_place(i, access);
    for (const Access& other : accesses_) {
      const bool conflict = (other.writes & (access.reads | access.writes)) != 0 ||
                            (other.reads & access.writes) != 0;
      if (conflict && !are_apart(other, access)) edges_.push_back({other.node, access.node, 0});
    }
    accesses_.push_back(access);
  }

  void find_place(uint32_t i, Access& access) const {
    for (const ptx::Operand& operand : function_.instructions[i].operands) {
      if (operand.kind != ptx::Operand::Kind::address || operand.elements.empty()) continue;
      const ptx::Operand& base = operand.elements[0];
      if (base.kind != ptx::Operand::Kind::reg) return;
      access.base = base.reg;
      access.version = last_write_[base.reg];
      access.offset = static_cast<int64_t>(operand.value);
      access.bytes = access_bytes(function_.instructions[i].opcode);
      return;
    }
  }

  [[nodiscard]] static int64_t access_bytes(std::string_view opcode) {
    const size_t dot = opcode.rfind('.');
    const auto bytes = static_cast<int64_t>(ptx::size_bytes(
        ptx::type_from_name(dot == std::string_view::npos ? opcode : opcode.substr(dot + 1))));
    for (const auto& [name, elements] : {std::pair{".v2.", 2}, {".v4.", 4}, {".v8.", 8}})
      if (opcode.find(name) != std::string_view::npos) return bytes * elements;
    return bytes;
  }

  [[nodiscard]] static bool are_apart(const Access& a, const Access& b) {
    if (a.base == kNone || a.base != b.base || a.version != b.version) return false;
    return a.offset + a.bytes <= b.offset || b.offset + b.bytes <= a.offset;
  }

  /// Edges by their source: those of node n are [edge_begin_[n], edge_begin_[n + 1]).
  void sort_edges(uint32_t count) {
    edge_begin_.assign(count + 1, 0);
    waits_for_.assign(count, 0);
    for (const Edge& edge : edges_) {
      ++edge_begin_[edge.from + 1];
      ++waits_for_[edge.to];
    }
    for (uint32_t n = 0; n < count; ++n) edge_begin_[n + 1] += edge_begin_[n];
    sorted_edges_.resize(edges_.size());
    std::vector<uint32_t>& next = scratch_;
    next.assign(edge_begin_.begin(), edge_begin_.end() - 1);
    for (const Edge& edge : edges_) sorted_edges_[next[edge.from]++] = edge;
  }

  /// The longest way from each node to the region's end.
  void find_priorities(uint32_t first, uint32_t count, uint32_t branch_guard) {
    priority_.assign(count, 0);
    for (uint32_t n = count; n-- > 0;) {
      const Node& node = nodes_[first + n];
      uint32_t longest = planned_latency(node);
      for (uint32_t e = edge_begin_[n]; e < edge_begin_[n + 1]; ++e)
        longest = std::max(longest, sorted_edges_[e].cycles + priority_[sorted_edges_[e].to]);
      if (branch_guard != kNone)
        for (const uint32_t reg : written_by(node))
          if (reg == branch_guard) longest = std::max(longest, times_.branch_predicate_cycles);
      priority_[n] = longest;
    }
  }

  /// By node, of the first load in the text that needs it: the registers of this and all loads
  /// before it; 0 where none does.
  template <class RegistersOf>
  void find_load_registers(uint32_t first, uint32_t count, const RegistersOf& registers_of) {
    load_registers_.assign(count, 0);
    uint32_t sum = 0;
    for (uint32_t n = 0; n < count; ++n)
      if (nodes_[first + n].motion.loads_from != LoadedFrom::nothing)
        load_registers_[n] = sum += registers_of(n);
    for (uint32_t n = count; n-- > 0;) {
      if (nodes_[first + n].motion.loads_from != LoadedFrom::nothing) continue;
      uint32_t least = 0;
      bool is_only_for_loads = edge_begin_[n] != edge_begin_[n + 1];
      for (uint32_t e = edge_begin_[n]; e < edge_begin_[n + 1]; ++e) {
        const uint32_t needed = load_registers_[sorted_edges_[e].to];
        is_only_for_loads = is_only_for_loads && needed != 0;
        least = least == 0 ? needed : std::min(least, needed);
      }
      if (is_only_for_loads) load_registers_[n] = least;
    }
  }

  using Candidate = std::pair<uint32_t, uint32_t>;  // key, node

  void list_schedule(uint32_t first, uint32_t count) {
    earliest_.assign(count, 0);
    std::array<uint32_t, kPipeCount> free_at{};
    // By time, then by place; per pipe: longest way first, then by place.
    std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> later;
    std::array<std::priority_queue<Candidate>, kPipeCount> ready;
    const auto offer = [&](uint32_t n) { later.push({earliest_[n], n}); };
    uint32_t place = first;
    uint32_t time = 0;
    // Registers of loads: of those that have been issued and are not used yet, and of all that have
    // been issued.
    uint32_t loaded = 0, issued = 0;
    const uint32_t others = std::min(pressure_[first], pressure_[first + count]) + kStackRegisters;
    const uint32_t most_loaded =
        std::max(kSpareRegisters, register_limit_ - std::min(register_limit_, others));
    size_t next_use = 0, next_write = 0;
    use_begin_.assign(count + 1, 0);
    write_begin_.assign(count + 1, 0);
    for (uint32_t n = 0; n < count; ++n) {  // they lie in the order of the nodes
      while (next_use < value_uses_.size() && value_uses_[next_use].node == n) ++next_use;
      while (next_write < value_writes_.size() && value_writes_[next_write].node == n) ++next_write;
      use_begin_[n + 1] = static_cast<uint32_t>(next_use);
      write_begin_[n + 1] = static_cast<uint32_t>(next_write);
    }
    const auto registers_of = [&](uint32_t n) {
      uint32_t sum = 0;
      for (uint32_t w = write_begin_[n]; w < write_begin_[n + 1]; ++w)
        if (values_[value_writes_[w].value].readers != 0)
          sum += values_[value_writes_[w].value].weight;
      return sum;
    };
    find_load_registers(first, count, registers_of);
    const auto count_registers = [&](uint32_t n) {
      for (uint32_t u = use_begin_[n]; u < use_begin_[n + 1]; ++u) {
        Value& value = values_[value_uses_[u].value];
        if (--value.readers == 0 && value.is_loaded) loaded -= value.weight;
      }
      if (nodes_[first + n].motion.loads_from == LoadedFrom::nothing) return;
      loaded += registers_of(n);
      issued += registers_of(n);
      for (uint32_t w = write_begin_[n]; w < write_begin_[n + 1]; ++w)
        values_[value_writes_[w].value].is_loaded = values_[value_writes_[w].value].readers != 0;
    };
    // A load, and what computes its address alone, waits until it and all before it have registers.
    const auto is_too_much = [&](uint32_t n) {
      return load_registers_[n] != 0 && load_registers_[n] > issued && issued != 0 &&
             loaded + load_registers_[n] - issued > most_loaded;
    };
    held_.clear();
    std::vector<uint32_t>& freed = scratch_;
    // Emits a node at `at`; what costs nothing follows at once.
    const auto emit = [&](uint32_t n, uint32_t at) {
      freed.assign(1, n);
      while (!freed.empty()) {
        const uint32_t done = freed.back();
        freed.pop_back();
        order_[place++] = first + done;
        count_registers(done);
        const bool is_free = nodes_[first + done].cost.instructions == 0;
        const uint32_t from = is_free ? earliest_[done] : at;
        for (uint32_t e = edge_begin_[done]; e < edge_begin_[done + 1]; ++e) {
          const Edge& edge = sorted_edges_[e];
          earliest_[edge.to] = std::max(earliest_[edge.to], from + edge.cycles);
          if (--waits_for_[edge.to] != 0) continue;
          if (nodes_[first + edge.to].cost.instructions == 0)
            freed.push_back(edge.to);
          else
            offer(edge.to);
        }
      }
    };
    roots_.clear();
    for (uint32_t n = 0; n < count; ++n)
      if (waits_for_[n] == 0) roots_.push_back(n);
    for (const uint32_t n : roots_) {
      if (nodes_[first + n].cost.instructions == 0)
        emit(n, 0);
      else
        offer(n);
    }
    constexpr auto kAdd = static_cast<size_t>(Pipe::add);
    constexpr auto kAlu = static_cast<size_t>(Pipe::alu);
    constexpr auto kMultiply = static_cast<size_t>(Pipe::multiply);
    while (place != first + count) {
      while (!later.empty() && later.top().first <= time) {
        const uint32_t n = later.top().second;
        later.pop();
        ready[unit_of(nodes_[first + n].cost.pipe)].push({priority_[n], ~n});
      }
      // What was held back comes again when registers are free.
      std::erase_if(held_, [&](uint32_t n) {
        if (is_too_much(n)) return false;
        ready[unit_of(nodes_[first + n].cost.pipe)].push({priority_[n], ~n});
        return true;
      });
      for (auto& queue : ready)
        while (!queue.empty() && is_too_much(~queue.top().second)) {
          held_.push_back(~queue.top().second);
          queue.pop();
        }
      free_at[kAdd] = std::min(free_at[kAlu], free_at[kMultiply]);
      size_t best = kPipeCount;
      uint32_t next_time = later.empty() ? std::numeric_limits<uint32_t>::max() : later.top().first;
      for (size_t pipe = 0; pipe < kPipeCount; ++pipe) {
        if (ready[pipe].empty()) continue;
        if (free_at[pipe] > time)
          next_time = std::min(next_time, free_at[pipe]);
        else if (best == kPipeCount || ready[pipe].top() > ready[best].top())
          best = pipe;
      }
      if (best == kPipeCount && next_time == std::numeric_limits<uint32_t>::max()) {
        // Nothing else can free registers: the first in the order of the text goes on.
        const auto earliest = std::min_element(held_.begin(), held_.end());
        const uint32_t n = *earliest;
        held_.erase(earliest);
        const size_t unit = unit_of(nodes_[first + n].cost.pipe);
        time = std::max(time, free_at[unit]);
        free_at[unit] = time + nodes_[first + n].interval;
        emit(n, time);
        time += nodes_[first + n].cost.instructions;
        continue;
      }
      if (best == kPipeCount) {
        time = next_time;
        continue;
      }
      const uint32_t n = ~ready[best].top().second;
      ready[best].pop();
      const Node& node = nodes_[first + n];
      const size_t unit = best != kAdd                          ? best
                          : free_at[kAlu] <= free_at[kMultiply] ? kAlu
                                                                : kMultiply;
      free_at[unit] = time + node.interval;
      emit(n, time);
      time += node.cost.instructions;
    }
  }

  /// Shuffles are issued as loads.
  [[nodiscard]] static size_t unit_of(Pipe pipe) {
    return static_cast<size_t>(pipe == Pipe::exchange ? Pipe::load_store : pipe);
  }

  void permute() {
    std::vector<ptx::Instruction> moved;
    std::vector<Node> moved_nodes;
    moved.reserve(order_.size());
    moved_nodes.reserve(order_.size());
    for (const uint32_t index : order_) {
      moved.push_back(std::move(function_.instructions[index]));
      moved_nodes.push_back(nodes_[index]);
    }
    function_.instructions = std::move(moved);
    nodes_ = std::move(moved_nodes);
  }

  // ---- Times of the instructions in their order

  /// When a register can be used, in cycles from the block's beginning.
  struct Ready {
    uint32_t stamp = 0;  ///< else it is there
    uint32_t at = 0;
    uint32_t issued = 0;
    Pipe pipe = Pipe::none;
  };

  void time_block(uint32_t b) {
    const ptx::BasicBlock& block = graph_.blocks[b];
    ++stamp_;
    set_.clear();
    for (const uint32_t predecessor : block.predecessors) {
      for (const Late& late : late_[predecessor]) {
        Ready& ready = ready_[late.reg];
        if (ready.stamp != stamp_ || ready.at < late.cycles)
          set_ready(late.reg, late.cycles, 0, late.pipe);
      }
    }
    enter_loads(block);
    std::array<uint32_t, kPipeCount> free_at{};
    std::array<uint32_t, kPipeCount> busy{};
    uint32_t time = 0, slots = 0;
    constexpr auto kAdd = static_cast<size_t>(Pipe::add);
    constexpr auto kAlu = static_cast<size_t>(Pipe::alu);
    constexpr auto kMultiply = static_cast<size_t>(Pipe::multiply);
    uint32_t previous = kNone, previous_at = 0;
    const bool has_branch =
        ptx::transfer_of(function_.instructions[block.last - 1].opcode) != ptx::Transfer::none;
    for (uint32_t i = block.first; i < block.last; ++i) {
      const Node& node = nodes_[i];
      IssueTimes& out = result_[i];
      out = {};
      const bool is_last = i + 1 == block.last;
      const bool is_branch = is_last && has_branch;
      const bool is_predicated = is_branch && block_ends_[b].is_predicated;
      Operands operands = look_at(node, is_branch && !is_predicated);
      out.scoreboard = scoreboards_[i];
      out.awaits = operands.awaits;
      if (operands.awaits != 0) forget_loads(operands.awaits);
      if (node.motion.loads_from != LoadedFrom::nothing && scoreboards_[i] == kNoScoreboard)
        out.scoreboard = scoreboards_[i] = choose_scoreboard(node.motion.loads_from);
      uint32_t at = is_predicated ? std::max(time, operands.at) : time;
      if (is_predicated) time = at;
      if (node.cost.instructions != 0 && !is_predicated) {
        const size_t pipe = unit_of(node.cost.pipe);
        const size_t unit = pipe != kAdd                          ? pipe
                            : free_at[kAlu] <= free_at[kMultiply] ? kAlu
                                                                  : kMultiply;
        at = std::max({time, operands.at, free_at[unit]}) + node.prepare;
        free_at[unit] = at + node.interval;
        busy[static_cast<size_t>(node.cost.pipe)] += node.busy;
        slots += node.cost.instructions;
        time = at + node.cost.instructions + node.hold;
        operands.pipe = node.cost.pipe;
      }
      if (previous != kNone)
        result_[previous].cycles = static_cast<uint16_t>(at - previous_at);
      else
        entry_wait_ = at;
      const bool is_free = node.cost.instructions == 0;
      for (const uint32_t reg : written_by(node)) {
        if (node.motion.loads_from != LoadedFrom::nothing) {
          set_ready(reg, at + 1, at, Pipe::none);
          load(reg, scoreboard_bit(i));
        } else {
          if (!is_free) loaded_[reg] = 0;
          set_ready(reg, is_free ? operands.at : at + node.latency, is_free ? operands.issued : at,
                    operands.pipe);
        }
        if (is_free && operands.loads != 0) load(reg, operands.loads);
      }
      // A branch belongs to the region before it.
      const bool ends_region =
          is_last || node.motion.is_fixed ||
          (nodes_[i + 1].motion.is_fixed && !(has_branch && i + 2 == block.last));
      if (ends_region) {
        out.issue_slots = static_cast<uint16_t>(std::max(slots, most_used(busy)));
        out.issued = static_cast<uint16_t>(slots);
        slots = 0;
        busy = {};
      }
      previous = i;
      previous_at = at;
    }
    IssueTimes& last = result_[block.last - 1];
    last.cycles =
        static_cast<uint16_t>(has_branch ? block_ends_[b].taken_cycles : time - previous_at);
    for (uint32_t i = block.first; i < block.last; ++i)
      result_[i].skip_cycles = static_cast<uint8_t>(std::min<uint32_t>(result_[i].cycles, 255));
    if (has_branch) last.skip_cycles = static_cast<uint8_t>(block_ends_[b].passed_cycles);
    if (entry_wait_ != 0)
      result_[block.first].cycles =
          static_cast<uint16_t>(result_[block.first].cycles + entry_wait_);
    entry_wait_ = 0;
    leave_block(b, previous_at + (has_branch ? block_ends_[b].taken_cycles : time - previous_at));
  }

  struct Operands {
    uint32_t at = 0;      ///< when all of them are there
    uint32_t issued = 0;  ///< when the last of them was issued
    Pipe pipe = Pipe::none;
    uint8_t awaits = 0;
    uint8_t loads = 0;  ///< what passes through an instruction that costs nothing
  };

  [[nodiscard]] Operands look_at(const Node& node, bool decides_branch) {
    Operands operands;
    const Pipe pipe = node.cost.pipe;
    const bool is_free = pipe == Pipe::none;
    for (const uint32_t reg : read_by(node)) {
      if (loaded_[reg] != 0) (is_free ? operands.loads : operands.awaits) |= loaded_[reg];
      const Ready& ready = ready_[reg];
      if (ready.stamp != stamp_) continue;
      // What a unit answers has to be waited for anyway.
      const uint32_t at = decides_branch && ready.pipe != Pipe::load_store
                              ? std::max(ready.at, ready.issued + times_.branch_predicate_cycles)
                              : ready.at + crossing(ready.pipe, pipe);
      if (at >= operands.at) {
        operands.at = at;
        operands.issued = ready.issued;
        operands.pipe = ready.pipe;
      }
    }
    return operands;
  }

  void set_ready(uint32_t reg, uint32_t at, uint32_t issued, Pipe pipe) {
    if (ready_[reg].stamp != stamp_) set_.push_back(reg);
    ready_[reg] = {stamp_, at, issued, pipe};
  }

  /// Of the pipes; integer additions go where there is room. Accesses are not among them: how many
  /// of them an SM serves is found when they execute.
  [[nodiscard]] static uint32_t most_used(const std::array<uint32_t, kPipeCount>& busy) {
    const auto of = [&](Pipe pipe) { return busy[static_cast<size_t>(pipe)]; };
    const uint32_t integers = of(Pipe::alu) + of(Pipe::add) + of(Pipe::multiply);
    uint32_t most = (integers + 1) / 2;
    for (size_t pipe = 0; pipe < kPipeCount; ++pipe)
      if (static_cast<Pipe>(pipe) != Pipe::add && static_cast<Pipe>(pipe) != Pipe::load_store)
        most = std::max(most, busy[pipe]);
    return most;
  }

  void leave_block(uint32_t b, uint32_t end) {
    late_[b].clear();
    for (const uint32_t reg : set_)
      if (ready_[reg].at > end) late_[b].push_back({reg, ready_[reg].at - end, ready_[reg].pipe});
    awaited_[b].clear();
    for (const uint32_t reg : loads_) {
      if (loaded_[reg] != 0 && is_needed_behind(reg, graph_.blocks[b]))
        awaited_[b].push_back({reg, loaded_[reg]});
      loaded_[reg] = 0;
    }
    loads_.clear();
  }

  // ---- Loads whose values nothing has awaited yet

  void load(uint32_t reg, uint8_t scoreboards) {
    loads_.push_back(reg);
    loaded_[reg] |= scoreboards;
  }
  [[nodiscard]] uint8_t scoreboard_bit(uint32_t i) const {
    return static_cast<uint8_t>(1u << scoreboards_[i]);
  }
  /// One that counts nothing, as ptxas does; where there is none, the one that counts the load
  /// before, since they arrive one after the other.
  [[nodiscard]] uint8_t choose_scoreboard(LoadedFrom from) {
    uint32_t used = 0;
    for (const uint32_t reg : loads_) used |= loaded_[reg];
    auto chosen = static_cast<uint8_t>(std::countr_one(used));
    if (chosen >= kScoreboards) {
      const uint8_t of_its_kind = last_of_kind_[static_cast<size_t>(from)];
      chosen = of_its_kind != kNoScoreboard ? of_its_kind : last_scoreboard_;
    }
    last_scoreboard_ = last_of_kind_[static_cast<size_t>(from)] = chosen;
    return chosen;
  }
  /// Whether a block behind this one may read the register.
  [[nodiscard]] bool is_needed_behind(uint32_t reg, const ptx::BasicBlock& block) const {
    return std::any_of(block.successors.begin(), block.successors.end(), [&](uint32_t successor) {
      const uint32_t first = graph_.blocks[successor].first;
      return std::any_of(segments_[reg].begin(), segments_[reg].end(),
                         [=](const ptx::LiveSegment& segment) {
                           return segment.first <= first && segment.last > first;
                         });
    });
  }
  void enter_loads(const ptx::BasicBlock& block) {
    for (const uint32_t predecessor : block.predecessors)
      for (const auto& [reg, from] : awaited_[predecessor]) load(reg, from);
  }
  /// Who awaits a scoreboard awaits all loads that it counts.
  void forget_loads(uint8_t awaited) {
    for (const uint32_t reg : loads_) loaded_[reg] = static_cast<uint8_t>(loaded_[reg] & ~awaited);
    loads_.erase(std::remove_if(loads_.begin(), loads_.end(),
                                [&](uint32_t reg) { return loaded_[reg] == 0; }),
                 loads_.end());
  }

  ptx::Function& function_;
  const TimingTable& times_;
  ptx::FlowGraph graph_;
  std::array<PipeTimes, kPipeCount> pipes_;
  std::vector<Node> nodes_;
  std::vector<uint32_t> registers_;  ///< of all nodes
  std::vector<BlockEnd> block_ends_;
  std::vector<std::vector<ptx::LiveSegment>> segments_;  ///< by register, in the order of the text
  std::vector<uint8_t> weight_;                          ///< by register: how many of 32 bits
  std::vector<uint32_t> pressure_;                       ///< by instruction
  uint32_t register_limit_ = 0;
  std::vector<uint32_t> order_;  ///< the old index of each place
  // Of the region at hand; nodes are counted from its first instruction.
  std::vector<Edge> edges_, sorted_edges_;
  std::vector<uint32_t> edge_begin_, waits_for_, priority_, earliest_, scratch_, roots_;
  std::vector<Reader> readers_;
  std::vector<Access> accesses_;
  std::vector<uint32_t> touched_;   ///< registers
  std::vector<uint32_t> value_of_;  ///< by register
  std::vector<Value> values_;
  std::vector<ValueUse> value_uses_, value_writes_;
  std::vector<uint32_t> use_begin_, write_begin_;  ///< by node, in those
  std::vector<uint32_t> load_registers_;           ///< by node, see find_load_registers
  std::vector<uint32_t> held_;                     ///< nodes that wait for registers
  std::vector<uint32_t> last_write_, first_read_;  ///< by register
  // Of the block at hand.
  std::vector<IssueTimes> result_;
  uint32_t stamp_ = 0;
  uint32_t entry_wait_ = 0;
  std::vector<Ready> ready_;          ///< by register
  std::vector<uint32_t> set_;         ///< registers that are set in `ready_`
  std::vector<uint8_t> loaded_;       ///< by register: scoreboards (bits) that count its load
  std::vector<uint32_t> loads_;       ///< registers that are set there
  std::vector<uint8_t> scoreboards_;  ///< by instruction
  uint8_t last_scoreboard_ = 0;       ///< that was chosen
  std::array<uint8_t, 3> last_of_kind_{kNoScoreboard, kNoScoreboard, kNoScoreboard};
  std::vector<std::vector<Late>> late_;                             ///< behind each block
  std::vector<std::vector<std::pair<uint32_t, uint8_t>>> awaited_;  ///< likewise
};

}  // namespace

std::vector<IssueTimes> schedule(ptx::Function& function, const TimingTable& times) {
  if (function.instructions.empty()) return {};
  return Scheduler(function, times).run();
}

}  // namespace bw::sim
