/// \file
/// A WebAssembly module: one growing memory, one thread, and no pages that could be given back.
#include <cstdlib>
#include <cstring>
#include <new>

#include "common/simulator/base/system.hpp"

namespace bw::sim::system {

// Memory that the module has just grown by is zero and takes no memory of the browser's until it is
// written. A range that was used before is zero only if it is cleared.
std::byte* reserve(size_t bytes, uint64_t /*preferred*/) {
  static std::byte* kept = nullptr;
  static size_t kept_bytes = 0;
  if (kept_bytes < bytes) {
    std::free(kept);
    constexpr size_t kPageBytes = 4096;
    kept = static_cast<std::byte*>(std::aligned_alloc(kPageBytes, bytes));
    kept_bytes = kept == nullptr ? 0 : bytes;
  }
  return kept;
}

void release(std::byte* /*memory*/, size_t /*bytes*/) {}

void discard(std::byte* /*memory*/, size_t /*bytes*/) {}

std::byte* take_large_pages(size_t bytes, size_t alignment_bytes) {
  void* const memory = std::aligned_alloc(alignment_bytes, bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return static_cast<std::byte*>(memory);
}

CorePin::CorePin(uint32_t /*index*/) {}
CorePin::~CorePin() = default;

}  // namespace bw::sim::system
