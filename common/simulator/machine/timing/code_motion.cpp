#include "common/simulator/machine/timing/code_motion.hpp"

#include <algorithm>

#include "common/simulator/ptx/flow_graph.hpp"

namespace bw::sim {
namespace {

/// Beginnings of the forms that nothing passes: they wait, or say what others may see when.
constexpr std::string_view kFixed[] = {"bar",
                                       "barrier",
                                       "mbarrier.test_wait",
                                       "mbarrier.try_wait",
                                       "fence",
                                       "membar",
                                       "griddepcontrol",
                                       "setmaxnreg",
                                       "nanosleep",
                                       "call",
                                       "clusterlaunchcontrol",
                                       "cp.async.wait",
                                       "wgmma.fence",
                                       "wgmma.commit",
                                       "wgmma.wait",
                                       "cp.async.bulk.wait",
                                       "tcgen05.wait",
                                       "tcgen05.fence",
                                       "tcgen05.alloc",
                                       "tcgen05.dealloc",
                                       "tcgen05.relinquish",
                                       "brkpt",
                                       "pmevent",
                                       "trap"};
/// Of these, the ones that arithmetic passes in the code that ptxas makes.
constexpr std::string_view kPassed[] = {"bar.warp",   "mbarrier.test_wait", "mbarrier.try_wait",
                                        "fence",      "wgmma.fence",        "wgmma.commit",
                                        "wgmma.wait", "cp.async.bulk.wait"};
constexpr std::string_view kTests[] = {"mbarrier.test_wait", "mbarrier.try_wait"};
constexpr std::string_view kLongWaits[] = {"wgmma.wait"};
/// Forms whose lanes act together. The first ones also order what the lanes do in memory, as far as
/// the race detector goes; the others do not.
constexpr std::string_view kMeeting[] = {"shfl", "vote", "match", "redux"};
constexpr std::string_view kChoosing[] = {"elect", "activemask"};
constexpr std::string_view kLoads[] = {"ld", "ldu", "ldmatrix", "wmma.load"};
constexpr std::string_view kStores[] = {"st", "stmatrix", "wmma.store"};
constexpr std::string_view kUpdates[] = {"atom", "red"};

template <size_t count>
bool is_one_of(std::string_view base, const std::string_view (&names)[count]) {
  return std::find(std::begin(names), std::end(names), base) != std::end(names);
}

uint8_t spaces_of(std::string_view base, const Modifiers& modifiers) {
  const std::string_view space = modifiers.get("space");
  if (space.starts_with("shared") || base == "ldmatrix" || base == "stmatrix") return kSharedSpace;
  if (space == "global") return kGlobalSpace;
  if (space == "local" || space.starts_with("param")) return kLocalSpace;
  if (space == "const") return 0;
  return kAllSpaces;  // a generic address
}

bool uses_carry_flag(std::string_view opcode) {
  return opcode.starts_with("addc") || opcode.starts_with("subc") || opcode.starts_with("madc") ||
         opcode.find(".cc") != std::string_view::npos;
}

}  // namespace

Motion motion_of(const RowMatch& match, std::string_view opcode) {
  const OpcodeRow& row = *match.row;
  Motion motion;
  const auto begins_as = [&](const auto& forms) {
    return std::any_of(std::begin(forms), std::end(forms),
                       [&](std::string_view form) { return row.base.starts_with(form); });
  };
  motion.is_fixed = ptx::transfer_of(opcode) != ptx::Transfer::none || begins_as(kFixed);
  motion.lets_pass = begins_as(kPassed);
  motion.is_long_wait = begins_as(kLongWaits);
  // Who uses the answer waits for it as for a loaded value.
  if (begins_as(kTests)) motion.loads_from = LoadedFrom::shared_memory;
  if (motion.is_fixed) return motion;
  const bool meets = is_one_of(row.base, kMeeting);
  motion.is_collective = meets || is_one_of(row.base, kChoosing);
  const bool loads = is_one_of(row.base, kLoads), stores = is_one_of(row.base, kStores);
  if (loads || stores || is_one_of(row.base, kUpdates)) {
    const std::string_view order = match.modifiers.get("order");
    motion.is_fixed =
        !order.empty() && order != "weak" && order != "relaxed" && order != "volatile";
    const uint8_t spaces = spaces_of(row.base, match.modifiers);
    const bool is_ordered = !order.empty() && order != "weak";
    const bool is_constant = match.modifiers.has("nc");
    if (!stores && !is_constant) motion.reads = spaces;
    if (!loads || is_ordered) motion.writes = spaces;
    motion.is_plain_access = row.base == "ld" || row.base == "st";
    if (!stores && (spaces & kSharedSpace) != 0 && spaces != kAllSpaces)
      motion.loads_from = LoadedFrom::shared_memory;
    else if (!stores && (spaces & kGlobalSpace) != 0)
      motion.loads_from = LoadedFrom::device_memory;
    return motion;
  }
  if (meets || !runs_ahead(row.effect(match.modifiers))) motion.reads = motion.writes = kAllSpaces;
  motion.uses_carry = uses_carry_flag(opcode);
  return motion;
}

}  // namespace bw::sim
