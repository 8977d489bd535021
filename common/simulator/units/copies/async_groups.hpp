#pragma once
/// \file
/// Groups of asynchronous copies: per thread, committed and waited for (PTX ISA, "Async-group
/// mechanism").

#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include "common/simulator/machine/execution.hpp"

namespace bw::sim {

/// The groups of all threads of one CTA. An operation is reading until its source may be
/// overwritten and pending until its writes are visible.
class AsyncGroups {
 public:
  /// How far it can have come.
  enum class Stage : uint8_t {
    read,   ///< sources have been read
    write,  ///< the operation is complete
  };
  /// One operation of one thread.
  struct Ticket {
    uint32_t thread = 0;     ///< number of the thread in its CTA
    uint64_t group = 0;      ///< number of the group
    uint64_t operation = 0;  ///< number of the operation
  };

  /// `kind` is what waiting strands are shown to wait for.
  AsyncGroups(Cta& cta, WaitKind kind) : cta_(cta), kind_(kind) {}

  /// An operation starts in the thread's open group. `source`: the instruction of one whose source
  /// has to outlive it, so that the thread must wait for it before it ends.
  Ticket begin(uint32_t thread, const Instruction* source = nullptr);
  /// The operation has come to the end of a stage; wakes threads that waited for it. Ends `read`
  /// before `write`.
  void finish(const Ticket& ticket, Stage stage, Cycle now);
  /// Closes the thread's open group, which may be empty.
  void commit(uint32_t thread);
  /// Waits until all but the `allowed` most recent groups of each lane's thread are through
  /// `stage`. To be called again when the strand is resumed.
  Flow wait(Strand& strand, LaneMask lanes, uint32_t allowed, Stage stage);
  /// The instruction whose operation no wait of the thread has covered, and which has a source that
  /// has to outlive it; null without one.
  [[nodiscard]] const Instruction* not_waited_for(uint32_t thread) const;
  /// Calls `action` when all operations that the thread has begun so far are complete (at once,
  /// with `now`, when they are).
  void when_complete(uint32_t thread, Cycle now, Action action);

 private:
  struct Group {
    uint32_t reading = 0;
    uint32_t pending = 0;
  };
  struct Watcher {
    uint64_t before_operation = 0;
    uint64_t remaining = 0;
    Action action;
  };
  struct Thread {
    std::deque<Group> groups{1};  ///< the last one is open
    uint64_t first_group = 0;     ///< number of groups.front()
    uint64_t next_operation = 0;
    uint64_t incomplete = 0;
    uint64_t waited_groups = 0;  ///< groups below this number have been waited for
    uint64_t source_group = 0;   ///< group of the last operation with a source to outlive it
    const Instruction* source = nullptr;  ///< its instruction
    std::vector<Watcher> watchers;
  };
  struct Waiter {
    Strand* strand = nullptr;
    LaneMask lanes = 0;
    uint32_t allowed = 0;
    Stage stage = Stage::read;
  };

  Thread& thread_state(uint32_t thread);
  void note_waited(const Waiter& waiter);
  [[nodiscard]] bool is_done(uint32_t thread, uint32_t allowed, Stage stage) const;
  [[nodiscard]] bool is_done(const Waiter& waiter) const;

  Cta& cta_;
  WaitKind kind_;
  std::vector<Thread> threads_;  ///< by thread index; grows on demand
  std::vector<Waiter> waiters_;
};

// For observers.

/// The lanes that execute `instruction` have committed their groups.
void notify_group_commit(const Strand& strand, const Instruction& instruction,
                         GroupEvent::Unit unit);
/// A wait for groups has ended with `flow`, which is handed through: it passes or blocks.
Flow notify_group_wait(const Strand& strand, const Instruction& instruction, GroupEvent::Unit unit,
                       uint32_t allowed, AsyncGroups::Stage stage, Flow flow);

}  // namespace bw::sim
