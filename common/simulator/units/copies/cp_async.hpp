#pragma once
/// \file
/// cp.async-groups: what the non-bulk cp.async.commit_group, wait_group and wait_all act on (PTX
/// ISA).

#include "common/simulator/units/copies/async_groups.hpp"

namespace bw::sim {

/// Non-bulk cp.async operations; only their completion counts.
class CpAsyncGroups : public AsyncGroups {
 public:
  explicit CpAsyncGroups(Cta& cta) : AsyncGroups(cta, WaitKind::cp_async_group) {}
};

}  // namespace bw::sim
