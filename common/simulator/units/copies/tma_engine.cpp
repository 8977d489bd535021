#include "common/simulator/units/copies/tma_engine.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "common/simulator/base/bits.hpp"
#include "common/simulator/machine/costs.hpp"
#include "common/simulator/units/copies/bulk_groups.hpp"
#include "common/simulator/units/synchronisation/mbarrier.hpp"
#include "common/simulator/units/units.hpp"

namespace bw::sim {
namespace {

constexpr Cycle kBytesPerKb = 1024;
/// From reading shared memory to the write being visible; taken as a trip to L2.
constexpr Cycle kStoreWriteLatency = costs::kGlobalLoad;

Cycle occupancy(uint32_t bytes, Cycle cycles_per_kb) {
  return ceil_div(bytes * cycles_per_kb, kBytesPerKb);
}

// A row of a box of many bytes: what the published law of a B200 counts.
constexpr uint32_t kWideRowBytes = 512;
constexpr uint32_t kMostWideRows = 2;

/// What the engine takes for a copy's bytes, or for its rows where they are short.
Cycle moving_cycles(uint32_t bytes, double bytes_per_cycle, const CopyRows& rows,
                    const TimingTable& times) {
  return static_cast<Cycle>(std::max(bytes / bytes_per_cycle, rows.rows * times.tma_row_cycles));
}

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

void tell(const std::unique_ptr<CopyDescription>& copy, CopyEvent::Stage stage, const Site& site,
          Cycle now) {
  if (copy == nullptr) return;
  site.strand.cluster->tell(
      &Observer::on_copy,
      CopyEvent{stage, site.strand.origin(site.instruction, site.lanes), now, *copy});
}

/// A copy through a tensor map is complete.
void end_map(uint64_t map, const Site& site) {
  if (map != 0) units_of(*site.strand.cluster).tensor_maps.end_copy(site, map);
}

/// What the bytes that a CTA sends to another one take longer, because lines of where they lie are
/// not lines of where they come to.
double cycles_apart(const TmaLoad& load, const TimingTable& times) {
  constexpr uint32_t kHalf = kSharedPassBytes / 2, kLeast = 16;
  if (load.apart_bytes % kHalf == 0) return 0;
  const bool is_worst = load.apart_bytes == kHalf - kLeast || load.apart_bytes == kHalf + kLeast;
  const double lines = static_cast<double>(load.bytes) / kSharedPassBytes;
  return lines * (is_worst ? times.cta_copy_most_apart_cycles : times.cta_copy_apart_cycles);
}

}  // namespace

Cycle TmaEngine::load_latency(const TmaLoad& load, Cycle now) {
  if (cta_.cluster->times() != nullptr) return modelled_load_latency(load, now);
  load_free_ = std::max(load_free_, now) + occupancy(load.bytes, costs::kTmaLoadPerKb);
  const bool is_local = load.source != nullptr;
  const Cycle base = is_local ? costs::kRemoteArrive : costs::kTmaLoadBase;
  return load_free_ - now + base;
}

Cycle TmaEngine::modelled_load_latency(const TmaLoad& load, Cycle now) {
  const TimingTable& times = *cta_.cluster->times();
  const bool is_between_ctas = load.source != nullptr;
  const double rate =
      is_between_ctas ? times.cta_copy_bytes_per_cycle : times.tma_load_bytes_per_cycle;
  const double apart = is_between_ctas ? cycles_apart(load, times) : 0;
  const Cycle busy = times.tma_box_cycles + moving_cycles(load.bytes, rate, load.rows, times) +
                     static_cast<Cycle>(apart);
  // What was asked for before is done before: stores until they have been read. So are stores of
  // threads.
  const Cycle begins =
      is_between_ctas ? now : std::max({now, stores_read_, units_of(cta_).sm_memory.stored_at});
  const Cycle begin = (is_between_ctas ? sends_ : loads_).take(begins, busy);
  // What the CTA's neighbours on its SM feel of it.
  Demand& demand = cta_.cluster->demand();
  if (is_between_ctas) {
    const double sending = apart + load.bytes / times.cta_copies_bytes_per_cycle;
    demand.add(Resource::sending_cycles, load.source->rank, begin, static_cast<float>(sending));
  } else {
    demand.use(Resource::loading_cycles, cta_.rank, begin, busy - times.tma_box_cycles);
  }
  Cycle arrives = begin + busy;
  if (is_between_ctas) {
    units_of(*load.source)
        .sm_memory.pass_between(begin, arrives, ceil_div(load.bytes, kSharedPassBytes));
    arrives += times.cta_copy_cycles;
  } else {
    // What the engine and what the L2 cache make it wait is waited for at the same time.
    arrives = std::max(arrives, now + load.rows.queued);
    const auto short_cycles = static_cast<Cycle>(load.bytes / times.tma_short_load_bytes_per_cycle);
    const uint32_t wide_rows =
        std::min((std::max(load.rows.row_bytes, 1u) - 1) / kWideRowBytes, kMostWideRows);
    arrives = std::max(arrives + times.tma_load_cycles,
                       begin + short_cycles + times.tma_short_load_cycles) +
              wide_rows * times.tma_wide_row_cycles + load.rows.extra - load.rows.queued;
  }
  if (load.destinations.size() == 1) {
    // What comes by copies to several CTAs takes the same way into the SM.
    if (is_between_ctas || cta_.cluster->size() == 1) return arrives - now;
    const auto receiving = static_cast<Cycle>(load.bytes / times.tma_load_bytes_per_cycle);
    Server& received = units_of(*load.destinations.front()).sm_memory.received;
    return received.take(arrives - std::min(arrives, receiving), receiving) + receiving - now;
  }
  Cycle written = arrives;
  const Cycle receiving = times.multicast_copy_cycles +
                          static_cast<Cycle>(load.bytes / times.multicast_bytes_per_cycle);
  const Cycle from = arrives - std::min(arrives, receiving);
  for (const Cta* const cta : load.destinations) {
    Server& received = units_of(*cta).sm_memory.received;
    written = std::max(written, received.take(from, receiving) + receiving);
  }
  return written - now;
}

Cycle TmaEngine::store_latency(const TmaStore& store, Cycle now) {
  if (cta_.cluster->times() != nullptr) return modelled_store_latency(store, now);
  store_free_ = std::max(store_free_, now) + occupancy(store.bytes, costs::kTmaStorePerKb);
  return store_free_ - now + costs::kTmaStoreBase;
}

Cycle TmaEngine::modelled_store_latency(const TmaStore& store, Cycle now) {
  const TimingTable& times = *cta_.cluster->times();
  const Cycle busy = times.tma_box_cycles +
                     moving_cycles(store.bytes, times.tma_store_bytes_per_cycle, store.rows, times);
  SmMemory& memory = units_of(cta_).sm_memory;
  const Cycle begin = stores_.take(now, busy);
  const Cycle moving = busy - times.tma_box_cycles;
  const Cycle read =
      memory.pass_between(begin, begin + moving, ceil_div(store.bytes, kSharedPassBytes));
  // What the SM's way out and the L2 cache make it wait is waited for at the same time.
  const Cycle out = std::max(begin + moving, now + store.rows.extra) + times.tma_store_cycles;
  stores_read_ = std::max({stores_read_, out, read});
  return std::max(out, read) - now;
}

void TmaEngine::load(TmaLoad load, Cycle now) {
  const Cycle latency = load_latency(load, now);
  tell(load.description, CopyEvent::Stage::issued, load.site, now);
  auto shared = std::make_shared<TmaLoad>(std::move(load));
  const bool counts = cta_.cluster->times() != nullptr && shared->source == nullptr;
  cta_.cluster->after(now, latency, [shared, asked = counts ? now : kNever](Cycle at) {
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
    }
    done.move(windows);
    end_map(done.tensor_map, done.site);
    tell(done.description, CopyEvent::Stage::landed, done.site, at);
    done.destinations.front()->cluster->note_progress();
    for (const TmaLoad::Signal& signal : done.signals) {
      check_alive(signal.cta, done.site, "holds its mbarrier", kFix);
      units_of(*signal.cta)
          .mbarriers.complete_tx(signal.offset_bytes, signal.bytes, at, done.site.strand,
                                 done.site.instruction, done.site.lanes,
                                 done.description != nullptr ? done.description->id : kNoOperation,
                                 asked);
    }
  });
}

void TmaEngine::store(TmaStore store, Cycle now) {
  const Cycle latency = store_latency(store, now);
  struct InFlight {
    TmaStore store;
    std::vector<std::byte> staged;
  };
  tell(store.description, CopyEvent::Stage::issued, store.site, now);
  auto in_flight = std::make_shared<InFlight>(InFlight{std::move(store), {}});
  Cta* const cta = &cta_;
  cta_.cluster->after(now, latency, [in_flight, cta](Cycle read_time) {
    check_alive(cta, in_flight->store.site, "is its source",
                "wait for the copy before the exit: cp.async.bulk.commit_group, then "
                "cp.async.bulk.wait_group.read 0 in the issuing thread");
    in_flight->store.read(cta->shared.data(), in_flight->staged);
    tell(in_flight->store.description, CopyEvent::Stage::read, in_flight->store.site, read_time);
    for (const AsyncGroups::Ticket& ticket : in_flight->store.tickets)
      units_of(*cta).bulk_groups.finish(ticket, AsyncGroups::Stage::read, read_time);
    Action write = [in_flight, cta](Cycle write_time) {
      in_flight->store.write(in_flight->staged);
      end_map(in_flight->store.tensor_map, in_flight->store.site);
      tell(in_flight->store.description, CopyEvent::Stage::landed, in_flight->store.site,
           write_time);
      for (const AsyncGroups::Ticket& ticket : in_flight->store.tickets)
        units_of(*cta).bulk_groups.finish(ticket, AsyncGroups::Stage::write, write_time);
    };
    const TimingTable* const times = cta->cluster->times();
    const Cycle write_latency =
        times != nullptr ? times->tma_store_written_cycles : kStoreWriteLatency;
    if (in_flight->store.ordered)
      cta->cluster->in_global_order(read_time, write_latency, std::move(write));
    else
      cta->cluster->after(read_time, write_latency, std::move(write));
  });
}

}  // namespace bw::sim
