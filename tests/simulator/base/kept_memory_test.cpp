/// \file
/// Memory that clusters take and give back.

#include "common/simulator/base/kept_memory.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace bw::sim::kept_memory_test {
namespace {

struct Block {
  std::byte* memory;
  size_t bytes;
};

TEST(KeptMemory, WhatIsTakenTogetherDoesNotOverlap) {
  std::vector<Block> blocks;
  for (const size_t bytes : {1, 4095, 4096, 4097, 29'120, 29'120, 200'000, 3'000'000, 4097})
    blocks.push_back({static_cast<std::byte*>(take_memory(bytes)), bytes});
  for (size_t i = 0; i < blocks.size(); ++i)
    std::memset(blocks[i].memory, static_cast<int>(i), blocks[i].bytes);
  for (size_t i = 0; i < blocks.size(); ++i) {
    const auto [memory, bytes] = blocks[i];
    EXPECT_TRUE(std::all_of(memory, memory + bytes, [&](std::byte value) {
      return value == static_cast<std::byte>(i);
    })) << bytes;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(memory) % alignof(std::max_align_t), 0u) << bytes;
    give_memory_back(memory, bytes);
  }
}

#ifndef __SANITIZE_ADDRESS__
TEST(KeptMemory, WhatWasGivenBackLastIsGivenFirst) {
  constexpr size_t kBytes = 200'000, kALittleLess = 199'000;
  void* const first = take_memory(kBytes);
  void* const second = take_memory(kBytes);
  give_memory_back(first, kBytes);
  give_memory_back(second, kBytes);
  EXPECT_EQ(take_memory(kALittleLess), second);
  EXPECT_EQ(take_memory(kBytes), first);
  give_memory_back(first, kBytes);
  give_memory_back(second, kALittleLess);
}
#endif

TEST(KeptMemory, ContainersAndArraysHaveIt) {
  KeptBytes bytes(5000, std::byte{7});
  KeptBytes moved = std::move(bytes);
  EXPECT_EQ(std::count(moved.begin(), moved.end(), std::byte{7}), 5000);
  KeptArray<uint32_t> numbers = keep_array<uint32_t>(65'536);
  std::fill_n(numbers.get(), 65'536, 1u);
  numbers = nullptr;
  EXPECT_EQ(numbers, nullptr);
}

}  // namespace
}  // namespace bw::sim::kept_memory_test
