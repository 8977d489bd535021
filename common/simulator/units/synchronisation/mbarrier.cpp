#include "common/simulator/units/synchronisation/mbarrier.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <deque>
#include <map>
#include <utility>

#include <fmt/core.h>

#include "common/simulator/base/text.hpp"
#include "common/simulator/clock/costs.hpp"
#include "common/simulator/machine/binder.hpp"
#include "common/simulator/machine/kernel.hpp"
#include "common/simulator/machine/late_fault.hpp"
#include "common/simulator/machine/limits.hpp"
#include "common/simulator/units/memory/access_events.hpp"

namespace bw::sim {
namespace {

// The eight bytes of a live object hold a marker and the object's slot: a plain load sees an opaque
// value, an operation finds its object without a search, and a store over the object is noticed.
/// Copies that complete a phase of most mbarriers, at most: room for them is made at once.
constexpr size_t kUsualCopies = 4;
constexpr uint64_t kObjectMarker = 0x6d626172ull << 32;  // "mbar"
constexpr uint64_t kObjectMarkerMask = 0xffffffffull << 32;

// Opaque state: pending count in bits 0-19, phase in 20-51, marker above.
constexpr int kStatePhaseShift = 20;
constexpr int kStateMarkerShift = 52;
constexpr uint64_t kStateMarker = 0xb5a;
constexpr uint64_t kStatePhaseMask = 0xffffffffull;

constexpr size_t kMaxClusterRanks = kMaxClusterNonPortable;

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
  std::string text = fmt::format("pending {} of {}, tx-count {}", barrier.pending,
                                 counted(barrier.expected, "arrival"), barrier.tx_bytes);
  if (barrier.expected_tx_bytes != 0 || barrier.completed_tx_bytes != 0) {
    text += fmt::format(" ({} bytes expected, {} completed)", barrier.expected_tx_bytes,
                        barrier.completed_tx_bytes);
  }
  return text;
}

struct MbarrierUnit::State {
  std::deque<Mbarrier> slots;  ///< stable addresses; dead ones are reused
  std::vector<uint32_t> free_slots;
  std::array<Cycle, kMaxClusterRanks> last_remote{};
  /// The origin of the inval of the object that was last at an offset.
  std::map<uint32_t, Origin> invalidated;
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

namespace {

/// What keeps a CTA alive until `instruction`'s effect has reached it.
std::string keep_alive_advice(const Kernel& kernel, const Instruction& instruction) {
  const auto& all = kernel.function().instructions;
  const auto relaxed = std::find_if(all.begin(), all.end(), [](const ptx::Instruction& candidate) {
    return candidate.opcode.starts_with("barrier.cluster.arrive") &&
           candidate.opcode.find(".relaxed") != std::string::npos;
  });
  // A release waits for what its thread did before; tcgen05.commit and copies act later and alone.
  const bool is_own_act = kernel.form(instruction).unit == Unit::mbarrier;
  if (is_own_act && relaxed != all.end())
    return fmt::format(
        "the cluster barrier of this kernel arrives with .relaxed ({}), which does not wait for "
        "what "
        "the thread did before it: it must be released (barrier.cluster.arrive.release, which is "
        "also what no qualifier means) in the threads that arrive on other CTAs' barriers",
        kernel.module().ptx().describe_place(*relaxed));
  return "let the CTA stay until everything that was sent to it has arrived: wait for its last "
         "phase, or put a cluster barrier before the exit";
}

}  // namespace

Mbarrier& MbarrierUnit::require(uint32_t offset_bytes, const Strand& strand,
                                const Instruction& instruction) {
  if (cta_.exited) {
    const auto fault = [&] {
      return Fault{
          .code = FaultCode::mbarrier_of_exited_cta,
          .what = fmt::format("an operation on the mbarrier {} of CTA rank {} took effect after "
                              "that CTA had exited",
                              name(offset_bytes), cta_.rank),
          .rule = "shared memory of an exited CTA must not be accessed",
          .fix = keep_alive_advice(cta_.cluster->kernel(), instruction),
          .details =
              {"docs/pitfalls.md, pitfall 8: exit before a remote arrival, a multicast write "
               "or an MMA has completed"},
          .section = "Cluster of Cooperative Thread Arrays",
          .hardware_accepts = true};
    };
    Site{strand, instruction, 0}.fault_at_isa(FaultCode::mbarrier_of_exited_cta, fault);
  }
  Mbarrier* const barrier = find(offset_bytes);
  if (barrier == nullptr) {
    // For who looks whether an init comes later: the use is an access to the object's bytes.
    if (&cta_ == strand.cta) {
      LaneAddresses addresses{};
      addresses.fill(offset_bytes);
      notify_access(strand, instruction, strand.executing, AddressSpace::shared_cta,
                    Access::read_write, true, kMbarrierBytes, addresses);
    }
    if (const auto ended = state_->invalidated.find(offset_bytes);
        ended != state_->invalidated.end()) {
      const Origin& by = ended->second;
      const Strand issuer = issuer_of(*cta_.cluster, by);
      Site{strand, instruction, 0}.fault(
          {.code = FaultCode::mbarrier_not_initialised,
           .what = fmt::format("the mbarrier {} (shared offset {}, CTA rank {}) has been "
                               "invalidated by warp {} before this operation on it",
                               name(offset_bytes), offset_bytes, cta_.rank, by.warp),
           .rule = "an invalidated object is not used again before it is initialised again",
           .fix = "run mbarrier.inval only when all arrivals, copies and commits that signal the "
                  "mbarrier are known to have arrived: wait for the phase that they complete",
           .section = "mbarrier.inval",
           .places = {issuer.place(*by.instruction, by.lanes, "the mbarrier.inval")}});
    }
    std::vector<std::string> details;
    for (const Mbarrier* other : objects()) {
      constexpr size_t kMostListed = 8;
      if (details.size() == kMostListed) break;
      details.push_back("initialised: " + name(other->offset_bytes));
    }
    Site{strand, instruction, 0}.fault(
        {.code = FaultCode::mbarrier_not_initialised,
         .what = fmt::format("no mbarrier is initialised at {} (shared offset {}, CTA rank {})",
                             name(offset_bytes), offset_bytes, cta_.rank),
         .rule = "every mbarrier operation but init needs a valid object",
         .fix = "run mbarrier.init on it first, and let the other threads see that: "
                "fence.mbarrier_init.release.cluster and a barrier",
         .details = std::move(details),
         .section = "mbarrier.init"});
  }
  uint64_t stored = 0;
  std::memcpy(&stored, cta_.shared.data() + offset_bytes, sizeof stored);
  // The slot may be any number where half of the object was overwritten.
  const auto slot = static_cast<uint32_t>(stored);
  if ((stored & kObjectMarkerMask) != kObjectMarker || slot >= state_->slots.size() ||
      &state_->slots[slot] != barrier) {
    Site{strand, instruction, 0}.fault(
        {.code = FaultCode::mbarrier_overwritten,
         .what = "the mbarrier at " + name(offset_bytes) + " is corrupted: its 8 bytes now hold " +
                 hex_word(stored) + ", written by something other than an mbarrier operation",
         .rule = "only mbarrier operations may touch a live object",
         .fix = "keep data and barriers apart in shared memory, or run mbarrier.inval before the "
                "memory is used for something else",
         .section = "mbarrier"});
  }
  return *barrier;
}

void MbarrierUnit::init(const MbarrierOperation& by, uint32_t count, uint8_t layout) {
  const auto& [offset_bytes, now, strand, instruction, lanes, operation_id] = by;
  if (count < 1 || count > kMbarrierLargestCount) {
    Site{strand, instruction, 0}.fault(
        {.code = FaultCode::mbarrier_count,
         .what = fmt::format("mbarrier.init of {} with count {}", name(offset_bytes), count),
         .rule = "the count is in the range 1 to 2^20-1",
         .fix = "pass the number of arrivals that complete a phase",
         .section = "mbarrier.init"});
  }
  Mbarrier* existing = find(offset_bytes);
  if (existing != nullptr) {
    if (cta_.cluster->at_isa_level()) {
      Site{strand, instruction, 0}.fault(
          {.code = FaultCode::mbarrier_initialised_twice,
           .what = fmt::format("mbarrier.init of {}, which holds a live mbarrier (phase {}, {})",
                               name(offset_bytes), existing->phase, describe_counts(*existing)),
           .rule = "init of a location that holds a valid mbarrier is undefined",
           .fix = "initialise it once, by one thread; run mbarrier.inval before initialising again",
           .section = "mbarrier.init",
           .hardware_accepts = true});
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
  barrier.layout = layout;
  barrier.phase_start = now;
  barrier.offset_bytes = offset_bytes;
  barrier.expected = count;
  barrier.pending = static_cast<int32_t>(count);
  state_->invalidated.erase(offset_bytes);
  const uint64_t stored = kObjectMarker | slot;
  std::memcpy(cta_.shared.data() + offset_bytes, &stored, sizeof stored);
  notify(MbarrierEvent::Operation::init, barrier, count, by);
  cta_.cluster->note_progress();
}

void MbarrierUnit::invalidate(const MbarrierOperation& by) {
  const auto& [offset_bytes, now, strand, instruction, lanes, operation_id] = by;
  Mbarrier& barrier = require(offset_bytes, strand, instruction);
  const auto waiting = std::count_if(
      barrier.waiters.begin(), barrier.waiters.end(), [](const Mbarrier::Waiter& waiter) {
        return waiter.strand->suspended && waiter.strand->wait_token == waiter.wait_token;
      });
  if (waiting != 0) {
    Site{strand, instruction, 0}.fault(
        {.code = FaultCode::mbarrier_invalidated_in_use,
         .what = fmt::format("mbarrier.inval of {} while {} waits on it (phase {}, {})",
                             name(offset_bytes), counted(static_cast<uint64_t>(waiting), "warp"),
                             barrier.phase, describe_counts(barrier)),
         .rule = "an invalidated object must not be used",
         .fix = "synchronise with all users before mbarrier.inval",
         .section = "mbarrier.inval"});
  }
  const uint64_t cleared = 0;
  uint64_t stored = 0;
  std::memcpy(&stored, cta_.shared.data() + offset_bytes, sizeof stored);
  std::memcpy(cta_.shared.data() + offset_bytes, &cleared, sizeof cleared);
  notify(MbarrierEvent::Operation::invalidate, barrier, 0, by);
  state_->invalidated[offset_bytes] =
      by.strand.origin(by.instruction, by.lanes != 0 ? by.lanes : by.strand.executing);
  barrier.live = false;
  state_->free_slots.push_back(static_cast<uint32_t>(stored));
  cta_.cluster->note_progress();
}

void MbarrierUnit::notify(MbarrierEvent::Operation operation, const Mbarrier& barrier,
                          uint64_t amount, const MbarrierOperation& by) const {
  if (!cta_.cluster->observed(EventKind::mbarrier)) return;
  MbarrierEvent event = event_of(barrier, cta_, by.now);
  event.operation = operation;
  event.origin = by.strand.origin(by.instruction, by.lanes != 0 ? by.lanes : by.strand.executing);
  event.amount = amount;
  // What an operation announces, and the end of a phase, are not parts of it.
  if (operation != MbarrierEvent::Operation::expect_tx &&
      operation != MbarrierEvent::Operation::complete)
    event.operation_id = by.operation_id;
  cta_.cluster->notify(&Observer::on_mbarrier, event);
}

void MbarrierUnit::notify_test(const Mbarrier& barrier, int64_t waited_phase, bool done,
                               bool may_suspend, const Strand& strand,
                               const Instruction& instruction, LaneMask lanes) const {
  if (!cta_.cluster->observed(EventKind::mbarrier)) return;
  MbarrierEvent event = event_of(barrier, cta_, strand.time);
  event.operation = MbarrierEvent::Operation::test;
  event.origin = strand.origin(instruction, lanes);
  event.waited_phase = waited_phase;
  event.done = done;
  event.may_suspend = may_suspend;
  cta_.cluster->notify(&Observer::on_mbarrier, event);
}

void MbarrierUnit::check_arrival(const Mbarrier& barrier, uint32_t count,
                                 const MbarrierOperation& by) const {
  const Site site{by.strand, by.instruction};
  if (count < 1 || count > kMbarrierLargestCount) {
    site.fault(
        {.code = FaultCode::mbarrier_count,
         .what = fmt::format("arrive on {} with count {}", name(barrier.offset_bytes), count),
         .rule = "the count is in the range 1 to 2^20-1",
         .section = "mbarrier.arrive"});
  }
  if (int64_t{count} > barrier.pending) {
    site.fault(
        {.code = FaultCode::mbarrier_too_many_arrivals,
         .what = fmt::format("{} on the mbarrier {}, but its phase {} expects only {} more ({})",
                             counted(count, "arrival"), name(barrier.offset_bytes), barrier.phase,
                             barrier.pending, describe_counts(barrier)),
         .rule = "the pending count must not fall below zero",
         .fix = "make the count of mbarrier.init equal to the arrivals of one phase; let one "
                "elected lane arrive where one arrival is meant",
         .section = "mbarrier.arrive"});
  }
  if (barrier.phase > barrier.observed_phase && cta_.cluster->at_isa_level()) {
    site.fault(
        {.code = FaultCode::mbarrier_phase_unobserved,
         .what = fmt::format("arrive on the mbarrier {} in phase {} before any wait has seen that "
                             "phase {} is complete",
                             name(barrier.offset_bytes), barrier.phase, barrier.phase - 1),
         .rule = "in each phase a test_wait or try_wait must have returned true before an "
                 "arrive-on of the next phase",
         .fix =
             "wait for the previous phase (or be told by a thread that has) before arriving again",
         .section = "Phase of the mbarrier object",
         .hardware_accepts = true});
  }
}

void MbarrierUnit::check_arrival(const MbarrierOperation& by, uint32_t count) {
  check_arrival(require(by.offset_bytes, by.strand, by.instruction), count, by);
}

uint64_t MbarrierUnit::arrive(const MbarrierOperation& by, uint32_t count) {
  Mbarrier& barrier = require(by.offset_bytes, by.strand, by.instruction);
  check_arrival(barrier, count, by);
  const uint64_t before = mbarrier_state::encode(barrier.phase, barrier.pending);
  barrier.pending -= static_cast<int32_t>(count);
  notify(MbarrierEvent::Operation::arrive, barrier, count, by);
  complete_if_due(barrier, by);
  return before;
}

uint64_t MbarrierUnit::arrive_drop(const MbarrierOperation& by, uint32_t count) {
  Mbarrier& barrier = require(by.offset_bytes, by.strand, by.instruction);
  check_arrival(barrier, count, by);
  if (count > barrier.expected) {
    Site{by.strand, by.instruction, 0}.fault(
        {.code = FaultCode::mbarrier_drop_underflow,
         .what =
             fmt::format("arrive_drop of {} on the mbarrier {}, whose later phases expect only {}",
                         count, name(by.offset_bytes), counted(barrier.expected, "arrival")),
         .rule = "the expected count must not fall below zero",
         .fix = "drop each participant once",
         .section = "mbarrier.arrive_drop"});
  }
  const uint64_t before = mbarrier_state::encode(barrier.phase, barrier.pending);
  barrier.expected -= count;
  barrier.pending -= static_cast<int32_t>(count);
  notify(MbarrierEvent::Operation::arrive_drop, barrier, count, by);
  complete_if_due(barrier, by);
  return before;
}

void MbarrierUnit::check_no_complete(const MbarrierOperation& by, uint32_t count) {
  const Mbarrier& barrier = require(by.offset_bytes, by.strand, by.instruction);
  if (int64_t{count} < barrier.pending) return;
  Site{by.strand, by.instruction, 0}.fault(
      {.code = FaultCode::mbarrier_no_complete,
       .what = fmt::format(
           "an arrive with .noComplete of {} on the mbarrier {} would complete its phase {} ({})",
           counted(count, "arrival"), name(by.offset_bytes), barrier.phase,
           describe_counts(barrier)),
       .rule = "with .noComplete the arrive-on must not complete the phase",
       .fix = "leave .noComplete out, or arrive with a smaller count",
       .section = "mbarrier.arrive"});
}

void MbarrierUnit::change_tx(Mbarrier& barrier, int64_t bytes, const MbarrierOperation& by) {
  const int64_t changed = barrier.tx_bytes + bytes;
  if (changed < -kMbarrierLargestCount || changed > kMbarrierLargestCount) {
    Site{by.strand, by.instruction, 0}.fault(
        {.code = FaultCode::mbarrier_tx_count,
         .what =
             fmt::format("{} of {} takes the tx-count of the mbarrier {} from {} to {} (phase {})",
                         bytes < 0 ? "complete_tx" : "expect_tx",
                         counted(static_cast<uint64_t>(bytes < 0 ? -bytes : bytes), "byte"),
                         name(barrier.offset_bytes), barrier.tx_bytes, changed, barrier.phase),
         .rule = "the tx-count stays in the range -(2^20-1) to 2^20-1",
         .fix = "expect in each phase exactly the bytes that its copies bring",
         .section = "Contents of the mbarrier object"});
  }
  barrier.tx_bytes = changed;
}

void MbarrierUnit::expect_tx(const MbarrierOperation& by, uint32_t bytes) {
  Mbarrier& barrier = require(by.offset_bytes, by.strand, by.instruction);
  change_tx(barrier, int64_t{bytes}, by);
  barrier.expected_tx_bytes += bytes;
  notify(MbarrierEvent::Operation::expect_tx, barrier, bytes, by);
  complete_if_due(barrier, by);
}

void MbarrierUnit::complete_tx(const MbarrierOperation& by, uint32_t bytes,
                               const Mbarrier::Request& request) {
  Mbarrier& barrier = require(by.offset_bytes, by.strand, by.instruction);
  change_tx(barrier, -int64_t{bytes}, by);
  barrier.completed_tx_bytes += bytes;
  if (request.at != kNever) {
    if (barrier.copies.empty()) barrier.copies.reserve(kUsualCopies);
    barrier.copies.push_back({request, bytes});
  }
  notify(MbarrierEvent::Operation::complete_tx, barrier, bytes, by);
  complete_if_due(barrier, by);
}

void MbarrierUnit::increment_pending(const MbarrierOperation& by, uint32_t count) {
  Mbarrier& barrier = require(by.offset_bytes, by.strand, by.instruction);
  if (int64_t{barrier.pending} + count > kMbarrierLargestCount) {
    Site{by.strand, by.instruction, 0}.fault(
        {.code = FaultCode::mbarrier_count,
         .what = fmt::format("the pending count of the mbarrier {} would rise from {} by {}",
                             name(by.offset_bytes), barrier.pending, count),
         .rule = "the pending count is at most 2^20-1",
         .section = "cp.async.mbarrier.arrive"});
  }
  barrier.pending += static_cast<int32_t>(count);
  notify(MbarrierEvent::Operation::increment_pending, barrier, count, by);
  cta_.cluster->note_progress();
}

void MbarrierUnit::complete_if_due(Mbarrier& barrier, const MbarrierOperation& by) {
  cta_.cluster->note_progress();
  if (barrier.pending != 0 || barrier.tx_bytes != 0) return;
  notify(MbarrierEvent::Operation::complete, barrier, 0, by);
  ++barrier.phase;
  barrier.phase_start = by.now;
  barrier.pending = static_cast<int32_t>(barrier.expected);
  barrier.expected_tx_bytes = 0;
  barrier.completed_tx_bytes = 0;
  for (const Mbarrier::Waiter& waiter : barrier.waiters) {
    if (!waiter.strand->suspended || waiter.strand->wait_token != waiter.wait_token) continue;
    barrier.observed_phase = barrier.phase;
    const bool is_part = waiter.strand->mask != waiter.strand->warp->live;
    cta_.cluster->wake(*waiter.strand, by.now + cta_.cluster->costs().mbarrier_wake(is_part));
  }
  barrier.waiters.clear();
  std::swap(barrier.landed, barrier.copies);
  barrier.copies.clear();
  if (barrier.observed_phase == barrier.phase) note_observed(barrier, by.now);
}

void MbarrierUnit::note_observed(Mbarrier& barrier, Cycle now) {
  const Cycle cycles = now - std::min(now, barrier.phase_start);
  // Copies that fill the barrier together end together, so what counts is how long the first of
  // them waited in the engine.
  Cycle queued = barrier.landed.empty() ? 0 : kNever;
  for (const Mbarrier::Copy& copy : barrier.landed) queued = std::min(queued, copy.request.queued);
  for (const Mbarrier::Copy& copy : barrier.landed)
    cta_.cluster->demand().arrived(copy.request.at, copy.bytes, queued, cycles);
  barrier.landed.clear();
}

Cycle MbarrierUnit::last_remote_time() const {
  return *std::max_element(state_->last_remote.begin(), state_->last_remote.end());
}

Cycle MbarrierUnit::remote_time(uint32_t target_rank, Cycle now) {
  Cycle& last = state_->last_remote[target_rank % kMaxClusterRanks];
  const Cycle way = cta_.cluster->costs().remote_arrival();
  const Cycle earliest = now + way + cta_.cluster->perturbation(way);
  last = std::max(last + 1, earliest);
  return last;
}

}  // namespace bw::sim
