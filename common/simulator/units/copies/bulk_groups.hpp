#pragma once
/// \file
/// Bulk async-groups: what cp.async.bulk.commit_group and wait_group act on (PTX ISA).

#include "common/simulator/machine/instruction.hpp"
#include "common/simulator/units/copies/async_groups.hpp"

namespace bw::sim {

/// The flags of a wait for bulk groups, in place of its stage, with
/// .sync_restrict::proxy::async: it waits for the end of the operations. This project reads the
/// modifier so that what they wrote is then ordered for the async proxy alone.
inline constexpr uint8_t kWaitsForAsyncProxy = 0xff;
/// Whether a wait for bulk groups has that modifier.
[[nodiscard]] inline bool waits_for_async_proxy(const Instruction& wait) {
  return wait.flags == kWaitsForAsyncProxy;
}

/// Operations with the .bulk_group completion mechanism: reading their shared-memory source and
/// being complete are two times.
class BulkGroups : public AsyncGroups {
 public:
  explicit BulkGroups(Cta& cta) : AsyncGroups(cta, WaitKind::bulk_group) {}
};

}  // namespace bw::sim
