#pragma once
/// \file
/// Takes the synchronisation out of a run.

#include <array>
#include <functional>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "common/simulator/base/types.hpp"
#include "common/simulator/diagnosis/exploration/sync_program.hpp"
#include "common/simulator/machine/observer.hpp"

namespace bw::sim {
class Kernel;
}  // namespace bw::sim

namespace bw::sim::exploration {

/// Writes the steps of one cluster as they happen. Steps of one lane are ordered; those of two
/// lanes of a warp only where both take part in one, or after a warp-level .sync. What
/// a copy or a commit does later comes after what its thread had done when it issued it, and in no
/// other order.
class Collector final : public Observer {
 public:
  /// Takes the program of a run when the cluster has ended.
  using Sink = std::function<void(SyncProgram, RunStatus)>;
  /// For a cluster of a kernel; `has_ranks`: of several CTAs; `keeps_joins`: also where the lanes
  /// that meet have done the same, for lanes_apart().
  Collector(const Kernel& kernel, bool has_ranks, bool keeps_joins, Sink sink);

  [[nodiscard]] EventKinds wants() const override {
    return event_kinds(EventKind::mbarrier, EventKind::barrier, EventKind::order, EventKind::copy,
                       EventKind::group);
  }
  void on_mbarrier(const MbarrierEvent& event) override;
  void on_barrier(const BarrierEvent& event) override;
  void on_order(const OrderEvent& event) override;
  void on_copy(const CopyEvent& event) override;
  void on_group(const GroupEvent& event) override;
  void on_end(RunStatus status) override;

 private:
  /// Adds what lanes do at once, after what they have done.
  Step& act(Action action, uint32_t object, int64_t amount, const Origin& origin);
  /// The last steps of lanes.
  [[nodiscard]] std::vector<uint32_t> last_of(const Origin& origin);
  void join(const Origin& origin);
  /// Adds what has been issued earlier, with the number of its operation.
  uint32_t act_later(Action action, uint32_t object, const MbarrierEvent& event);
  /// An announcement that was not the first half of an arrive.expect_tx of another CTA's barrier.
  void release_held();
  [[nodiscard]] uint32_t object_of(uint16_t cta_rank, uint32_t offset_bytes) const;
  /// The phase of a named barrier, or of the cluster's, as an object.
  uint32_t phase_object(bool of_cluster, const Origin& origin, uint32_t id, uint64_t phase);

  static constexpr uint32_t kNone = ~0u;
  struct WarpSteps {
    std::array<uint32_t, kWarpLanes> last;
    WarpSteps() { last.fill(kNone); }
  };

  const Kernel& kernel_;
  bool has_ranks_;
  bool keeps_joins_;
  Sink sink_;
  SyncProgram program_;
  /// expect_tx on another CTA's barrier, whose arrive comes next.
  std::optional<MbarrierEvent> held_;
  std::map<std::pair<uint16_t, uint16_t>, WarpSteps> warps_;     ///< by CTA and number
  std::map<std::pair<uint16_t, uint32_t>, uint32_t> mbarriers_;  ///< by CTA and offset
  std::map<std::array<uint64_t, 3>, uint32_t> phases_;           ///< by kind and CTA, id, phase
  std::unordered_map<uint64_t, std::vector<uint32_t>> issued_;   ///< by operation
};

}  // namespace bw::sim::exploration
