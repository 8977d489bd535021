#pragma once
/// \file
/// When the accesses of a warp's threads are done, by the timing model: bank conflicts, lines and
/// sectors, the first-level cache, the ways to the L2 cache. All take the access at the accessor's
/// time, move that where the queue of accesses is full, and are called only with a timing model.

#include <cstddef>
#include <cstdint>

#include "common/simulator/base/types.hpp"
#include "common/simulator/clock/cta_clock.hpp"
#include "common/simulator/clock/warp_times.hpp"

namespace bw::sim::access_times {

/// Where the active lanes of a warp access `bytes` bytes each, aligned to their size.
struct LanePlaces {
  LaneMask active = 0;
  uint32_t bytes = 4;                     ///< of each
  const std::byte* base = nullptr;        ///< of lane 0; null where each lane has its own place
  size_t stride_bytes = 0;                ///< with a base, from lane to lane: `bytes`, or 0
  const std::byte* const* own = nullptr;  ///< without a base: by lane, of the active ones

  /// The place of an active lane.
  [[nodiscard]] const std::byte* at(int lane) const {
    return base != nullptr ? base + static_cast<size_t>(lane) * stride_bytes : own[lane];
  }
};

/// A warp that accesses memory.
struct Accessor {
  CtaClock& sm;        ///< of its CTA
  uint32_t warp = 0;   ///< its number in the CTA
  WarpTimes& counted;  ///< where what it waits is counted
  Cycle& time;         ///< of the access; moves where the queue is full
};
/// The shared memory of a CTA of the cluster.
struct SharedWindow {
  CtaClock& sm;  ///< of that CTA
  const std::byte* begin;
};

/// A load from shared memory: when its values arrive. `merged`: loads that it does at once.
[[nodiscard]] Cycle load_shared(const Accessor& by, const SharedWindow& from,
                                const LanePlaces& lanes, uint32_t merged);
/// A load from device memory: when its values arrive.
[[nodiscard]] Cycle load_device(const Accessor& by, const LanePlaces& lanes, bool in_first_level);
/// A load of `bytes` of the kernel's parameters from byte `first` on. The first CTA of a launch on
/// an SM fetches them.
void load_parameters(const Accessor& by, uint64_t first, uint32_t bytes);
/// A store to shared memory; no thread waits for it.
void store_shared(const Accessor& by, const SharedWindow& to, const LanePlaces& lanes);
/// A store to device memory; no thread waits for it.
void store_device(const Accessor& by, const LanePlaces& lanes);
/// Arrival of the rows of 16 bytes of a warp-wide matrix load from the CTA's own shared memory.
[[nodiscard]] Cycle load_matrix(const Accessor& by, const SharedWindow& own,
                                const LanePlaces& rows);
/// The same of a store.
void store_matrix(const Accessor& by, const SharedWindow& own, const LanePlaces& rows);
/// An atomic in shared memory: when the old values arrive.
Cycle atomic_shared(const Accessor& by, const SharedWindow& at, const LanePlaces& lanes);
/// An atomic in device memory: when the old values arrive.
Cycle atomic_device(const Accessor& by, const LanePlaces& lanes);
/// Arrival of the bytes of a cp.async from device memory in the CTA's own shared memory.
[[nodiscard]] Cycle copy(const Accessor& by, const SharedWindow& own, const LanePlaces& sources,
                         const LanePlaces& destinations, bool in_first_level);

/// Cycles for which an access occupies shared memory: in each pass of 128 bytes every bank serves
/// one word, to all lanes that ask for it; lanes of 8 or 16 bytes come by halves or quarters of the
/// warp. `window`: the beginning of the shared memory that all lanes access.
[[nodiscard]] uint32_t bank_passes(const LanePlaces& lanes, const std::byte* window);
/// The same of a load, for which two such parts of the warp may be served together.
[[nodiscard]] uint32_t load_passes(const LanePlaces& lanes, const std::byte* window);

}  // namespace bw::sim::access_times
