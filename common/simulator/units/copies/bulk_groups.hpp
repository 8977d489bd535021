#pragma once
/// \file
/// Bulk async-groups: what cp.async.bulk.commit_group and wait_group act on (PTX ISA).

#include "common/simulator/units/copies/async_groups.hpp"

namespace bw::sim {

/// Operations with the .bulk_group completion mechanism: reading their shared-memory source and
/// being complete are two times.
class BulkGroups : public AsyncGroups {
 public:
  explicit BulkGroups(Cta& cta) : AsyncGroups(cta, WaitKind::bulk_group) {}
};

}  // namespace bw::sim
