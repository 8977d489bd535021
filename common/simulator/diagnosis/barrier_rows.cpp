#include "common/simulator/diagnosis/barrier_rows.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "common/simulator/diagnosis/barrier_history.hpp"
#include "common/simulator/machine/kernel.hpp"
#include "common/simulator/ptx/flow_graph.hpp"
#include "common/simulator/units/units.hpp"

namespace bw::sim {
namespace {

/// The location of an init: the reader's line, and the calls around it.
struct InitSite {
  std::string text;                                    ///< "ring.cuh:40 in Ring::init"
  std::string function;                                ///< of that place
  std::vector<std::pair<uint32_t, uint32_t>> callers;  ///< files and lines around the function

  [[nodiscard]] bool is_same_call(const InitSite& other) const {
    return !function.empty() && function == other.function && callers == other.callers;
  }
};

struct Initialised {
  const Mbarrier* barrier;
  const Actor* by;
  InitSite place;
};

InitSite place_of(const Kernel& kernel, const Instruction& instruction) {
  const ptx::Module& module = kernel.module().ptx();
  const ptx::Instruction& source = kernel.source(instruction);
  InitSite place{module.describe_place(source), {}, {}};
  const std::vector<const ptx::SourceLocation*> chain = module.call_chain(source);
  if (chain.empty()) return place;
  const ptx::SourceLocation* const by = module.focused(chain);
  const ptx::SourceLocation* const named = by == nullptr ? &module.place_in(chain) : by;
  place.function = ptx::Module::function_name(*named);
  for (auto outer = std::find(chain.begin(), chain.end(), named) + 1; outer != chain.end(); ++outer)
    place.callers.emplace_back((*outer)->file, (*outer)->line);
  return place;
}

/// The live barriers of a CTA, in the order in which they were initialised.
std::vector<Initialised> in_order_of_init(Cluster& cluster, Cta& cta) {
  const BarrierHistory& history = history_of(cluster);
  std::vector<Initialised> found;
  for (const Mbarrier* barrier : units_of(cta).mbarriers.objects()) {
    const Actor& by = history.of(cta.rank, barrier->slot).initialiser;
    if (by.instruction != nullptr)
      found.push_back({barrier, &by, place_of(cluster.kernel(), *by.instruction)});
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const Initialised& one, const Initialised& other) {
                     return one.by->time < other.by->time;
                   });
  return found;
}

/// Number of rows of equal steps that barriers form if they were initialised row by row in turn: 2
/// for full[0], empty[0], full[1], empty[1]; 1 for one row; 0 without such an order.
size_t rows_in_turn(const std::vector<Initialised>& group) {
  const auto offset = [&](size_t k) { return int64_t{group[k].barrier->offset_bytes}; };
  for (size_t rows = 1; 2 * rows <= group.size(); ++rows) {
    const int64_t step = offset(rows) - offset(0);
    if (group.size() % rows != 0 || step <= 0) continue;
    size_t k = rows;
    while (k < group.size() && offset(k) - offset(k - rows) == step) ++k;
    if (k == group.size()) return rows;
  }
  return 0;
}

/// The same for rows that two instructions initialise, one row after the other.
size_t rows_by_instruction(const std::vector<Initialised>& group) {
  size_t length = 1;
  while (length < group.size() && group[length].by->instruction == group.front().by->instruction)
    ++length;
  if (length == 1 || group.size() % length != 0) return 1;
  for (size_t k = 0; k < group.size(); ++k) {
    const size_t first = k - k % length;
    if (group[k].by->instruction != group[first].by->instruction) return 1;
  }
  return group.size() / length;
}

/// Whether bytes have been announced on the barrier, or have arrived: then it is a full barrier.
bool counts_bytes(const BarrierHistory& history, const Cta& cta, const Initialised& one) {
  using Operation = MbarrierEvent::Operation;
  const auto& parts = history.of(cta.rank, one.barrier->slot).contributions;
  return std::any_of(parts.begin(), parts.end(), [](const Contribution& part) {
    return part.operation == Operation::expect_tx || part.operation == Operation::complete_tx;
  });
}

/// Whether a thread that has passed `wait` may start a copy that signals an mbarrier before it
/// waits again: it fills a stage.
bool leads_to_a_copy(const Kernel& kernel, const Instruction& wait) {
  const ptx::Function& function = kernel.function();
  const ptx::FlowGraph graph(function);
  const auto waits = [](const FormMatch& match) {
    return match.form->unit == Unit::mbarrier && match.form->ordering == Ordering::test;
  };
  std::vector<uint32_t> begins = {wait.source_index + 1};
  std::vector<bool> is_known(graph.blocks.size());
  while (!begins.empty()) {
    uint32_t at = begins.back();
    begins.pop_back();
    if (at >= graph.block_of.size()) continue;
    const ptx::BasicBlock& block = graph.blocks[graph.block_of[at]];
    while (at < block.last && !waits(*function.instructions[at].match)) {
      if (function.instructions[at].match->copies_with_mbarrier()) return true;
      ++at;
    }
    if (at < block.last) continue;
    for (const uint32_t next : block.successors) {
      if (!is_known[next]) begins.push_back(graph.blocks[next].first);
      is_known[next] = true;
    }
  }
  return false;
}

/// Whether who waits for the barrier fills a stage next: then it is an empty barrier.
bool is_waited_for_to_fill(Cluster& cluster, const Cta& cta, const Initialised& one) {
  const BarrierRecord& record = history_of(cluster).of(cta.rank, one.barrier->slot);
  return record.last_waiter.instruction != nullptr &&
         leads_to_a_copy(cluster.kernel(), *record.last_waiter.instruction);
}

/// "stage 3 of the 4 full barriers initialised at ring.cuh:40" where what the barriers of a group
/// have counted, or else who waits for them, tells the rows of a ring apart: `row_of(k)` is the row
/// of barrier k, `length` that of a row. Empty where it does not.
template <class RowOf>
std::string role_name(Cluster& cluster, const Cta& cta, const std::vector<Initialised>& group,
                      size_t at, size_t stage, size_t length, RowOf&& row_of) {
  bool is_full = false, other_is_full = false;
  const auto mark_full = [&](bool own_row) { (own_row ? is_full : other_is_full) = true; };
  for (size_t k = 0; k < group.size(); ++k)
    if (counts_bytes(history_of(cluster), cta, group[k])) mark_full(row_of(k) == row_of(at));
  if (!is_full && !other_is_full) {
    for (size_t k = 0; k < group.size(); ++k)
      if (is_waited_for_to_fill(cluster, cta, group[k])) mark_full(row_of(k) != row_of(at));
  }
  if (is_full == other_is_full) return {};
  return fmt::format("stage {} of the {} {} barriers initialised at {}", stage, length,
                     is_full ? "full" : "empty", group[at].place.text);
}

std::string row_name(size_t row) {
  constexpr std::array<std::string_view, 4> kOrdinals = {"first", "second", "third", "fourth"};
  return row < kOrdinals.size() ? fmt::format("the {} row", kOrdinals[row])
                                : fmt::format("row {}", row + 1);
}

}  // namespace

std::string describe_row(Cluster& cluster, Cta& cta, const Mbarrier& barrier) {
  const BarrierHistory& history = history_of(cluster);
  const std::vector<Initialised> all = in_order_of_init(cluster, cta);
  const auto own = std::find_if(all.begin(), all.end(),
                                [&](const Initialised& one) { return one.barrier == &barrier; });
  if (own == all.end()) return {};
  const auto position = [&](const std::vector<Initialised>& group) {
    return static_cast<size_t>(
        std::find_if(group.begin(), group.end(),
                     [&](const Initialised& one) { return one.barrier == &barrier; }) -
        group.begin());
  };

  // Barriers of different variables don't form a row, even if one function initialises them.
  const auto variable = [&](const Initialised& one) {
    const std::string name = cluster.kernel().describe_shared(one.barrier->offset_bytes);
    return name.substr(0, name.rfind('+'));
  };
  const std::string own_variable = variable(*own);
  std::vector<Initialised> of_line, of_call;
  for (const Initialised& one : all) {
    if (variable(one) != own_variable) continue;
    if (one.place.text == own->place.text) of_line.push_back(one);
    if (one.place.is_same_call(own->place)) of_call.push_back(one);
  }
  // A compiler gives some instructions of a loop the line of others, so the whole call is tried
  // too.
  for (const std::vector<Initialised>* group : {&of_line, &of_call}) {
    const size_t rows = rows_in_turn(*group);
    if (rows < 2) continue;
    const size_t at = position(*group);
    if (rows == 2)
      if (std::string role = role_name(cluster, cta, *group, at, at / rows, group->size() / rows,
                                       [&](size_t k) { return k % rows; });
          !role.empty())
        return role;
    return fmt::format("stage {} of {} of {} initialised at {}", at / rows, row_name(at % rows),
                       group->size() / rows, own->place.text);
  }
  if (of_line.size() < 2) return {};
  const size_t rows = rows_by_instruction(of_line);
  if (rows > 1) {
    const size_t length = of_line.size() / rows, at = position(of_line);
    if (rows == 2)
      if (std::string role = role_name(cluster, cta, of_line, at, at % length, length,
                                       [&](size_t k) { return k / length; });
          !role.empty())
        return role;
    return fmt::format("stage {} of {} of {} initialised at {}", at % length, row_name(at / length),
                       length, own->place.text);
  }
  std::sort(of_line.begin(), of_line.end(), [](const Initialised& one, const Initialised& other) {
    return one.barrier->offset_bytes < other.barrier->offset_bytes;
  });
  // One call for several rows: neighbours with the same count that have counted bytes, or have not,
  // are one of them.
  size_t begin = 0, end = of_line.size();
  const size_t at = position(of_line);
  const bool is_full = counts_bytes(history, cta, of_line[at]);
  const auto belongs = [&](size_t k) {
    return of_line[k].barrier->expected == of_line[at].barrier->expected &&
           counts_bytes(history, cta, of_line[k]) == is_full;
  };
  for (begin = at; begin > 0 && belongs(begin - 1); --begin) {
  }
  for (end = at + 1; end < of_line.size() && belongs(end); ++end) {
  }
  if (const size_t length = end - begin; length < of_line.size() && length > 1) {
    const bool has_full = std::any_of(of_line.begin(), of_line.end(), [&](const Initialised& one) {
      return counts_bytes(history, cta, one);
    });
    return fmt::format("stage {} of the {} {}barriers initialised at {}", at - begin, length,
                       is_full    ? "full "
                       : has_full ? "empty "
                                  : "",
                       own->place.text);
  }
  return fmt::format("stage {} of the {} initialised at {}", at, of_line.size(), own->place.text);
}

}  // namespace bw::sim
