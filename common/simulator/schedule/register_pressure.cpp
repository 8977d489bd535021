#include "common/simulator/schedule/register_pressure.hpp"

#include <algorithm>
#include <cstddef>
#include <span>
#include <string_view>

#include "common/simulator/base/bits.hpp"
#include "common/simulator/ptx/control_flow.hpp"

namespace bw::sim {
namespace {

/// With this many registers a thread an SM is full of warps: ptxas keeps to them where it can.
constexpr uint32_t kFullOccupancyRegisters = 32;

/// Whether the threads of a warp get different values from the same operands.
bool gives_each_its_own(const ptx::Instruction& instruction, const Node& node) {
  if (node.motion.reads != 0) return node.cost.instructions != 0;
  if (node.cost.pipe != Pipe::system) return false;
  const std::string_view source = instruction.operands.back().text;
  return source.starts_with("%tid") || source.starts_with("%lane");
}

/// Marks the blocks between a divergent branch at the end of block `from` and the instruction where
/// its lanes reconverge; returns whether one is new.
bool diverge(const ptx::FlowGraph& graph, uint32_t from, uint32_t meeting,
             std::vector<uint8_t>& diverges) {
  bool is_new = false;
  std::vector<uint32_t> open = graph.blocks[from].successors;
  std::vector<uint8_t> seen(graph.blocks.size(), 0);
  while (!open.empty()) {
    const uint32_t block = open.back();
    open.pop_back();
    if (seen[block] != 0 || graph.blocks[block].first == meeting) continue;
    seen[block] = 1;
    is_new |= diverges[block] == 0;
    diverges[block] = 1;
    const std::vector<uint32_t>& next = graph.blocks[block].successors;
    open.insert(open.end(), next.begin(), next.end());
  }
  return is_new;
}

/// Registers whose values differ between the threads of a warp, or that are computed in diverged
/// code. The others come from the constant bank or are in uniform registers, of which there are
/// enough.
std::vector<uint8_t> varying_registers(const IssueNodes& in) {
  std::vector<uint8_t> varies(in.registers_end(), 0);
  std::vector<uint8_t> diverges(in.graph().blocks.size(), 0);
  const std::vector<uint32_t> meeting = ptx::reconvergence_points(in.function());
  for (bool has_changed = true; has_changed;) {
    has_changed = false;
    for (uint32_t b = 0; b < in.graph().blocks.size(); ++b)
      for (uint32_t i = in.graph().blocks[b].first; i < in.graph().blocks[b].last; ++i) {
        const Node& node = in.nodes()[i];
        const ptx::Instruction& instruction = in.function().instructions[i];
        const std::span<const uint32_t> reads = in.read_by(node);
        const bool reads_varying =
            std::any_of(reads.begin(), reads.end(), [&](uint32_t reg) { return varies[reg] != 0; });
        if (reads_varying && branches(instruction.form().transfer))
          has_changed |= diverge(in.graph(), b, meeting[i], diverges);
        if (!reads_varying && !gives_each_its_own(instruction, node) &&
            (diverges[b] == 0 || node.cost.instructions == 0))
          continue;
        for (const uint32_t reg : in.written_by(node)) {
          has_changed |= varies[reg] == 0;
          varies[reg] = 1;
        }
      }
  }
  return varies;
}

}  // namespace

RegisterPressure::RegisterPressure(const IssueNodes& in) {
  segments = ptx::live_segments(in.function());
  weight.resize(in.registers_end(), 0);
  for (uint32_t reg = 0; reg < segments.size(); ++reg)
    weight[reg] = static_cast<uint8_t>(
        ceil_div(ptx::size_bytes(in.function().registers[reg].type), sizeof(uint32_t)));
  const std::vector<uint8_t> varies = varying_registers(in);
  for (uint32_t reg = 0; reg < segments.size(); ++reg)
    if (varies[reg] == 0 && !ptx::is_float(in.function().registers[reg].type)) weight[reg] = 0;
  std::vector<int32_t> change(in.nodes().size() + 2, 0);
  for (uint32_t reg = 0; reg < segments.size(); ++reg)
    for (const ptx::LiveSegment& segment : segments[reg])
      if (segment.last > segment.first + 1) {
        change[segment.first + 1] += weight[reg];
        change[segment.last] -= weight[reg];
      }
  before.resize(in.nodes().size() + 1);
  int32_t sum = 0;
  for (size_t i = 0; i < before.size(); ++i) {
    sum += change[i];
    before[i] = static_cast<uint32_t>(sum);
  }
  uint32_t across_blocks = 0;
  for (const ptx::BasicBlock& block : in.graph().blocks)
    across_blocks = std::max(across_blocks, before[block.first]);
  limit = across_blocks + kSpareRegisters <= kFullOccupancyRegisters
              ? kFullOccupancyRegisters
              : *std::max_element(before.begin(), before.end()) + kSpareRegisters;
}

bool RegisterPressure::is_live_at(uint32_t reg, uint32_t index) const {
  if (reg >= segments.size()) return false;
  return std::any_of(segments[reg].begin(), segments[reg].end(),
                     [=](const ptx::LiveSegment& segment) {
                       return segment.first < index && segment.last > index;
                     });
}

}  // namespace bw::sim
