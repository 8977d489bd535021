/// \file
/// Memory that clusters allocate from the pool and return to it.

#include "common/simulator/base/buffer_pool.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace bw::sim::buffer_pool_test {
namespace {

struct Block {
  std::byte* memory;
  size_t bytes;
};

TEST(BufferPool, AllocationsDoNotOverlap) {
  std::vector<Block> blocks;
  for (const size_t bytes : {1, 4095, 4096, 4097, 29'120, 29'120, 200'000, 3'000'000, 4097})
    blocks.push_back({static_cast<std::byte*>(allocate_pooled(bytes)), bytes});
  for (size_t i = 0; i < blocks.size(); ++i)
    std::memset(blocks[i].memory, static_cast<int>(i), blocks[i].bytes);
  for (size_t i = 0; i < blocks.size(); ++i) {
    const auto [memory, bytes] = blocks[i];
    EXPECT_TRUE(std::all_of(memory, memory + bytes, [&](std::byte value) {
      return value == static_cast<std::byte>(i);
    })) << bytes;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(memory) % alignof(std::max_align_t), 0u) << bytes;
    return_to_pool(memory, bytes);
  }
}

#ifndef __SANITIZE_ADDRESS__
TEST(BufferPool, TheMemoryReturnedLastIsReusedFirst) {
  constexpr size_t kBytes = 200'000, kALittleLess = 199'000;
  void* const first = allocate_pooled(kBytes);
  void* const second = allocate_pooled(kBytes);
  return_to_pool(first, kBytes);
  return_to_pool(second, kBytes);
  EXPECT_EQ(allocate_pooled(kALittleLess), second);
  EXPECT_EQ(allocate_pooled(kBytes), first);
  return_to_pool(first, kBytes);
  return_to_pool(second, kALittleLess);
}
#endif

TEST(BufferPool, ContainersAndArraysUseIt) {
  PooledBytes bytes(5000, std::byte{7});
  PooledBytes moved = std::move(bytes);
  EXPECT_EQ(std::count(moved.begin(), moved.end(), std::byte{7}), 5000);
  PooledArray<uint32_t> numbers = make_pooled_array<uint32_t>(65'536);
  std::fill_n(numbers.get(), 65'536, 1u);
  numbers = nullptr;
  EXPECT_EQ(numbers, nullptr);
}

}  // namespace
}  // namespace bw::sim::buffer_pool_test
