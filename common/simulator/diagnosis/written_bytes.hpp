#pragma once
/// \file
/// Which bytes of device memory have been written, a bit each.

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace bw::sim {

/// A run of bytes.
struct ByteRange {
  uint64_t address = 0;   ///< of the first
  size_t size_bytes = 0;  ///< how many; 0: none
};

/// Bits for the allocations that it is told of. Not thread-safe.
class WrittenBytes {
 public:
  /// New memory, of which nothing is written.
  void add(uint64_t address, size_t size_bytes);
  /// Forgets memory that was freed, by its first address. Unknown memory is left alone.
  void remove(uint64_t address) { allocations_.erase(address); }

  /// Bytes are written; those outside of what was added are left alone.
  void write(uint64_t address, size_t size_bytes);
  /// Bytes take the place of others, written or not. What is not known of counts as written.
  void copy(uint64_t destination, uint64_t source, size_t size_bytes);
  /// The first run of unwritten bytes among these; bytes outside of what was added count as
  /// written.
  [[nodiscard]] ByteRange first_unwritten(uint64_t address, size_t size_bytes) const;

 private:
  struct Bits {
    size_t size_bytes = 0;
    std::vector<uint64_t> words;  ///< a bit for each byte, the lowest first

    [[nodiscard]] bool is_set(size_t byte) const {
      return (words[byte / 64] >> byte % 64 & 1) != 0;
    }
  };
  /// The allocation that holds the address, or end().
  [[nodiscard]] std::map<uint64_t, Bits>::const_iterator find(uint64_t address) const;

  std::map<uint64_t, Bits> allocations_;  ///< by first address
};

}  // namespace bw::sim
