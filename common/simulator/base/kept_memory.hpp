#pragma once
/// \file
/// Host memory that every cluster allocates and frees at its end: shared memory, registers, tensor
/// memory. It is pooled for the next cluster, in large pages of the host where those exist: a
/// cluster's working set is then in the host's caches, and its addresses in few pages.

#include <cstddef>
#include <memory>
#include <type_traits>
#include <vector>

namespace bw::sim {

/// `bytes` uninitialised bytes, aligned for any object. Any host thread.
[[nodiscard]] void* take_memory(size_t bytes);
/// Returns memory from take_memory, of the same size, to the pool.
void give_memory_back(void* memory, size_t bytes) noexcept;

/// Allocator of such memory for containers.
template <class T>
struct KeptMemory {
  using value_type = T;  ///< what the container holds

  KeptMemory() = default;
  /// All allocators are equal.
  template <class Other>
  constexpr KeptMemory(const KeptMemory<Other>&) {}

  /// Room for `count` elements.
  [[nodiscard]] T* allocate(size_t count) {
    return static_cast<T*>(take_memory(count * sizeof(T)));
  }
  /// Gives it back.
  void deallocate(T* memory, size_t count) noexcept { give_memory_back(memory, count * sizeof(T)); }
  /// Whether one can free what the other has allocated.
  friend bool operator==(const KeptMemory&, const KeptMemory&) { return true; }
};

/// Bytes of such memory.
using KeptBytes = std::vector<std::byte, KeptMemory<std::byte>>;

/// Frees an array.
template <class T>
struct GiveBack {
  size_t count = 0;  ///< of its elements
  /// Of numbers, which need no destructor.
  void operator()(T* memory) const noexcept { KeptMemory<T>().deallocate(memory, count); }
};
/// An array of such memory.
template <class T>
using KeptArray = std::unique_ptr<T[], GiveBack<T>>;
/// `count` uninitialised numbers.
template <class T>
[[nodiscard]] KeptArray<T> keep_array(size_t count) {
  static_assert(std::is_arithmetic_v<T>, "constructors and destructors are not called");
  return KeptArray<T>(KeptMemory<T>().allocate(count), GiveBack<T>{count});
}

}  // namespace bw::sim
