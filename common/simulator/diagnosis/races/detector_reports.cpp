/// \file
/// What is missing between two accesses, and the report that says it.
#include <string>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "common/simulator/diagnosis/races/detector_state.hpp"
#include "common/simulator/machine/kernel.hpp"

namespace bw::sim::races {

std::string Detector::mbarrier_name(uint32_t cta_rank, uint32_t offset_bytes) const {
  return "the mbarrier " + shared_name(cta_rank, offset_bytes);
}

std::string Detector::shared_name(uint32_t cta_rank, uint64_t offset_bytes) const {
  std::string name = cluster_.kernel().describe_shared(static_cast<uint32_t>(offset_bytes));
  if (shared_.size() > 1) name += fmt::format(" of CTA rank {}", cta_rank);
  return name;
}

const char* Detector::operation_name(const Origin& origin) const {
  return cluster_.kernel().form(*origin.instruction).operation_name();
}

bool Detector::begins(const Accessor& accessor, Unit unit) const {
  const InstructionForm& form = cluster_.kernel().form(*accessor.instruction);
  return form.unit == unit && form.lifetime == Lifetime::begins;
}

Missing Detector::missing_between(const Conflict& conflict, const Touch& touch) {
  const Accessor& earlier = accessors_[conflict.earlier.number()];
  const Accessor& later = *touch.accessor;
  if (lack_one_proxy(earlier, later)) return Missing::one_proxy;
  const LaneMask earlier_lane = conflict.earlier_lane < 0 ? 0 : lane_bit(conflict.earlier_lane);
  const auto knows = [&](const VectorClock& clock) {
    return earlier.is_async
               ? clock.knows_chain(earlier.agent, conflict.earlier.clock)
               : clock.knows_lanes(earlier.agent, earlier_lane, conflict.earlier.clock);
  };
  const bool is_own = !earlier.is_async && earlier.agent == touch.warp &&
                      earlier_lane == touch.lanes && later.is_async;
  if (is_own || (touch.view != nullptr && knows(touch.view->generic))) return Missing::proxy_fence;
  bool too_narrow = false, relaxed = false;
  const Origin origin{later.instruction, later.cta_rank, later.warp,
                      conflict.lane < 0 ? touch.lanes : lane_bit(conflict.lane)};
  threads_.for_groups(origin, [&](LaneMask, const LaneGroup& group) {
    too_narrow = too_narrow || knows(group.unordered().too_narrow.generic);
    relaxed = relaxed || knows(group.unordered().relaxed.generic);
  });
  if (allocates(earlier) || allocates(later)) return Missing::address_word;
  // The init comes after a use that found no object.
  if (std::string_view(earlier.unit) == kMbarrierUnit && begins(later, Unit::mbarrier))
    return Missing::init_order;
  if (too_narrow) return Missing::wider_scope;
  if (relaxed) return Missing::release_acquire;
  if (earlier.is_async) return earlier.writes ? Missing::completion : Missing::source_free;
  if (earlier.agent == touch.warp) return Missing::warp_order;
  // One lane has handed it on for its warp, or has waited for it: the warp did not meet.
  bool other_lanes = touch.view != nullptr &&
                     touch.view->generic.lanes_known(earlier.agent, conflict.earlier.clock) != 0;
  const Origin warp{later.instruction, later.cta_rank, later.warp, kAllLanes};
  threads_.for_groups(warp, [&](LaneMask, const LaneGroup& group) {
    other_lanes = other_lanes || knows(group.view.generic);
  });
  if (other_lanes) return Missing::warp_order;
  return earlier.cta_rank == later.cta_rank ? Missing::order : Missing::cluster_order;
}

bool Detector::sees(const Conflict& conflict, const Touch& touch) {
  const Accessor& earlier = accessors_[conflict.earlier.number()];
  const LaneMask earlier_lane = conflict.earlier_lane < 0 ? 0 : lane_bit(conflict.earlier_lane);
  // The lanes of a thread's touch know the same.
  const Origin origin{touch.accessor->instruction, touch.accessor->cta_rank, touch.accessor->warp,
                      touch.lanes};
  bool is_seen = false;
  threads_.for_groups(origin, [&](LaneMask, const LaneGroup& group) {
    is_seen = is_seen || group.unordered().relaxed.generic.knows_lanes(earlier.agent, earlier_lane,
                                                                       conflict.earlier.clock);
  });
  return is_seen;
}

Weight Detector::weight_of(Missing missing, const Accessor& earlier, const Accessor& later) const {
  if (store_same_value(earlier, later)) return Weight::same_value;
  // Volatile data alone is exchanged as hardware exchanges words; a hand-over that lacks its fence
  // is a fault there too.
  const bool exchanges = earlier.is_volatile && later.is_volatile &&
                         missing != Missing::release_acquire && missing != Missing::wider_scope;
  if (missing == Missing::address_word || missing == Missing::one_proxy || exchanges)
    return Weight::isa_only;
  // Proven kernels let the async proxy overwrite what threads have read, ordered by a barrier
  // alone.
  if (missing == Missing::proxy_fence && !earlier.writes) return Weight::letter;
  // The lanes of a warp that initialise an mbarrier together write one object.
  if (missing == Missing::warp_order && earlier.instruction == later.instruction &&
      begins(earlier, Unit::mbarrier))
    return Weight::letter;
  return Weight::fault;
}

bool Detector::is_through(const Conflict& conflict, const Touch& touch) {
  const Accessor& earlier = accessors_[conflict.earlier.number()];
  const LaneMask lanes = conflict.earlier_lane < 0 ? 0 : lane_bit(conflict.earlier_lane);
  const auto knows = [&](const View& view) {
    return earlier.is_async
               ? view.generic.knows_chain(earlier.agent, conflict.earlier.clock) ||
                     view.performed.knows_chain(earlier.agent, conflict.earlier.clock)
               : view.generic.knows_lanes(earlier.agent, lanes, conflict.earlier.clock);
  };
  bool is_known = touch.view != nullptr && knows(*touch.view);
  const Origin origin{touch.accessor->instruction, touch.accessor->cta_rank, touch.accessor->warp,
                      conflict.lane < 0 ? touch.lanes : lane_bit(conflict.lane)};
  threads_.for_groups(origin, [&](LaneMask, const LaneGroup& group) {
    const Unordered& unordered = group.unordered();
    for (const View* const view : {&group.view, &unordered.too_narrow, &unordered.relaxed,
                                   &unordered.seen, &unordered.seen_wide})
      is_known = is_known || knows(*view);
  });
  return is_known;
}

void Detector::report_end(const Cta& cta, const Accessor& accessor, LaneMask lanes,
                          uint64_t address, uint32_t bytes) {
  // On hardware the memory stays until asynchronous operations are done, and stores may come late.
  const bool hardware_accepts = accessor.is_async || accessor.writes;
  if (hardware_accepts && !cluster_.at_isa_level()) return;
  const Weight weight = hardware_accepts ? Weight::isa_only : Weight::fault;
  add_finding(Missing::cta_end, weight, accessor.instruction, nullptr, [&] {
    Finding finding;
    finding.missing = Missing::cta_end;
    finding.earlier = describe_side(cluster_, accessor, lanes);
    finding.later.accessor.writes = true;
    finding.later.accessor.cta_rank = static_cast<uint16_t>(cta.rank);
    finding.later.unit = "end of the CTA";
    finding.later.place = finding.later.line =
        fmt::format("the end of CTA ({},{},{})", cta.index.x, cta.index.y, cta.index.z);
    if (shared_.size() > 1) finding.later.place += fmt::format(", rank {}", cta.rank);
    finding.memory = fmt::format("{} byte{} of shared memory at {}", bytes, bytes == 1 ? "" : "s",
                                 shared_name(cta.rank, address));
    if (accessor.is_async && accessor.cta_rank == cta.rank)
      finding.fix = "let a thread of the CTA wait for the operation of {first} before it ends";
    return finding;
  });
}

void Detector::report(const Conflict& conflict, const Touch& touch, uint32_t cta_rank) {
  const Accessor& earlier = accessors_[conflict.earlier.number()];
  // A copy that runs into a live mbarrier is a fault of its own when it lands.
  if (touch.accessor->is_async && touch.accessor->writes && begins(earlier, Unit::mbarrier) &&
      state_->barrier(static_cast<uint16_t>(cta_rank),
                      static_cast<uint32_t>(conflict.address) & ~(sizeof(uint64_t) - 1)) != nullptr)
    return;
  const bool is_wait = std::string_view(earlier.unit) == kWaitUnit;
  const bool is_use = is_wait || std::string_view(earlier.unit) == kArrivalUnit;
  // Uses of an mbarrier are atomic towards each other, by whatever proxy.
  if (is_use && (are_strong_in_scope(earlier, *touch.accessor) || is_through(conflict, touch)))
    return;
  const bool exchanges_volatile = earlier.is_volatile && touch.accessor->is_volatile;
  // Writes that strong reads have seen precede the thread's later accesses to volatile data.
  if (exchanges_volatile && sees(conflict, touch)) return;
  const Missing missing = is_use ? Missing::barrier_end : missing_between(conflict, touch);
  std::string edge, fix;
  if (is_wait) {
    edge = "nothing shows that the wait has returned";
    fix =
        "put a barrier that the waiting threads reach after {first} (or an arrival of theirs that "
        "is waited for) before {second}";
  }
  if (missing == Missing::release_acquire && !earlier.is_async &&
      state_->cp_async_arrivers.contains(earlier.agent)) {
    edge = "cp.async.mbarrier.arrive hands on its thread's copies, but not its stores";
    fix =
        "let cp.async write these bytes too (a source size of 0 fills with zeros), or execute "
        "mbarrier.arrive after {first} as a separate arrival";
  }
  if (missing == Missing::address_word && allocates(*touch.accessor))
    fix =
        "after {second} and before {first}, put a barrier that the allocating warp and the reader "
        "both reach (__syncthreads where all threads of the CTA pass, else a named barrier or an "
        "mbarrier)";
  if (missing == Missing::init_order)
    fix =
        "put a barrier of the CTA (or of the cluster) after {second}, and let all threads that use "
        "the mbarrier pass it first";
  if (are_of_two_lanes(earlier, conflict.earlier.lanes, *touch.accessor, touch.lanes))
    fix = kElectFix;
  if (missing == Missing::warp_order && earlier.agent != touch.warp) {
    edge = kOneLaneEdge;
    fix = kOneLaneFix;
  }
  report(missing, earlier, conflict.earlier_lane < 0 ? 0 : lane_bit(conflict.earlier_lane),
         *touch.accessor, conflict.lane < 0 ? touch.lanes : lane_bit(conflict.lane),
         fmt::format("{} byte{} of shared memory at {}", conflict.bytes,
                     conflict.bytes == 1 ? "" : "s", shared_name(cta_rank, conflict.address)),
         weight_of(missing, earlier, *touch.accessor), std::move(edge), std::move(fix));
}

void Detector::report(Missing missing, const Accessor& earlier, LaneMask earlier_lanes,
                      const Accessor& later, LaneMask later_lanes, std::string memory,
                      Weight weight, std::string edge, std::string fix) {
  add_finding(missing, weight, earlier.instruction, later.instruction, [&] {
    Finding finding;
    finding.missing = missing;
    finding.earlier = describe_side(cluster_, earlier, earlier_lanes);
    finding.later = describe_side(cluster_, later, later_lanes);
    finding.memory = std::move(memory);
    finding.edge = std::move(edge);
    finding.fix = std::move(fix);
    return finding;
  });
}

}  // namespace bw::sim::races
