#pragma once
/// \file
/// What the benchmark prints and writes of the grid.

#include <string>
#include <vector>

#include "tests/benchmarks/hopper/grid.hpp"
#include "tests/benchmarks/hopper/machine_info.hpp"
#include "tests/benchmarks/hopper/peer_times.hpp"

namespace bw {

/// A line of the terminal for a shape, and the one above the first.
std::string grid_row_header();
std::string grid_row(const GridResult& result);

/// Geometric means of cuBLASLt's time over ours, warm and cold, and the smallest ratio.
std::string grid_summary(const std::vector<GridResult>& results);

/// The peer's time over ours of each shape that it has, and their geometric means, for all and by
/// rows.
std::string grid_peer_text(const std::vector<GridResult>& results, const PeerTimes& peer);

/// m,n,k,beta,config,ours_warm_us,cublaslt_warm_us,ours_cold_us,cublaslt_cold_us; the machine and
/// the date in a comment before.
std::string grid_csv(const std::vector<GridResult>& results, double beta,
                     const MachineInfo& machine);

/// m,n,k,beta,config,warm_us,cold_us: every configuration.
std::string grid_configs_csv(const std::vector<GridResult>& results, double beta,
                             const MachineInfo& machine);

}  // namespace bw
