#include "common/simulator/units/synchronisation/mbarrier.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <deque>
#include <utility>

#include "common/simulator/machine/costs.hpp"
#include "common/simulator/machine/kernel.hpp"

namespace bw::sim {
namespace {

// The eight bytes of a live object hold a marker and the object's slot: a plain load sees an opaque
// value, an operation finds its object without a search, and a store over the object is noticed.
constexpr uint64_t kObjectMarker = 0x6d626172ull << 32;  // "mbar"
constexpr uint64_t kObjectMarkerMask = 0xffffffffull << 32;

// Opaque state: pending count in bits 0-19, phase in 20-51, marker above.
constexpr int kStatePhaseShift = 20;
constexpr int kStateMarkerShift = 52;
constexpr uint64_t kStateMarker = 0xb5a;
constexpr uint64_t kStatePhaseMask = 0xffffffffull;

constexpr size_t kMaxClusterRanks = kMaxClusterNonPortable;

std::string plural(uint64_t count, const char* noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

/// An event with the barrier's state.
MbarrierEvent event_of(const Mbarrier& barrier, const Cta& cta, Cycle now) {
  MbarrierEvent event;
  event.cycle = now;
  event.cta_rank = static_cast<uint16_t>(cta.rank);
  event.offset_bytes = barrier.offset_bytes;
  event.slot = barrier.slot;
  event.phase = barrier.phase;
  event.expected = barrier.expected;
  event.pending = barrier.pending;
  event.tx_bytes = barrier.tx_bytes;
  return event;
}

std::string hex(uint64_t value) {
  char text[19];
  std::snprintf(text, sizeof text, "0x%016llx", static_cast<unsigned long long>(value));
  return text;
}

}  // namespace

namespace mbarrier_state {

uint64_t encode(uint64_t phase, int32_t pending) {
  return kStateMarker << kStateMarkerShift | (phase & kStatePhaseMask) << kStatePhaseShift |
         static_cast<uint64_t>(pending);
}
bool is_valid(uint64_t state) { return state >> kStateMarkerShift == kStateMarker; }
uint32_t phase(uint64_t state) {
  return static_cast<uint32_t>(state >> kStatePhaseShift & kStatePhaseMask);
}
uint32_t pending(uint64_t state) {
  return static_cast<uint32_t>(state & ((1u << kStatePhaseShift) - 1));
}

}  // namespace mbarrier_state

std::string describe_counts(const Mbarrier& barrier) {
  std::string text = "pending " + std::to_string(barrier.pending) + " of " +
                     plural(barrier.expected, "arrival") + ", tx-count " +
                     std::to_string(barrier.tx_bytes);
  if (barrier.expected_tx_bytes != 0 || barrier.completed_tx_bytes != 0) {
    text += " (" + std::to_string(barrier.expected_tx_bytes) + " bytes expected, " +
            std::to_string(barrier.completed_tx_bytes) + " completed)";
  }
  return text;
}

struct MbarrierUnit::State {
  std::deque<Mbarrier> slots;  ///< stable addresses; dead ones are reused
  std::vector<uint32_t> free_slots;
  std::array<Cycle, kMaxClusterRanks> last_remote{};
};

MbarrierUnit::MbarrierUnit(Cta& cta) : cta_(cta), state_(std::make_unique<State>()) {}
MbarrierUnit::~MbarrierUnit() = default;

std::string MbarrierUnit::name(uint32_t offset_bytes) const {
  return cta_.cluster->kernel().describe_shared(offset_bytes);
}

Mbarrier* MbarrierUnit::find(uint32_t offset_bytes) {
  if (size_t{offset_bytes} + kMbarrierBytes > cta_.shared.size()) return nullptr;
  uint64_t stored = 0;
  std::memcpy(&stored, cta_.shared.data() + offset_bytes, sizeof stored);
  if ((stored & kObjectMarkerMask) == kObjectMarker) {
    const auto slot = static_cast<uint32_t>(stored);
    if (slot < state_->slots.size()) {
      Mbarrier& barrier = state_->slots[slot];
      if (barrier.live && barrier.offset_bytes == offset_bytes) return &barrier;
    }
  }
  for (Mbarrier& barrier : state_->slots)
    if (barrier.live && barrier.offset_bytes == offset_bytes) return &barrier;
  return nullptr;
}

std::vector<const Mbarrier*> MbarrierUnit::objects() const {
  std::vector<const Mbarrier*> found;
  for (const Mbarrier& barrier : state_->slots)
    if (barrier.live) found.push_back(&barrier);
  std::sort(found.begin(), found.end(),
            [](const Mbarrier* a, const Mbarrier* b) { return a->offset_bytes < b->offset_bytes; });
  return found;
}

Mbarrier& MbarrierUnit::require(uint32_t offset_bytes, const Strand& strand,
                                const Instruction& instruction) {
  if (cta_.exited) {
    strand.fault(instruction, FaultKind::contract, 0,
                 "an operation on the mbarrier " + name(offset_bytes) + " of CTA rank " +
                     std::to_string(cta_.rank) + " took effect after that CTA had exited",
                 "shared memory of an exited CTA must not be accessed (PTX ISA, \"Cluster of "
                 "Cooperative Thread Arrays\"; docs/pitfalls.md, pitfall 8: exit before a remote "
                 "arrival, a multicast write or an MMA is through)",
                 "let the CTA stay until everything that was sent to it has arrived: wait for its "
                 "last phase, or put a cluster barrier before the exit");
  }
  Mbarrier* const barrier = find(offset_bytes);
  if (barrier == nullptr) {
    std::vector<std::string> details;
    for (const Mbarrier* other : objects()) {
      constexpr size_t kMostListed = 8;
      if (details.size() == kMostListed) break;
      details.push_back("initialised: " + name(other->offset_bytes));
    }
    strand.fault(
        instruction, FaultKind::contract, 0,
        "there is no initialised mbarrier at " + name(offset_bytes) + " (shared offset " +
            std::to_string(offset_bytes) + ", CTA rank " + std::to_string(cta_.rank) + ")",
        "every mbarrier operation but init needs a valid object (PTX ISA, \"mbarrier.init\")",
        "run mbarrier.init on it first, and let the other threads see that: "
        "fence.mbarrier_init.release.cluster and a barrier",
        std::move(details));
  }
  uint64_t stored = 0;
  std::memcpy(&stored, cta_.shared.data() + offset_bytes, sizeof stored);
  if ((stored & kObjectMarkerMask) != kObjectMarker ||
      &state_->slots[static_cast<uint32_t>(stored)] != barrier) {
    strand.fault(instruction, FaultKind::contract, 0,
                 "the mbarrier at " + name(offset_bytes) + " is corrupted: its 8 bytes now hold " +
                     hex(stored) + ", written by something other than an mbarrier operation",
                 "only mbarrier operations may touch a live object (PTX ISA, \"mbarrier\")",
                 "keep data and barriers apart in shared memory, or run mbarrier.inval before the "
                 "memory is used for something else");
  }
  return *barrier;
}

void MbarrierUnit::init(uint32_t offset_bytes, uint32_t count, Cycle now, const Strand& strand,
                        const Instruction& instruction) {
  if (count < 1 || count > kMbarrierLargestCount) {
    strand.fault(instruction, FaultKind::contract, 0,
                 "mbarrier.init of " + name(offset_bytes) + " with count " + std::to_string(count),
                 "the count is in the range 1 to 2^20-1 (PTX ISA, \"mbarrier.init\")",
                 "pass the number of arrivals that complete a phase");
  }
  Mbarrier* existing = find(offset_bytes);
  if (existing != nullptr) {
    if (cta_.cluster->settings().strictness == Strictness::strict) {
      strand.fault(
          instruction, FaultKind::contract, 0,
          "mbarrier.init of " + name(offset_bytes) + ", which holds a live mbarrier (phase " +
              std::to_string(existing->phase) + ", " + describe_counts(*existing) + ")",
          "init of a location that holds a valid mbarrier is undefined (PTX ISA, "
          "\"mbarrier.init\")",
          "initialise it once, by one thread; run mbarrier.inval before initialising again");
    }
    existing->live = false;
  }
  uint32_t slot = 0;
  if (!state_->free_slots.empty()) {
    slot = state_->free_slots.back();
    state_->free_slots.pop_back();
    state_->slots[slot] = Mbarrier{};
  } else {
    slot = static_cast<uint32_t>(state_->slots.size());
    state_->slots.emplace_back();
  }
  Mbarrier& barrier = state_->slots[slot];
  barrier.slot = slot;
  barrier.live = true;
  barrier.phase_start = now;
  barrier.offset_bytes = offset_bytes;
  barrier.expected = count;
  barrier.pending = static_cast<int32_t>(count);
  const uint64_t stored = kObjectMarker | slot;
  std::memcpy(cta_.shared.data() + offset_bytes, &stored, sizeof stored);
  tell(MbarrierEvent::Operation::init, barrier, count, now, strand, instruction, 0);
  cta_.cluster->note_progress();
}

void MbarrierUnit::invalidate(uint32_t offset_bytes, Cycle now, const Strand& strand,
                              const Instruction& instruction) {
  Mbarrier& barrier = require(offset_bytes, strand, instruction);
  const auto waiting = std::count_if(
      barrier.waiters.begin(), barrier.waiters.end(), [](const Mbarrier::Waiter& waiter) {
        return waiter.strand->suspended && waiter.strand->wait_token == waiter.wait_token;
      });
  if (waiting != 0) {
    strand.fault(instruction, FaultKind::contract, 0,
                 "mbarrier.inval of " + name(offset_bytes) + " while " +
                     plural(static_cast<uint64_t>(waiting), "warp") + " waits on it (phase " +
                     std::to_string(barrier.phase) + ", " + describe_counts(barrier) + ")",
                 "an invalidated object must not be used (PTX ISA, \"mbarrier.inval\")",
                 "synchronise with all users before mbarrier.inval");
  }
  const uint64_t cleared = 0;
  uint64_t stored = 0;
  std::memcpy(&stored, cta_.shared.data() + offset_bytes, sizeof stored);
  std::memcpy(cta_.shared.data() + offset_bytes, &cleared, sizeof cleared);
  tell(MbarrierEvent::Operation::invalidate, barrier, 0, now, strand, instruction, 0);
  barrier.live = false;
  state_->free_slots.push_back(static_cast<uint32_t>(stored));
  cta_.cluster->note_progress();
}

void MbarrierUnit::tell(MbarrierEvent::Operation operation, const Mbarrier& barrier,
                        uint64_t amount, Cycle now, const Strand& strand,
                        const Instruction& instruction, LaneMask lanes) const {
  if (!cta_.cluster->observed(EventKind::mbarrier)) return;
  MbarrierEvent event = event_of(barrier, cta_, now);
  event.operation = operation;
  event.origin = strand.origin(instruction, lanes != 0 ? lanes : strand.executing);
  event.amount = amount;
  cta_.cluster->tell(&Observer::on_mbarrier, event);
}

void MbarrierUnit::tell_test(const Mbarrier& barrier, int64_t waited_phase, bool done,
                             bool may_suspend, const Strand& strand, const Instruction& instruction,
                             LaneMask lanes) const {
  if (!cta_.cluster->observed(EventKind::mbarrier)) return;
  MbarrierEvent event = event_of(barrier, cta_, strand.time);
  event.operation = MbarrierEvent::Operation::test;
  event.origin = strand.origin(instruction, lanes);
  event.waited_phase = waited_phase;
  event.done = done;
  event.may_suspend = may_suspend;
  cta_.cluster->tell(&Observer::on_mbarrier, event);
}

void MbarrierUnit::check_arrival(const Mbarrier& barrier, uint32_t count, const Strand& strand,
                                 const Instruction& instruction) const {
  if (count < 1 || count > kMbarrierLargestCount) {
    strand.fault(instruction, FaultKind::contract, 0,
                 "arrive on " + name(barrier.offset_bytes) + " with count " + std::to_string(count),
                 "the count is in the range 1 to 2^20-1 (PTX ISA, \"mbarrier.arrive\")", "");
  }
  if (int64_t{count} > barrier.pending) {
    strand.fault(instruction, FaultKind::contract, 0,
                 plural(count, "arrival") + " on the mbarrier " + name(barrier.offset_bytes) +
                     ", but its phase " + std::to_string(barrier.phase) + " expects only " +
                     std::to_string(barrier.pending) + " more (" + describe_counts(barrier) + ")",
                 "the pending count must not fall below zero (PTX ISA, \"mbarrier.arrive\")",
                 "make the count of mbarrier.init equal to the arrivals of one phase; let one "
                 "elected lane arrive where one arrival is meant");
  }
  if (barrier.phase > barrier.observed_phase &&
      cta_.cluster->settings().strictness == Strictness::strict) {
    strand.fault(
        instruction, FaultKind::contract, 0,
        "arrive on the mbarrier " + name(barrier.offset_bytes) + " in phase " +
            std::to_string(barrier.phase) + " before any wait has seen that phase " +
            std::to_string(barrier.phase - 1) + " is complete",
        "in each phase a test_wait or try_wait must have returned true before an arrive-on "
        "of the next phase (PTX ISA, \"Phase of the mbarrier object\")",
        "wait for the previous phase (or be told by a thread that has) before arriving again");
  }
}

void MbarrierUnit::check_arrival(uint32_t offset_bytes, uint32_t count, const Strand& strand,
                                 const Instruction& instruction) {
  check_arrival(require(offset_bytes, strand, instruction), count, strand, instruction);
}

uint64_t MbarrierUnit::arrive(uint32_t offset_bytes, uint32_t count, Cycle now,
                              const Strand& strand, const Instruction& instruction,
                              LaneMask lanes) {
  Mbarrier& barrier = require(offset_bytes, strand, instruction);
  check_arrival(barrier, count, strand, instruction);
  const uint64_t before = mbarrier_state::encode(barrier.phase, barrier.pending);
  barrier.pending -= static_cast<int32_t>(count);
  tell(MbarrierEvent::Operation::arrive, barrier, count, now, strand, instruction, lanes);
  complete_if_due(barrier, now, strand, instruction, lanes);
  return before;
}

uint64_t MbarrierUnit::arrive_drop(uint32_t offset_bytes, uint32_t count, Cycle now,
                                   const Strand& strand, const Instruction& instruction,
                                   LaneMask lanes) {
  Mbarrier& barrier = require(offset_bytes, strand, instruction);
  check_arrival(barrier, count, strand, instruction);
  if (count > barrier.expected) {
    strand.fault(instruction, FaultKind::contract, 0,
                 "arrive_drop of " + std::to_string(count) + " on the mbarrier " +
                     name(offset_bytes) + ", whose later phases expect only " +
                     plural(barrier.expected, "arrival"),
                 "the expected count must not fall below zero (PTX ISA, \"mbarrier.arrive_drop\")",
                 "drop each participant once");
  }
  const uint64_t before = mbarrier_state::encode(barrier.phase, barrier.pending);
  barrier.expected -= count;
  barrier.pending -= static_cast<int32_t>(count);
  tell(MbarrierEvent::Operation::arrive_drop, barrier, count, now, strand, instruction, lanes);
  complete_if_due(barrier, now, strand, instruction, lanes);
  return before;
}

void MbarrierUnit::check_no_complete(uint32_t offset_bytes, uint32_t count, const Strand& strand,
                                     const Instruction& instruction) {
  const Mbarrier& barrier = require(offset_bytes, strand, instruction);
  if (int64_t{count} < barrier.pending) return;
  strand.fault(instruction, FaultKind::contract, 0,
               "an arrive with .noComplete of " + plural(count, "arrival") + " on the mbarrier " +
                   name(offset_bytes) + " would complete its phase " +
                   std::to_string(barrier.phase) + " (" + describe_counts(barrier) + ")",
               "with .noComplete the arrive-on must not complete the phase (PTX ISA, "
               "\"mbarrier.arrive\")",
               "leave .noComplete out, or arrive with a smaller count");
}

void MbarrierUnit::change_tx(Mbarrier& barrier, int64_t bytes, const Strand& strand,
                             const Instruction& instruction) {
  const int64_t changed = barrier.tx_bytes + bytes;
  if (changed < -kMbarrierLargestCount || changed > kMbarrierLargestCount) {
    strand.fault(instruction, FaultKind::contract, 0,
                 std::string(bytes < 0 ? "complete_tx" : "expect_tx") + " of " +
                     plural(static_cast<uint64_t>(bytes < 0 ? -bytes : bytes), "byte") +
                     " takes the tx-count of the mbarrier " + name(barrier.offset_bytes) +
                     " from " + std::to_string(barrier.tx_bytes) + " to " +
                     std::to_string(changed) + " (phase " + std::to_string(barrier.phase) + ")",
                 "the tx-count stays in the range -(2^20-1) to 2^20-1 (PTX ISA, \"Contents of the "
                 "mbarrier object\")",
                 "expect in each phase exactly the bytes that its copies bring");
  }
  barrier.tx_bytes = changed;
}

void MbarrierUnit::expect_tx(uint32_t offset_bytes, uint32_t bytes, Cycle now, const Strand& strand,
                             const Instruction& instruction, LaneMask lanes) {
  Mbarrier& barrier = require(offset_bytes, strand, instruction);
  change_tx(barrier, int64_t{bytes}, strand, instruction);
  barrier.expected_tx_bytes += bytes;
  tell(MbarrierEvent::Operation::expect_tx, barrier, bytes, now, strand, instruction, lanes);
  complete_if_due(barrier, now, strand, instruction, lanes);
}

void MbarrierUnit::complete_tx(uint32_t offset_bytes, uint32_t bytes, Cycle now,
                               const Strand& strand, const Instruction& instruction,
                               LaneMask lanes) {
  Mbarrier& barrier = require(offset_bytes, strand, instruction);
  change_tx(barrier, -int64_t{bytes}, strand, instruction);
  barrier.completed_tx_bytes += bytes;
  tell(MbarrierEvent::Operation::complete_tx, barrier, bytes, now, strand, instruction, lanes);
  complete_if_due(barrier, now, strand, instruction, lanes);
}

void MbarrierUnit::increment_pending(uint32_t offset_bytes, uint32_t count, Cycle now,
                                     const Strand& strand, const Instruction& instruction) {
  Mbarrier& barrier = require(offset_bytes, strand, instruction);
  if (int64_t{barrier.pending} + count > kMbarrierLargestCount) {
    strand.fault(instruction, FaultKind::contract, 0,
                 "the pending count of the mbarrier " + name(offset_bytes) + " would rise from " +
                     std::to_string(barrier.pending) + " by " + std::to_string(count),
                 "the pending count is at most 2^20-1 (PTX ISA, \"cp.async.mbarrier.arrive\")", "");
  }
  barrier.pending += static_cast<int32_t>(count);
  tell(MbarrierEvent::Operation::increment_pending, barrier, count, now, strand, instruction, 0);
  cta_.cluster->note_progress();
}

void MbarrierUnit::complete_if_due(Mbarrier& barrier, Cycle now, const Strand& strand,
                                   const Instruction& instruction, LaneMask lanes) {
  cta_.cluster->note_progress();
  if (barrier.pending != 0 || barrier.tx_bytes != 0) return;
  tell(MbarrierEvent::Operation::complete, barrier, 0, now, strand, instruction, lanes);
  ++barrier.phase;
  barrier.phase_start = now;
  barrier.pending = static_cast<int32_t>(barrier.expected);
  barrier.expected_tx_bytes = 0;
  barrier.completed_tx_bytes = 0;
  for (const Mbarrier::Waiter& waiter : barrier.waiters) {
    if (!waiter.strand->suspended || waiter.strand->wait_token != waiter.wait_token) continue;
    barrier.observed_phase = barrier.phase;
    cta_.cluster->wake(*waiter.strand, now);
  }
  barrier.waiters.clear();
}

Cycle MbarrierUnit::remote_time(uint32_t target_rank, Cycle now) {
  Cycle& last = state_->last_remote[target_rank % kMaxClusterRanks];
  const Cycle earliest =
      now + costs::kRemoteArrive + cta_.cluster->perturbation(costs::kRemoteArrive);
  last = std::max(last + 1, earliest);
  return last;
}

}  // namespace bw::sim
