#pragma once
/// \file
/// Global memory: allocations in one reserved range of the host's address space.
///
/// A device address is the host address of the same byte, so copies and units work on plain
/// pointers. The range has a fixed address when the host allows it, so addresses in reports are the
/// same in every run.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <string>

namespace bw::sim {

/// Largest parameter list of a kernel (CUDA 12.1 and later, compute capability 7.0 and later).
inline constexpr size_t kParameterBufferBytes = 32764;

/// A piece of device memory.
struct Allocation {
  uint64_t address = 0;
  size_t size_bytes = 0;
  bool writable = true;     ///< false: kernel parameters and constants
  std::string description;  ///< "cudaMalloc of 4096 bytes", "variable g_table", "kernel parameters"
};

/// The device's memory. Thread-safe; `find` is lock-free while no kernel allocates (kernels never
/// do).
class DeviceMemory {
 public:
  /// For this many bytes of address space.
  explicit DeviceMemory(size_t capacity_bytes);
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  /// Returns the address of `size_bytes` bytes (0 allowed: a unique address of an empty allocation)
  /// aligned to `alignment_bytes`, filled with a poison pattern; 0 when the capacity is used up. A
  /// guard gap follows each allocation, so small overruns are seen.
  [[nodiscard]] uint64_t allocate(size_t size_bytes, std::string description,
                                  size_t alignment_bytes = 256, bool writable = true);
  /// Frees an allocation by its start address; false if none starts there.
  bool free(uint64_t address);
  /// Lets kernels reach host memory outside of the device's range, until `forget`. Does nothing and
  /// returns false where it overlaps memory that they can already reach.
  bool adopt(uint64_t address, size_t size_bytes, std::string description);
  /// Ends that; false if nothing was adopted there.
  bool forget(uint64_t address);
  /// The allocation that holds the address, or nullptr.
  [[nodiscard]] const Allocation* find(uint64_t address) const;
  /// The last allocation that held the address and was freed, or nullptr; also nullptr once another
  /// allocation has the memory.
  [[nodiscard]] const Allocation* find_freed(uint64_t address) const;
  /// The closest allocation below the address for messages, or nullptr.
  [[nodiscard]] const Allocation* nearest_below(uint64_t address) const;

  /// Bytes of the address space.
  [[nodiscard]] size_t capacity_bytes() const { return capacity_bytes_; }
  /// Bytes that are allocated.
  [[nodiscard]] size_t used_bytes() const { return used_bytes_; }
  /// Address of a launch's parameters; one buffer, because launches are serialised.
  [[nodiscard]] uint64_t parameter_buffer() const { return parameter_buffer_; }
  /// Whether an address is in the device's range.
  [[nodiscard]] bool in_arena(uint64_t address) const { return address - base_ < capacity_bytes_; }

 private:
  uint64_t base_ = 0;
  uint64_t parameter_buffer_ = 0;
  size_t capacity_bytes_ = 0;
  size_t used_bytes_ = 0;
  std::map<uint64_t, Allocation> allocations_;  ///< by start address
  std::deque<Allocation> freed_;                ///< the latest first, kMostFreedKept at most
  std::map<uint64_t, size_t> holes_;            ///< free ranges by start address
  mutable std::mutex mutex_;
};

}  // namespace bw::sim
