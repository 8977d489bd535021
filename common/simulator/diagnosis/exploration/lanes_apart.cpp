#include "common/simulator/diagnosis/exploration/sync_program.hpp"

#include <array>
#include <bit>
#include <map>
#include <utility>
#include <vector>

namespace bw::sim::exploration {
namespace {

/// A warp: its CTA's rank and its number there.
using Warp = std::pair<uint16_t, uint16_t>;

Warp warp_of(const Step& step) { return {step.origin.cta_rank, step.origin.warp}; }

/// The lanes of each warp, in parties that take part in the same steps. A warp that is one party
/// becomes two, since a lane can be late although all do the same.
std::map<Warp, std::vector<LaneMask>> parties_of(const SyncProgram& program) {
  std::map<Warp, std::array<std::vector<uint32_t>, kWarpLanes>> steps_of_lane;
  for (uint32_t index = 0; index < program.steps.size(); ++index) {
    const Step& step = program.steps[index];
    if (step.later) continue;
    auto& lanes = steps_of_lane[warp_of(step)];
    for (const int lane : lanes_of(step.origin.lanes))
      lanes[static_cast<size_t>(lane)].push_back(index);
  }
  std::map<Warp, std::vector<LaneMask>> parties;
  for (const auto& [warp, steps] : steps_of_lane) {
    std::map<std::vector<uint32_t>, LaneMask> alike;
    for (int lane = 0; lane < kWarpLanes; ++lane)
      alike[steps[static_cast<size_t>(lane)]] |= lane_bit(lane);
    alike.erase(std::vector<uint32_t>{});  // these lanes synchronise with no other thread
    std::vector<LaneMask>& found = parties[warp];
    for (const auto& [same, lanes] : alike) found.push_back(lanes);
    if (found.size() != 1) continue;
    const LaneMask first = lane_bit(lowest_lane(found[0]));
    if (const LaneMask others = found[0] & ~first; others != 0) found = {first, others};
  }
  return parties;
}

/// Whether the lanes of a step are together in it.
bool is_meeting(const SyncProgram& program, const Step& step) {
  return step.action == Action::join || step.action == Action::init ||
         !program.objects[step.object].is_mbarrier;
}

/// The part of a step that some of its lanes do.
Step part_of(const Step& step, LaneMask lanes) {
  Step part = step;
  part.origin.lanes = lanes;
  part.amount = step.amount * std::popcount(lanes) / std::popcount(step.origin.lanes);
  part.after.clear();
  return part;
}

}  // namespace

SyncProgram lanes_apart(const SyncProgram& program) {
  const std::map<Warp, std::vector<LaneMask>> parties = parties_of(program);
  SyncProgram apart;
  apart.objects = program.objects;
  std::vector<std::vector<uint32_t>> parts(program.steps.size());  // of each step, in `apart`
  for (size_t index = 0; index < program.steps.size(); ++index) {
    const Step& step = program.steps[index];
    std::vector<LaneMask> pieces;
    if (step.later || is_meeting(program, step))
      pieces = {step.origin.lanes};
    else
      for (const LaneMask party : parties.at(warp_of(step)))
        if ((party & step.origin.lanes) != 0) pieces.push_back(party & step.origin.lanes);
    for (const LaneMask lanes : pieces) {
      Step part = part_of(step, lanes);
      for (const uint32_t before : step.after)
        for (const uint32_t earlier : parts[before]) {
          const Step& other = apart.steps[earlier];
          const bool is_own_past = !other.later && warp_of(other) == warp_of(step);
          if (!is_own_past || (other.origin.lanes & lanes) != 0) part.after.push_back(earlier);
        }
      parts[index].push_back(static_cast<uint32_t>(apart.steps.size()));
      apart.steps.push_back(std::move(part));
    }
  }
  return apart;
}

}  // namespace bw::sim::exploration
