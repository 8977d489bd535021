/// \file
/// tcgen05.commit and tcgen05.fence.
#include <algorithm>
#include <bit>
#include <string>

#include <fmt/core.h>

#include "common/simulator/base/text.hpp"
#include "common/simulator/clock/costs.hpp"
#include "common/simulator/machine/address_space.hpp"
#include "common/simulator/machine/kernel.hpp"
#include "common/simulator/units/families.hpp"
#include "common/simulator/units/synchronisation/mbarrier.hpp"
#include "common/simulator/units/tensor_core/tcgen05_forms.hpp"
#include "common/simulator/units/tensor_core/tensor_core.hpp"
#include "common/simulator/units/tensor_core/tensor_memory.hpp"
#include "common/simulator/units/units.hpp"

namespace bw::sim::tcgen05 {
namespace {

constexpr size_t kMbarrierBytes = 8;
constexpr uint8_t kCommitGroupFlags = 3, kClusterFlag = 4, kMulticastFlag = 8;

/// Every lane that executes a commit arrives: more of them than a phase takes can only be a
/// mistake, even if they fall into phases that no thread has begun yet.
void check_lanes(const Strand& strand, const Instruction& i, LaneMask active,
                 const SharedPlace& place) {
  const auto lanes = static_cast<uint32_t>(std::popcount(active));
  if (lanes == 1) return;
  const Mbarrier* const barrier = units_of(*place.cta).mbarriers.find(place.offset_bytes);
  if (barrier == nullptr || barrier->expected >= lanes) return;
  const TensorCore& core = units_of(strand).tensor_core;
  uint32_t idle = 0;
  for (const int lane : lanes_of(active))
    if (core.completion(strand.thread_index(lane)) == 0) ++idle;
  Site{strand, i, active}.fault(
      {.code = FaultCode::tcgen05_commit_lanes,
       .what = fmt::format("{} lanes execute tcgen05.commit on the mbarrier {}, whose phases take "
                           "{}; {} of the lanes {} issued nothing that it could wait for",
                           lanes, strand.cluster->kernel().describe_shared(place.offset_bytes),
                           counted(barrier->expected, "arrival"), idle, idle == 1 ? "has" : "have"),
       .rule = "tcgen05.commit arrives once for each thread that executes it, and tracks what this "
               "thread has issued; with nothing outstanding it arrives at once",
       .fix = "let the one elected thread that has issued the operations commit as well"});
}

/// Arrives on the mbarrier at the same place in every CTA of the mask, when all that the thread has
/// issued is complete (at once when nothing is outstanding).
Flow execute_commit(Strand& strand, const Instruction& i, LaneMask active) {
  Cta& cta = *strand.cta;
  Cluster& cluster = *strand.cluster;
  units_of(cta).tensor_memory.require_group(strand, i, active, i.flags & kCommitGroupFlags);
  for (const int lane : lanes_of(active)) {
    const uint64_t address = lane_address(strand, i.operands[0], i.immediate, lane);
    const AddressSpace space =
        (i.flags & kClusterFlag) != 0 ? AddressSpace::shared_cluster : AddressSpace::generic;
    const SharedPlace place =
        resolve_shared({strand, i, lane_bit(lane)}, space, address, kMbarrierBytes, kMbarrierBytes);
    if (lane == lowest_lane(active)) check_lanes(strand, i, active, place);
    uint32_t targets = 1u << place.cta->rank;
    if ((i.flags & kMulticastFlag) != 0) {
      targets = static_cast<uint32_t>(strand.value(i.operands[1], lane)) & 0xffffu;
      if (targets == 0 || targets >> cluster.size() != 0)
        Site{strand, i, lane_bit(lane)}.fault(
            {.code = FaultCode::cta_mask,
             .what = fmt::format("the CTA mask {} of a cluster of {} names {}", targets,
                                 counted(cluster.size(), "CTA"),
                                 targets == 0 ? "no CTA" : "CTAs that do not exist"),
             .rule = "bit r of ctaMask names the CTA with rank r",
             .fix = "set only bits below the cluster's size, at least one"});
    }
    const Cycle done =
        std::max(strand.time, units_of(cta).tensor_core.completion(strand.thread_index(lane)));
    const Strand* const issuer = &strand;
    const Instruction* const instruction = &i;
    uint64_t id = kNoOperation;
    if (cluster.observed(EventKind::group)) {
      if (cluster.observed(EventKind::order)) id = cluster.next_operation();
      GroupEvent event;
      event.unit = GroupEvent::Unit::tensor_core;
      event.origin = strand.origin(i, lane_bit(lane));
      event.cycle = strand.time;
      event.targets = targets;
      event.offset_bytes = place.offset_bytes;
      event.completion = done;
      event.id = id;
      cluster.notify(&Observer::on_group, event);
    }
    cluster.at(done, [&cluster, &cta, issuer, instruction, targets, lane, id,
                      offset = place.offset_bytes](Cycle now) {
      units_of(cta).tensor_core.complete_until(now);
      for (uint32_t rest_of_targets = targets; rest_of_targets != 0;
           rest_of_targets &= rest_of_targets - 1) {
        const auto rank = static_cast<uint32_t>(lowest_lane(rest_of_targets));
        units_of(cluster.cta(rank))
            .mbarriers.arrive({offset, now, *issuer, *instruction, lane_bit(lane), id}, 1);
      }
    });
  }
  return Flow::next;
}

/// Orders other instructions only; the strands of this machine run in order of time anyway.
Flow execute_fence(Strand& strand, const Instruction& i, LaneMask) {
  if (strand.cluster->observed(EventKind::fence))
    strand.cluster->notify(&Observer::on_fence, FenceEvent{static_cast<FenceKind>(i.flags),
                                                           strand.origin(i), strand.time});
  return Flow::next;
}

void bind_commit(Binder& binder) {
  const bool multicast = binder.modifiers.has("multicast::cluster");
  binder.expect_count(multicast ? 2 : 1, multicast ? 2 : 1);
  binder.address(binder.ptx_operand(0));
  if (multicast) binder.source_value(binder.ptx_operand(1), ptx::ScalarType::b16);
  binder.out.flags = static_cast<uint8_t>(cta_group_of(binder));
  if (binder.modifiers.has("shared::cluster")) binder.out.flags |= kClusterFlag;
  if (multicast) binder.out.flags |= kMulticastFlag;
  binder.out.execute = execute_commit;
}

template <FenceKind kind>
void bind_fence(Binder& binder) {
  binder.expect_count(0, 0);
  binder.out.flags = static_cast<uint8_t>(kind);
  binder.out.execute = execute_fence;
}

template <FenceKind kind>
constexpr InstructionForm fence_row(std::string_view base) {
  return {.base = base,
          .modifiers = "",
          .bind = bind_fence<kind>,
          .effect = Effect::warp,
          .cycles = costs::kFence,
          .section = "tcgen05.fence",
          .destinations = 0,
          .unit = Unit::tensor_core,
          .ordering = Ordering::fence,
          .crossing = Crossing::closed,
          .machines = kOnBlackwell};
}

constexpr InstructionForm kCommitRows[] = {
    {.base = "tcgen05.commit",
     .modifiers = "group=cta_group::1|cta_group::2 mbarrier::arrive::one [shared::cluster] "
                  "[multicast::cluster] b64",
     .bind = bind_commit,
     .effect = Effect::cluster,
     .cycles = costs::kMmaIssue,
     .section = "tcgen05.commit",
     .destinations = 0,
     .unit = Unit::tensor_core,
     .ordering = Ordering::commit,
     .machines = kOnBlackwell},
    fence_row<FenceKind::tcgen05_before_thread_sync>("tcgen05.fence::before_thread_sync"),
    fence_row<FenceKind::tcgen05_after_thread_sync>("tcgen05.fence::after_thread_sync"),
};

}  // namespace

Rows commit_rows() { return kCommitRows; }

}  // namespace bw::sim::tcgen05
