#include "common/simulator/cudart/runtime/host_races.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "common/simulator/diagnosis/race_port.hpp"

namespace bw::sim::cudart {
namespace {

races::RacePort* races_of(Runtime& runtime) { return races::port_of(runtime.device()); }

races::StreamPort::Stream named(const CUstream_st& stream) {
  return {&stream, &stream == find_stream(nullptr), (stream.flags & cudaStreamNonBlocking) == 0};
}

/// The rows of one side of a copy that are in device memory.
std::vector<MemoryRange> rows(Runtime& runtime, const void* first, CopySide side, CopyShape shape) {
  std::vector<MemoryRange> all;
  const auto address = reinterpret_cast<uint64_t>(first);
  if (!runtime.device().memory().in_arena(address)) return all;
  for (size_t slice = 0; slice < shape.slices; ++slice) {
    for (size_t row = 0; row < shape.rows; ++row) {
      const uint64_t begin = address + slice * side.slice_bytes + row * side.pitch_bytes;
      if (!all.empty() && all.back().address + all.back().size_bytes == begin)
        all.back().size_bytes += shape.row_bytes;
      else
        all.push_back({AddressSpace::global, 0, begin, shape.row_bytes});
    }
  }
  return all;
}

void compare(Runtime& runtime, const std::shared_ptr<races::StreamOperation>& order,
             const char* api, std::vector<MemoryRange> reads, std::vector<MemoryRange> writes) {
  races::RacePort* const races = races_of(runtime);
  if (races == nullptr || order == nullptr) return;
  races->host_operation(order, api, std::move(reads), std::move(writes));
}

/// A launch is handed to a stream, with the events that it records itself.
void note_kernel(races::StreamPort& order, const CUstream_st& stream, KernelOperation& kernel) {
  using races::Reached;
  const bool is_early =
      std::any_of(kernel.attributes.begin(), kernel.attributes.end(), [](const auto& attribute) {
        return attribute.id == cudaLaunchAttributeProgrammaticStreamSerialization &&
               attribute.val.programmaticStreamSerializationAllowed != 0;
      });
  kernel.order = order.begin(named(stream), is_early ? races::StreamPort::Kind::early_kernel
                                                     : races::StreamPort::Kind::kernel);
  for (const cudaLaunchAttribute& attribute : kernel.attributes) {
    if (attribute.id == cudaLaunchAttributeProgrammaticEvent) {
      const auto& event = attribute.val.programmaticEvent;
      order.record(event.event, kernel.order,
                   event.triggerAtBlockStart != 0 ? Reached::started : Reached::triggered,
                   /*waitable=*/true);
    } else if (attribute.id == cudaLaunchAttributeLaunchCompletionEvent) {
      order.record(attribute.val.launchCompletionEvent.event, kernel.order, Reached::started,
                   /*waitable=*/false);
    }
  }
}

}  // namespace

void note_submission(Runtime& runtime, CUstream_st& stream, Operation& operation) {
  races::RacePort* const races = races_of(runtime);
  if (races == nullptr) return;
  races::StreamPort& order = races->order();
  if (auto* const kernel = std::get_if<KernelOperation>(&operation))
    note_kernel(order, stream, *kernel);
  else if (auto* const copying = std::get_if<CopyOperation>(&operation))
    copying->order = order.begin(named(stream), races::StreamPort::Kind::host);
  else if (auto* const filling = std::get_if<FillOperation>(&operation))
    filling->order = order.begin(named(stream), races::StreamPort::Kind::host);
  else if (const auto* const recording = std::get_if<RecordOperation>(&operation))
    order.record(recording->event, named(stream));
  else if (const auto* const waiting = std::get_if<WaitOperation>(&operation))
    order.wait(named(stream), waiting->event);
}

void note_launch(Runtime& runtime, const KernelOperation& operation) {
  races::RacePort* const races = races_of(runtime);
  if (races == nullptr || operation.order == nullptr) return;
  races->set_next(operation.order);
}

void note_copy(Runtime& runtime, const CopyOperation& operation) {
  if (operation.order == nullptr) return;
  compare(runtime, operation.order, operation.api,
          rows(runtime, operation.source, operation.source_side, operation.shape),
          rows(runtime, operation.destination, operation.destination_side, operation.shape));
}

void note_fill(Runtime& runtime, const FillOperation& operation) {
  if (operation.order == nullptr) return;
  compare(runtime, operation.order, operation.api, {},
          rows(runtime, operation.destination, operation.side, operation.shape));
}

void note_wait(Runtime& runtime, const CUstream_st& stream) {
  if (auto* const races = races_of(runtime)) races->order().host_waits_for(named(stream));
}

void note_wait(Runtime& runtime, cudaEvent_t event) {
  if (auto* const races = races_of(runtime)) races->order().host_waits_for_event(event);
}

void note_wait_for_all(Runtime& runtime) {
  if (auto* const races = races_of(runtime)) races->order().host_waits_for_all();
}

void note_end(Runtime& runtime, const CUstream_st& stream) {
  if (auto* const races = races_of(runtime)) races->order().forget_stream(&stream);
}

void note_end(Runtime& runtime, cudaEvent_t event) {
  if (auto* const races = races_of(runtime)) races->order().forget_event(event);
}

void note_free(Runtime& runtime, uint64_t address, uint64_t size_bytes) {
  if (auto* const races = races_of(runtime)) races->forget(address, size_bytes);
}

}  // namespace bw::sim::cudart
