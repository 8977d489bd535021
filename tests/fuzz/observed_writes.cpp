#include "tests/fuzz/observed_writes.hpp"

#include <map>

#include <fmt/core.h>

#include "common/simulator/machine/execution.hpp"

namespace bw::sim::fuzz {
namespace {

/// The first byte that differs and was not observed, or `before.size()`.
size_t first_unobserved(std::span<const std::byte> before, std::span<const std::byte> after,
                        const std::vector<bool>& observed) {
  size_t i = 0;
  while (i < before.size() && (before[i] == after[i] || observed[i])) ++i;
  return i;
}

size_t count_changed(std::span<const std::byte> before, std::span<const std::byte> after) {
  size_t changed = 0;
  for (size_t i = 0; i < before.size(); ++i) changed += before[i] != after[i] ? 1 : 0;
  return changed;
}

}  // namespace

class ObservedWrites::Watch final : public Observer {
 public:
  explicit Watch(ObservedWrites& launch) : launch_(launch) {}

  [[nodiscard]] EventKinds wants() const override {
    return event_kinds(EventKind::cta, EventKind::access, EventKind::copy, EventKind::footprint,
                       EventKind::mbarrier, EventKind::tensor_memory, EventKind::order);
  }

  void on_cta(const CtaEvent& event) override {
    if (!event.starts) return;
    Shared& shared = shared_[event.cta.rank];
    shared.before.assign(event.cta.shared.begin(), event.cta.shared.end());
    shared.observed.assign(shared.before.size(), false);
  }

  void on_access(const AccessEvent& event) override {
    if (event.access == Access::read) return;
    for (const int lane : lanes_of(event.origin.lanes)) {
      const uint64_t address = event.addresses[static_cast<size_t>(lane)];
      AddressSpace space = event.space;
      if (space == AddressSpace::generic) space = space_of_generic(address);
      const auto window = static_cast<uint32_t>(address);
      const uint32_t offset = window & kSharedOffsetMask;
      if (space == AddressSpace::global)
        write_global(address, event.bytes);
      else if (space == AddressSpace::shared_cta)
        write_shared(event.origin.cta_rank, offset, event.bytes);
      else if (space == AddressSpace::shared_cluster)
        write_shared(window >> kSharedRankShift, offset, event.bytes);
    }
  }

  void on_copy(const CopyEvent& event) override {
    if (event.stage != CopyEvent::Stage::landed) return;
    const CopyDescription& copy = event.copy;
    for (const MemoryRange& range :
         copy.destination_rows.empty() ? copy.destinations : copy.destination_rows) {
      if (range.space == AddressSpace::global)
        write_global(range.address, range.size_bytes);
      else
        write_shared(range.cta_rank, range.address, range.size_bytes);
    }
  }

  void on_mbarrier(const MbarrierEvent& event) override {
    constexpr size_t kMbarrierBytes = 8;
    write_shared(event.cta_rank, event.offset_bytes, kMbarrierBytes);
  }

  void on_tensor_memory(const TensorMemoryEvent& event) override {
    if (event.operation == TensorMemoryEvent::Operation::alloc)
      write_shared(event.origin.cta_rank, event.shared_offset_bytes, sizeof(uint32_t));
  }

  void on_order(const OrderEvent& event) override {
    constexpr size_t kResponseBytes = 16;
    if (event.operation == OrderEvent::Operation::launch_control_response)
      write_shared(event.cta_rank, event.address, kResponseBytes);
  }

  void on_finish(const Cluster& cluster) override {
    for (const Cta& cta : const_cast<Cluster&>(cluster).ctas()) {
      const Shared& shared = shared_[cta.rank];
      const size_t byte = first_unobserved(shared.before, cta.shared, shared.observed);
      launch_.changed_ += count_changed(shared.before, cta.shared);
      if (byte < shared.before.size() && launch_.shared_.empty())
        launch_.shared_ =
            fmt::format("byte {} of the shared memory of CTA rank {}", byte, cta.rank);
    }
  }

 private:
  struct Shared {
    std::vector<std::byte> before;
    std::vector<bool> observed;
  };

  void write_shared(uint32_t rank, uint64_t offset, size_t bytes) {
    std::vector<bool>& observed = shared_[rank].observed;
    for (size_t i = offset; i < std::min(offset + bytes, uint64_t{observed.size()}); ++i)
      observed[i] = true;
  }
  void write_global(uint64_t address, size_t bytes) {
    std::vector<bool>& observed = launch_.global_;
    for (uint64_t i = address; i < address + bytes; ++i)
      if (i >= launch_.address_ && i - launch_.address_ < observed.size())
        observed[i - launch_.address_] = true;
  }

  ObservedWrites& launch_;
  std::map<uint32_t, Shared> shared_;  ///< by the CTA's rank
};

std::unique_ptr<Observer> ObservedWrites::observe(Cluster&) {
  return std::make_unique<Watch>(*this);
}

std::string ObservedWrites::unobserved(std::span<const std::byte> before,
                                       std::span<const std::byte> after) const {
  if (!shared_.empty()) return shared_;
  const size_t byte = first_unobserved(before, after, global_);
  return byte < before.size() ? fmt::format("byte {} of global memory", byte) : "";
}

size_t ObservedWrites::changed(std::span<const std::byte> before,
                               std::span<const std::byte> after) const {
  return changed_ + count_changed(before, after);
}

}  // namespace bw::sim::fuzz
