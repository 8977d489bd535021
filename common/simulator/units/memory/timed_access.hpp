#pragma once
/// \file
/// What accesses of a warp's lanes cost: takes them to the clock of the SM
/// (clock/access_times.hpp), and notes when values arrive. Without a timing model only loads cost
/// anything here.

#include <cstdint>

#include "common/simulator/clock/access_times.hpp"
#include "common/simulator/machine/execution.hpp"

namespace bw::sim::timed_access {

using access_times::LanePlaces;

/// What the lanes access.
enum class Place : uint8_t {
  shared,      ///< shared memory of a CTA of the cluster
  global,      ///< device memory, through the first-level cache
  global_l2,   ///< device memory; loads do not look into the first-level cache
  parameters,  ///< of the kernel
  thread_own,  ///< constants, local memory: taken to be in the nearest cache
};

/// A load: notes when its values arrive (Strand::arrives).
void load(Strand& strand, Place place, const LanePlaces& lanes);
/// A store; no thread waits for it.
void store(Strand& strand, Place place, const LanePlaces& lanes);
/// Rows of 16 bytes of a warp-wide matrix load in its CTA's shared memory.
void load_matrix(Strand& strand, const LanePlaces& rows);
/// The same of a store.
void store_matrix(Strand& strand, const LanePlaces& rows);
/// An atomic; `has_result`: notes when the old values arrive.
void atomic(Strand& strand, Place place, const LanePlaces& lanes, bool has_result);
/// A cp.async from device memory: when its bytes are in shared memory.
[[nodiscard]] Cycle copy(Strand& strand, Place place, const LanePlaces& sources,
                         const LanePlaces& destinations);

}  // namespace bw::sim::timed_access
