#include "common/simulator/machine/earlier_grids.hpp"

#include <algorithm>
#include <vector>

#include "common/simulator/machine/limits.hpp"

namespace bw::sim {
namespace {

/// Whether these fit on an SM together: `count` CTAs, and what others keep.
bool fit(const CtaResources& each, uint32_t count, const CtaResources& kept, uint32_t kept_ctas) {
  return kept.registers + count * each.registers <= kRegistersPerSm &&
         kept.threads + count * each.threads <= kMaxThreadsPerSm &&
         kept.shared_bytes + count * each.shared_bytes <= kSharedBytesPerSm &&
         kept_ctas + count <= kMaxCtasPerSm;
}

}  // namespace

std::vector<Cycle> EarlierGrids::room_on(uint32_t sm, const CtaResources& each, uint32_t count,
                                         Cycle begin) const {
  std::vector<Stay> there;
  CtaResources kept;
  for (const Stay& stay : stays) {
    if (stay.sm != sm || stay.end <= begin) continue;
    there.push_back(stay);
    kept.registers += stay.resources.registers;
    kept.threads += stay.resources.threads;
    kept.shared_bytes += stay.resources.shared_bytes;
  }
  std::sort(there.begin(), there.end(), [](const Stay& a, const Stay& b) { return a.end < b.end; });
  std::vector<Cycle> begins;
  Cycle now = begin;
  auto next = there.begin();
  for (uint32_t number = 1; number <= count; ++number) {
    while (next != there.end() &&
           !fit(each, number, kept, static_cast<uint32_t>(there.end() - next))) {
      now = next->end;
      kept.registers -= next->resources.registers;
      kept.threads -= next->resources.threads;
      kept.shared_bytes -= next->resources.shared_bytes;
      ++next;
    }
    begins.push_back(now - begin);
  }
  return begins;
}

}  // namespace bw::sim
