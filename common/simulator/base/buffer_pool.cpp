#include "common/simulator/base/buffer_pool.hpp"

#include <array>
#include <bit>
#include <cstdint>
#include <mutex>
#include <new>

#include "common/simulator/base/bits.hpp"
#include "common/simulator/base/system.hpp"

namespace bw::sim {
namespace {

constexpr size_t kHugePageBytes = size_t{2} << 20;
#ifdef __SANITIZE_ADDRESS__
constexpr size_t kLeastBytes = SIZE_MAX;  // the sanitizer shall see the end of each
#else
/// malloc serves smaller sizes just as well.
constexpr size_t kLeastBytes = 4096;
#endif
/// Sizes are rounded up to one of four for each power of two, so that memory can be reused.
constexpr int kStepBits = 2;

size_t rounded(size_t bytes) {
  const size_t step = std::bit_floor(bytes) >> kStepBits;
  return align_up(bytes, step);
}

/// Free memory by size, last in, first out. None is returned to the host, since the next launch
/// needs as much.
class BufferPool {
 public:
  void* take(size_t bytes) {
    const std::lock_guard lock(mutex_);
    Free*& first = list_of(bytes);
    if (first == nullptr) return carve(bytes);
    void* const memory = first;
    first = first->next;
    return memory;
  }

  void give_back(void* memory, size_t bytes) {
    const std::lock_guard lock(mutex_);
    Free*& first = list_of(bytes);
    first = new (memory) Free{first};
  }

 private:
  struct Free {
    Free* next;
  };

  Free*& list_of(size_t bytes) {
    const auto log = static_cast<size_t>(std::bit_width(bytes) - 1);
    const size_t step = bytes >> (log - kStepBits) & ((size_t{1} << kStepBits) - 1);
    return free_[(log << kStepBits) + step];
  }

  /// Carves memory that was never used.
  void* carve(size_t bytes) {
    if (left_ < bytes) {
      left_ = align_up(bytes, kHugePageBytes);
      next_ = system::take_large_pages(left_, kHugePageBytes);
    }
    left_ -= bytes;
    return next_ + left_;
  }

  std::mutex mutex_;
  std::array<Free*, size_t{64} << kStepBits> free_{};  ///< by size
  std::byte* next_ = nullptr;                          ///< memory that was never used
  size_t left_ = 0;                                    ///< of it
};

BufferPool& buffer_pool() {
  static BufferPool* const pool = new BufferPool;  // outlives all users
  return *pool;
}

}  // namespace

void* allocate_pooled(size_t bytes) {
  return bytes < kLeastBytes ? operator new(bytes) : buffer_pool().take(rounded(bytes));
}

void return_to_pool(void* memory, size_t bytes) noexcept {
  if (bytes < kLeastBytes)
    operator delete(memory);
  else
    buffer_pool().give_back(memory, rounded(bytes));
}

}  // namespace bw::sim
