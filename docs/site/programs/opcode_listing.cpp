/// \file
/// Prints the simulator's opcode table for the site's instruction pages: one line a form, its
/// fields separated by tabs (group, opcode, grammar, effect, PTX ISA section).
#include <array>
#include <cstdio>
#include <string>
#include <string_view>

#include "common/simulator/units/families.hpp"

namespace bw::sim {
namespace {

/// Families that one page shows together.
struct Group {
  std::string_view title;
  Rows rows;
};

std::array<Group, 33> groups() {
  constexpr std::string_view kInteger = "Integer arithmetic and bits";
  constexpr std::string_view kFloat = "Floating point";
  constexpr std::string_view kCompare = "Comparison and selection";
  constexpr std::string_view kConvert = "Moves and conversions";
  constexpr std::string_view kControl = "Control, clusters, launches";
  constexpr std::string_view kMemory = "Loads, stores, atomics";
  constexpr std::string_view kWarp = "Warps, barriers, fences";
  constexpr std::string_view kMbarrier = "mbarrier";
  constexpr std::string_view kCopies = "Asynchronous copies";
  constexpr std::string_view kTensor = "Tensor core and tensor memory";
  constexpr std::string_view kRefused = "Known and refused";
  return {{{kMbarrier, mbarrier_operations::arrive_rows()},
           {kMbarrier, mbarrier_operations::wait_rows()},
           {kCopies, cp_async_rows()},
           {kCopies, bulk_copy_rows()},
           {kCopies, tensor_copy_rows()},
           {kTensor, tcgen05::alloc_rows()},
           {kTensor, tcgen05::load_store_rows()},
           {kTensor, tcgen05::copy_rows()},
           {kTensor, tcgen05::shift_rows()},
           {kTensor, tcgen05::mma_rows()},
           {kTensor, tcgen05::commit_rows()},
           {kWarp, warp_rows()},
           {kWarp, barrier_rows()},
           {kWarp, fence_rows()},
           {kMemory, load_store_rows()},
           {kMemory, atomic_rows()},
           {kMemory, matrix_move_rows()},
           {kControl, control_rows()},
           {kControl, cluster_rows()},
           {kControl, launch_control_rows()},
           {kConvert, conversion::move_rows()},
           {kConvert, conversion::scalar_rows()},
           {kConvert, conversion::packed_rows()},
           {kConvert, conversion::address_rows()},
           {kCompare, comparison_rows()},
           {kInteger, integer::arithmetic_rows()},
           {kInteger, integer::carry_rows()},
           {kInteger, integer::bit_rows()},
           {kFloat, floating::arithmetic_rows()},
           {kFloat, floating::function_rows()},
           {kFloat, floating::minmax_rows()},
           {kFloat, half::rows()},
           {kRefused, unexecuted_rows()}}};
}

std::string_view name_of(Effect effect) {
  switch (effect) {
    case Effect::lane:
      return "lane";
    case Effect::warp:
      return "warp";
    case Effect::cluster:
      return "cluster";
    case Effect::grid:
      return "grid";
  }
  return "?";
}

/// A row whose effect depends on its modifiers names the weakest.
void print_row(std::string_view title, const OpcodeRow& row) {
  const std::string_view effect = row.bind == nullptr ? "refused" : name_of(row.effect({}));
  std::printf("%s\t%s\t%s\t%s\t%s\n", std::string(title).c_str(), std::string(row.base).c_str(),
              std::string(row.modifiers).c_str(), std::string(effect).c_str(),
              std::string(row.section).c_str());
}

/// Whether the groups hold every row that the simulator knows.
bool are_complete(size_t printed) {
  size_t known = 0;
  for (const Rows family : opcode_families()) known += family.size();
  if (printed == known) return true;
  std::fprintf(stderr,
               "the groups hold %zu of the simulator's %zu forms; list the missing family\n",
               printed, known);
  return false;
}

int list_forms() {
  size_t printed = 0;
  for (const Group& group : groups()) {
    for (const OpcodeRow& row : group.rows) print_row(group.title, row);
    printed += group.rows.size();
  }
  return are_complete(printed) ? 0 : 1;
}

}  // namespace
}  // namespace bw::sim

int main() { return bw::sim::list_forms(); }
