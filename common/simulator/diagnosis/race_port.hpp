#pragma once
/// \file
/// The race detector as the rest of the simulator sees it. The detector is one of the observers
/// that only some runs request (session/requested_observers.hpp), so nothing else includes its
/// headers.

#include <cstdint>
#include <memory>
#include <vector>

#include "common/simulator/base/error.hpp"
#include "common/simulator/machine/device.hpp"
#include "common/simulator/machine/observer.hpp"

namespace bw::sim::races {

struct StreamOperation;

/// How far an operation has come when another one, which depends on it, begins.
enum class Reached : uint8_t {
  started,    ///< all of its CTAs have begun
  triggered,  ///< all of its CTAs have executed griddepcontrol.launch_dependents, or have ended
  ended,      ///< it is complete
};

/// The order of a device's streams and events and of the host, which reports each step here.
class StreamPort {
 public:
  /// A stream's name, and how the legacy default stream and it wait for each other.
  struct Stream {
    const void* handle = nullptr;  ///< unique among live streams
    bool is_legacy = false;        ///< the legacy default stream
    bool blocks = true;            ///< whether that and it wait for each other
  };
  /// What is submitted.
  enum class Kind : uint8_t {
    host,          ///< a copy or a fill
    kernel,        ///< a launch
    early_kernel,  ///< one that may begin before the launch in front of it has ended
  };

  virtual ~StreamPort() = default;

  /// An operation is submitted.
  [[nodiscard]] virtual std::shared_ptr<StreamOperation> begin(const Stream& stream, Kind kind) = 0;
  /// An event is recorded.
  virtual void record(const void* event, const Stream& stream) = 0;
  /// A launch records an event when it has come that far. `waitable`: griddepcontrol.wait of a
  /// launch that depends on the event waits for the end of this one.
  virtual void record(const void* event, std::shared_ptr<StreamOperation> launch, Reached reached,
                      bool waitable) = 0;
  /// A stream waits for the last record of an event.
  virtual void wait(const Stream& stream, const void* event) = 0;

  /// The host has seen a stream come to its end, or an event be reached, or all that was submitted.
  virtual void host_waits_for(const Stream& stream) = 0;
  /// See host_waits_for(stream).
  virtual void host_waits_for_event(const void* event) = 0;
  /// See host_waits_for(stream).
  virtual void host_waits_for_all() = 0;

  /// A handle was destroyed, and may be given to another stream or event.
  virtual void forget_stream(const void* handle) = 0;
  /// See forget_stream.
  virtual void forget_event(const void* handle) = 0;
};

/// The race detector of a device.
class RacePort : public LaunchObserver {
 public:
  /// The order of streams, for callers that submit operations.
  [[nodiscard]] virtual StreamPort& order() = 0;
  /// The launch that begins next has this place.
  virtual void set_next(std::shared_ptr<StreamOperation> operation) = 0;
  /// The host copied or filled memory: bytes that were read and bytes that were written. `api` is
  /// the function that did. Throws SimulationError for a race with another operation.
  virtual void host_operation(std::shared_ptr<StreamOperation> operation, const char* api,
                              std::vector<MemoryRange> reads, std::vector<MemoryRange> writes) = 0;
  /// Memory is freed: a later allocation there has no history.
  virtual void forget(uint64_t address, uint64_t size_bytes) = 0;
  /// Adds to the report of a launch that got stuck which races it had.
  virtual void add_races_to(Report& report) const = 0;
};

/// The race detector of a device; nullptr where its settings ask for none.
[[nodiscard]] RacePort* port_of(const Device& device);

}  // namespace bw::sim::races
