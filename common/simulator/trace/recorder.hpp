#pragma once
/// \file
/// Records the events of one cluster.

#include <bitset>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "common/simulator/machine/execution.hpp"
#include "common/simulator/machine/observer.hpp"
#include "common/simulator/trace/places.hpp"
#include "common/simulator/trace/recording.hpp"

namespace bw::sim::trace {

/// The kinds of rows that are kept.
using RowKinds = std::bitset<kRowKinds>;

/// Writes rows of one cluster.
class Recorder final : public Observer {
 public:
  /// Receives the recording when the cluster has ended; see Observer::on_end.
  using Sink = std::function<void(ClusterRecording&&)>;

  /// Writes rows of one cluster.
  Recorder(const Cluster& cluster, const RowKinds& kinds, const RecordingWindow& window, Sink sink);
  /// Puts the number of its event (EventNumber::event) before the values of each row.
  void number_rows() { numbers_rows_ = true; }

  [[nodiscard]] EventKinds wants() const override;
  /// A CTA starts or ends.
  void on_cta(const CtaEvent& event) override;
  /// A strand has run.
  void on_run(const RunEvent& event) override;
  /// A strand goes to sleep or wakes.
  void on_wait(const WaitEvent& event) override;
  /// An mbarrier was operated on.
  void on_mbarrier(const MbarrierEvent& event) override;
  /// A named barrier or the cluster's was operated on.
  void on_barrier(const BarrierEvent& event) override;
  /// A copy was issued, has read or has landed.
  void on_copy(const CopyEvent& event) override;
  /// The tensor core was given work or has done it.
  void on_tensor_core(const TensorCoreEvent& event) override;
  /// Tensor memory was allocated, freed, read or written.
  void on_tensor_memory(const TensorMemoryEvent& event) override;
  /// A group was committed or waited for.
  void on_group(const GroupEvent& event) override;
  /// A fence was executed.
  void on_fence(const FenceEvent& event) override;
  /// Memory was read or written.
  void on_access(const AccessEvent& event) override;
  void on_end(RunStatus status) override;

 private:
  /// The last run of a warp.
  struct Run {
    size_t first_value = ~size_t{0};  ///< of its row: until, instructions
    LaneMask lanes = 0;
    const ptx::SourceLocation* place = nullptr;
  };
  /// Adds a row with its first values; false if it is filtered out.
  bool add(RowKind kind, Cycle cycle, const Origin& origin, std::initializer_list<int64_t> values,
           uint32_t barrier = Row::kNone);
  template <class Value>
  void put(Value value) {
    recording_.values.push_back(static_cast<int64_t>(value));
  }
  /// A value of type `ranges`.
  template <class Ranges>
  void put_ranges(const Ranges& ranges);
  /// A value of type `text`.
  [[nodiscard]] int64_t index_of(std::string_view text);
  /// The last run of the acting warp.
  [[nodiscard]] Run& last_run_of(const Origin& origin);
  /// Merges late_ into the other rows: by cycle, keeping the order of ties.
  void merge_late_rows();
  [[nodiscard]] uint32_t barrier_at(uint16_t cta_rank, uint32_t offset_bytes) const;

  /// Whether a run continues where its warp's last one ended, at the same line of the reader's;
  /// that row is then extended.
  bool continues_last_run(const RunEvent& event);

  const Cluster& cluster_;  ///< invalid once it has ended
  const RowKinds& kinds_;
  const RecordingWindow& window_;
  bool numbers_rows_ = false;
  Sink sink_;
  ClusterRecording recording_;
  Places places_;
  std::vector<const ptx::SourceLocation*> details_;    ///< by instruction; kUnknown: not looked up
  std::vector<Run> last_runs_;                         ///< by CTA and warp, see index_of_run
  std::vector<Row> late_;                              ///< rows preceded by rows of later cycles
  std::vector<int64_t> phases_;                        ///< the current one of each barrier
  std::unordered_map<uint64_t, uint32_t> barrier_at_;  ///< by rank and offset, see key_of
};

}  // namespace bw::sim::trace
