#include "common/simulator/diagnosis/unwritten_memory.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "common/simulator/base/text.hpp"
#include "common/simulator/machine/device_memory.hpp"
#include "common/simulator/machine/execution.hpp"

namespace bw::sim {
namespace {

class ReadChecker final : public Observer {
 public:
  ReadChecker(Cluster& cluster, WrittenBytes& bytes) : cluster_(cluster), bytes_(bytes) {}

  [[nodiscard]] EventKinds wants() const override {
    return event_kinds(EventKind::access, EventKind::copy, EventKind::footprint);
  }

  void on_access(const AccessEvent& event) override {
    if (event.space != AddressSpace::global && event.space != AddressSpace::generic) return;
    for (const int lane : lanes_of(event.origin.lanes)) {
      const uint64_t address = event.addresses[static_cast<size_t>(lane)];
      if (event.space == AddressSpace::generic && space_of_generic(address) != AddressSpace::global)
        continue;
      Origin origin = event.origin;
      origin.lanes = lane_bit(lane);
      if (event.access != Access::write) read(origin, address, event.bytes);
    }
    // A lane of the instruction may read what another one of it writes: reads come first.
    if (event.access == Access::read) return;
    for (const int lane : lanes_of(event.origin.lanes)) {
      const uint64_t address = event.addresses[static_cast<size_t>(lane)];
      if (event.space == AddressSpace::global || space_of_generic(address) == AddressSpace::global)
        bytes_.write(address, event.bytes);
    }
  }

  void on_copy(const CopyEvent& event) override {
    if (event.stage != CopyEvent::Stage::landed) return;
    const CopyDescription& copy = event.copy;
    const bool reads_destination = copy.direction == CopyDirection::reduce;
    for (const MemoryRange& row : copy.source_rows.empty() ? copy.sources : copy.source_rows)
      if (row.space == AddressSpace::global) read(event.origin, row.address, row.size_bytes);
    for (const MemoryRange& row :
         copy.destination_rows.empty() ? copy.destinations : copy.destination_rows) {
      if (row.space != AddressSpace::global) continue;
      if (reads_destination) read(event.origin, row.address, row.size_bytes);
      bytes_.write(row.address, row.size_bytes);
    }
  }

 private:
  void read(const Origin& origin, uint64_t address, size_t size_bytes) {
    const ByteRange hole = bytes_.first_unwritten(address, size_bytes);
    if (hole.size_bytes == 0) return;
    const Allocation* const allocation = cluster_.memory().find(hole.address);
    Cta& cta = cluster_.cta(origin.cta_rank);
    Strand place;
    place.cluster = &cluster_;
    place.cta = &cta;
    place.warp = &cta.warps[origin.warp];
    Site{place, *origin.instruction, origin.lanes}.fault(
        {.code = FaultCode::global_never_written,
         .what = fmt::format("{} at {:#x} of global memory {} read, which nothing has written",
                             counted(hole.size_bytes, "byte"), hole.address,
                             hole.size_bytes == 1 ? "is" : "are"),
         .rule = "memory of cudaMalloc holds no particular values before something writes it",
         .fix = "write all of it first: check the size that was given to cudaMemset or cudaMemcpy "
                "(bytes, not elements) and the bounds of the kernel that fills it",
         .details = {allocation == nullptr
                         ? std::string()
                         : fmt::format("byte {} of {}", hole.address - allocation->address,
                                       allocation->description)},
         .section = kNotFromPtxIsa});
  }

  Cluster& cluster_;
  WrittenBytes& bytes_;
};

}  // namespace

std::unique_ptr<Observer> UnwrittenMemory::observe(Cluster& cluster) {
  return std::make_unique<ReadChecker>(cluster, bytes_);
}

}  // namespace bw::sim
