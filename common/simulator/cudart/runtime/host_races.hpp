#pragma once
/// \file
/// What the race detector is told of the host: in which order operations of streams come, what host
/// copies touch, what the host has waited for. Nothing below the level `races`.

#include <cstdint>

#include "common/simulator/cudart/runtime/streams.hpp"

namespace bw::sim::cudart {

/// An operation is handed to a stream; it gets its place in the order there.
void note_submission(Runtime& runtime, CUstream_st& stream, Operation& operation);
/// The kernel is launched now.
void note_launch(Runtime& runtime, const KernelOperation& operation);
/// A copy or a fill was performed. Throws SimulationError for a race with another operation.
void note_copy(Runtime& runtime, const CopyOperation& operation);
/// See note_copy.
void note_fill(Runtime& runtime, const FillOperation& operation);

/// The host knows that a stream, an event's record, or everything has been reached.
void note_wait(Runtime& runtime, const CUstream_st& stream);
/// See note_wait.
void note_wait(Runtime& runtime, cudaEvent_t event);
/// See note_wait.
void note_wait_for_all(Runtime& runtime);

/// A stream is destroyed.
void note_end(Runtime& runtime, const CUstream_st& stream);
/// An event is destroyed.
void note_end(Runtime& runtime, cudaEvent_t event);
/// Memory is freed.
void note_free(Runtime& runtime, uint64_t address, uint64_t size_bytes);

}  // namespace bw::sim::cudart
