#pragma once
/// \file
/// Races on Tensor Memory: a shadow of the last reads and writes, and of the warps that are ordered
/// after them.
///
/// The rules (PTX ISA, "tcgen05 Memory Consistency Model"): tcgen05.ld and st are complete when
/// their warp has waited for them; operations of the tensor core when a thread has seen the
/// mbarrier that their tcgen05.commit arrives on. Complete operations precede those of another
/// thread when a tcgen05.fence::before_thread_sync follows the first, an after_thread_sync precedes
/// the second, and the two threads synchronise between these fences. Some pairs of the tensor core
/// stay in order without being complete (see is_pipeline). Level `hardware`: no fences are
/// required, and the tensor core works in order.

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "common/simulator/diagnosis/races/tensor_view.hpp"
#include "common/simulator/machine/kernel.hpp"
#include "common/simulator/machine/observer.hpp"

namespace bw::sim::races {

/// Two accesses to Tensor Memory that nothing orders.
struct TensorRace {
  /// What is missing, which decides the code of the report.
  enum class Missing : uint8_t {
    fence,    ///< a tcgen05.fence
    order,    ///< completion or synchronisation
    address,  ///< the allocation is not ordered before the use
  };
  Missing missing = Missing::order;  ///< which one
  Origin first;                      ///< the earlier access
  Origin second;                     ///< the later one
  TensorRange place;                 ///< lanes and columns where they meet
  bool first_writes = false;         ///< whether the earlier one writes
  bool second_writes = false;        ///< whether the later one does
  bool hardware_accepts = false;     ///< only the PTX ISA's words ask for the edge
  std::string edge;                  ///< which edge is missing
  std::string fix;                   ///< the instruction that makes it, and where it belongs
};

/// Follows one cluster. The granularity of what is known is the warp.
class TensorMemoryRaces final : public Observer, public TensorOrder {
 public:
  /// Called for every pair that is found.
  using Report = std::function<void(const TensorRace&)>;

  /// `strict`: level isa.
  TensorMemoryRaces(bool strict, const Kernel& kernel, Report report)
      : strict_(strict), kernel_(kernel), report_(std::move(report)) {}

  [[nodiscard]] EventKinds wants() const override {
    return event_kinds(EventKind::tensor_core, EventKind::tensor_memory, EventKind::group,
                       EventKind::fence, EventKind::footprint);
  }
  void on_tensor_core(const TensorCoreEvent& event) override;
  void on_tensor_memory(const TensorMemoryEvent& event) override;
  void on_group(const GroupEvent& event) override;
  void on_fence(const FenceEvent& event) override;

  [[nodiscard]] const TensorView& released(const Origin& origin) override;
  [[nodiscard]] const TensorView& committed(uint64_t operation_id) override;
  void acquired(const Origin& origin, const TensorView& view) override;

 private:
  enum class Kind : uint8_t { load, store, allocation, mma, copy, shift };
  struct Warp {
    TensorView out;      ///< what a release hands on; `plain` and `issued` count here at once
    TensorClock fenced;  ///< complete and ordered before its next operation
    TensorClock issued_fenced;  ///< issued and ordered before its next operation
    // Handed over, and no after_thread_sync since:
    TensorClock pending, pending_issued;
    const Instruction* acquire = nullptr;       ///< the last wait that has handed something over
    const Instruction* release = nullptr;       ///< the last arrive
    std::array<uint32_t, 3> streams{};          ///< by Kind: of loads, stores, allocations
    std::unordered_map<int, uint32_t> threads;  ///< streams of what its lanes issue
  };
  struct Stream {
    uint32_t last = 0;                    ///< number of the last operation
    uint32_t complete = 0;                ///< the last one that is waited for or committed
    const Instruction* commit = nullptr;  ///< of the tensor core: by what
  };
  /// An operation, as long as the shadow names it.
  struct Operation {
    Origin origin;
    uint32_t stream = 0, epoch = 0;
    /// Of an allocation in a pair: the peer's, which was granted at the same time.
    uint32_t twin_stream = 0, twin_epoch = 0;
    Kind kind = Kind::load;
    uint8_t group = 0;
    uint16_t lane = 0;                ///< of a part of a cell, modulo 32
    std::array<uint32_t, 4> shape{};  ///< of an MMA: what must agree in a pipeline
    uint32_t uses = 0;                ///< by cells
    uint64_t judged_in = 0;           ///< the last value of present_ that it was judged in
  };
  /// What was done in 16 lanes of a column: the last write and the reads since, as operations and
  /// flags; 0: nothing.
  struct Cell {
    static constexpr size_t kEntries = 4;
    std::array<uint32_t, kEntries> entries{};
  };
  /// A rectangle that one operation has written as a whole: sums are written many times before
  /// another thread reads them. Its cells are updated when that happens.
  struct LastWrite {
    TensorRange range;
    uint32_t index = 0;
  };
  /// The shadow of one CTA's Tensor Memory.
  struct Memory {
    std::vector<Cell> cells;  ///< [column][block of lanes]; empty before the first allocation
    Operation allocation;  ///< the last one that is not freed; in a pair it is the peer's business
    std::vector<LastWrite> written;  ///< instead of entries in the cells; they don't overlap
  };
  /// Where each cell names operations that no other one does.
  static constexpr size_t kMostBytesOfCell = sizeof(Cell) + Cell::kEntries * sizeof(Operation);
  static constexpr size_t kTensorBytesOfCell = 16 * sizeof(uint32_t);
  static_assert(kMostBytesOfCell <= 12 * kTensorBytesOfCell,
                "the shadow takes at most 12 bytes for each byte of Tensor Memory");
  /// Flags of an entry.
  static constexpr uint32_t kWrites = 1, kPartly = 2, kFlagBits = 2;

  [[nodiscard]] Warp& warp_of(const Origin& origin);
  /// A new operation of its stream: its index in operations_. `lane`: of the thread that issues to
  /// the tensor core.
  uint32_t begin(const Origin& origin, Kind kind, int lane = 0);
  /// Checks an access against the shadow and enters it there.
  void touch(uint32_t index, const TensorRange& range);
  void check(const Cell& cell, uint32_t index, const TensorRange& range, uint32_t column);
  /// Holds the present operation against an earlier one, the first time that it meets it.
  void judge(uint32_t other, bool other_writes, uint32_t index, const TensorRange& range);
  /// Enters into the cells what was written as a whole there.
  void settle(Memory& memory, const TensorRange& range);
  [[nodiscard]] Memory& memory_of(uint16_t cta_rank);
  void enter(Cell& cell, uint32_t index, uint32_t flags);
  void drop(uint32_t& entry);
  void allocate(const TensorMemoryEvent& event);
  void deallocate(const TensorMemoryEvent& event);
  /// In a pair: the peer must have allocated before this CTA frees.
  void check_peer(uint32_t index, const TensorRange& range);
  /// Whether the earlier operation is known to come first; `strict`: by the PTX ISA's words.
  [[nodiscard]] bool is_ordered(const Operation& first, const Operation& second, bool strict);
  void report(const Operation& first, bool first_writes, const Operation& second,
              const TensorRange& range);
  void explain(const Operation& first, const Operation& second, TensorRace& race);
  [[nodiscard]] const char* name_of(const Operation& operation) const;
  [[nodiscard]] std::string place_of(const Instruction& instruction) const;
  [[nodiscard]] std::string who(const Operation& operation) const;

  bool strict_;
  const Kernel& kernel_;
  Report report_;
  std::vector<std::unique_ptr<Warp>> warps_;  ///< by CTA rank and number; null before it is used
  std::vector<Stream> streams_;
  std::vector<Operation> operations_{1};  ///< 0: no operation
  std::vector<uint32_t> free_operations_;
  std::vector<Memory> memories_;  ///< by CTA rank
  struct Commit {
    TensorView view;
    int arrivals = 0;  ///< that are still to come
  };
  std::unordered_map<uint64_t, Commit> commits_;  ///< by id
  TensorView last_commit_;
  /// Number of the present operation: earlier ones are held against it once.
  uint64_t present_ = 0;
};

class Detector;

/// Makes one that reports to the detector of a cluster.
[[nodiscard]] std::unique_ptr<TensorMemoryRaces> make_tensor_memory_races(Detector& detector);

}  // namespace bw::sim::races
