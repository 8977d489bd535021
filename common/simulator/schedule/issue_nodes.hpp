#pragma once
/// \file
/// A function's instructions as the static schedule sees them: the cost and constraints of each,
/// and the registers that it reads and writes.

#include <cstdint>
#include <span>
#include <vector>

#include "common/simulator/ptx/ast.hpp"
#include "common/simulator/ptx/flow_graph.hpp"
#include "common/simulator/schedule/code_motion.hpp"
#include "common/simulator/schedule/issue_latencies.hpp"

namespace bw::sim {

/// No register, instruction or block.
inline constexpr uint32_t kNoIndex = 0xffffffffu;

/// ptxas predicates a body of as many instructions instead of branching around it.
inline constexpr uint32_t kLongestPredicated = 7;

/// An instruction as the scheduler sees it.
struct Node {
  Cost cost;              ///< what it costs to issue
  Motion motion;          ///< how it may move
  uint32_t latency = 0;   ///< until its result can be used; of loads: as ptxas would plan for
  uint32_t interval = 0;  ///< for how long it occupies its pipe
  uint32_t busy = 0;      ///< for how long other warps cannot use it
  uint32_t prepare = 0;   ///< of a copy: transfer of its operands to the engine
  uint32_t hold = 0;      ///< the warp's wait after it: of a copy, or where it yields
  /// Of loads that ptxas merges: the text index of the first one.
  uint32_t merged_first = kNoIndex;
  uint8_t merged = 1;  ///< of the first one: their number; 0 of the others
  /// Next to an elected lane's copies: only its result matters, so that all lanes compute it.
  bool is_of_all_lanes = false;
  bool uses_mma_registers = false;  ///< of those that asynchronous MMAs read or write
  uint32_t reads = 0;   ///< where in IssueNodes the registers that it reads begin; under a guard
                        ///< also those that it writes: some lanes keep the old value
  uint32_t writes = 0;  ///< where those that it writes begin
  uint32_t end = 0;     ///< one past the last of them
};

/// The nodes of a function.
class IssueNodes {
 public:
  /// In the order of the text.
  IssueNodes(ptx::Function& function, const IssueLatencies& latencies);

  [[nodiscard]] const ptx::Function& function() const { return function_; }
  [[nodiscard]] const IssueLatencies& latencies() const { return latencies_; }
  /// Its blocks; an order of issue leaves them where they are.
  [[nodiscard]] const ptx::FlowGraph& graph() const { return graph_; }
  /// By instruction.
  [[nodiscard]] const std::vector<Node>& nodes() const { return nodes_; }
  /// The registers that it reads.
  [[nodiscard]] std::span<const uint32_t> read_by(const Node& node) const {
    return {registers_.data() + node.reads, registers_.data() + node.writes};
  }
  /// The registers that it writes.
  [[nodiscard]] std::span<const uint32_t> written_by(const Node& node) const {
    return {registers_.data() + node.writes, registers_.data() + node.end};
  }
  /// Represents CC.CF.
  [[nodiscard]] uint32_t carry_register() const {
    return static_cast<uint32_t>(function_.registers.size());
  }
  /// Orders collective operations of lanes.
  [[nodiscard]] uint32_t collective_register() const { return carry_register() + 1; }
  /// Orders whatever passes no fixed instruction.
  [[nodiscard]] uint32_t order_register() const { return carry_register() + 2; }
  /// Orders uses of the registers of asynchronous MMAs and the waits for these.
  [[nodiscard]] uint32_t mma_register() const { return carry_register() + 3; }
  /// Exclusive upper bound of the registers.
  [[nodiscard]] uint32_t registers_end() const { return carry_register() + 4; }

  /// Until a node's result can be used, as ptxas plans.
  [[nodiscard]] uint32_t planned_latency(const Node& node) const;
  /// Extra cycles where another pipe uses a result of arithmetic.
  [[nodiscard]] uint32_t crossing(Pipe from, Pipe to) const;
  /// The pipe that issues it: shuffles are issued as loads.
  [[nodiscard]] static size_t unit_of(Pipe pipe) {
    return static_cast<size_t>(pipe == Pipe::exchange ? Pipe::load_store : pipe);
  }

  /// Moves instructions and nodes: `order` holds the old index of each position.
  void reorder(const std::vector<uint32_t>& order);

 private:
  void find_costs();
  void find_copies();
  void share_arithmetic(const ptx::BasicBlock& block);
  void find_first_values(std::vector<Cost>& costs) const;
  void merge_loads(std::vector<Cost>& costs);
  [[nodiscard]] bool is_predicated(uint32_t b) const;
  void find_shared_addresses(std::vector<Cost>& costs) const;
  void hold_late_reads();
  void find_mma_registers();
  void yield_between_sums();
  void list_registers(const ptx::Instruction& instruction, Node& node);

  ptx::Function& function_;
  const IssueLatencies& latencies_;
  ptx::FlowGraph graph_;
  std::vector<Node> nodes_;
  std::vector<uint32_t> registers_;  ///< of all nodes
};

}  // namespace bw::sim
