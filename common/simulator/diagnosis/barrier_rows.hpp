#pragma once
/// \file
/// Which of several mbarriers that were initialised together one is: a ring's full barriers are a
/// row, and its empty ones another.

#include <string>

#include "common/simulator/machine/execution.hpp"
#include "common/simulator/units/synchronisation/mbarrier.hpp"

namespace bw::sim {

/// "stage 2 of the 4 full barriers initialised at ring.cuh:40": full where bytes have been counted,
/// empty for the other row of such a ring. Before any bytes were, empty is the row whose waiter
/// starts a copy before it waits again. Where nothing tells the rows apart: "stage 2 of the 4
/// initialised at ring.cuh:40", or "stage 0 of the second row of 4 initialised at ring.cuh:40"
/// where rows were initialised in turn. Empty for a single barrier, and where nothing is
/// remembered.
[[nodiscard]] std::string describe_row(Cluster& cluster, Cta& cta, const Mbarrier& barrier);

}  // namespace bw::sim
