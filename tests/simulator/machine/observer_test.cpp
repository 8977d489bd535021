/// \file
/// What observers are told, and that they change nothing.
#include "common/simulator/machine/observer.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>

#include "common/simulator/machine/execution.hpp"
#include "tests/simulator/observed_kernel.hpp"

namespace bw::sim::test::observer_test {
namespace {

/// What one observer of a cluster was told.
struct Told {
  std::map<std::string, int> counts;
  std::vector<MbarrierEvent> mbarriers;
  std::vector<CopyDescription> landed;
  std::vector<RunStatus> ends;
  uint32_t instructions = 0;
  Cycle mma_completion = 0, mma_completed = 0;
  std::vector<uint32_t> allocated;  ///< columns
  std::vector<FenceKind> fences;
  uint64_t shared_reads = 0;
};

class Recorder final : public Observer {
 public:
  Recorder(Told& told, EventKinds kinds) : told_(told), kinds_(kinds) {}
  [[nodiscard]] EventKinds wants() const override { return kinds_; }

  void on_cta(const CtaEvent& event) override { count(event.starts ? "cta start" : "cta end"); }
  void on_run(const RunEvent& event) override {
    count("run");
    told_.instructions += event.instructions;
    EXPECT_LE(event.from, event.to);
  }
  void on_wait(const WaitEvent& event) override {
    count(event.wakes ? "wake" : "wait");
    EXPECT_NE(event.origin.instruction, nullptr);
    EXPECT_NE(event.wait.kind, WaitKind::none);
  }
  void on_mbarrier(const MbarrierEvent& event) override { told_.mbarriers.push_back(event); }
  void on_barrier(const BarrierEvent& event) override {
    count(std::string(event.of_cluster ? "cluster" : "named") +
          (event.completes ? " complete" : " arrive"));
  }
  void on_copy(const CopyEvent& event) override {
    static constexpr const char* kStages[] = {"copy issued", "copy read", "copy landed"};
    count(kStages[static_cast<int>(event.stage)]);
    if (event.stage == CopyEvent::Stage::landed) told_.landed.push_back(event.copy);
  }
  void on_tensor_core(const TensorCoreEvent& event) override {
    count(event.completes ? "mma complete" : "mma issued");
    (event.completes ? told_.mma_completed : told_.mma_completion) = event.completion;
    EXPECT_EQ(event.m, 128u);
    EXPECT_EQ(event.n, 64u);
    EXPECT_EQ(event.k, 32u);
    EXPECT_EQ(event.origin.lanes, 1u);
    if (!event.completes) told_.shared_reads = event.reads.size();
  }
  void on_tensor_memory(const TensorMemoryEvent& event) override {
    static constexpr const char* kNames[] = {"alloc", "dealloc", "relinquish", "load",
                                             "store", "wait ld", "wait st"};
    count(kNames[static_cast<int>(event.operation)]);
    if (event.operation == TensorMemoryEvent::Operation::alloc)
      told_.allocated.push_back(event.columns);
  }
  void on_group(const GroupEvent& event) override {
    static constexpr const char* kUnits[] = {"bulk", "cp.async", "wgmma", "tcgen05"};
    count(std::string(kUnits[static_cast<int>(event.unit)]) +
          (event.waits ? " wait group" : " commit"));
  }
  void on_fence(const FenceEvent& event) override { told_.fences.push_back(event.kind); }
  void on_access(const AccessEvent& event) override {
    count(event.access == Access::read ? "read" : "write");
  }
  void on_end(RunStatus status) override { told_.ends.push_back(status); }

 private:
  void count(const std::string& name) { ++told_.counts[name]; }

  Told& told_;
  EventKinds kinds_;
};

/// Keeps what the observers of all clusters were told, by cluster.
class Recorders final : public LaunchObserver {
 public:
  Recorders(std::map<uint64_t, Told>& told, EventKinds kinds) : told_(told), kinds_(kinds) {}
  [[nodiscard]] std::unique_ptr<Observer> observe(Cluster& cluster) override {
    const std::lock_guard lock(mutex_);
    return std::make_unique<Recorder>(told_[cluster.index()], kinds_);
  }

 private:
  std::map<uint64_t, Told>& told_;
  EventKinds kinds_;
  std::mutex mutex_;
};

struct Outcome {
  Cycle cycles = 0;
  uint64_t warp_instructions = 0;
  std::vector<uint32_t> out;
  std::map<uint64_t, Told> told;
};

std::vector<uint32_t> input() {
  std::vector<uint32_t> values(32);
  for (uint32_t i = 0; i < values.size(); ++i) values[i] = 100 + i;
  return values;
}

Outcome run(EventKinds kinds, uint64_t seed = 0) {
  Outcome outcome;
  Runner runner(test_settings(seed));
  if (kinds != 0) runner.device().observe(std::make_unique<Recorders>(outcome.told, kinds));
  auto out = runner.buffer(std::vector<uint32_t>(32, 0));
  auto in = runner.buffer(input());
  const LaunchResult result = runner.run(observed_kernel(), threads(64), out, in);
  outcome.cycles = result.cycles;
  outcome.warp_instructions = result.warp_instructions;
  outcome.out = out.values();
  return outcome;
}

std::vector<MbarrierEvent> only(const Told& told, MbarrierEvent::Operation operation) {
  std::vector<MbarrierEvent> found;
  std::copy_if(told.mbarriers.begin(), told.mbarriers.end(), std::back_inserter(found),
               [&](const MbarrierEvent& event) { return event.operation == operation; });
  return found;
}

TEST(Observer, ChangesNothing) {
  for (const uint64_t seed : {uint64_t{0}, uint64_t{7}, uint64_t{12345}}) {
    const Outcome without = run(0, seed), with = run(kAllEvents, seed);
    EXPECT_EQ(without.cycles, with.cycles);
    EXPECT_EQ(without.warp_instructions, with.warp_instructions);
    EXPECT_EQ(without.out, with.out);
    for (uint32_t i = 0; i < kObservedCopyBytes / 4; ++i) EXPECT_EQ(with.out[i], 100 + i);
  }
}

TEST(Observer, SeesEveryKindOfEvent) {
  const Outcome outcome = run(kAllEvents);
  const Told& told = outcome.told.at(0);
  const std::map<std::string, int> expected = {
      {"cta start", 1},
      {"cta end", 1},
      {"named arrive", 2},
      {"named complete", 1},
      {"cluster arrive", 2},
      {"cluster complete", 1},
      {"copy issued", 3},
      {"copy read", 1},
      {"copy landed", 3},
      {"mma issued", 1},
      {"mma complete", 1},
      {"alloc", 1},
      {"dealloc", 1},
      {"relinquish", 1},
      {"load", 1},
      {"store", 1},
      {"wait ld", 1},
      {"wait st", 1},
      {"bulk commit", 1},
      {"bulk wait group", 1},
      {"cp.async commit", 1},
      {"cp.async wait group", 1},
      {"tcgen05 commit", 1},
  };
  for (const auto& [name, count] : expected)
    EXPECT_EQ(told.counts.contains(name) ? told.counts.at(name) : 0, count) << name;
  EXPECT_EQ(told.counts.at("wait"), told.counts.at("wake"));
  EXPECT_EQ(told.instructions, outcome.warp_instructions);
  EXPECT_EQ(told.counts.at("read"), 5);   // two warps read two parameters, warp 0 reads `tmem`
  EXPECT_EQ(told.counts.at("write"), 1);  // the operands are zeroed
  EXPECT_EQ(told.allocated, std::vector<uint32_t>{kObservedColumns});
  EXPECT_EQ(told.mma_completed, told.mma_completion);
  EXPECT_EQ(told.shared_reads, 2u);
  EXPECT_EQ(told.fences,
            (std::vector<FenceKind>{FenceKind::mbarrier_init, FenceKind::mbarrier_init,
                                    FenceKind::proxy_async, FenceKind::tcgen05_after_thread_sync}));
  EXPECT_EQ(told.ends, std::vector<RunStatus>{RunStatus::finished});
}

TEST(Observer, FollowsAnMbarrierThroughItsPhase) {
  using Operation = MbarrierEvent::Operation;
  const Outcome outcome = run(event_kinds(EventKind::mbarrier));
  const Told& told = outcome.told.at(0);
  const std::vector<MbarrierEvent> inits = only(told, Operation::init);
  ASSERT_EQ(inits.size(), 2u);
  EXPECT_EQ(inits[0].amount, 1u);
  EXPECT_EQ(inits[0].origin.lanes, 1u);  // thread 0 alone, although the warp executes the guard
  EXPECT_EQ(inits[1].offset_bytes, inits[0].offset_bytes + 8);
  const std::vector<MbarrierEvent> expected = only(told, Operation::expect_tx);
  ASSERT_EQ(expected.size(), 1u);
  EXPECT_EQ(expected[0].amount, kObservedCopyBytes);
  EXPECT_EQ(expected[0].tx_bytes, int64_t{kObservedCopyBytes});
  EXPECT_EQ(expected[0].pending, 1);
  const std::vector<MbarrierEvent> arrivals = only(told, Operation::arrive);
  ASSERT_EQ(arrivals.size(), 2u);  // of full, and the commit's of done
  EXPECT_EQ(arrivals[0].pending, 0);
  EXPECT_EQ(arrivals[0].phase, 0u);
  const std::vector<MbarrierEvent> completed = only(told, Operation::complete_tx);
  ASSERT_EQ(completed.size(), 1u);
  EXPECT_EQ(completed[0].amount, kObservedCopyBytes);
  EXPECT_EQ(completed[0].tx_bytes, 0);
  const std::vector<MbarrierEvent> phases = only(told, Operation::complete);
  ASSERT_EQ(phases.size(), 2u);
  EXPECT_EQ(phases[0].offset_bytes, inits[0].offset_bytes);
  EXPECT_EQ(phases[1].offset_bytes, inits[1].offset_bytes);
  EXPECT_EQ(phases[0].cycle, completed[0].cycle);
  const std::vector<MbarrierEvent> tests = only(told, Operation::test);
  ASSERT_EQ(tests.size(), 3u);  // each wait suspends once and is woken by the completion
  for (const MbarrierEvent& test : tests) {
    EXPECT_FALSE(test.done);
    EXPECT_TRUE(test.may_suspend);
    EXPECT_EQ(test.waited_phase, 0);
  }
}

TEST(Observer, CopiesNameWhatTheyMove) {
  const Outcome outcome = run(event_kinds(EventKind::copy));
  const Told& told = outcome.told.at(0);
  ASSERT_EQ(told.landed.size(), 3u);
  const CopyDescription& load = told.landed[0];
  EXPECT_EQ(load.unit, CopyUnit::bulk);
  EXPECT_EQ(load.direction, CopyDirection::load);
  EXPECT_EQ(load.bytes, kObservedCopyBytes);
  ASSERT_EQ(load.sources.size(), 1u);
  EXPECT_EQ(load.sources[0].space, AddressSpace::global);
  EXPECT_EQ(load.sources[0].size_bytes, kObservedCopyBytes);
  ASSERT_EQ(load.destinations.size(), 1u);
  EXPECT_EQ(load.destinations[0].space, AddressSpace::shared_cta);
  ASSERT_EQ(load.signals.size(), 1u);
  EXPECT_EQ(load.signals[0].bytes, kObservedCopyBytes);
  const CopyDescription& store = told.landed[1];
  EXPECT_EQ(store.direction, CopyDirection::store);
  EXPECT_EQ(store.sources[0].address, load.destinations[0].address);
  EXPECT_NE(store.id, load.id);
  const CopyDescription& words = told.landed[2];
  EXPECT_EQ(words.unit, CopyUnit::cp_async);
  EXPECT_EQ(words.bytes, 128u);
  EXPECT_EQ(words.sources.size(), 32u);
  EXPECT_EQ(words.destinations[1].address, words.destinations[0].address + 4);
}

TEST(Observer, HearsOnlyWhatItWants) {
  const Outcome outcome = run(event_kinds(EventKind::cta));
  const Told& told = outcome.told.at(0);
  EXPECT_EQ(told.counts, (std::map<std::string, int>{{"cta start", 1}, {"cta end", 1}}));
  EXPECT_TRUE(told.mbarriers.empty());
}

/// The third CTA waits forever; the others end at once.
std::string third_waits() {
  return entry(".param .u64 out",
               R"(
  .reg .pred %p<4>;
  .reg .b32 %r<4>;
  mov.u32 %r0, %ctaid.x;
  setp.ne.u32 %p0, %r0, 2;
  mbarrier.init.shared::cta.b64 [bar], 1;
  @%p0 bra END;
WAIT:
  mbarrier.try_wait.parity.shared::cta.b64 %p1, [bar], 0;
  @!%p1 bra WAIT;
END:
  ret;
)",
               ".shared .align 8 .b64 bar;\n");
}

TEST(Observer, IsToldHowEachClusterEnds) {
  for (const uint32_t host_threads : {1u, 4u}) {
    Settings settings = test_settings();
    settings.host_threads = host_threads;
    Runner runner(settings);
    std::map<uint64_t, Told> told;
    runner.device().observe(std::make_unique<Recorders>(told, kAllEvents));
    auto out = runner.buffer(std::vector<uint32_t>(1, 0));
    expect_fault(FaultKind::deadlock, {"waits for phase 0"},
                 [&] { runner.run(third_waits(), grid(6, 1), out); });
    EXPECT_EQ(told.at(0).ends, std::vector<RunStatus>{RunStatus::finished});
    EXPECT_EQ(told.at(1).ends, std::vector<RunStatus>{RunStatus::finished});
    EXPECT_EQ(told.at(2).ends, std::vector<RunStatus>{RunStatus::deadlock});
    // Whether later clusters ran depends on the host's threads, so their end is not reported.
    for (uint64_t cluster = 3; cluster < 6; ++cluster)
      EXPECT_TRUE(!told.contains(cluster) || told.at(cluster).ends.empty());
  }
}

TEST(Observer, AStuckLaunchSaysSoWithoutAnExplanation) {
  Device device(test_settings(), all_units());  // without an observer
  const LoadedModule& module = device.load(third_waits(), "test.ptx");
  const uint64_t out = device.memory().allocate(4, "out");
  const void* const arguments[] = {&out};
  const LaunchResult result = device.launch(device.kernel(module, "k"), grid(6, 1), arguments);
  EXPECT_EQ(result.status, RunStatus::deadlock);
  ASSERT_NE(result.stuck, nullptr);
  EXPECT_EQ(result.stuck->stuck_cluster().index(), 2u);
}

}  // namespace
}  // namespace bw::sim::test::observer_test
