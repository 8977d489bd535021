/// \file
/// The tables of the program for sm_90a.

#include "tests/simulator/faults/fault_tables.hpp"

namespace bw::faults {

std::vector<FaultTable> fault_tables() { return {hopper_kernels()}; }

}  // namespace bw::faults
