#pragma once
/// \file
/// Which operations of a program's streams are ordered: by their stream, by events, by the legacy
/// default stream, and by what the host has waited for before it submitted them.
///
/// A launch that may begin early (programmatic dependent launch) knows of the launch before it only
/// what that one had reached when it let its dependents begin. Its griddepcontrol.wait waits for
/// that one launch; older ones are known through it alone, if it has waited itself.

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "common/simulator/diagnosis/race_port.hpp"
#include "common/simulator/diagnosis/races/clock.hpp"

namespace bw::sim::races {

/// What an operation depends on, as far as only the end of another one's run shows what that means.
struct Dependency {
  std::shared_ptr<StreamOperation> on;  ///< a launch
  Reached reached = Reached::ended;     ///< how far it has come
  friend bool operator==(const Dependency&, const Dependency&) = default;
};

/// Operations that have come to their end, or as far as a dependency says.
struct Known {
  VectorClock ended;              ///< operations that have ended
  std::vector<Dependency> later;  ///< what is added when they have run

  /// Everything that `other` knows becomes known.
  void join(const Known& other);
  /// Moves what has run since to `ended`.
  void settle();
};

/// An operation of a stream: a kernel, a copy, a fill. It is an agent on the chain of its stream.
struct StreamOperation {
  uint32_t chain = 0;      ///< one of its stream's
  Clock clock = 0;         ///< its number there
  bool is_kernel = false;  ///< a launch
  /// A launch that may begin before those that it waits for have ended.
  bool is_programmatic = false;
  std::string name;  ///< of the kernel
  /// What comes before it in its stream and otherwise, as if no launch began early.
  VectorClock in_order;
  Known at_start;                                           ///< what is known when it begins
  std::vector<std::shared_ptr<StreamOperation>> waits_for;  ///< griddepcontrol.wait: these launches
  bool has_waited = false;  ///< a thread of the launch has executed griddepcontrol.wait
  /// Its dependents begin only after one of its threads has waited.
  bool triggers_after_wait = false;
  bool is_settled = false;  ///< it has run; the fields below are set

  VectorClock before;  ///< operations that have ended before what it does after its wait
  /// The same for what a launch does without having waited.
  VectorClock before_early;
  /// A launch that it waits for, or one before that, which has not waited for those before it.
  std::string does_not_wait;

  /// The operation has run: sets what it knew.
  void settle();
  /// What is known of the operations before, and of this one, when it has come that far.
  [[nodiscard]] VectorClock known(Reached reached);
};

/// The clocks of a program's streams and events, and of the host. One for a device.
class StreamOrder final : public StreamPort {
 public:
  [[nodiscard]] std::shared_ptr<StreamOperation> begin(const Stream& stream,
                                                       Kind kind = Kind::host) override;
  void record(const void* event, const Stream& stream) override;
  void record(const void* event, std::shared_ptr<StreamOperation> launch, Reached reached,
              bool waitable) override;
  void wait(const Stream& stream, const void* event) override;
  void host_waits_for(const Stream& stream) override;
  void host_waits_for_event(const void* event) override;
  void host_waits_for_all() override;
  /// Whether the host knows everything that was submitted, or an operation, to have ended.
  [[nodiscard]] bool host_knows_all() const { return unknown_to_host_ == 0; }
  /// See host_knows_all.
  [[nodiscard]] bool host_knows(const StreamOperation& operation) const {
    return host_.ended.knows_chain(operation.chain, operation.clock);
  }

  void forget_stream(const void* handle) override;
  void forget_event(const void* handle) override { events_.erase(handle); }

 private:
  struct Event {
    Known known;
    std::vector<std::shared_ptr<StreamOperation>> waitable;  ///< see record()
  };
  struct State {
    bool is_legacy = false, blocks = true;
    std::vector<uint32_t> chains;           ///< of its operations
    Known done;                             ///< what an operation submitted now comes after
    std::shared_ptr<StreamOperation> last;  ///< the last operation
    // Since then:
    Known told;                                              ///< by events
    std::vector<std::shared_ptr<StreamOperation>> waitable;  ///< see record()
  };

  [[nodiscard]] State& state(const Stream& stream);
  /// A chain for an operation that begins with the clock `at_start`: an operation of a chain is
  /// ordered after those before it there.
  [[nodiscard]] uint32_t chain_for(State& state, const VectorClock& at_start);
  /// What a stream's next operation comes after beyond its stream.
  [[nodiscard]] Known of_others(const State& state) const;

  std::unordered_map<const void*, State> streams_;
  std::unordered_map<const void*, Event> events_;
  Known host_;
  Known ended_streams_;           ///< of destroyed streams that the legacy default stream waits for
  std::vector<Clock> chains_;     ///< the last operation of each
  uint64_t unknown_to_host_ = 0;  ///< operations since the host has waited for all
};

}  // namespace bw::sim::races
