#pragma once
/// \file
/// A pool of host memory. Every cluster allocates its shared memory, registers and tensor memory
/// from it and returns them at its end, for the next cluster. The pool uses large pages of the host
/// if it has them: a cluster's working set is then in the host's caches, and its addresses in few
/// pages.

#include <cstddef>
#include <memory>
#include <type_traits>
#include <vector>

namespace bw::sim {

/// `bytes` uninitialised bytes, aligned for any object. Any host thread.
[[nodiscard]] void* allocate_pooled(size_t bytes);
/// Returns memory from allocate_pooled, of the same size, to the pool.
void return_to_pool(void* memory, size_t bytes) noexcept;

/// Allocator of pooled memory for containers.
template <class T>
struct PoolAllocator {
  using value_type = T;  ///< what the container holds

  PoolAllocator() = default;
  /// All allocators are equal.
  template <class Other>
  constexpr PoolAllocator(const PoolAllocator<Other>&) {}

  /// Room for `count` elements.
  [[nodiscard]] T* allocate(size_t count) {
    return static_cast<T*>(allocate_pooled(count * sizeof(T)));
  }
  /// Returns it to the pool.
  void deallocate(T* memory, size_t count) noexcept { return_to_pool(memory, count * sizeof(T)); }
  /// Whether one can free what the other has allocated.
  friend bool operator==(const PoolAllocator&, const PoolAllocator&) { return true; }
};

/// A vector of pooled bytes.
using PooledBytes = std::vector<std::byte, PoolAllocator<std::byte>>;

/// Returns an array to the pool.
template <class T>
struct ReturnToPool {
  size_t count = 0;  ///< of its elements
  /// Of numbers, which need no destructor.
  void operator()(T* memory) const noexcept { PoolAllocator<T>().deallocate(memory, count); }
};
/// An array in pooled memory.
template <class T>
using PooledArray = std::unique_ptr<T[], ReturnToPool<T>>;
/// `count` uninitialised numbers.
template <class T>
[[nodiscard]] PooledArray<T> make_pooled_array(size_t count) {
  static_assert(std::is_arithmetic_v<T>, "constructors and destructors are not called");
  return PooledArray<T>(PoolAllocator<T>().allocate(count), ReturnToPool<T>{count});
}

}  // namespace bw::sim
