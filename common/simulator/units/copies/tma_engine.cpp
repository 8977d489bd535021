#include "common/simulator/units/copies/tma_engine.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "common/simulator/base/bits.hpp"
#include "common/simulator/clock/costs.hpp"
#include "common/simulator/machine/address_space.hpp"
#include "common/simulator/units/copies/bulk_groups.hpp"
#include "common/simulator/units/synchronisation/mbarrier.hpp"
#include "common/simulator/units/units.hpp"

namespace bw::sim {
namespace {

/// On hardware the shared memory lives until the copies that use it are done.
void check_alive(const Cta* cta, const Site& site, const char* role, const char* fix) {
  if (cta == nullptr || !cta->exited) return;
  const auto fault = [&] {
    return Fault{.code = FaultCode::copy_outlives_cta,
                 .what = fmt::format("the copy completes after CTA rank {} of its cluster has "
                                     "exited, whose shared memory {}",
                                     cta->rank, role),
                 .rule = "shared memory lives as long as its CTA",
                 .fix = fix,
                 .section = "Shared State Space",
                 .hardware_accepts = true};
  };
  site.fault_at_isa(FaultCode::copy_outlives_cta, fault);
}

void notify(const std::unique_ptr<CopyDescription>& copy, CopyEvent::Stage stage, const Site& site,
            Cycle now) {
  if (copy == nullptr) return;
  site.strand.cluster->notify(
      &Observer::on_copy,
      CopyEvent{stage, site.strand.origin(site.instruction, site.lanes), now, *copy});
}

/// A copy through a tensor map is complete.
void end_map(uint64_t map, const Site& site) {
  if (map != 0) units_of(*site.strand.cluster).tensor_maps.end_copy(site, map);
}

}  // namespace

Cycle TmaEngine::load_latency(const TmaLoad& load, Cycle now) {
  const bool is_between_ctas = load.source != nullptr;
  const Cycle arrives =
      cta_.clock->copies.load({.bytes = load.bytes,
                               .rows = load.rows,
                               .source = is_between_ctas ? load.source->clock.get() : nullptr,
                               .apart_bytes = load.apart_bytes},
                              now);
  const bool to_several = load.destinations.size() != 1;
  // What comes by copies to several CTAs takes the same way into the SM.
  if (!to_several && (is_between_ctas || cta_.cluster->size() == 1)) return arrives - now;
  Cycle written = arrives;
  for (const Cta* const cta : load.destinations)
    written = std::max(written, cta->clock->copies.receive(arrives, load.bytes, to_several));
  return written - now;
}

void TmaEngine::load(TmaLoad load, Cycle now) {
  const Cycle begin = std::max(now, cta_.clock->copies.loads_moved_at());
  const Cycle latency = load_latency(load, now);
  notify(load.description, CopyEvent::Stage::issued, load.site, now);
  auto shared = std::make_shared<TmaLoad>(std::move(load));
  const bool counts = cta_.cluster->costs().has_model() && shared->source == nullptr;
  const Mbarrier::Request request{.at = counts ? begin : kNever, .queued = begin - now};
  cta_.cluster->after(now, latency, [shared, request](Cycle at) {
    constexpr const char* kFix =
        "keep every CTA alive until the copies that use its shared memory are complete: wait on "
        "the "
        "mbarrier, then a cluster barrier before the exit";
    const TmaLoad& done = *shared;
    check_alive(done.source, done.site, "is its source", kFix);
    std::vector<std::byte*> windows;
    windows.reserve(done.destinations.size());
    for (Cta* const cta : done.destinations) {
      check_alive(cta, done.site, "is its destination", kFix);
      windows.push_back(cta->shared.data());
      note_written(done.site, *cta, done.offset_bytes, done.shared_bytes);
    }
    done.move(windows);
    end_map(done.tensor_map, done.site);
    notify(done.description, CopyEvent::Stage::landed, done.site, at);
    done.destinations.front()->cluster->note_progress();
    for (const TmaLoad::Signal& signal : done.signals) {
      check_alive(signal.cta, done.site, "holds its mbarrier", kFix);
      units_of(*signal.cta)
          .mbarriers.complete_tx(
              {signal.offset_bytes, at, done.site.strand, done.site.instruction, done.site.lanes,
               done.description != nullptr ? done.description->id : kNoOperation},
              signal.bytes, request);
    }
  });
}

void TmaEngine::store(TmaStore store, Cycle now) {
  const Cycle latency = cta_.clock->copies.store(store.bytes, store.rows, now) - now;
  struct InFlight {
    TmaStore store;
    std::vector<std::byte> staged;
  };
  notify(store.description, CopyEvent::Stage::issued, store.site, now);
  auto in_flight = std::make_shared<InFlight>(InFlight{std::move(store), {}});
  Cta* const cta = &cta_;
  cta_.cluster->after(now, latency, [in_flight, cta](Cycle read_time) {
    check_alive(cta, in_flight->store.site, "is its source",
                "wait for the copy before the exit: cp.async.bulk.commit_group, then "
                "cp.async.bulk.wait_group.read 0 in the issuing thread");
    in_flight->store.read(cta->shared.data(), in_flight->staged);
    notify(in_flight->store.description, CopyEvent::Stage::read, in_flight->store.site, read_time);
    for (const AsyncGroups::Ticket& ticket : in_flight->store.tickets)
      units_of(*cta).bulk_groups.finish(ticket, AsyncGroups::Stage::read, read_time);
    Action write = [in_flight, cta](Cycle write_time) {
      in_flight->store.write(in_flight->staged);
      end_map(in_flight->store.tensor_map, in_flight->store.site);
      notify(in_flight->store.description, CopyEvent::Stage::landed, in_flight->store.site,
             write_time);
      for (const AsyncGroups::Ticket& ticket : in_flight->store.tickets)
        units_of(*cta).bulk_groups.finish(ticket, AsyncGroups::Stage::write, write_time);
    };
    const Cycle write_latency = cta->cluster->costs().copy_written();
    if (in_flight->store.ordered)
      cta->cluster->in_global_order(read_time, write_latency, std::move(write));
    else
      cta->cluster->after(read_time, write_latency, std::move(write));
  });
}

}  // namespace bw::sim
