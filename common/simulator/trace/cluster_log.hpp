#pragma once
/// \file
/// The lines of an event log that one cluster adds.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/simulator/machine/execution.hpp"
#include "common/simulator/machine/observer.hpp"
#include "common/simulator/trace/event_log.hpp"
#include "common/simulator/trace/json.hpp"

namespace bw::sim::trace {

class ClusterLog final : public Observer {
 public:
  ClusterLog(EventLog& log, const EventSelection& selection, Cluster& cluster);

  [[nodiscard]] EventKinds wants() const override;
  void on_cta(const CtaEvent& event) override;
  void on_run(const RunEvent& event) override;
  void on_wait(const WaitEvent& event) override;
  void on_mbarrier(const MbarrierEvent& event) override;
  void on_barrier(const BarrierEvent& event) override;
  void on_copy(const CopyEvent& event) override;
  void on_tensor_core(const TensorCoreEvent& event) override;
  void on_tensor_memory(const TensorMemoryEvent& event) override;
  void on_group(const GroupEvent& event) override;
  void on_fence(const FenceEvent& event) override;
  void on_access(const AccessEvent& event) override;
  void on_end(RunStatus status) override;

 private:
  /// An mbarrier from its init on.
  struct Barrier {
    uint16_t cta_rank = 0;
    uint32_t offset_bytes = 0;
    std::string initialised_at;  ///< "file:line"
    uint64_t phase = 0;          ///< the current one
  };
  static constexpr size_t kNone = ~size_t{0};
  struct Line {
    Cycle cycle = 0;
    std::string fields;
    size_t barrier = kNone;  ///< whose fields follow; complete only when the cluster ends
  };

  /// Adds a line, unless its event is not selected.
  void add(std::string_view name, Cycle cycle, const Origin& origin, const Fields& fields,
           size_t barrier = kNone);
  [[nodiscard]] size_t barrier_at(uint16_t cta_rank, uint32_t offset_bytes) const;
  /// "file", "line" and so on of an instruction.
  [[nodiscard]] const std::string& place_of(const Instruction& instruction);
  [[nodiscard]] std::string describe(const std::vector<MemoryRange>& ranges) const;
  [[nodiscard]] std::vector<std::string> barrier_fields() const;

  EventLog& log_;
  const EventSelection& selection_;
  const Kernel& kernel_;  // the cluster may be gone when it ends
  uint64_t cluster_;
  std::vector<Dim3> ctas_;  ///< by rank
  std::vector<Line> lines_;
  std::vector<Barrier> barriers_;
  std::map<std::pair<uint16_t, uint32_t>, size_t> barrier_at_;  ///< by rank and offset
  std::map<const Instruction*, std::string> places_;
};

}  // namespace bw::sim::trace
