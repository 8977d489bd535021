#pragma once
/// \file
/// The race detector of one cluster: follows what each thread is ordered after through every
/// synchronisation, and checks every access to shared memory against the earlier ones.
///
/// Other memory is checked by parts: observers that receive each event after the detector, which
/// by then has followed what the event orders (before an access: nothing; an access that acquires
/// does so afterwards). To add a shadow: write an Observer, use Detector::threads() for what lanes
/// are ordered after, Detector::accessors() to number the accessors, ByteShadow (or another shadow)
/// to remember accesses, and Detector::report() for findings; add the part in make_parts()
/// (races/watch.cpp).

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/simulator/diagnosis/races/finding.hpp"
#include "common/simulator/diagnosis/races/handover.hpp"
#include "common/simulator/diagnosis/races/polls.hpp"
#include "common/simulator/diagnosis/races/shadow.hpp"
#include "common/simulator/diagnosis/races/stored_values.hpp"
#include "common/simulator/diagnosis/races/threads.hpp"
#include "common/simulator/isa/vocabulary.hpp"
#include "common/simulator/machine/execution.hpp"
#include "common/simulator/machine/observer.hpp"

namespace bw::sim::races {

/// Numbers of the queues of Threads::begin_in_order().
enum Queue : uint32_t {
  kCpAsyncQueue,       ///< cp.async of a thread
  kBulkQueue,          ///< what bulk copies of a thread write, where groups complete them
  kBulkReadQueue,      ///< what they read
  kTcgen05Queue,       ///< tcgen05.mma, cp and shift of a thread
  kWgmmaQueue,         ///< wgmma.mma_async of a warpgroup
  kNamedBarrierQueue,  ///< phases of a named barrier, by CTA rank and number
  kFirstFreeQueue,     ///< for parts
};

struct NamedBarrierState;

/// A copy under way.
struct CopyAgents {
  Agent reads;   ///< reads its source
  Agent writes;  ///< writes its destination; of a load the same as `reads`
};

/// The synchronisation of launches, and what remains of a cluster, belong to the launch
/// (watch.hpp).
class Detector final : public Observer {
 public:
  /// `sink` gets the findings at the cluster's end.
  Detector(Cluster& cluster, std::function<void(const Findings&, const ShadowUse&)> sink);
  ~Detector() override;

  /// Adds a part, which is told every event that it wants.
  void add(std::unique_ptr<Observer> part);
  /// The part that carries the order of Tensor Memory.
  void set_tensor_order(TensorOrder* order) { tensor_order_ = order; }

  /// The cluster.
  [[nodiscard]] Cluster& cluster() { return cluster_; }
  /// What its threads know.
  [[nodiscard]] Threads& threads() { return threads_; }
  /// Who accesses.
  [[nodiscard]] AccessorTable& accessors() { return accessors_; }
  /// The shadow of a CTA's shared memory.
  [[nodiscard]] ByteShadow& shared(uint32_t cta_rank) { return shared_[cta_rank]; }
  /// The agents of a copy that has been issued and not landed; nullptr for others.
  [[nodiscard]] const CopyAgents* copy(uint64_t id) const;

  /// An accessor of a thread, with its number. `unit` outlives the detector.
  [[nodiscard]] Touch thread_touch(const Origin& origin, bool writes, const char* unit);
  /// An operation of an agent that the origin has issued.
  [[nodiscard]] Touch agent_touch(const Origin& origin, const Agent& agent, Proxy proxy,
                                  bool writes, const char* unit);
  /// Checks what an operation does to bytes of shared memory, and remembers it.
  void operate(const Touch& touch, std::span<const MemoryRange> ranges);

  /// A race in the shared memory of a CTA was found.
  void report(const Conflict& conflict, const Touch& touch, uint32_t cta_rank);
  /// Any race. `edge` (what is missing) and `fix` (what to do), where they are not empty, replace
  /// the texts of the kind of race in the report; {first} and {second} are replaced by the lines.
  void report(Missing missing, const Accessor& earlier, LaneMask earlier_lanes,
              const Accessor& later, LaneMask later_lanes, std::string memory,
              Weight weight = Weight::fault, std::string edge = {}, std::string fix = {});
  /// A race whose accesses the caller describes; see Findings::add.
  template <class Make>
  void add_finding(Missing missing, Weight weight, const Instruction* earlier,
                   const Instruction* later, Make&& make) {
    findings_.add(missing, weight, earlier, later, [&] {
      Finding finding = make();
      finding.weight = weight;
      finding.event = cluster_.event();
      finding.seed = cluster_.settings().chosen_seed();
      return finding;
    });
  }
  /// What is missing between two accesses, of which the later one knows `touch.view`.
  [[nodiscard]] Missing missing_between(const Conflict& conflict, const Touch& touch);
  /// What was found so far.
  [[nodiscard]] const Findings& findings() const { return findings_; }

  [[nodiscard]] EventKinds wants() const override;
  void on_cta(const CtaEvent& event) override;
  void on_mbarrier(const MbarrierEvent& event) override;
  void on_barrier(const BarrierEvent& event) override;
  void on_copy(const CopyEvent& event) override;
  void on_tensor_core(const TensorCoreEvent& event) override;
  void on_tensor_memory(const TensorMemoryEvent& event) override;
  void on_group(const GroupEvent& event) override;
  void on_fence(const FenceEvent& event) override;
  void on_access(const AccessEvent& event) override;
  void on_order(const OrderEvent& event) override;
  void on_end(RunStatus status) override;

 private:
  struct State;

  /// What reports call the operation that an instruction hands to a unit.
  [[nodiscard]] const char* operation_name(const Origin& origin) const;
  /// Whether the accessor initialises, or allocates, an object of the unit.
  [[nodiscard]] bool begins(const Accessor& accessor, Unit unit) const;
  /// What a race in shared memory weighs.
  [[nodiscard]] Weight weight_of(Missing missing, const Accessor& earlier,
                                 const Accessor& later) const;
  /// Whether it writes the address of an allocation in Tensor Memory.
  [[nodiscard]] bool allocates(const Accessor& accessor) const {
    return begins(accessor, Unit::tensor_core);
  }
  /// Whether strong reads of the later access's threads have found what was handed on after the
  /// earlier one, although nothing made that an order.
  [[nodiscard]] bool sees(const Conflict& conflict, const Touch& touch);
  struct Barrier;

  [[nodiscard]] Touch touch_of(const Accessor& accessor, const Origin& origin, Clock clock);
  [[nodiscard]] std::string shared_name(uint32_t cta_rank, uint64_t offset_bytes) const;
  [[nodiscard]] std::string mbarrier_name(uint32_t cta_rank, uint32_t offset_bytes) const;
  /// The origin's lanes access the shared memory of one CTA, each at its offset. Sets the lanes and
  /// the view of `touch`.
  void touch_lanes(const Origin& origin, uint32_t cta_rank, Touch& touch,
                   const std::array<uint32_t, kWarpLanes>& offsets, uint32_t bytes);
  /// What strong accesses to variables in shared memory order.
  void synchronise(const AccessEvent& event, uint32_t cta_rank, LaneMask lanes,
                   const std::array<uint32_t, kWarpLanes>& offsets);
  /// Threads use an mbarrier: its init must come before.
  void use(Barrier& barrier, const Origin& origin, uint16_t cta_rank, uint32_t offset_bytes);
  /// Remembers an arrival on an mbarrier, or a wait: what ends the object, or its CTA, has to come
  /// after it.
  void note_use(const char* unit, Accessor accessor, Touch touch, uint16_t cta_rank,
                uint32_t offset_bytes);
  /// The same of threads that arrive or wait now.
  void note_use(const char* unit, const Origin& origin, uint16_t cta_rank, uint32_t offset_bytes);
  /// The same of an operation that arrives.
  void note_arrival(const Origin& origin, const Agent& agent, Proxy proxy, uint16_t cta_rank,
                    uint32_t offset_bytes);
  /// A CTA ends: accesses to its shared memory must come before.
  void check_end(const Cta& cta);
  /// Nothing orders an access of another CTA, or of an operation, before the end of a CTA.
  void report_end(const Cta& cta, const Accessor& accessor, LaneMask lanes, uint64_t address,
                  uint32_t bytes);
  /// Whether threads know that an arrival or a wait is through, in whatever way they were told of
  /// it.
  [[nodiscard]] bool is_through(const Conflict& conflict, const Touch& touch);
  /// So must it for an operation that will arrive on it.
  void use(const CopySignal& signal, const Origin& origin, const View& start, const char* unit);
  void pass(const Origin& origin, uint16_t cta_rank, uint32_t offset_bytes, int64_t phase);
  void on_cluster_barrier(const BarrierEvent& event);
  void on_named_barrier(const BarrierEvent& event);
  /// Two groups of warps that use a named barrier at once: an arrival of threads that cannot know
  /// the phase before to be complete could as well fall into that phase (PTX ISA, "bar, barrier").
  void check_phase(const NamedBarrierState& barrier, const BarrierEvent& event);
  void copy_issued(const CopyEvent& event);
  void cp_async_issued(const CopyEvent& event);
  template <class Callback, class Event>
  void notify_parts(EventKind kind, Callback callback, const Event& event) {
    for (const auto& part : parts_)
      if ((part->wants() & event_kinds(kind)) != 0) ((*part).*callback)(event);
  }

  Cluster& cluster_;
  Threads threads_;
  AccessorTable accessors_;
  std::deque<ByteShadow> shared_;
  Polls polls_;
  StoredValues stored_values_;
  Findings findings_;
  std::function<void(const Findings&, const ShadowUse&)> sink_;
  std::vector<std::unique_ptr<Observer>> parts_;
  TensorOrder* tensor_order_ = nullptr;
  std::unique_ptr<State> state_;
};

}  // namespace bw::sim::races
