#include "common/simulator/units/copies/tensor_map_watch.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "common/simulator/base/text.hpp"
#include "common/simulator/machine/device_memory.hpp"
#include "common/simulator/machine/late_fault.hpp"
#include "common/simulator/units/copies/tensor_map.hpp"

namespace bw::sim {
namespace {

bool is_same(const Origin& one, const Origin& other) {
  return one.instruction == other.instruction && one.cta_rank == other.cta_rank &&
         one.warp == other.warp && one.lanes == other.lanes;
}

ReportPlace place(Cluster& cluster, const Origin& origin, const char* role) {
  return issuer_of(cluster, origin).place(*origin.instruction, origin.lanes, role);
}

}  // namespace

bool TensorMapWatch::is_watched(uint64_t map) const {
  if (cluster_.settings().checks == Checks::off) return false;
  const Allocation* const allocation = cluster_.memory().find(map);
  return allocation != nullptr && allocation->writable;
}

TensorMapWatch::Map& TensorMapWatch::find_or_add(uint64_t map) {
  const auto found =
      std::find_if(maps_.begin(), maps_.end(), [&](const Map& one) { return one.address == map; });
  if (found != maps_.end()) return *found;
  maps_.push_back({.address = map});
  return maps_.back();
}

void TensorMapWatch::begin_copy(const Site& site, uint64_t map) {
  if (!is_watched(map)) return;
  Map& watched = find_or_add(map);
  if (watched.change.instruction != nullptr)
    site.fault({.code = FaultCode::tensor_map_in_flight,
                .what = fmt::format("the tensor map at {} was changed, and no "
                                    "fence.proxy.tensormap has handed it on to this copy",
                                    hex(map)),
                .rule = "a changed tensor map is handed on with fence.proxy.tensormap",
                .fix = "execute fence.proxy.tensormap::generic.release after the change and "
                       "fence.proxy.tensormap::generic.acquire of the map before the copy",
                .section = "Proxies",
                .places = {place(cluster_, watched.change, "changed here")}});
  watched.copies.push_back({site.strand.origin(site.instruction, site.lanes)});
}

void TensorMapWatch::end_copy(const Site& site, uint64_t map) {
  const auto watched =
      std::find_if(maps_.begin(), maps_.end(), [&](const Map& one) { return one.address == map; });
  if (watched == maps_.end()) return;
  const Origin origin = site.strand.origin(site.instruction, site.lanes);
  std::vector<Copy>& copies = watched->copies;
  const auto copy = std::find_if(copies.begin(), copies.end(),
                                 [&](const Copy& one) { return is_same(one.origin, origin); });
  if (copy != copies.end()) copies.erase(copy);
}

void TensorMapWatch::end_reading(const Strand& strand, LaneMask lanes) {
  for (Map& map : maps_)
    for (Copy& copy : map.copies)
      if (copy.origin.cta_rank == strand.cta->rank && copy.origin.warp == strand.warp->index &&
          (copy.origin.lanes & ~lanes) == 0)
        copy.reads = false;
}

void TensorMapWatch::write(const Site& site, uint64_t address, size_t bytes) {
  for (Map& map : maps_) {
    if (address >= map.address + kTensorMapBytes || address + bytes <= map.address) continue;
    const auto copy = std::find_if(map.copies.begin(), map.copies.end(),
                                   [](const Copy& one) { return one.reads; });
    if (copy != map.copies.end())
      site.fault(
          {.code = FaultCode::tensor_map_in_flight,
           .what = fmt::format("this changes the tensor map at {} while a copy that reads it "
                               "is under way",
                               hex(map.address)),
           .rule = "a tensor map stays as it is until the copies that use it are complete",
           .fix = "wait for what the copy completes (its mbarrier's phase, or its bulk group) "
                  "before the map is changed, or keep two maps and change the other one",
           .section = kNotFromPtxIsa,
           .places = {place(cluster_, copy->origin, "the copy")}});
    map.change = site.strand.origin(site.instruction, site.lanes);
  }
}

void TensorMapWatch::change(const Site& site, uint64_t map) {
  if (!is_watched(map)) return;
  (void)find_or_add(map);
  write(site, map, kTensorMapBytes);
}

void TensorMapWatch::fence(uint64_t map) {
  for (Map& one : maps_)
    if (one.address == map) one.change = {};
}

}  // namespace bw::sim
