#pragma once
/// \file
/// A synchronisation in which the lanes of a warp run apart.
///
/// A simulated warp keeps its lanes together wherever it can. Hardware promises this only at
/// warp-level .sync and .aligned instructions: after any branch, as after the loop of a wait, one
/// lane may lag. The steps that lanes did together are therefore split into one step for
/// each party of lanes: lanes that do the same throughout, of which one may still be late.

#include "common/simulator/diagnosis/exploration/sync_program.hpp"

namespace bw::sim::exploration {

/// The same synchronisation, where lanes are together only in joins and at barriers of the CTA and
/// the cluster. Steps stay in the order of the run, so each step still follows those in `after`.
[[nodiscard]] SyncProgram lanes_apart(const SyncProgram& program);

}  // namespace bw::sim::exploration
