#pragma once
/// \file
/// The engine that carries out bulk and tensor copies: when they read, write and signal.
///
/// Times: a load's data moves, and its mbarriers are signalled, when it completes. A store reads
/// shared memory at one time (its bulk group is then through .read) and writes global memory at a
/// later one. Loads of one CTA share the engine's bandwidth, and so do stores. With a timing model
/// the engine takes a box row by row, shared memory is passed on both sides, and what the L2 cache
/// has to fetch comes later.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "common/simulator/machine/execution.hpp"
#include "common/simulator/units/copies/async_groups.hpp"

namespace bw::sim {

/// A copy into shared memory that completes on mbarriers.
struct TmaLoad {
  /// A barrier that a copy tells.
  struct Signal {
    Cta* cta = nullptr;
    uint32_t offset_bytes = 0;  ///< of the mbarrier
    uint32_t bytes = 0;         ///< complete_tx
  };
  /// Issued at a site.
  explicit TmaLoad(const Site& issued_at) : site(issued_at) {}

  Site site;                       ///< who issued the copy, for faults at its completion
  uint32_t bytes = 0;              ///< moved, for the latency
  CopyRows rows;                   ///< the same, with a timing model
  const Cta* source = nullptr;     ///< CTA whose shared memory is read, or nullptr
  uint32_t apart_bytes = 0;        ///< from there: how much further in its line the place is
  std::vector<Cta*> destinations;  ///< CTAs that get the box
  uint32_t offset_bytes = 0;       ///< where in their shared memory
  uint32_t shared_bytes = 0;       ///< and how much of it, padding included
  std::vector<Signal> signals;     ///< which barriers it tells
  /// Moves the data; gets each destination's shared memory.
  std::function<void(const std::vector<std::byte*>& windows)> move;
  uint64_t tensor_map = 0;                       ///< of a tensor copy: the map's address
  std::unique_ptr<CopyDescription> description;  ///< for observers; null without any
};

/// A copy out of the CTA's own shared memory that completes on a bulk group.
struct TmaStore {
  /// Issued at a site.
  explicit TmaStore(const Site& issued_at) : site(issued_at) {}

  Site site;  ///< the lanes that issued the copy, for faults at its completion
  uint32_t bytes = 0;
  CopyRows rows;  ///< the same, with a timing model
  /// Its place in the group of each lane that issued it.
  std::vector<AsyncGroups::Ticket> tickets;
  bool ordered = false;  ///< the write is ordered among all clusters of the grid (reductions)
  /// Takes the bytes from shared memory.
  std::function<void(const std::byte* window, std::vector<std::byte>& staged)> read;
  /// Writes them to global memory.
  std::function<void(const std::vector<std::byte>& staged)> write;
  uint64_t tensor_map = 0;                       ///< of a tensor copy: the map's address
  std::unique_ptr<CopyDescription> description;  ///< for observers; null without any
};

/// The copy engine of a CTA's SM.
class TmaEngine {
 public:
  /// The copy engine of a CTA's SM.
  explicit TmaEngine(Cta& cta) : cta_(cta) {}

  /// Issue at `now`. Throw SimulationError{contract}, at completion, when a CTA whose shared memory
  /// is used has exited; at the level `hardware` the memory lives until then.
  void load(TmaLoad load, Cycle now);
  /// Begins a store.
  void store(TmaStore store, Cycle now);

 private:
  /// From issue to completion.
  [[nodiscard]] Cycle load_latency(const TmaLoad& load, Cycle now);

  Cta& cta_;
};

}  // namespace bw::sim
