#include "common/simulator/machine/device_memory.hpp"

#include <cstdint>
#include <cstring>
#include <utility>

#include <fmt/core.h>

#include "common/simulator/base/bits.hpp"
#include "common/simulator/base/device_address.hpp"
#include "common/simulator/base/error.hpp"
#include "common/simulator/base/system.hpp"

namespace bw::sim {
namespace {

constexpr uint64_t kPreferredBase = 0x0000'7000'0000'0000ull;
constexpr size_t kGuardBytes = 4096;
constexpr int kPoison = 0xcb;
/// Freed allocations that messages can still name.
constexpr size_t kMostFreedKept = 1024;
/// Largest allocation that is filled with the poison pattern; larger ones keep zero pages
/// untouched.
constexpr size_t kLargestPoisonedBytes = size_t{64} << 20;

}  // namespace

DeviceMemory::DeviceMemory(uint64_t capacity_bytes) : capacity_bytes_(capacity_bytes) {
  std::byte* const range =
      capacity_bytes_ > SIZE_MAX
          ? nullptr
          : system::reserve(static_cast<size_t>(capacity_bytes_), kPreferredBase);
  if (range == nullptr) {
    throw SimulationError(
        Report{.code = FaultCode::address_space_reservation,
               .what = fmt::format("cannot reserve {} GB of address space for device memory",
                                   capacity_bytes_ >> 30),
               .fix = "set BW_SIM_MEMORY_GB to a smaller number"});
  }
  if constexpr (!kSharesAddresses)
    device_memory_distance = kPreferredBase - reinterpret_cast<uintptr_t>(range);
  base_ = device_address(range);
  holes_.emplace(base_, capacity_bytes_);
  parameter_buffer_ = allocate(kParameterBufferBytes, "kernel parameters", kGuardBytes, false);
}

DeviceMemory::~DeviceMemory() {
  system::release(host_pointer(base_), static_cast<size_t>(capacity_bytes_));
}

uint64_t DeviceMemory::allocate(size_t size_bytes, std::string description, size_t alignment_bytes,
                                bool writable) {
  const std::lock_guard lock(mutex_);
  for (auto hole = holes_.begin(); hole != holes_.end(); ++hole) {
    const auto [start, length] = *hole;
    const uint64_t address = align_up(start, alignment_bytes);
    if (size_bytes > capacity_bytes_) return 0;
    const uint64_t end = align_up(address + size_bytes + kGuardBytes, kGuardBytes);
    if (end > start + length) continue;
    holes_.erase(hole);
    if (address > start) holes_.emplace(start, address - start);
    if (end < start + length) holes_.emplace(end, start + length - end);
    if (size_bytes <= kLargestPoisonedBytes)
      std::memset(host_pointer(address), kPoison, size_bytes);
    used_bytes_ += size_bytes;
    allocations_.emplace(address,
                         Allocation{address, size_bytes, writable, std::move(description)});
    return address;
  }
  return 0;
}

bool DeviceMemory::free(uint64_t address) {
  const std::lock_guard lock(mutex_);
  const auto found = allocations_.find(address);
  if (found == allocations_.end()) return false;
  const size_t size_bytes = found->second.size_bytes;
  used_bytes_ -= size_bytes;
  freed_.push_front(std::move(found->second));
  if (freed_.size() > kMostFreedKept) freed_.pop_back();
  allocations_.erase(found);
  uint64_t start = address;
  uint64_t end = align_up(address + size_bytes + kGuardBytes, kGuardBytes);
  // Give whole pages back to the host, so that a long program's memory does not grow.
  const uint64_t first_page = align_up(start, kGuardBytes);
  if (end > first_page)
    system::discard(host_pointer(first_page), static_cast<size_t>(end - first_page));
  auto after = holes_.lower_bound(start);
  if (after != holes_.end() && after->first == end) {
    end += after->second;
    after = holes_.erase(after);
  }
  if (after != holes_.begin()) {
    const auto before = std::prev(after);
    if (before->first + before->second == start) {
      start = before->first;
      holes_.erase(before);
    }
  }
  holes_.emplace(start, end - start);
  return true;
}

bool DeviceMemory::adopt(uint64_t address, size_t size_bytes, std::string description) {
  const std::lock_guard lock(mutex_);
  const auto behind = allocations_.lower_bound(address);
  if (behind != allocations_.end() && behind->first < address + size_bytes) return false;
  if (find(address) != nullptr || in_arena(address) || in_arena(address + size_bytes - 1))
    return false;
  allocations_.emplace(address, Allocation{address, size_bytes, true, std::move(description)});
  return true;
}

bool DeviceMemory::forget(uint64_t address) {
  const std::lock_guard lock(mutex_);
  return !in_arena(address) && allocations_.erase(address) != 0;
}

const Allocation* DeviceMemory::find(uint64_t address) const {
  const Allocation* below = nearest_below(address);
  return below != nullptr && address - below->address < below->size_bytes ? below : nullptr;
}

const Allocation* DeviceMemory::find_freed(uint64_t address) const {
  for (const Allocation& allocation : freed_)
    if (address - allocation.address < allocation.size_bytes) return &allocation;
  return nullptr;
}

const Allocation* DeviceMemory::nearest_below(uint64_t address) const {
  auto above = allocations_.upper_bound(address);
  if (above == allocations_.begin()) return nullptr;
  return &std::prev(above)->second;
}

}  // namespace bw::sim
