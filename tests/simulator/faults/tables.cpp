/// \file
/// The tables of the program for sm_100a.

#include "tests/simulator/faults/fault_tables.hpp"

namespace bw::faults {

std::vector<FaultTable> fault_tables() {
  return {shared_memory_kernels(), mbarrier_kernels(),      async_copy_kernels(),
          cluster_kernels(),       tensor_memory_kernels(), global_memory_kernels(),
          production_kernels(),    launch_kernels(),        end_kernels()};
}

}  // namespace bw::faults
