#pragma once
/// \file
/// When the accesses of a warp's threads are done, by the timing model: bank conflicts, lines and
/// sectors, the first-level cache, the ways to the L2 cache. All take the access at the strand's
/// time, move that where the queue of accesses is full, and are called only with a timing model.

#include <cstddef>
#include <cstdint>

#include "common/simulator/machine/execution.hpp"

namespace bw::sim::access_times {

/// Where the active lanes of a warp access `bytes` bytes each, aligned to their size.
struct LanePlaces {
  LaneMask active = 0;                    ///< the lanes
  uint32_t bytes = 4;                     ///< of each
  const std::byte* base = nullptr;        ///< of lane 0; null where each lane has its own place
  size_t stride_bytes = 0;                ///< with a base, from lane to lane: `bytes`, or 0
  const std::byte* const* own = nullptr;  ///< without a base: by lane, of the active ones

  /// The place of an active lane.
  [[nodiscard]] const std::byte* at(int lane) const {
    return base != nullptr ? base + static_cast<size_t>(lane) * stride_bytes : own[lane];
  }
};

/// What the lanes access.
enum class Place : uint8_t {
  shared,      ///< shared memory of a CTA of the cluster
  global,      ///< device memory, through the first-level cache
  global_l2,   ///< device memory; loads do not look into the first-level cache
  parameters,  ///< of the kernel: an SM's first CTA of a launch fetches them
  thread_own,  ///< constants, local memory: in the nearest cache
};

/// A load: notes when its values arrive (Strand::arrives).
void load(Strand& strand, Place place, const LanePlaces& lanes);
/// A store; nobody waits for it.
void store(Strand& strand, Place place, const LanePlaces& lanes);
/// Rows of 16 bytes of a warp-wide matrix load or store in the own CTA's shared memory.
void load_matrix(Strand& strand, const LanePlaces& rows);
/// The same of a store.
void store_matrix(Strand& strand, const LanePlaces& rows);
/// An atomic; `has_result`: notes when the old values arrive.
void atomic(Strand& strand, Place place, const LanePlaces& lanes, bool has_result);
/// A cp.async from device memory: when its bytes are in shared memory.
[[nodiscard]] Cycle copy(Strand& strand, Place place, const LanePlaces& sources,
                         const LanePlaces& destinations);

/// Cycles for which an access occupies shared memory: in each pass of 128 bytes every bank serves
/// one word, to all lanes that ask for it; lanes of 8 or 16 bytes come by halves or quarters of the
/// warp. `window`: the beginning of the shared memory in which all lanes lie.
[[nodiscard]] uint32_t bank_passes(const LanePlaces& lanes, const std::byte* window);
/// The same of a load, for which two such parts of the warp may be served together.
[[nodiscard]] uint32_t load_passes(const LanePlaces& lanes, const std::byte* window);

}  // namespace bw::sim::access_times
