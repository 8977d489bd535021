#include "common/simulator/schedule/passes.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <optional>
#include <utility>

namespace bw::sim {
namespace {

constexpr uint8_t kNoScoreboard = 0xff;

/// A stretch with more slots of mma.sync is booked in parts. A K block would take more than the
/// cycles of the past that a scheduler's calendar keeps, and the warp would wait for itself.
constexpr uint32_t kMostMmaSlots = 64;

/// A register that is still pending where a block ends.
struct PendingAtEnd {
  uint32_t reg = 0;
  uint32_t cycles = 0;  ///< after the block's end
  Pipe pipe = Pipe::none;
};

/// How control leaves a block.
struct BlockEnd {
  uint32_t taken_cycles = 0;   ///< of its branch, when it is taken
  uint32_t passed_cycles = 0;  ///< when it is not
  bool is_predicated = false;  ///< no branch: ptxas predicates the next block
};

class IssueTimer {
 public:
  IssueTimer(const IssueNodes& in, const RegisterPressure& pressure)
      : in_(in),
        function_(in.function()),
        latencies_(in.latencies()),
        graph_(in.graph()),
        nodes_(in.nodes()),
        pressure_(pressure),
        result_(nodes_.size()),
        ready_(in.registers_end()),
        loaded_(in.registers_end(), 0),
        scoreboards_(nodes_.size(), kNoScoreboard),
        scoreboard_of_merged_(nodes_.size(), 0),
        late_(graph_.blocks.size()),
        awaited_(graph_.blocks.size()) {}

  std::vector<IssueTimes> run() {
    find_block_ends();
    // The second time with values that return along the edges of loops.
    for (int pass = 0; pass < 2; ++pass)
      for (uint32_t block = 0; block < graph_.blocks.size(); ++block) time_block(block);
    return std::move(result_);
  }

 private:
  // ---- Branches

  void find_block_ends() {
    block_ends_.resize(graph_.blocks.size());
    for (uint32_t b = 0; b < graph_.blocks.size(); ++b) {
      const ptx::BasicBlock& block = graph_.blocks[b];
      const ptx::Instruction& last = function_.instructions[block.last - 1];
      if (!ends_block(last.form().transfer)) continue;
      BlockEnd& end = block_ends_[b];
      end.taken_cycles = latencies_.branch_taken;
      end.passed_cycles = latencies_.branch_passed;
      const uint32_t target = branch_target(last);
      if (target == kNoIndex || b + 1 >= graph_.blocks.size()) continue;
      if (!last.has_guard) {
        if (target == b + 1) end.taken_cycles = 0;  // control reaches it anyway
        continue;
      }
      if (target != b + 2) continue;
      const ptx::BasicBlock& body = graph_.blocks[b + 1];
      if (body.predecessors.size() != 1) continue;
      const ptx::Instruction& body_end = function_.instructions[body.last - 1];
      if (body.last - body.first == 1 && branch_target(body_end) != kNoIndex &&
          !body_end.has_guard) {
        // `@p bra A; bra B; A:` is `@!p bra B`.
        end.taken_cycles = latencies_.branch_passed;
        end.passed_cycles = 0;
      } else if (const std::optional<uint32_t> size = predicated_size(body)) {
        end = {.taken_cycles = *size, .passed_cycles = 0, .is_predicated = true};
      }
    }
  }

  /// The block that a direct branch goes to.
  [[nodiscard]] uint32_t branch_target(const ptx::Instruction& instruction) const {
    if (instruction.form().transfer != Transfer::branch || instruction.operands.size() != 1 ||
        instruction.operands[0].kind != ptx::Operand::Kind::label ||
        instruction.operands[0].value >= graph_.block_of.size())
      return kNoIndex;
    return graph_.block_of[instruction.operands[0].value];
  }

  /// The issue slots of a block that can be executed under a predicate instead of branched around.
  [[nodiscard]] std::optional<uint32_t> predicated_size(const ptx::BasicBlock& block) const {
    uint32_t size = 0;
    for (uint32_t i = block.first; i < block.last; ++i) {
      if (nodes_[i].motion.is_fixed || nodes_[i].motion.is_collective) return std::nullopt;
      if (!nodes_[i].is_of_all_lanes) size += nodes_[i].cost.instructions;
    }
    return size <= kLongestPredicated ? std::optional(size) : std::nullopt;
  }

  // ---- Times

  /// When a register can be used, in cycles from the block's beginning.
  struct Ready {
    uint32_t stamp = 0;  ///< else it is available
    uint32_t at = 0;
    uint32_t issued = 0;
    Pipe pipe = Pipe::none;
  };

  struct Operands {
    uint32_t at = 0;      ///< when all of them have arrived
    uint32_t issued = 0;  ///< when the last of them was issued
    Pipe pipe = Pipe::none;
    uint8_t awaits = 0;
    uint8_t loads = 0;  ///< passed on by an instruction that costs nothing
  };

  /// A block being timed, instruction by instruction.
  struct Progress {
    std::array<uint32_t, kPipeCount> free_at{};
    std::array<uint32_t, kPipeCount> busy{};  ///< in the current region
    uint32_t time = 0;
    uint32_t slots = 0;  ///< of the current region
    uint32_t previous = kNoIndex, previous_at = 0;
  };

  void time_block(uint32_t b) {
    const ptx::BasicBlock& block = graph_.blocks[b];
    ++stamp_;
    set_.clear();
    for (const uint32_t predecessor : block.predecessors) {
      for (const PendingAtEnd& late : late_[predecessor]) {
        Ready& ready = ready_[late.reg];
        if (ready.stamp != stamp_ || ready.at < late.cycles)
          set_ready(late.reg, late.cycles, 0, late.pipe);
      }
    }
    enter_loads(block);
    Progress progress;
    const bool has_branch = ends_block(function_.instructions[block.last - 1].form().transfer);
    for (uint32_t i = block.first; i < block.last; ++i) {
      const bool is_last = i + 1 == block.last;
      const bool is_branch = is_last && has_branch;
      const bool is_predicated = is_branch && block_ends_[b].is_predicated;
      result_[i] = {};
      Operands operands = look_at(nodes_[i], is_branch && !is_predicated);
      await_operands(i, operands);
      const uint32_t at = issue(nodes_[i], operands, is_predicated, progress);
      if (progress.previous != kNoIndex)
        result_[progress.previous].cycles = static_cast<uint16_t>(at - progress.previous_at);
      else
        entry_wait_ = at;
      set_results(i, operands, at);
      // A branch belongs to the region before it.
      const bool ends_region =
          is_last || nodes_[i].motion.is_fixed ||
          progress.busy[static_cast<size_t>(Pipe::tensor)] >= kMostMmaSlots ||
          (nodes_[i + 1].motion.is_fixed && !(has_branch && i + 2 == block.last));
      if (ends_region) {
        result_[i].issue_slots =
            static_cast<uint16_t>(std::max(progress.slots, most_used(progress.busy)));
        result_[i].issued = static_cast<uint16_t>(progress.slots);
        progress.slots = 0;
        progress.busy = {};
      }
      progress.previous = i;
      progress.previous_at = at;
    }
    end_block(b, progress, has_branch);
  }

  /// What instruction `i` waits for, and the scoreboard of its own load.
  void await_operands(uint32_t i, const Operands& operands) {
    const Node& node = nodes_[i];
    IssueTimes& out = result_[i];
    out.awaits = operands.awaits;
    if (operands.awaits != 0) forget_loads(operands.awaits);
    if (node.motion.loads_from != LoadSource::nothing && scoreboards_[i] == kNoScoreboard)
      scoreboards_[i] = node.merged == 0 ? scoreboard_of_merged_[node.merged_first]
                                         : choose_scoreboard(node.motion.loads_from);
    if (node.merged > 1) scoreboard_of_merged_[node.merged_first] = scoreboards_[i];
    out.scoreboard = scoreboards_[i];
    out.merged = node.merged;
  }

  /// When the instruction is issued.
  uint32_t issue(const Node& node, Operands& operands, bool is_predicated, Progress& progress) {
    if (is_predicated) return progress.time = std::max(progress.time, operands.at);
    if (node.cost.instructions == 0) return progress.time;
    constexpr auto kAdd = static_cast<size_t>(Pipe::add);
    constexpr auto kAlu = static_cast<size_t>(Pipe::alu);
    constexpr auto kMultiply = static_cast<size_t>(Pipe::multiply);
    const size_t pipe = IssueNodes::unit_of(node.cost.pipe);
    const size_t unit = pipe != kAdd                                            ? pipe
                        : progress.free_at[kAlu] <= progress.free_at[kMultiply] ? kAlu
                                                                                : kMultiply;
    const uint32_t at =
        std::max({progress.time, operands.at, progress.free_at[unit]}) + node.prepare;
    progress.free_at[unit] = at + node.interval;
    progress.busy[static_cast<size_t>(node.cost.pipe)] += node.busy;
    progress.slots += node.cost.instructions;
    progress.time = at + node.cost.instructions + node.hold;
    operands.pipe = node.cost.pipe;
    return at;
  }

  /// When the registers that instruction `i` writes can be used.
  void set_results(uint32_t i, const Operands& operands, uint32_t at) {
    const Node& node = nodes_[i];
    const bool is_free = node.cost.instructions == 0;
    for (const uint32_t reg : in_.written_by(node)) {
      if (node.motion.loads_from != LoadSource::nothing) {
        // A branch waits for the answer of a test itself, as for a unit's.
        set_ready(reg, at + 1, at, node.motion.is_fixed ? Pipe::load_store : Pipe::none);
        load(reg, scoreboard_bit(i));
      } else {
        if (!is_free) loaded_[reg] = 0;
        set_ready(reg, is_free ? operands.at : at + node.latency, is_free ? operands.issued : at,
                  operands.pipe);
      }
      if (is_free && operands.loads != 0) load(reg, operands.loads);
    }
  }

  void end_block(uint32_t b, const Progress& progress, bool has_branch) {
    const ptx::BasicBlock& block = graph_.blocks[b];
    const uint32_t cycles =
        has_branch ? block_ends_[b].taken_cycles : progress.time - progress.previous_at;
    IssueTimes& last = result_[block.last - 1];
    last.cycles = static_cast<uint16_t>(cycles);
    for (uint32_t i = block.first; i < block.last; ++i)
      result_[i].skip_cycles = static_cast<uint8_t>(std::min<uint32_t>(result_[i].cycles, 255));
    if (has_branch) last.skip_cycles = static_cast<uint8_t>(block_ends_[b].passed_cycles);
    if (entry_wait_ != 0)
      result_[block.first].cycles =
          static_cast<uint16_t>(result_[block.first].cycles + entry_wait_);
    entry_wait_ = 0;
    leave_block(b, progress.previous_at + cycles);
  }

  [[nodiscard]] Operands look_at(const Node& node, bool decides_branch) {
    Operands operands;
    const Pipe pipe = node.cost.pipe;
    const bool is_free = pipe == Pipe::none;
    for (const uint32_t reg : in_.read_by(node)) {
      if (loaded_[reg] != 0) (is_free ? operands.loads : operands.awaits) |= loaded_[reg];
      const Ready& ready = ready_[reg];
      if (ready.stamp != stamp_) continue;
      // A unit's answer has to be waited for anyway.
      const uint32_t at = decides_branch && ready.pipe != Pipe::load_store
                              ? std::max(ready.at, ready.issued + latencies_.branch_guard)
                              : ready.at + in_.crossing(ready.pipe, pipe);
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

  /// Of the pipes; integer additions go where there is room. Accesses are not among them: an SM's
  /// throughput for them is determined when they execute.
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
      if (loaded_[reg] != 0 && is_needed_after(reg, graph_.blocks[b]))
        awaited_[b].push_back({reg, loaded_[reg]});
      loaded_[reg] = 0;
    }
    loads_.clear();
  }

  // ---- Loads whose values no instruction has awaited yet

  void load(uint32_t reg, uint8_t scoreboards) {
    loads_.push_back(reg);
    loaded_[reg] |= scoreboards;
  }
  [[nodiscard]] uint8_t scoreboard_bit(uint32_t i) const {
    return static_cast<uint8_t>(1u << scoreboards_[i]);
  }
  /// A free one, as ptxas does; if none is free, the one that counts the previous load, since they
  /// arrive one after the other.
  [[nodiscard]] uint8_t choose_scoreboard(LoadSource from) {
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
  /// Whether a block after this one may read the register.
  [[nodiscard]] bool is_needed_after(uint32_t reg, const ptx::BasicBlock& block) const {
    return std::any_of(block.successors.begin(), block.successors.end(), [&](uint32_t successor) {
      const uint32_t first = graph_.blocks[successor].first;
      return std::any_of(pressure_.segments[reg].begin(), pressure_.segments[reg].end(),
                         [=](const ptx::LiveSegment& segment) {
                           return segment.first <= first && segment.last > first;
                         });
    });
  }
  void enter_loads(const ptx::BasicBlock& block) {
    for (const uint32_t predecessor : block.predecessors)
      for (const auto& [reg, from] : awaited_[predecessor]) load(reg, from);
  }
  /// Awaiting a scoreboard awaits all loads that it counts.
  void forget_loads(uint8_t awaited) {
    for (const uint32_t reg : loads_) loaded_[reg] = static_cast<uint8_t>(loaded_[reg] & ~awaited);
    loads_.erase(std::remove_if(loads_.begin(), loads_.end(),
                                [&](uint32_t reg) { return loaded_[reg] == 0; }),
                 loads_.end());
  }

  const IssueNodes& in_;
  const ptx::Function& function_;
  const IssueLatencies& latencies_;
  const ptx::FlowGraph& graph_;
  const std::vector<Node>& nodes_;
  const RegisterPressure& pressure_;
  std::vector<BlockEnd> block_ends_;
  // Of the current block.
  std::vector<IssueTimes> result_;
  uint32_t stamp_ = 0;
  uint32_t entry_wait_ = 0;
  std::vector<Ready> ready_;          ///< by register
  std::vector<uint32_t> set_;         ///< registers that are set in `ready_`
  std::vector<uint8_t> loaded_;       ///< by register: scoreboards (bits) that count its load
  std::vector<uint32_t> loads_;       ///< registers that are set there
  std::vector<uint8_t> scoreboards_;  ///< by instruction
  std::vector<uint8_t> scoreboard_of_merged_;  ///< by Node::merged_first
  uint8_t last_scoreboard_ = 0;                ///< that was chosen
  std::array<uint8_t, 3> last_of_kind_{kNoScoreboard, kNoScoreboard, kNoScoreboard};
  std::vector<std::vector<PendingAtEnd>> late_;                     ///< after each block
  std::vector<std::vector<std::pair<uint32_t, uint8_t>>> awaited_;  ///< likewise
};

}  // namespace

std::vector<IssueTimes> issue_times(const IssueNodes& in, const RegisterPressure& pressure) {
  return IssueTimer(in, pressure).run();
}

}  // namespace bw::sim
