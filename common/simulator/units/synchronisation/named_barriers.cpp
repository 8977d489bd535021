#include "common/simulator/units/synchronisation/named_barriers.hpp"

#include <algorithm>
#include <bit>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "common/simulator/clock/costs.hpp"
#include "common/simulator/machine/kernel.hpp"

namespace bw::sim {
namespace {

constexpr uint32_t kThreadsPerWarp = kWarpLanes;

std::string barrier_name(uint32_t id) { return fmt::format("barrier {}", id); }

void write_result(const NamedBarrier& barrier, const Strand& strand, const Operand& result,
                  LaneMask lanes) {
  switch (barrier.operation) {
    case BarrierOperation::red_popc:
      for (const int lane : lanes_of(lanes)) strand.set_value(result, lane, barrier.votes);
      break;
    case BarrierOperation::red_and:
      strand.set_predicate(result, lanes, barrier.votes == barrier.voters ? kAllLanes : 0);
      break;
    case BarrierOperation::red_or:
      strand.set_predicate(result, lanes, barrier.votes != 0 ? kAllLanes : 0);
      break;
    case BarrierOperation::sync:
    case BarrierOperation::arrive:
      break;
  }
}

/// A line for each warp that has arrived.
std::vector<std::string> arrivals(const Cluster& cluster,
                                  const std::vector<NamedBarrier::Arrival>& warps,
                                  const char* role) {
  std::vector<std::string> lines;
  constexpr size_t kMostListed = 8;
  for (size_t warp = 0; warp < warps.size(); ++warp) {
    const NamedBarrier::Arrival& arrival = warps[warp];
    if (arrival.lanes == 0 || lines.size() == kMostListed) continue;
    const Kernel& kernel = cluster.kernel();
    lines.push_back(
        fmt::format("{}: warp {} at {}", role, warp,
                    kernel.module().ptx().describe_location(kernel.source(*arrival.instruction))));
  }
  return lines;
}

constexpr bool is_reduction(BarrierOperation operation) {
  return operation != BarrierOperation::sync && operation != BarrierOperation::arrive;
}

}  // namespace

NamedBarriers::NamedBarriers(Cta& cta) : cta_(cta) {}
NamedBarriers::~NamedBarriers() = default;

void NamedBarriers::check(const Strand& strand, const Instruction& instruction, LaneMask lanes,
                          const BarrierRequest& request) const {
  const Site site{strand, instruction, lanes};
  if (request.id >= kNamedBarriers) {
    site.fault({.code = FaultCode::barrier_id,
                .what = fmt::format("barrier id {}", request.id),
                .rule = "a CTA has sixteen barriers, numbered 0 to 15",
                .fix = "use an id of 0 to 15"});
  }
  const auto cta_threads = static_cast<uint32_t>(cta_.warps.size()) * kThreadsPerWarp;
  if (request.has_count) {
    if (request.threads == 0 || request.threads % kThreadsPerWarp != 0) {
      site.fault({.code = FaultCode::barrier_thread_count,
                  .what = fmt::format("{} with a thread count of {}", barrier_name(request.id),
                                      request.threads),
                  .rule = "the thread count is a multiple of the warp size and not 0",
                  .fix = "count whole warps: 32 times the number of warps that take part"});
    }
    if (request.threads > cta_threads) {
      site.fault(
          {.code = FaultCode::barrier_thread_count,
           .what = fmt::format("{} expects {} threads, but the CTA has only {} (whole warps)",
                               barrier_name(request.id), request.threads, cta_threads),
           .rule = "the barrier completes when that many threads of the CTA have arrived",
           .fix = "make the count the number of threads that take part"});
    }
  }
  const NamedBarrier& barrier = barriers_[request.id];
  check_knows_last_phase(site, barrier);
  if (!barrier.active) return;
  const auto participants = [&] { return arrivals(*cta_.cluster, barrier.warps, "arrived"); };
  const uint32_t expected = request.has_count ? request.threads : cta_threads;
  if (expected != barrier.threads) {
    site.fault({.code = FaultCode::barrier_counts_differ,
                .what = fmt::format("{} for {} threads, but its participants so far expect {}",
                                    barrier_name(request.id), expected, barrier.threads),
                .rule = "all participants of a barrier give the same thread count",
                .fix = "use one count for this barrier, or another id for another group of warps "
                       "(id 0 is what "
                       "__syncthreads uses)",
                .details = participants()});
  }
  if (barrier.reduction != is_reduction(request.operation) ||
      (barrier.reduction && barrier.operation != request.operation)) {
    site.fault({.code = FaultCode::barrier_reduction_mixed,
                .what = barrier_name(request.id) +
                        " is used for a reduction and for another operation in the same phase",
                .rule = "barrier.red must not be mixed with sync, arrive or another reduction on "
                        "an active barrier",
                .fix = "use another barrier id for one of them",
                .details = participants()});
  }
  const NamedBarrier::Arrival& own = barrier.warps[strand.warp->index];
  if ((own.lanes & lanes) != 0) {
    site.fault(
        {.code = FaultCode::barrier_arrived_twice,
         .what = fmt::format("warp {} arrives at {} a second time before the barrier has completed "
                             "({} of {} threads have arrived)",
                             strand.warp->index, barrier_name(request.id),
                             barrier.arrived_warps * kThreadsPerWarp, barrier.threads),
         .rule = "a warp must not execute more barrier instructions on a barrier than intended "
                 "before it "
                 "is reset",
         .fix =
             "after an arrive, wait for the barrier's completion (through another barrier) before "
             "using it again",
         .details = participants()});
  }
}

void NamedBarriers::check_knows_last_phase(const Site& site, const NamedBarrier& barrier) const {
  const Warp& warp = *site.strand.warp;
  if (barrier.phase == 0 || warp.last_acquire >= barrier.completed_at) return;
  if (site.strand.cluster->settings().checks != Checks::contract)
    return;  // or the detector says it
  if (warp.index < barrier.last_warps.size() && barrier.last_warps[warp.index].waits) return;
  site.fault(
      {.code = FaultCode::barrier_shared,
       .what =
           fmt::format("warp {} arrives at {} and has not synchronised with other warps since "
                       "they completed phase {}: this arrival could as well have fallen into "
                       "that phase",
                       warp.index, barrier_name(static_cast<uint32_t>(&barrier - barriers_.data())),
                       barrier.phase - 1),
       .rule = "a thread uses a barrier again only after the completion of its last phase",
       .fix = "give the two groups of warps barriers of their own (__syncthreads takes barrier "
              "0), or order this arrival after the completion of the previous phase",
       .details = arrivals(*cta_.cluster, barrier.last_warps, "arrived in the previous phase")});
}

void NamedBarriers::warp_arrived(NamedBarrier& barrier, NamedBarrier::Arrival& arrival) {
  arrival.complete = true;
  ++barrier.arrived_warps;
}

bool NamedBarriers::is_complete(const NamedBarrier& barrier) const {
  if (!barrier.whole_cta) return barrier.arrived_warps * kThreadsPerWarp >= barrier.threads;
  for (const Warp& warp : cta_.warps)
    if (warp.live != 0 && !barrier.warps[warp.index].complete) return false;
  return true;
}

void NamedBarriers::notify(const NamedBarrier& barrier, const Origin& origin, Cycle now,
                           bool completes, bool waits) const {
  if (!cta_.cluster->observed(EventKind::barrier)) return;
  BarrierEvent event;
  event.origin = origin;
  event.cycle = now;
  event.completes = completes;
  event.waits = waits;
  event.id = static_cast<uint32_t>(&barrier - barriers_.data());
  event.threads = barrier.threads;
  event.phase = barrier.phase;
  cta_.cluster->notify(&Observer::on_barrier, event);
}

void NamedBarriers::complete(NamedBarrier& barrier, const Origin& last, Cycle now) {
  notify(barrier, last, now, true, false);
  const Cycle release = cta_.clock->named_barriers.release(now, barrier.arrived_warps);
  for (const NamedBarrier::Waiter& waiter : barrier.waiters) {
    if (waiter.result != nullptr)
      write_result(barrier, *waiter.strand, *waiter.result, waiter.lanes);
    if (waiter.strand->suspended && waiter.strand->wait_token == waiter.wait_token)
      cta_.cluster->wake(*waiter.strand, release);
  }
  barrier.waiters.clear();
  barrier.completed_at = now;
  std::swap(barrier.last_warps, barrier.warps);
  barrier.warps.assign(cta_.warps.size(), {});
  barrier.active = false;
  barrier.whole_cta = false;
  barrier.reduction = false;
  barrier.arrived_warps = 0;
  barrier.votes = 0;
  barrier.voters = 0;
  ++barrier.phase;
}

Flow NamedBarriers::execute(Strand& strand, const Instruction& instruction, LaneMask lanes,
                            const BarrierRequest& request) {
  check(strand, instruction, lanes, request);
  NamedBarrier& barrier = barriers_[request.id];
  if (!barrier.active) {
    barrier.active = true;
    barrier.reduction = is_reduction(request.operation);
    barrier.operation = request.operation;
    barrier.threads = request.has_count
                          ? request.threads
                          : static_cast<uint32_t>(cta_.warps.size()) * kThreadsPerWarp;
    barrier.warps.resize(cta_.warps.size());
  }
  // One participant that means the whole CTA makes the barrier wait for live warps only.
  barrier.whole_cta = barrier.whole_cta || !request.has_count;
  const Warp& warp = *strand.warp;
  NamedBarrier::Arrival& arrival = barrier.warps[warp.index];
  arrival.lanes |= lanes;
  arrival.instruction = &instruction;
  arrival.waits = arrival.waits || request.operation != BarrierOperation::arrive;
  barrier.votes += static_cast<uint32_t>(std::popcount(request.predicate & lanes));
  barrier.voters += static_cast<uint32_t>(std::popcount(lanes));
  cta_.cluster->note_progress();
  const Origin origin = strand.origin(instruction, lanes);
  notify(barrier, origin, strand.time, false, request.operation != BarrierOperation::arrive);
  if ((warp.live & ~arrival.lanes) == 0) warp_arrived(barrier, arrival);
  NamedBarrierTimes& times = cta_.clock->named_barriers;
  times.arrive(strand.time);
  if (is_complete(barrier)) {
    const NamedBarrier finished = barrier.reduction ? barrier : NamedBarrier{};
    const Cycle release = times.release_of_last(strand.time, barrier.arrived_warps);
    complete(barrier, origin, strand.time);
    if (request.operation != BarrierOperation::arrive) strand.time = release;
    if (request.result != nullptr) write_result(finished, strand, *request.result, lanes);
    if (arrival.waits) strand.warp->last_acquire = strand.time;
    return Flow::next;
  }
  if (request.operation == BarrierOperation::arrive) return Flow::next;
  const Flow flow = strand.block(WaitKind::named_barrier, request.id, barrier.threads);
  barrier.waiters.push_back({&strand, strand.wait_token, request.result, lanes});
  return flow;
}

void NamedBarriers::on_lanes_exit(Warp& warp, Cycle now) {
  for (NamedBarrier& barrier : barriers_) {
    if (!barrier.active) continue;
    NamedBarrier::Arrival& arrival = barrier.warps[warp.index];
    if (!arrival.complete && arrival.lanes != 0 && (warp.live & ~arrival.lanes) == 0)
      warp_arrived(barrier, arrival);
    if (is_complete(barrier))
      complete(barrier,
               {nullptr, static_cast<uint16_t>(cta_.rank), static_cast<uint16_t>(warp.index), 0},
               now);
  }
}

}  // namespace bw::sim
