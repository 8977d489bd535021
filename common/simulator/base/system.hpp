#pragma once
/// \file
/// What the simulator asks of the system that it runs on. One of the files system_*.cpp implements
/// it.

#include <cstddef>
#include <cstdint>

namespace bw::sim::system {

/// Reserves `bytes` bytes of address space whose pages are zero and take memory only when they are
/// first written, at the address `preferred` if that is free and the system has such addresses.
/// Null if the system cannot provide the range.
[[nodiscard]] std::byte* reserve(size_t bytes, uint64_t preferred);
/// Gives a range from `reserve` back.
void release(std::byte* memory, size_t bytes);
/// The contents of these whole pages are not needed any more: the system may take their memory.
void discard(std::byte* memory, size_t bytes);

/// `bytes` bytes that are aligned to `alignment_bytes`, in large pages if the system has them; for
/// the life of the process. Throws std::bad_alloc.
[[nodiscard]] std::byte* take_large_pages(size_t bytes, size_t alignment_bytes);

/// Keeps the calling thread on one core while it lives: the `index`-th of those that were available
/// to the process, counted round them. If the system refuses, the thread is only slower.
class CorePin {
 public:
  explicit CorePin(uint32_t index);
  ~CorePin();
  CorePin(const CorePin&) = delete;
  CorePin& operator=(const CorePin&) = delete;
};

}  // namespace bw::sim::system
