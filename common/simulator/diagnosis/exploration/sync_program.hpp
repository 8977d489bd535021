#pragma once
/// \file
/// The synchronisation of one cluster, taken out of a run: which thread or unit does what to which
/// barrier, and what it has to have done before.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "common/simulator/machine/observer.hpp"

namespace bw::sim::exploration {

/// What a step does to its object.
enum class Action : uint8_t {
  join,         ///< nothing: lanes of a warp that have met
  init,         ///< amount: the arrivals of a phase
  arrive,       ///< amount: arrivals
  arrive_drop,  ///< amount: arrivals, for this phase and all to come
  expect_tx,    ///< amount: bytes
  complete_tx,  ///< amount: bytes
  increment,    ///< amount: arrivals that are added to the phase
  wait,         ///< by parity, for the phase `phase`
};

/// A barrier: an mbarrier from its init to its inval; or one phase of a named barrier or of the
/// cluster's, which all threads that arrive on it name.
struct SyncObject {
  std::string name;         ///< "full+8", "named barrier 1", "the cluster's barrier"
  bool is_mbarrier = true;  ///< else one phase, which is ready from the beginning
  uint32_t expected = 0;    ///< arrivals of a phase, unless it is an mbarrier
};

/// One operation. Steps are numbered as they happened in the run.
struct Step {
  Action action = Action::join;   ///< what it does
  uint32_t object = 0;            ///< to which
  int64_t amount = 0;             ///< how much
  int64_t phase = 0;              ///< wait: the phase; -1: the one before the first
  bool paired = false;            ///< expect_tx: by the instruction whose arrive comes next
  bool later = false;             ///< by a copy, a commit or on its way to another CTA: some time
  Origin origin{};                ///< who, or who has issued it
  std::vector<uint32_t> after{};  ///< the steps that have to come before
};

/// What a barrier holds.
struct BarrierState {
  bool ready = false;    ///< it has been initialised
  int64_t phase = 0;     ///< number of the current phase
  int64_t expected = 0;  ///< arrivals of a phase
  int64_t pending = 0;   ///< arrivals that are missing
  int64_t tx_bytes = 0;  ///< announced less completed
};

/// Does a step to its barrier; whether that completes the phase. More arrivals than are pending
/// make `pending` negative.
bool apply(const Step& step, BarrierState& barrier);

/// All steps of a cluster.
struct SyncProgram {
  std::vector<SyncObject> objects;  ///< by number
  std::vector<Step> steps;          ///< in the order of the run
};

/// The same synchronisation, where the lanes of a warp run apart: they are together only in joins
/// and at barriers of the CTA and the cluster.
///
/// A simulated warp keeps its lanes together wherever it can. Hardware promises this only at
/// warp-level .sync and .aligned instructions: after any branch, as after the loop of a wait, one
/// lane may lag. The steps that lanes did together are therefore split into one step for
/// each party of lanes: lanes that do the same throughout, of which one may still be late. Steps
/// stay in the order of the run, so each step still follows those in `after`.
[[nodiscard]] SyncProgram lanes_apart(const SyncProgram& program);

}  // namespace bw::sim::exploration
