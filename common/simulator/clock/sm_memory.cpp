#include "common/simulator/clock/sm_memory.hpp"

#include <algorithm>
#include <array>

namespace bw::sim {
namespace {

/// Sizes that shared memory can have (CUDA C++ Programming Guide, compute capability 9.0 and 10.0).
constexpr std::array<size_t, 9> kCarveOutKb = {8, 16, 32, 64, 100, 132, 164, 196, 228};
constexpr size_t kBytesPerKb = 1024;

}  // namespace

size_t l1_bytes(size_t all_bytes, uint64_t residents, size_t shared_bytes) {
  const size_t shared = residents * shared_bytes;
  const auto* const carve_out =
      std::find_if(kCarveOutKb.begin(), kCarveOutKb.end() - 1,
                   [&](size_t kilobytes) { return kilobytes * kBytesPerKb >= shared; });
  return (all_bytes - std::min(all_bytes, *carve_out * kBytesPerKb)) / residents;
}

}  // namespace bw::sim
