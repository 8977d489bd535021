/// \file
/// What is measured on a Blackwell GPU: what others have published numbers of.

#include <array>

#include "common/host/compute_capability.hpp"
#include "tests/hardware/timing/measurement.hpp"

namespace bw::timing {

std::span<const Group> groups() {
  static constexpr std::array<Group, 9> kGroups{{
      {"latency", "cycles from an instruction to the one that needs its result", true,
       measure_latency},
      {"barrier", "named barriers, mbarriers, cluster barriers", true, measure_barriers},
      {"mbarrier", "what one operation takes", true, measure_mbarrier},
      {"tma_latency", "one copy at a time, by bytes and width", true, measure_tma_latency},
      {"wide_tma_loads", "one copy of wide rows, or of 64 KB", true, measure_wide_tma_loads},
      {"tensor_core", "tcgen05: MMAs, copies, loads and stores of tensor memory", true,
       measure_tensor_core},
      {"tma_throughput", "copies in flight, by width, SMs and multicast", true,
       measure_tma_throughput},
      {"ladder", "matrix products, one idea after the other: tests the model", false,
       measure_ladder},
      {"ladder_errors", "how far the ladder's products are from what they should be", false,
       measure_ladder_errors},
  }};
  return kGroups;
}

void require_device() { require_blackwell(); }

}  // namespace bw::timing
