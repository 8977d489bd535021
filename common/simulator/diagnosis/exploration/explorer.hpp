#pragma once
/// \file
/// Every order in which the steps of a synchronisation can happen.
///
/// A state is the set of steps that are done and what the barriers hold. Orders that differ only in
/// steps that do not concern each other are one: where some step can be done now, and nothing that
/// can happen without it takes part in what it does, it alone is done (a persistent set of one
/// step). Else every step that can be done is tried. The search ends with an order that goes wrong,
/// when all orders were tried, or at a number of states.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "common/simulator/diagnosis/exploration/sync_program.hpp"

namespace bw::sim::exploration {

/// How an exploration ends.
enum class Verdict : uint8_t {
  proven,     ///< no order goes wrong
  deadlock,   ///< in this order steps are left and none can be done
  overrun,    ///< a phase completes while a wait for the one before is still to come
  too_many,   ///< an arrival that the phase doesn't expect
  not_ready,  ///< a barrier is used before its init
  bound,      ///< neither, within the number of states
};

/// What an exploration has found.
struct Exploration {
  Verdict verdict = Verdict::proven;  ///< how it ended
  uint64_t states = 0;                ///< that were looked at
  std::vector<uint32_t> order;        ///< the steps of an order that goes wrong
  std::vector<uint32_t> waiting;      ///< deadlock, overrun: the steps that come next or too late
};

/// Explores at most `most_states` of a program. With `reduce` false every order is tried (for
/// tests).
[[nodiscard]] Exploration explore(const SyncProgram& program, uint64_t most_states,
                                  bool reduce = true);

}  // namespace bw::sim::exploration
