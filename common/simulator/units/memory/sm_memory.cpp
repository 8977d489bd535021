#include "common/simulator/units/memory/sm_memory.hpp"

#include <algorithm>
#include <array>

#include "common/simulator/base/bits.hpp"
#include "common/simulator/machine/grid.hpp"

namespace bw::sim {
namespace {

/// Sizes that shared memory can have (CUDA C++ Programming Guide, compute capability 9.0 and 10.0).
constexpr std::array<size_t, 9> kCarveOutKb = {8, 16, 32, 64, 100, 132, 164, 196, 228};
constexpr size_t kBytesPerKb = 1024;

}  // namespace

size_t SmMemory::l1_bytes() const {
  Grid& grid = cta_.cluster->grid();
  const uint64_t ctas = grid.clusters().volume() * cta_.cluster->size();
  const uint64_t sms = cta_.cluster->settings().sm_count;
  const uint64_t residents = std::clamp<uint64_t>(ceil_div(ctas, sms), 1, grid.ctas_per_sm());
  const size_t shared = residents * cta_.shared.size();
  const auto* const carve_out =
      std::find_if(kCarveOutKb.begin(), kCarveOutKb.end() - 1,
                   [&](size_t kilobytes) { return kilobytes * kBytesPerKb >= shared; });
  const size_t all = cta_.cluster->times()->l1_and_shared_bytes;
  return (all - std::min(all, *carve_out * kBytesPerKb)) / residents;
}

}  // namespace bw::sim
