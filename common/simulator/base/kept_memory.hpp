#pragma once
/// \file
/// Host memory of what every cluster has and gives back at its end: shared memory, registers,
/// tensor memory. It is kept for the next cluster and lies in large pages of the host where those
/// exist: what a cluster touches then is in the host's caches, and its addresses in few pages.

#include <cstddef>
#include <memory>
#include <type_traits>
#include <vector>

namespace bw::sim {

/// So many bytes, not initialised, for any object's alignment. Any host thread.
[[nodiscard]] void* take_memory(size_t bytes);
/// Gives back what take_memory gave for so many bytes: others may have it.
void give_memory_back(void* memory, size_t bytes) noexcept;

/// Lets a container have such memory.
template <class T>
struct KeptMemory {
  using value_type = T;  ///< what the container holds

  KeptMemory() = default;
  /// All of them are the same.
  template <class Other>
  constexpr KeptMemory(const KeptMemory<Other>&) {}

  /// Room for so many.
  [[nodiscard]] T* allocate(size_t count) {
    return static_cast<T*>(take_memory(count * sizeof(T)));
  }
  /// Gives it back.
  void deallocate(T* memory, size_t count) noexcept { give_memory_back(memory, count * sizeof(T)); }
  /// Whether one gives back what the other has taken.
  friend bool operator==(const KeptMemory&, const KeptMemory&) { return true; }
};

/// Bytes of such memory.
using KeptBytes = std::vector<std::byte, KeptMemory<std::byte>>;

/// Gives an array back.
template <class T>
struct GiveBack {
  size_t count = 0;  ///< of its elements
  /// Of numbers, which need no destructor.
  void operator()(T* memory) const noexcept { KeptMemory<T>().deallocate(memory, count); }
};
/// An array of such memory.
template <class T>
using KeptArray = std::unique_ptr<T[], GiveBack<T>>;
/// So many numbers, not initialised.
template <class T>
[[nodiscard]] KeptArray<T> keep_array(size_t count) {
  static_assert(std::is_arithmetic_v<T>, "nobody calls constructors or destructors");
  return KeptArray<T>(KeptMemory<T>().allocate(count), GiveBack<T>{count});
}

}  // namespace bw::sim
