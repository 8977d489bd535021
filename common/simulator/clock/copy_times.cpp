#include "common/simulator/clock/copy_times.hpp"

#include <algorithm>

#include "common/simulator/base/bits.hpp"
#include "common/simulator/clock/costs.hpp"
#include "common/simulator/clock/cta_clock.hpp"
#include "common/simulator/clock/timing_table.hpp"

namespace bw::sim {
namespace {

constexpr Cycle kBytesPerKb = 1024;

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

/// Additional time of the bytes that a CTA sends to another one, because the lines at their source
/// are not lines at their destination.
double cycles_apart(const LoadCost& load, const TimingTable& times) {
  if (load.apart_bytes % (kSharedPassBytes / 2) == 0) return 0;
  return static_cast<double>(load.bytes) / kSharedPassBytes * times.cta_copy_apart_cycles;
}

}  // namespace

Cycle CopyTimes::load(const LoadCost& load, Cycle now) {
  if (sm_.table != nullptr) return modelled_load(load, now);
  load_free_ = std::max(load_free_, now) + occupancy(load.bytes, costs::kTmaLoadPerKb);
  return load_free_ + (load.source != nullptr ? costs::kRemoteArrive : costs::kTmaLoadBase);
}

Cycle CopyTimes::modelled_load(const LoadCost& load, Cycle now) {
  const TimingTable& times = *sm_.table;
  const bool is_between_ctas = load.source != nullptr;
  const double rate =
      is_between_ctas ? times.cta_copy_bytes_per_cycle : times.tma_load_bytes_per_cycle;
  const double apart = is_between_ctas ? cycles_apart(load, times) : 0;
  const Cycle busy = times.tma_box_cycles + moving_cycles(load.bytes, rate, load.rows, times) +
                     static_cast<Cycle>(apart);
  // What was asked for before is done before: stores until they have been read. So are stores of
  // threads.
  const Cycle begins = is_between_ctas ? now : std::max({now, stores_read_, sm_.memory.stored_at});
  const Cycle begin = (is_between_ctas ? sends_ : loads_).take(begins, busy);
  // What the CTA's neighbours on its SM feel of it.
  if (is_between_ctas) {
    const double sending = apart + load.bytes / times.cta_copies_bytes_per_cycle;
    sm_.demand.add(Resource::sending_cycles, load.source->rank, begin, static_cast<float>(sending));
  } else {
    sm_.demand.use(Resource::loading_cycles, sm_.rank, begin, busy - times.tma_box_cycles);
  }
  const Cycle arrives = begin + busy;
  if (is_between_ctas) {
    load.source->memory.pass_between(begin, arrives, ceil_div(load.bytes, kSharedPassBytes));
    return arrives + times.cta_copy_cycles;
  }
  // What the engine and what the L2 cache make it wait is waited for at the same time.
  const auto short_cycles = static_cast<Cycle>(load.bytes / times.tma_short_load_bytes_per_cycle);
  const uint32_t wide_rows =
      std::min((std::max(load.rows.row_bytes, 1u) - 1) / kWideRowBytes, kMostWideRows);
  return std::max(std::max(arrives, now + load.rows.queued) + times.tma_load_cycles,
                  begin + short_cycles + times.tma_short_load_cycles) +
         wide_rows * times.tma_wide_row_cycles + load.rows.extra - load.rows.queued;
}

Cycle CopyTimes::receive(Cycle arrives, uint32_t bytes, bool to_several) {
  if (sm_.table == nullptr) return arrives;
  const TimingTable& times = *sm_.table;
  const double rate = to_several ? times.multicast_bytes_per_cycle : times.tma_load_bytes_per_cycle;
  const auto receiving = static_cast<Cycle>(bytes / rate);
  return sm_.memory.received.take(arrives - std::min(arrives, receiving), receiving) + receiving;
}

Cycle CopyTimes::store(uint32_t bytes, const CopyRows& rows, Cycle now) {
  if (sm_.table != nullptr) return modelled_store(bytes, rows, now);
  store_free_ = std::max(store_free_, now) + occupancy(bytes, costs::kTmaStorePerKb);
  return store_free_ + costs::kTmaStoreBase;
}

Cycle CopyTimes::modelled_store(uint32_t bytes, const CopyRows& rows, Cycle now) {
  const TimingTable& times = *sm_.table;
  const Cycle busy =
      times.tma_box_cycles + moving_cycles(bytes, times.tma_store_bytes_per_cycle, rows, times);
  const Cycle begin = stores_.take(now, busy);
  const Cycle moving = busy - times.tma_box_cycles;
  const Cycle read =
      sm_.memory.pass_between(begin, begin + moving, ceil_div(bytes, kSharedPassBytes));
  // What the SM's way out and the L2 cache make it wait is waited for at the same time.
  const Cycle out = std::max(begin + moving, now + rows.extra) + times.tma_store_cycles;
  stores_read_ = std::max({stores_read_, out, read});
  return std::max(out, read);
}

}  // namespace bw::sim
