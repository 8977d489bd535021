#pragma once
/// \file
/// Which operations of a program's streams are ordered: by their stream, by events, by the legacy
/// default stream, and by what the host has waited for before it submitted them.

#include <cstdint>
#include <unordered_map>

#include "common/simulator/diagnosis/races/clock.hpp"

namespace bw::sim::races {

/// An operation of a stream: a kernel, a copy, a fill. It is an agent on the chain of its stream.
struct StreamOperation {
  uint32_t chain = 0;  ///< of the stream
  Clock clock = 0;     ///< its number there
  VectorClock before;  ///< operations that have ended before it begins
  /// The same for a kernel that may begin while the operation before it in its stream still runs
  /// (programmatic dependent launch), as long as it has not waited for that (griddepcontrol.wait).
  VectorClock before_early;
};

/// The clocks of a program's streams and events, and of the host. One for a device.
class StreamOrder {
 public:
  /// A stream's name, and how the legacy default stream and it wait for each other.
  struct Stream {
    const void* handle = nullptr;  ///< unique among live streams
    bool is_legacy = false;        ///< the legacy default stream
    bool blocks = true;            ///< whether that and it wait for each other
  };

  /// An operation is submitted.
  [[nodiscard]] StreamOperation begin(const Stream& stream);
  /// An event is recorded.
  void record(const void* event, const Stream& stream);
  /// A stream waits for the last record of an event.
  void wait(const Stream& stream, const void* event);

  /// The host has seen a stream come to its end, or an event be reached, or all that was submitted.
  void host_waits_for(const Stream& stream);
  /// See host_waits_for(stream).
  void host_waits_for_event(const void* event);
  /// See host_waits_for(stream).
  void host_waits_for_all();
  /// Whether the host knows everything that was submitted, or an operation, to have ended.
  [[nodiscard]] bool host_knows_all() const { return unknown_to_host_ == 0; }
  /// See host_knows_all.
  [[nodiscard]] bool host_knows(const StreamOperation& operation) const {
    return host_.knows_chain(operation.chain, operation.clock);
  }

  /// A handle is no more, and may be given to another stream or event.
  void forget_stream(const void* handle);
  /// See forget_stream.
  void forget_event(const void* handle) { events_.erase(handle); }

 private:
  struct State {
    uint32_t chain = 0;
    bool is_legacy = false, blocks = true;
    Clock count = 0;
    VectorClock done;         ///< what an operation submitted now comes after
    VectorClock done_before;  ///< the same of the last operation
  };

  [[nodiscard]] State& state(const Stream& stream);
  /// Adds what a stream's next operation comes after beyond its stream.
  void join_others(State& state);

  std::unordered_map<const void*, State> streams_;
  std::unordered_map<const void*, VectorClock> events_;
  VectorClock host_;
  VectorClock ended_streams_;  ///< of destroyed streams that the legacy default stream waits for
  uint32_t next_chain_ = 0;
  uint64_t unknown_to_host_ = 0;  ///< operations since the host has waited for all
};

}  // namespace bw::sim::races
