#include "common/simulator/units/synchronisation/warp_sync.hpp"
#include "common/simulator/base/text.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/core.h>

namespace bw::sim {
namespace {

constexpr const char* kRule =
    "the executing thread is in its membermask, and all non-exited threads of a membermask execute "
    "the same instruction with the same membermask";

}  // namespace

void notify_meeting(const Strand& strand, const Instruction& instruction, LaneMask lanes) {
  if (!strand.cluster->observed(EventKind::order)) return;
  strand.cluster->notify(&Observer::on_order,
                         OrderEvent{.operation = OrderEvent::Operation::warp_sync,
                                    .origin = strand.origin(instruction, lanes),
                                    .cycle = strand.time});
}

WarpSync::WarpSync(Cta&) {}
WarpSync::~WarpSync() = default;

WarpSync::Gathering& WarpSync::find_or_add(Strand& strand, const Instruction* key,
                                           LaneMask members) {
  const auto found = std::find_if(gatherings_.begin(), gatherings_.end(), [&](const Gathering& g) {
    return g.warp == strand.warp && g.instruction == key && g.members == members;
  });
  if (found != gatherings_.end()) return *found;
  gatherings_.emplace_back();
  gatherings_.back().warp = strand.warp;
  gatherings_.back().instruction = key;
  gatherings_.back().members = members;
  return gatherings_.back();
}

void WarpSync::check_masks(const Strand& strand, const Instruction& instruction, LaneMask active,
                           const uint32_t* members, LaneMask mask, const Instruction* key) const {
  for (const int lane : lanes_of(active)) {
    const LaneMask bit = lane_bit(lane);
    if (members[lane] == mask && (mask & bit) == 0)
      Site{strand, instruction, bit}.fault(
          {.code = FaultCode::member_mask,
           .what =
               fmt::format("lane {} executes with the member mask {}, which does not contain it",
                           lane, hex_mask(mask)),
           .rule = kRule,
           .fix = "name every executing lane in the mask"});
    if (members[lane] != mask && (mask & bit) != 0)
      Site{strand, instruction, bit}.fault(
          {.code = FaultCode::member_mask,
           .what = fmt::format(
               "lane {} has the member mask {}, but other lanes count on it with the mask {}", lane,
               hex_mask(members[lane]), hex_mask(mask)),
           .rule = kRule,
           .fix = "use the same mask in all lanes that it names"});
  }
  const LaneMask skipping = mask & strand.mask & ~active;
  if (skipping != 0)
    Site{strand, instruction, active}.fault(
        {.code = FaultCode::member_mask,
         .what = "the member mask " + hex_mask(mask) + " names lanes " + hex_mask(skipping) +
                 ", whose guard predicate skips the instruction",
         .rule = kRule,
         .fix = "compute the mask from the lanes that execute, or execute it in all of them"});
  for (const Gathering& other : gatherings_)
    if (other.warp == strand.warp && other.instruction == key && other.members != mask &&
        ((other.arrived & mask) != 0 || (other.members & active & mask) != 0))
      Site{strand, instruction, active}.fault(
          {.code = FaultCode::member_mask,
           .what = "the member mask " + hex_mask(mask) + " overlaps the mask " +
                   hex_mask(other.members) + " with which lanes " + hex_mask(other.arrived) +
                   " wait at the instruction",
           .rule = kRule,
           .fix = "use the same mask in all lanes that it names"});
}

Flow WarpSync::gather(Strand& strand, const Instruction& instruction, LaneMask active,
                      const uint32_t* members, WarpOperation operation, bool any_instruction) {
  const Instruction* const key = any_instruction ? nullptr : &instruction;
  for (LaneMask rest = active; rest != 0;) {
    const LaneMask mask = members[lowest_lane(rest)];
    LaneMask group = 0;
    for (LaneMask more = rest; more != 0; more &= more - 1)
      if (members[lowest_lane(more)] == mask) group |= lane_bit(lowest_lane(more));
    rest &= ~group;
    check_masks(strand, instruction, active, members, mask, key);
    Gathering& gathering = find_or_add(strand, key, mask);
    gathering.operation = operation;
    gathering.latest_instruction = &instruction;
    gathering.arrived |= group;
    gathering.latest = std::max(gathering.latest, strand.time);
    gathering.strands.push_back(&strand);
  }
  complete(*strand.warp, strand.time, &strand);
  if (!waits(&strand)) return Flow::next;
  LaneMask missing = 0;
  for (const Gathering& gathering : gatherings_)
    if (gathering.warp == strand.warp &&
        std::find(gathering.strands.begin(), gathering.strands.end(), &strand) !=
            gathering.strands.end())
      missing |= gathering.members & strand.warp->live & ~gathering.arrived;
  return strand.block(WaitKind::warp_sync, missing, 0);
}

bool WarpSync::waits(const Strand* strand) const {
  return std::any_of(gatherings_.begin(), gatherings_.end(), [&](const Gathering& gathering) {
    return std::find(gathering.strands.begin(), gathering.strands.end(), strand) !=
           gathering.strands.end();
  });
}

void WarpSync::complete(Warp& warp, Cycle time, const Strand* running) {
  std::vector<std::pair<Strand*, Cycle>> released;
  for (size_t i = 0; i < gatherings_.size();) {
    Gathering& gathering = gatherings_[i];
    const LaneMask present = gathering.members & warp.live;
    if (gathering.warp != &warp || (present & ~gathering.arrived) != 0) {
      ++i;
      continue;
    }
    gathering.operation(*gathering.strands.back(), *gathering.latest_instruction, gathering.arrived,
                        gathering.members);
    notify_meeting(*gathering.strands.back(), *gathering.latest_instruction, gathering.arrived);
    for (Strand* const strand : gathering.strands)
      released.emplace_back(strand, std::max(time, gathering.latest));
    gatherings_.erase(gatherings_.begin() + static_cast<std::ptrdiff_t>(i));
  }
  for (const auto& [strand, when] : released) {
    strand->cluster->note_progress();
    if (waits(strand)) continue;
    if (strand == running) {
      strand->time = std::max(strand->time, when);
    } else {
      strand->cluster->wake(*strand, when);
    }
  }
}

void WarpSync::on_lanes_exit(Warp& warp, Cycle time) {
  if (!gatherings_.empty()) complete(warp, time, nullptr);
}

}  // namespace bw::sim
