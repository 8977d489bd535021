/// \file
/// Block-wise data flow over bit sets, restricted to the registers that cross a block boundary.
///
/// A register needs storage at a point where all of this holds: its value may be read later before
/// it is overwritten (live), and some write may have reached the point (defined). The second part
/// keeps registers that are first written under a guard, or in one branch only, from living from
/// the entry on. Registers with a tcgen05.ld in flight (pending) need storage too.
#include "common/simulator/ptx/liveness.hpp"

#include <algorithm>
#include <utility>

#include "common/simulator/base/bits.hpp"
#include "common/simulator/ptx/flow_graph.hpp"
#include "common/simulator/ptx/register_usage.hpp"

namespace bw::sim::ptx {
namespace {

constexpr uint32_t kBitsPerWord = 64;
constexpr uint32_t kNotCrossing = 0xffffffffu;

/// One row of bits per block.
class BitRows {
 public:
  BitRows(size_t rows, size_t bits)
      : words_per_row_(ceil_div(bits, kBitsPerWord)), words_(rows * words_per_row_) {}
  void set(size_t row, uint32_t bit) {
    words_[row * words_per_row_ + bit / kBitsPerWord] |= uint64_t{1} << (bit % kBitsPerWord);
  }
  void clear(size_t row, uint32_t bit) {
    words_[row * words_per_row_ + bit / kBitsPerWord] &= ~(uint64_t{1} << (bit % kBitsPerWord));
  }
  void clear_row(size_t row) { std::fill_n(word(row), words_per_row_, 0); }
  [[nodiscard]] bool test(size_t row, uint32_t bit) const {
    return (words_[row * words_per_row_ + bit / kBitsPerWord] >> (bit % kBitsPerWord) & 1) != 0;
  }
  [[nodiscard]] uint64_t* word(size_t row) { return words_.data() + row * words_per_row_; }
  [[nodiscard]] const uint64_t* word(size_t row) const {
    return words_.data() + row * words_per_row_;
  }
  [[nodiscard]] size_t words_per_row() const noexcept { return words_per_row_; }

 private:
  size_t words_per_row_;
  std::vector<uint64_t> words_;
};

class Liveness {
 public:
  explicit Liveness(const Function& function)
      : function_(function),
        graph_(function),
        is_asynchronous_(function.registers.size(), 0),
        number_(number_crossing_registers()),
        upward_exposed_(graph_.blocks.size(), crossing_count_),
        overwritten_(graph_.blocks.size(), crossing_count_),
        written_(graph_.blocks.size(), crossing_count_),
        issued_(graph_.blocks.size(), crossing_count_),
        live_in_(graph_.blocks.size(), crossing_count_),
        defined_out_(graph_.blocks.size(), crossing_count_),
        pending_out_(graph_.blocks.size(), crossing_count_),
        waits_(graph_.blocks.size(), 0),
        segments_(function.registers.size()) {
    summarise_blocks();
    solve_backward();
    solve_forward(written_, nullptr, defined_out_);
    solve_forward(issued_, &waits_, pending_out_);
  }

  [[nodiscard]] std::vector<std::vector<LiveSegment>> segments() {
    for (uint32_t b = 0; b < graph_.blocks.size(); ++b) add_segments(b);
    for (auto& list : segments_) merge(list);
    return std::move(segments_);
  }

 private:
  // A register that one block writes before it reads it, and no other block touches, needs no bits.
  std::vector<uint32_t> number_crossing_registers() {
    const size_t count = function_.registers.size();
    std::vector<uint32_t> home(count, kNotCrossing);
    std::vector<uint8_t> crosses(count, 0);
    std::vector<uint32_t> written_in(count, kNotCrossing);
    for (uint32_t i = 0; i < function_.instructions.size(); ++i) {
      const Instruction& instruction = function_.instructions[i];
      const uint32_t block = graph_.block_of[i];
      const auto touch = [&](uint32_t reg) {
        if (home[reg] == kNotCrossing) home[reg] = block;
        if (home[reg] != block) crosses[reg] = 1;
      };
      visit_read_registers(instruction, [&](uint32_t reg) {
        touch(reg);
        if (written_in[reg] != block) crosses[reg] = 1;
      });
      visit_written_registers(instruction, [&](uint32_t reg) {
        touch(reg);
        if (writes_asynchronously(instruction)) crosses[reg] = is_asynchronous_[reg] = 1;
        if (instruction.has_guard && written_in[reg] != block) crosses[reg] = 1;
        written_in[reg] = block;
      });
    }
    std::vector<uint32_t> number(count, kNotCrossing);
    for (size_t reg = 0; reg < count; ++reg) {
      if (crosses[reg] != 0) {
        number[reg] = static_cast<uint32_t>(crossing_count_++);
        register_of_.push_back(static_cast<uint32_t>(reg));
      }
    }
    return number;
  }

  void summarise_blocks() {
    for (uint32_t b = 0; b < graph_.blocks.size(); ++b) {
      for (uint32_t i = graph_.blocks[b].first; i < graph_.blocks[b].last; ++i) {
        const Instruction& instruction = function_.instructions[i];
        visit_read_registers(instruction, [&](uint32_t reg) {
          const uint32_t bit = number_[reg];
          if (bit != kNotCrossing && !overwritten_.test(b, bit)) upward_exposed_.set(b, bit);
        });
        visit_written_registers(instruction, [&](uint32_t reg) {
          const uint32_t bit = number_[reg];
          if (bit == kNotCrossing) return;
          written_.set(b, bit);
          if (!instruction.has_guard) overwritten_.set(b, bit);
          if (writes_asynchronously(instruction)) issued_.set(b, bit);
        });
        if (ends_asynchronous_writes(instruction)) {
          waits_[b] = 1;
          issued_.clear_row(b);
        }
      }
    }
  }

  /// live_in = upward_exposed | (live_out & ~overwritten), from the last block to the first.
  void solve_backward() {
    const size_t words = live_in_.words_per_row();
    for (bool has_changed = true; has_changed;) {
      has_changed = false;
      for (size_t b = graph_.blocks.size(); b-- > 0;) {
        for (size_t w = 0; w < words; ++w) {
          uint64_t out = 0;
          for (const uint32_t s : graph_.blocks[b].successors) out |= live_in_.word(s)[w];
          const uint64_t in = upward_exposed_.word(b)[w] | (out & ~overwritten_.word(b)[w]);
          has_changed |= in != live_in_.word(b)[w];
          live_in_.word(b)[w] = in;
        }
      }
    }
  }

  /// out = generated | in, where `kills_all` blocks drop what comes in.
  void solve_forward(const BitRows& generated, const std::vector<uint8_t>* kills_all,
                     BitRows& out) const {
    const size_t words = out.words_per_row();
    for (bool has_changed = true; has_changed;) {
      has_changed = false;
      for (size_t b = 0; b < graph_.blocks.size(); ++b) {
        const bool kills = kills_all != nullptr && (*kills_all)[b] != 0;
        for (size_t w = 0; w < words; ++w) {
          uint64_t value = generated.word(b)[w];
          if (!kills) {
            for (const uint32_t p : graph_.blocks[b].predecessors) value |= out.word(p)[w];
          }
          has_changed |= value != out.word(b)[w];
          out.word(b)[w] = value;
        }
      }
    }
  }

  /// Walks one block backwards. `open_[reg]` is the end of the segment being built.
  void add_segments(uint32_t b) {
    const BasicBlock& block = graph_.blocks[b];
    if (open_.empty()) {
      open_.assign(function_.registers.size(), 0);
      block_writes_.assign(function_.registers.size(), 0);
    }
    // Which crossing registers have a value on entry, and on exit.
    const size_t words = live_in_.words_per_row();
    std::vector<uint64_t> defined_in(words), pending_in(words), needed_out(words);
    for (size_t w = 0; w < words; ++w) {
      uint64_t live_out = 0;
      for (const uint32_t p : block.predecessors) {
        defined_in[w] |= defined_out_.word(p)[w];
        pending_in[w] |= pending_out_.word(p)[w];
      }
      for (const uint32_t s : block.successors) live_out |= live_in_.word(s)[w];
      needed_out[w] = (live_out & defined_out_.word(b)[w]) | pending_out_.word(b)[w];
    }
    const auto has_bit = [](const std::vector<uint64_t>& row, uint32_t bit) {
      return (row[bit / kBitsPerWord] >> (bit % kBitsPerWord) & 1) != 0;
    };

    // How many writes of each register are still above: a read with none above it, and no value on
    // entry, reads an undefined value and keeps no storage.
    for (uint32_t i = block.first; i < block.last; ++i) {
      visit_written_registers(function_.instructions[i],
                              [&](uint32_t reg) { ++block_writes_[reg]; });
    }
    std::vector<uint32_t> opened;
    const auto open = [&](uint32_t reg, uint32_t end) {
      if (open_[reg] != 0) return;
      open_[reg] = end;
      opened.push_back(reg);
    };
    visit_set_bits(needed_out, [&](uint32_t bit) { open(register_of_[bit], block.last); });

    for (uint32_t i = block.last; i-- > block.first;) {
      const Instruction& instruction = function_.instructions[i];
      if (ends_asynchronous_writes(instruction)) open_issued_above(block, i, pending_in, open);
      visit_written_registers(instruction, [&](uint32_t reg) {
        --block_writes_[reg];
        if (open_[reg] == 0) {
          segments_[reg].push_back({i, i + 1});
          return;
        }
        const uint32_t bit = number_[reg];
        const bool has_older_value =
            block_writes_[reg] != 0 || (bit != kNotCrossing && has_bit(defined_in, bit));
        const bool is_still_pending =
            bit != kNotCrossing && is_pending_before(block, i, reg, has_bit(pending_in, bit));
        if ((instruction.has_guard && has_older_value) || is_still_pending) return;
        segments_[reg].push_back({i, open_[reg]});
        open_[reg] = 0;
      });
      visit_read_registers(instruction, [&](uint32_t reg) {
        const uint32_t bit = number_[reg];
        const bool has_value =
            block_writes_[reg] != 0 || (bit != kNotCrossing && has_bit(defined_in, bit));
        if (has_value) open(reg, i + 1);
      });
    }
    for (const uint32_t reg : opened) {
      if (open_[reg] == 0) continue;
      segments_[reg].push_back({block.first, open_[reg]});
      open_[reg] = 0;
    }
  }

  /// True if a tcgen05.ld may still write the register when instruction `i` begins.
  [[nodiscard]] bool is_pending_before(const BasicBlock& block, uint32_t i, uint32_t reg,
                                       bool is_pending_on_entry) const {
    if (is_asynchronous_[reg] == 0) return false;
    while (i-- > block.first) {
      const Instruction& instruction = function_.instructions[i];
      if (ends_asynchronous_writes(instruction)) return false;
      if (!writes_asynchronously(instruction)) continue;
      bool is_written = false;
      visit_written_registers(instruction, [&](uint32_t other) { is_written |= other == reg; });
      if (is_written) return true;
    }
    return is_pending_on_entry;
  }

  /// At a wait::ld, everything that a tcgen05.ld above it (up to the wait before) writes needs
  /// storage.
  template <typename Open>
  void open_issued_above(const BasicBlock& block, uint32_t wait,
                         const std::vector<uint64_t>& pending_in, Open&& open) const {
    for (uint32_t i = wait; i-- > block.first;) {
      const Instruction& instruction = function_.instructions[i];
      if (ends_asynchronous_writes(instruction)) return;
      if (!writes_asynchronously(instruction)) continue;
      visit_written_registers(instruction, [&](uint32_t reg) { open(reg, wait + 1); });
    }
    visit_set_bits(pending_in, [&](uint32_t bit) { open(register_of_[bit], wait + 1); });
  }

  template <typename Visit>
  static void visit_set_bits(const std::vector<uint64_t>& row, Visit&& visit) {
    for (size_t w = 0; w < row.size(); ++w) {
      for (uint64_t bits = row[w]; bits != 0; bits &= bits - 1) {
        visit(static_cast<uint32_t>(w * kBitsPerWord) +
              static_cast<uint32_t>(__builtin_ctzll(bits)));
      }
    }
  }

  static void merge(std::vector<LiveSegment>& list) {
    std::sort(list.begin(), list.end(),
              [](const LiveSegment& a, const LiveSegment& b) { return a.first < b.first; });
    size_t kept = 0;
    for (size_t i = 1; i < list.size(); ++i) {
      if (list[i].first <= list[kept].last) {
        list[kept].last = std::max(list[kept].last, list[i].last);
      } else {
        list[++kept] = list[i];
      }
    }
    if (!list.empty()) list.resize(kept + 1);
  }

  const Function& function_;
  FlowGraph graph_;
  std::vector<uint8_t> is_asynchronous_;  ///< per register: a tcgen05.ld writes it somewhere
  size_t crossing_count_ = 0;
  std::vector<uint32_t> register_of_;  ///< register of each bit
  std::vector<uint32_t> number_;       ///< bit of each register, or kNotCrossing
  BitRows upward_exposed_, overwritten_, written_, issued_;
  BitRows live_in_, defined_out_, pending_out_;
  std::vector<uint8_t> waits_;
  std::vector<std::vector<LiveSegment>> segments_;
  std::vector<uint32_t> open_;
  std::vector<uint32_t> block_writes_;
};

}  // namespace

std::vector<std::vector<LiveSegment>> live_segments(const Function& function) {
  return Liveness(function).segments();
}

}  // namespace bw::sim::ptx
