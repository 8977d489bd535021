#pragma once
/// \file
/// The product of one tcgen05.mma, or of several that add to the same accumulator: reads A, B,
/// scales and metadata, writes D.

#include <span>

#include "common/simulator/machine/observer.hpp"
#include "common/simulator/units/tensor_core/accumulation.hpp"
#include "common/simulator/units/tensor_core/tensor_core.hpp"

namespace bw::sim {

/// An operation of the queue and who issued it.
struct QueuedMma {
  const MmaOperation* operation = nullptr;
  const Origin* origin = nullptr;  ///< who did it, and where
};

/// Executes operations that agree in all but places, scale ids and, of the first one, whether it
/// accumulates: as one product over their joint K. `leader` is the CTA that issued them. Throws
/// SimulationError{contract} for scales and metadata that break a rule.
void execute_product(std::span<const QueuedMma> batch, Cta& leader, const Accumulation& model);

}  // namespace bw::sim
