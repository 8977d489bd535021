#pragma once
/// \file
/// Streams and events. An operation runs when it is submitted, unless one before it in the order of
/// its stream waits: a kernel that reads memory until the host or another kernel writes it.

#include <driver_types.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "common/simulator/base/types.hpp"
#include "common/simulator/cudart/runtime/operations.hpp"

namespace bw::sim::cudart {

struct Capture;

/// Nodes that the next one of a capture comes after, and how its edges from them are annotated.
struct CaptureTail {
  std::vector<cudaGraphNode_t> nodes;    ///< each once
  std::vector<cudaGraphEdgeData> edges;  ///< of each

  /// Adds a node, if it is not there.
  void add(cudaGraphNode_t node, const cudaGraphEdgeData& edge);
  /// Adds those of another.
  void join(const CaptureTail& other);
  /// Forgets them.
  void clear() { *this = {}; }
};

/// Operations of a stream that have not ended.
struct Pending {
  uint64_t order = 0;    ///< among all streams
  Operation operation;   ///< what is to be done
  bool running = false;  ///< a host thread performs it and has taken it out
};

}  // namespace bw::sim::cudart

// The runtime's headers declare these two structures without defining them.
/// A stream.
struct CUstream_st {
  unsigned flags = 0;                            ///< as the runtime was given them
  int priority = 0;                              ///< as the runtime was given it
  unsigned long long id = 0;                     ///< number of the stream
  std::deque<bw::sim::cudart::Pending> pending;  ///< what has not ended, in order
  // While it is captured into a graph.
  std::shared_ptr<bw::sim::cudart::Capture> capture;  ///< the capture that it takes part in
  bw::sim::cudart::CaptureTail capture_tail;          ///< what the next node comes after
  cudaGraphNode_t capture_last = nullptr;             ///< the last node of this stream
};

/// An event.
struct CUevent_st {
  unsigned flags = 0;       ///< as the runtime was given them
  uint64_t records = 0;     ///< asked for
  uint64_t reached = 0;     ///< the last record that its stream has come to
  bw::sim::Cycle time = 0;  ///< simulated cycle at which it was recorded
  // Recorded in a stream that was captured.
  std::weak_ptr<bw::sim::cudart::Capture> capture;  ///< the capture that it takes part in
  bw::sim::cudart::CaptureTail capture_tail;        ///< what the next node comes after
};

namespace bw::sim::cudart {

/// Priorities of streams, numerically (lower runs first).
inline constexpr int kLeastPriority = 0;
inline constexpr int kGreatestPriority = -5;  ///< the highest priority of a stream

/// A live stream's record; the default streams (0, 1, 2) always live. nullptr for other handles.
[[nodiscard]] CUstream_st* find_stream(cudaStream_t stream);
/// A live event's record, or nullptr.
[[nodiscard]] CUevent_st* find_event(cudaEvent_t event);
/// Calls `use` with every live stream, the default ones too.
void for_each_stream(const std::function<void(CUstream_st&)>& use);

/// Hands an operation to a stream: it becomes a node where the stream is captured, runs now where
/// nothing before it waits, else later. Returns cudaErrorInvalidResourceHandle for a stream that
/// does not exist.
cudaError_t submit(Runtime& runtime, const char* api, cudaStream_t stream, Operation operation);

/// Whether nothing of the stream, or of any stream, is pending.
[[nodiscard]] bool is_done(const CUstream_st& stream);
/// Whether nothing of any stream is pending.
[[nodiscard]] bool all_done();

/// Runs what can run once, and goes on with kernels that wait. Returns whether anything has ended.
bool make_progress(Runtime& runtime);

/// Makes progress until `done`. If no thread is left that could change what kernels wait for, their
/// launch is a livelock: throws SimulationError. Returns the error of an operation that ran late.
/// Afterwards the device counts as idle.
cudaError_t wait_until(Runtime& runtime, const std::function<bool()>& done);

/// Forgets everything that is pending: the device has failed or is reset.
void drop_pending();

}  // namespace bw::sim::cudart
