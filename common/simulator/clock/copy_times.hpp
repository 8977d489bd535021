#pragma once
/// \file
/// When copies by the engine of an SM move their bytes. Loads of one CTA share the engine's
/// bandwidth, and so do stores. With a timing model the engine takes a box row by row, shared
/// memory is passed on both sides, and what the L2 cache has to fetch comes later.

#include <cstdint>

#include "common/simulator/base/types.hpp"
#include "common/simulator/clock/sm_times.hpp"

namespace bw::sim {

class CtaClock;

/// What of a copy the timing model looks at. A copy of contiguous bytes is one row.
struct CopyRows {
  uint32_t rows = 1;       ///< how many the engine asks for
  uint32_t row_bytes = 0;  ///< of each
  Cycle extra = 0;         ///< what the L2 cache adds (L2Touch)
  Cycle queued = 0;        ///< of that, for bandwidth; the engine's own queue drains during it
};

/// A copy into shared memory.
struct LoadCost {
  uint32_t bytes = 0;          ///< moved
  CopyRows rows;               ///< the same, with a timing model
  CtaClock* source = nullptr;  ///< of the CTA whose shared memory is read; null: device memory
  uint32_t apart_bytes = 0;    ///< from there: how much further in its line the place is
};

/// The copy engine of a CTA's SM.
class CopyTimes {
 public:
  explicit CopyTimes(CtaClock& sm) : sm_(sm) {}

  /// When the last byte of a copy that is issued at `now` has come to the SMs of its destinations.
  [[nodiscard]] Cycle load(const LoadCost& copy, Cycle now);
  /// When the engine has moved all loads that were issued so far. With a timing model.
  [[nodiscard]] Cycle loads_moved_at() const { return loads_.free_at(); }
  /// When bytes that would arrive at this SM then are in its shared memory: they may come the way
  /// of copies to several CTAs.
  [[nodiscard]] Cycle receive(Cycle arrives, uint32_t bytes, bool to_several);
  /// When a copy that is issued at `now` has read shared memory.
  [[nodiscard]] Cycle store(uint32_t bytes, const CopyRows& rows, Cycle now);

 private:
  [[nodiscard]] Cycle modelled_load(const LoadCost& copy, Cycle now);
  [[nodiscard]] Cycle modelled_store(uint32_t bytes, const CopyRows& rows, Cycle now);

  CtaClock& sm_;
  Cycle load_free_ = 0;  ///< when the engine has moved all loads issued so far
  Cycle store_free_ = 0;
  Server loads_;  ///< the same with a timing model
  Server stores_;
  Cycle stores_read_ = 0;  ///< when all that were asked for have been read
  Server sends_;           ///< to other CTAs of the cluster
};

}  // namespace bw::sim
