#include "common/simulator/cudart/runtime/transfer.hpp"

#include <cstdint>
#include <cstring>
#include <string>

#include <fmt/core.h>

#include "common/simulator/cudart/runtime/runtime.hpp"
#include "common/simulator/diagnosis/written_bytes.hpp"

namespace bw::sim::cudart {
namespace {

// The memory that an address may be in.
enum class Place { host, device, both };

std::string place_name(Place place) { return place == Place::host ? "host" : "device"; }

// Pinned and managed memory count as both, as with unified addressing.
Place place_of(Runtime& runtime, uint64_t address) {
  if (!runtime.device().memory().in_arena(address)) return Place::host;
  const ProgramAllocation* const allocation = runtime.find_allocation(address);
  return allocation == nullptr || allocation->type == cudaMemoryTypeDevice ? Place::device
                                                                           : Place::both;
}

// One side of a copy: is the address where the direction says, and inside one allocation?
cudaError_t check_side(Runtime& runtime, const char* api, const char* role, const void* pointer,
                       size_t bytes, Place wanted) {
  const auto address = reinterpret_cast<uint64_t>(pointer);
  if (pointer == nullptr) {
    explain(FaultCode::call_argument, api, std::string("the ") + role + " is a null pointer");
    return cudaErrorInvalidValue;
  }
  const Place place = place_of(runtime, address);
  if (wanted != Place::both && place != Place::both && place != wanted) {
    explain(FaultCode::call_memory_range, api,
            std::string("the ") + role + " is " + place_name(place) +
                " memory, but the direction given needs " + place_name(wanted) + " memory there");
    return cudaErrorInvalidValue;
  }
  if (place == Place::host) return cudaSuccess;
  const DeviceMemory& memory = runtime.device().memory();
  const Allocation* const allocation = memory.find(address);
  if (allocation == nullptr) {
    const Allocation* const below = memory.nearest_below(address);
    explain(FaultCode::call_memory_range, api,
            std::string("the ") + role + " is in no live allocation" +
                (below == nullptr ? std::string()
                                  : fmt::format("; the closest one below is {}, {} bytes before",
                                                below->description, address - below->address)));
    return cudaErrorInvalidValue;
  }
  const size_t offset = address - allocation->address;
  if (bytes > allocation->size_bytes - offset) {
    explain(FaultCode::call_memory_range, api,
            fmt::format("{} bytes from byte {} of the {} leave its allocation ({})", bytes, offset,
                        role, allocation->description));
    return cudaErrorInvalidValue;
  }
  return cudaSuccess;
}

cudaError_t check_pitch(const char* api, const char* role, CopySide side, CopyShape shape) {
  if (shape.rows > 1 && side.pitch_bytes < shape.row_bytes) {
    explain(FaultCode::call_argument, api,
            fmt::format("the {} pitch of {} bytes is smaller than a row of {}", role,
                        side.pitch_bytes, shape.row_bytes));
    return cudaErrorInvalidPitchValue;
  }
  return cudaSuccess;
}

void fill_row(std::byte* row, FillValue value, size_t bytes) {
  if (value.element_bytes == 1) {
    std::memset(row, static_cast<int>(value.bits), bytes);
    return;
  }
  for (size_t at = 0; at + value.element_bytes <= bytes; at += value.element_bytes)
    std::memcpy(row + at, &value.bits, value.element_bytes);
}

// Copies to device memory go through the L2 cache.
void note_write(Runtime& runtime, const std::byte* first, size_t bytes) {
  const auto address = reinterpret_cast<uint64_t>(first);
  if (!runtime.device().memory().in_arena(address)) return;
  if (L2Cache* const cache = runtime.device().l2_cache()) cache->write(address, bytes);
}

}  // namespace

size_t extent_bytes(CopySide side, CopyShape shape) {
  if (shape.row_bytes == 0 || shape.rows == 0 || shape.slices == 0) return 0;
  return (shape.slices - 1) * side.slice_bytes + (shape.rows - 1) * side.pitch_bytes +
         shape.row_bytes;
}

cudaError_t copy(Runtime& runtime, const char* api, void* destination, CopySide destination_side,
                 const void* source, CopySide source_side, CopyShape shape, cudaMemcpyKind kind) {
  Place from = Place::both;
  Place to = Place::both;
  switch (kind) {
    case cudaMemcpyHostToHost:
      from = Place::host, to = Place::host;
      break;
    case cudaMemcpyHostToDevice:
      from = Place::host, to = Place::device;
      break;
    case cudaMemcpyDeviceToHost:
      from = Place::device, to = Place::host;
      break;
    case cudaMemcpyDeviceToDevice:
      from = Place::device, to = Place::device;
      break;
    case cudaMemcpyDefault:
      break;
    default:
      explain(FaultCode::call_argument, api,
              fmt::format("the direction {} is not a cudaMemcpyKind", static_cast<int>(kind)));
      return cudaErrorInvalidMemcpyDirection;
  }
  const size_t destination_bytes = extent_bytes(destination_side, shape);
  if (destination_bytes == 0) return cudaSuccess;
  for (const cudaError_t error : {check_pitch(api, "destination's", destination_side, shape),
                                  check_pitch(api, "source's", source_side, shape)}) {
    if (error != cudaSuccess) return error;
  }
  cudaError_t error = check_side(runtime, api, "destination", destination, destination_bytes, to);
  if (error != cudaSuccess) return error;
  error = check_side(runtime, api, "source", source, extent_bytes(source_side, shape), from);
  if (error != cudaSuccess) return error;

  auto* const to_bytes = static_cast<std::byte*>(destination);
  const auto* const from_bytes = static_cast<const std::byte*>(source);
  for (size_t slice = 0; slice < shape.slices; ++slice) {
    for (size_t row = 0; row < shape.rows; ++row) {
      std::byte* const to_row =
          to_bytes + slice * destination_side.slice_bytes + row * destination_side.pitch_bytes;
      const std::byte* const from_row =
          from_bytes + slice * source_side.slice_bytes + row * source_side.pitch_bytes;
      std::memmove(to_row, from_row, shape.row_bytes);
      note_write(runtime, to_row, shape.row_bytes);
      if (WrittenBytes* const written = runtime.written())
        written->copy(reinterpret_cast<uint64_t>(to_row), reinterpret_cast<uint64_t>(from_row),
                      shape.row_bytes);
    }
  }
  return cudaSuccess;
}

cudaError_t fill(Runtime& runtime, const char* api, void* destination, CopySide side,
                 FillValue value, CopyShape shape) {
  const size_t bytes = extent_bytes(side, shape);
  if (bytes == 0) return cudaSuccess;
  cudaError_t error = check_pitch(api, "destination's", side, shape);
  if (error != cudaSuccess) return error;
  error = check_side(runtime, api, "destination", destination, bytes, Place::device);
  if (error != cudaSuccess) return error;
  if (reinterpret_cast<uint64_t>(destination) % value.element_bytes != 0) {
    explain(FaultCode::call_argument, api,
            fmt::format("the destination {} is not aligned to elements of {} bytes", destination,
                        value.element_bytes));
    return cudaErrorInvalidValue;
  }
  auto* const first = static_cast<std::byte*>(destination);
  for (size_t slice = 0; slice < shape.slices; ++slice) {
    for (size_t row = 0; row < shape.rows; ++row) {
      std::byte* const begin = first + slice * side.slice_bytes + row * side.pitch_bytes;
      fill_row(begin, value, shape.row_bytes);
      note_write(runtime, begin, shape.row_bytes);
      if (WrittenBytes* const written = runtime.written())
        written->write(reinterpret_cast<uint64_t>(begin), shape.row_bytes);
    }
  }
  return cudaSuccess;
}

}  // namespace bw::sim::cudart
