#include "common/simulator/schedule/passes.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <limits>
#include <queue>
#include <string_view>
#include <utility>

namespace bw::sim {
namespace {

/// Longest stretch that is ordered at once: registers would run out long before.
constexpr uint32_t kLongestRegion = 512;

class IssueOrder {
 public:
  IssueOrder(const IssueNodes& in, const RegisterPressure& pressure)
      : in_(in),
        function_(in.function()),
        latencies_(in.latencies()),
        nodes_(in.nodes()),
        pressure_(pressure),
        order_(in.nodes().size()),
        value_of_(in.registers_end(), kNoIndex),
        last_write_(in.registers_end(), kNoIndex),
        first_read_(in.registers_end(), kNoIndex) {}

  std::vector<uint32_t> run() {
    for (const ptx::BasicBlock& block : in_.graph().blocks) order_block(block);
    return std::move(order_);
  }

 private:
  struct Edge {
    uint32_t from = 0, to = 0;
    uint32_t cycles = 0;
  };
  /// A list of readers of a register since its last write.
  struct Reader {
    uint32_t node = 0, next = kNoIndex;
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
    uint32_t base = kNoIndex;  ///< register of a plain access, and its value's number
    uint32_t version = 0;
    int64_t offset = 0, bytes = 0;
  };

  void order_block(const ptx::BasicBlock& block) {
    const bool has_branch = ends_block(function_.instructions[block.last - 1].form().transfer);
    const uint32_t end = has_branch ? block.last - 1 : block.last;
    if (has_branch) order_[end] = end;
    for (uint32_t first = block.first; first < end;) {
      if (is_boundary(first)) {
        order_[first] = first;
        ++first;
        continue;
      }
      uint32_t last = first + 1;
      while (last < end && last - first < kLongestRegion && !is_boundary(last)) ++last;
      order_region(first, last, last == block.last - 1 && has_branch);
      first = last;
    }
  }

  /// Whether nothing passes the instruction.
  [[nodiscard]] bool is_boundary(uint32_t i) const {
    return nodes_[i].motion.is_fixed && !nodes_[i].motion.lets_pass;
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
    long_waits_.clear();
    for (uint32_t i = first; i < last; ++i) add_dependences(i, first);
    for (const uint32_t reg : touched_) {
      // An instruction after the region reads it.
      if (pressure_.is_live_at(reg, last)) ++values_[value_of_[reg]].readers;
      last_write_[reg] = first_read_[reg] = value_of_[reg] = kNoIndex;
    }
    for (const uint32_t wait : long_waits_) hold_long_wait(wait, count);
    sort_edges(count);
    find_priorities(
        first, count,
        before_branch
            ? function_.instructions[last].has_guard ? function_.instructions[last].guard : kNoIndex
            : kNoIndex);
    list_schedule(first, count);
  }

  void touch(uint32_t reg) {
    if (last_write_[reg] == kNoIndex && first_read_[reg] == kNoIndex) touched_.push_back(reg);
  }

  void read(uint32_t reg, uint32_t i, uint32_t first) {
    touch(reg);
    // Memory may take longer than the wait.
    if (!long_waits_.empty() && last_write_[reg] != kNoIndex &&
        last_write_[reg] < long_waits_.back() &&
        nodes_[first + last_write_[reg]].motion.loads_from == LoadSource::device_memory)
      edges_.push_back({long_waits_.back(), i - first, 0});
    if (value_of_[reg] == kNoIndex) new_value(reg);
    ++values_[value_of_[reg]].readers;
    value_uses_.push_back({i - first, value_of_[reg]});
    if (last_write_[reg] != kNoIndex) {
      const Node& writer = nodes_[first + last_write_[reg]];
      edges_.push_back(
          {last_write_[reg], i - first,
           in_.planned_latency(writer) + in_.crossing(writer.cost.pipe, nodes_[i].cost.pipe)});
    }
    readers_.push_back({i - first, first_read_[reg]});
    first_read_[reg] = static_cast<uint32_t>(readers_.size() - 1);
  }

  void write(uint32_t reg, uint32_t i, uint32_t first) {
    touch(reg);
    const uint32_t node = i - first;
    // An instruction may name a destination twice.
    if (last_write_[reg] != kNoIndex && last_write_[reg] != node)
      edges_.push_back({last_write_[reg], node, 0});
    for (uint32_t r = first_read_[reg]; r != kNoIndex; r = readers_[r].next)
      if (readers_[r].node != node) edges_.push_back({readers_[r].node, node, 0});
    last_write_[reg] = node;
    first_read_[reg] = kNoIndex;
    new_value(reg);
    value_writes_.push_back({node, value_of_[reg]});
  }

  void new_value(uint32_t reg) {
    value_of_[reg] = static_cast<uint32_t>(values_.size());
    values_.push_back({.weight = pressure_.weight[reg]});
  }

  void add_dependences(uint32_t i, uint32_t first) {
    const Motion& motion = nodes_[i].motion;
    for (const uint32_t reg : in_.read_by(nodes_[i])) read(reg, i, first);
    if (motion.uses_carry) write(in_.carry_register(), i, first);
    if (motion.is_collective) write(in_.collective_register(), i, first);
    const bool is_bound = motion.is_collective || motion.loads_from != LoadSource::nothing ||
                          (motion.reads | motion.writes) != 0;
    if (motion.is_fixed)
      write(in_.order_register(), i, first);
    else if (is_bound)
      read(in_.order_register(), i, first);
    if (motion.is_fixed)
      write(in_.mma_register(), i, first);
    else if (nodes_[i].uses_mma_registers)
      read(in_.mma_register(), i, first);
    if (motion.is_long_wait) long_waits_.push_back(i - first);
    if ((motion.reads | motion.writes) != 0) add_access(i, first);
    // After the load that loads for it, which precedes it in the text.
    if (nodes_[i].merged == 0 && nodes_[i].merged_first >= first)
      edges_.push_back({nodes_[i].merged_first - first, i - first, 0});
    for (const uint32_t reg : in_.written_by(nodes_[i])) write(reg, i, first);
  }

  /// Nodes that do not need node `wait`, wherever they are, go before it.
  void hold_long_wait(uint32_t wait, uint32_t count) {
    needs_wait_.assign(count, 0);
    needs_wait_[wait] = 1;
    // Edges point forward in the text, except for those of other long waits.
    std::vector<uint32_t>& begin = scratch_;
    begin.assign(count + 1, 0);
    const size_t edges = edges_.size();
    for (size_t e = 0; e < edges; ++e) ++begin[edges_[e].from + 1];
    for (uint32_t n = 0; n < count; ++n) begin[n + 1] += begin[n];
    std::vector<uint32_t> to(edges), next(begin.begin(), begin.end() - 1);
    for (size_t e = 0; e < edges; ++e) to[next[edges_[e].from]++] = edges_[e].to;
    std::vector<uint32_t> open{wait};
    while (!open.empty()) {
      const uint32_t n = open.back();
      open.pop_back();
      for (uint32_t e = begin[n]; e < begin[n + 1]; ++e)
        if (needs_wait_[to[e]] == 0) {
          needs_wait_[to[e]] = 1;
          open.push_back(to[e]);
        }
    }
    for (uint32_t n = 0; n < count; ++n)
      if (needs_wait_[n] == 0) edges_.push_back({n, wait, 0});
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
      access.bytes = function_.instructions[i].match->access_bytes();
      return;
    }
  }

  [[nodiscard]] static bool are_apart(const Access& a, const Access& b) {
    if (a.base == kNoIndex || a.base != b.base || a.version != b.version) return false;
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

  /// The longest path from each node to the region's end.
  void find_priorities(uint32_t first, uint32_t count, uint32_t branch_guard) {
    priority_.assign(count, 0);
    for (uint32_t n = count; n-- > 0;) {
      const Node& node = nodes_[first + n];
      uint32_t longest = in_.planned_latency(node);
      for (uint32_t e = edge_begin_[n]; e < edge_begin_[n + 1]; ++e)
        longest = std::max(longest, sorted_edges_[e].cycles + priority_[sorted_edges_[e].to]);
      if (branch_guard != kNoIndex)
        for (const uint32_t reg : in_.written_by(node))
          if (reg == branch_guard) longest = std::max(longest, latencies_.branch_guard);
      priority_[n] = longest;
    }
  }

  /// By node, of the first load in the text that needs it: the registers of this and all loads
  /// before it; 0 if no load does.
  template <class RegistersOf>
  void find_load_registers(uint32_t first, uint32_t count, const RegistersOf& registers_of) {
    load_registers_.assign(count, 0);
    uint32_t sum = 0;
    for (uint32_t n = 0; n < count; ++n)
      if (nodes_[first + n].motion.loads_from != LoadSource::nothing)
        load_registers_[n] = sum += registers_of(n);
    for (uint32_t n = count; n-- > 0;) {
      if (nodes_[first + n].motion.loads_from != LoadSource::nothing) continue;
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

  // ---- The list

  using Candidate = std::pair<uint32_t, uint32_t>;  // key, node
  static constexpr auto kAdd = static_cast<size_t>(Pipe::add);
  static constexpr auto kAlu = static_cast<size_t>(Pipe::alu);
  static constexpr auto kMultiply = static_cast<size_t>(Pipe::multiply);

  /// The list of a region as it grows.
  struct List {
    uint32_t first = 0;  ///< of the region
    uint32_t place = 0;  ///< of the next node
    uint32_t time = 0;
    std::array<uint32_t, kPipeCount> free_at{};
    /// By time, then by place.
    std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> later;
    /// By pipe: longest path first, then by place.
    std::array<std::priority_queue<Candidate>, kPipeCount> ready;
    // Registers of loads: of those that were issued and are not used yet, of all issued ones, and
    // the limit of the first.
    uint32_t loaded = 0, issued = 0, most_loaded = 0;
  };

  void list_schedule(uint32_t first, uint32_t count) {
    begin_list(first, count);
    while (list_.place != first + count) {
      take_what_is_due();
      hold_what_is_too_much();
      list_.free_at[kAdd] = std::min(list_.free_at[kAlu], list_.free_at[kMultiply]);
      const auto [pipe, next_time] = choose_pipe();
      if (pipe != kPipeCount) {
        const uint32_t n = ~list_.ready[pipe].top().second;
        list_.ready[pipe].pop();
        issue(n, pipe != kAdd                                      ? pipe
                 : list_.free_at[kAlu] <= list_.free_at[kMultiply] ? kAlu
                                                                   : kMultiply);
      } else if (next_time != std::numeric_limits<uint32_t>::max()) {
        list_.time = next_time;
      } else {
        issue_held();
      }
    }
  }

  void begin_list(uint32_t first, uint32_t count) {
    list_ = {};
    list_.first = list_.place = first;
    earliest_.assign(count, 0);
    held_.clear();
    const uint32_t others =
        std::min(pressure_.before[first], pressure_.before[first + count]) + kStackRegisters;
    list_.most_loaded =
        std::max(kSpareRegisters, pressure_.limit - std::min(pressure_.limit, others));
    find_uses_and_writes(count);
    find_load_registers(first, count, [&](uint32_t n) { return registers_of(n); });
    roots_.clear();
    for (uint32_t n = 0; n < count; ++n)
      if (waits_for_[n] == 0) roots_.push_back(n);
    for (const uint32_t n : roots_) {
      if (nodes_[first + n].cost.instructions == 0)
        emit(n, 0);
      else
        offer(n);
    }
  }

  /// By node: positions of its uses and writes of values, which are in the order of the nodes.
  void find_uses_and_writes(uint32_t count) {
    size_t next_use = 0, next_write = 0;
    use_begin_.assign(count + 1, 0);
    write_begin_.assign(count + 1, 0);
    for (uint32_t n = 0; n < count; ++n) {
      while (next_use < value_uses_.size() && value_uses_[next_use].node == n) ++next_use;
      while (next_write < value_writes_.size() && value_writes_[next_write].node == n) ++next_write;
      use_begin_[n + 1] = static_cast<uint32_t>(next_use);
      write_begin_[n + 1] = static_cast<uint32_t>(next_write);
    }
  }

  /// Registers that a node writes and another one of the region reads.
  [[nodiscard]] uint32_t registers_of(uint32_t n) const {
    uint32_t sum = 0;
    for (uint32_t w = write_begin_[n]; w < write_begin_[n + 1]; ++w)
      if (values_[value_writes_[w].value].readers != 0)
        sum += values_[value_writes_[w].value].weight;
    return sum;
  }

  void count_registers(uint32_t n) {
    for (uint32_t u = use_begin_[n]; u < use_begin_[n + 1]; ++u) {
      Value& value = values_[value_uses_[u].value];
      if (--value.readers == 0 && value.is_loaded) list_.loaded -= value.weight;
    }
    if (nodes_[list_.first + n].motion.loads_from == LoadSource::nothing) return;
    list_.loaded += registers_of(n);
    list_.issued += registers_of(n);
    for (uint32_t w = write_begin_[n]; w < write_begin_[n + 1]; ++w)
      values_[value_writes_[w].value].is_loaded = values_[value_writes_[w].value].readers != 0;
  }

  /// A load, and its address computation, waits until it and all earlier ones have registers.
  [[nodiscard]] bool is_too_much(uint32_t n) const {
    return load_registers_[n] != 0 && load_registers_[n] > list_.issued && list_.issued != 0 &&
           list_.loaded + load_registers_[n] - list_.issued > list_.most_loaded;
  }

  void offer(uint32_t n) { list_.later.push({earliest_[n], n}); }

  void make_ready(uint32_t n) {
    list_.ready[IssueNodes::unit_of(nodes_[list_.first + n].cost.pipe)].push({priority_[n], ~n});
  }

  /// Emits a node at `at`; nodes that cost nothing follow at once.
  void emit(uint32_t n, uint32_t at) {
    std::vector<uint32_t>& freed = scratch_;
    freed.assign(1, n);
    while (!freed.empty()) {
      const uint32_t done = freed.back();
      freed.pop_back();
      order_[list_.place++] = list_.first + done;
      count_registers(done);
      const bool is_free = nodes_[list_.first + done].cost.instructions == 0;
      const uint32_t from = is_free ? earliest_[done] : at;
      for (uint32_t e = edge_begin_[done]; e < edge_begin_[done + 1]; ++e) {
        const Edge& edge = sorted_edges_[e];
        earliest_[edge.to] = std::max(earliest_[edge.to], from + edge.cycles);
        if (--waits_for_[edge.to] != 0) continue;
        if (nodes_[list_.first + edge.to].cost.instructions == 0)
          freed.push_back(edge.to);
        else
          offer(edge.to);
      }
    }
  }

  void take_what_is_due() {
    while (!list_.later.empty() && list_.later.top().first <= list_.time) {
      const uint32_t n = list_.later.top().second;
      list_.later.pop();
      make_ready(n);
    }
  }

  /// Holds back loads that have no registers. They become candidates again when some are free.
  void hold_what_is_too_much() {
    std::erase_if(held_, [&](uint32_t n) {
      if (is_too_much(n)) return false;
      make_ready(n);
      return true;
    });
    for (auto& queue : list_.ready)
      while (!queue.empty() && is_too_much(~queue.top().second)) {
        held_.push_back(~queue.top().second);
        queue.pop();
      }
  }

  /// The free pipe with the longest path, or kPipeCount; and when the next one may be free.
  [[nodiscard]] std::pair<size_t, uint32_t> choose_pipe() const {
    size_t best = kPipeCount;
    uint32_t next_time =
        list_.later.empty() ? std::numeric_limits<uint32_t>::max() : list_.later.top().first;
    for (size_t pipe = 0; pipe < kPipeCount; ++pipe) {
      if (list_.ready[pipe].empty()) continue;
      if (list_.free_at[pipe] > list_.time)
        next_time = std::min(next_time, list_.free_at[pipe]);
      else if (best == kPipeCount || list_.ready[pipe].top() > list_.ready[best].top())
        best = pipe;
    }
    return {best, next_time};
  }

  void issue(uint32_t n, size_t unit) {
    const Node& node = nodes_[list_.first + n];
    list_.free_at[unit] = list_.time + node.interval;
    emit(n, list_.time);
    list_.time += node.cost.instructions;
  }

  /// No other node can free registers: the first in text order proceeds.
  void issue_held() {
    const auto earliest = std::min_element(held_.begin(), held_.end());
    const uint32_t n = *earliest;
    held_.erase(earliest);
    const size_t unit = IssueNodes::unit_of(nodes_[list_.first + n].cost.pipe);
    list_.time = std::max(list_.time, list_.free_at[unit]);
    issue(n, unit);
  }

  const IssueNodes& in_;
  const ptx::Function& function_;
  const IssueLatencies& latencies_;
  const std::vector<Node>& nodes_;
  const RegisterPressure& pressure_;
  std::vector<uint32_t> order_;  ///< the old index of each position
  List list_;
  // Of the current region; nodes are counted from its first instruction.
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
  std::vector<uint32_t> long_waits_;               ///< nodes
  std::vector<uint8_t> needs_wait_;                ///< by node, of the current wait
  std::vector<uint32_t> held_;                     ///< nodes that wait for registers
  std::vector<uint32_t> last_write_, first_read_;  ///< by register
};

}  // namespace

std::vector<uint32_t> issue_order(const IssueNodes& in, const RegisterPressure& pressure) {
  return IssueOrder(in, pressure).run();
}

}  // namespace bw::sim
