/// \file
/// Contract, chapter 2: TmemAddress' stores of every shape of the ISA, as words and as fp32.
#include <set>
#include <utility>

#include "common/device/tcgen05_fence.cuh"
#include "solutions/02_tmem_lifecycle/tmem_address.cuh"
#include "solutions/02_tmem_lifecycle/tmem_allocation.cuh"
#include "tests/contract/observation.cuh"
#include "tests/device_cases.hpp"

namespace bw::test::chapter02_stores {
namespace {

constexpr unsigned kThreads = kContextThreads<128>;
constexpr uint32_t kWarps = 4, kQuarterLanes = 32;
constexpr int kRegisters = 8;
constexpr int kColumns = 32;          ///< of the tile that is looked at
constexpr uint32_t kFirstColumn = 3;  ///< stores go there; nothing needs it to be aligned
constexpr uint32_t kUntouched = 0;    ///< what the tile holds before the store
constexpr int kSplitColumns = 12;     ///< 16x32bx2: distance of the halves

enum class Shape { k32x32b, k16x64b, k16x128b, k16x256b, k16x32bx2 };

struct Place {
  uint32_t lane, column;
};

/// Where register `r` of the warp's thread `t` goes (PTX ISA, "Data movement shape" of tcgen05.st,
/// its figures).
Place place_of(Shape shape, uint32_t t, uint32_t r) {
  switch (shape) {
    case Shape::k32x32b:
      return {t, r};
    case Shape::k16x64b:
      return {t / 4 + t % 2 * 8, r * 2 + t / 2 % 2};
    case Shape::k16x128b:
      return {t / 4 + r % 2 * 8, r / 2 * 4 + t % 4};
    case Shape::k16x256b:
      return {t / 4 + r % 4 / 2 * 8, r / 4 * 8 + t % 4 * 2 + r % 2};
    case Shape::k16x32bx2:
      return {t % 16, r + t / 16 * kSplitColumns};
  }
  return {};
}

/// A register's name: never kUntouched, and exact as fp32.
__host__ __device__ constexpr uint32_t name_of(uint32_t thread, uint32_t r) {
  return 1 + thread * kRegisters + r;
}

template <Shape shape, class Word>
__device__ void store(TmemAddress to, const Word (&values)[kRegisters]) {
  if constexpr (shape == Shape::k32x32b) to.store_32x32b(values);
  if constexpr (shape == Shape::k16x64b) to.store_16x64b(values);
  if constexpr (shape == Shape::k16x128b) to.store_16x128b(values);
  if constexpr (shape == Shape::k16x256b) to.store_16x256b(values);
  if constexpr (shape == Shape::k16x32bx2) to.store_16x32bx2<kSplitColumns>(values);
}
template <Shape shape, class Word>
__device__ void load(TmemAddress from, Word (&values)[kRegisters]) {
  if constexpr (shape == Shape::k32x32b) from.load_32x32b(values);
  if constexpr (shape == Shape::k16x64b) from.load_16x64b(values);
  if constexpr (shape == Shape::k16x128b) from.load_16x128b(values);
  if constexpr (shape == Shape::k16x256b) from.load_16x256b(values);
  if constexpr (shape == Shape::k16x32bx2) from.load_16x32bx2<kSplitColumns>(values);
}

template <class Word>
struct StoreSeen {
  Word tile[128][kColumns];     ///< after the store, by lane and column
  Word again[128][kRegisters];  ///< what a load of the same shape gives each thread
};

/// Four warps clear a tile by 32x32b, store into it by `shape`, and read it back both ways.
template <Shape shape, class Word, bool lower>
struct Stores {
  using Seen = StoreSeen<Word>;
  static __device__ void copy(const TmemAddress& tile, Seen& seen) {
    Word all[kColumns], values[kRegisters];
#pragma unroll
    for (Word& word : all) word = kUntouched;
    tile.store_32x32b(all);
    TmemAddress::wait_store();
#pragma unroll
    for (int r = 0; r < kRegisters; ++r) values[r] = static_cast<Word>(name_of(threadIdx.x, r));
    const TmemAddress half = lower ? tile.lower() : tile.upper();
    store<shape>(half + kFirstColumn, values);
    TmemAddress::wait_store();
    tile.load_32x32b(all);
    TmemAddress::wait_load(all);
#pragma unroll
    for (int c = 0; c < kColumns; ++c) seen.tile[threadIdx.x][c] = all[c];
    load<shape>(half + kFirstColumn, values);
    TmemAddress::wait_load(values);
#pragma unroll
    for (int r = 0; r < kRegisters; ++r) seen.again[threadIdx.x][r] = values[r];
  }
  static __device__ void run(SharedMemBarrier*, Seen& seen) {
    __shared__ uint32_t slot;
    if (warp_index() == kMmaWarp) TmemAllocation<1, kColumns * 2>::allocate(&slot);
    __syncthreads();
    const auto tmem = TmemAllocation<1, kColumns * 2>::from_shared(&slot);
    if (warp_index() < kMmaWarp) {
      copy(TmemAddress{tmem.addr}, seen);
      ptx::tcgen05_fence_before_thread_sync();
    }
    __syncthreads();
    ptx::tcgen05_fence_after_thread_sync();
    if (warp_index() == kMmaWarp) tmem.deallocate();
  }
};

/// Every register is where the ISA says, and nothing else was written.
template <Shape shape, class Word, bool lower>
void expect_stored() {
  const auto seen = observe<Stores<shape, Word, lower>>(kThreads);
  std::set<std::pair<uint32_t, uint32_t>> written;
  for (uint32_t thread = 0; thread < kWarps * kQuarterLanes; ++thread) {
    for (uint32_t r = 0; r < kRegisters; ++r) {
      const Place place = place_of(shape, thread % 32, r);
      const uint32_t lane = thread / 32 * kQuarterLanes + place.lane + (lower ? 16 : 0);
      const uint32_t column = kFirstColumn + place.column;
      written.emplace(lane, column);
      EXPECT_EQ(seen.tile[lane][column], static_cast<Word>(name_of(thread, r)))
          << "thread " << thread << ", register " << r;
      EXPECT_EQ(seen.again[thread][r], static_cast<Word>(name_of(thread, r)))
          << "thread " << thread << ", register " << r;
    }
  }
  EXPECT_EQ(written.size(), size_t{kWarps * 32 * kRegisters}) << "no two registers share a place";
  for (uint32_t lane = 0; lane < kWarps * kQuarterLanes; ++lane) {
    for (uint32_t column = 0; column < kColumns; ++column) {
      if (written.count({lane, column}) != 0) continue;
      EXPECT_EQ(seen.tile[lane][column], static_cast<Word>(kUntouched)) << lane << ", " << column;
    }
  }
}
template <Shape shape>
void expect_stored_in_both_halves() {
  expect_stored<shape, uint32_t, false>();
  expect_stored<shape, uint32_t, true>();
  expect_stored<shape, float, false>();
  expect_stored<shape, float, true>();
}

TEST(TmemAddressStore, Stores32x32b) {
  expect_stored<Shape::k32x32b, uint32_t, false>();
  expect_stored<Shape::k32x32b, float, false>();
}
TEST(TmemAddressStore, Stores16x64b) { expect_stored_in_both_halves<Shape::k16x64b>(); }
TEST(TmemAddressStore, Stores16x128b) { expect_stored_in_both_halves<Shape::k16x128b>(); }
TEST(TmemAddressStore, Stores16x256b) { expect_stored_in_both_halves<Shape::k16x256b>(); }
TEST(TmemAddressStore, Stores16x32bx2) { expect_stored_in_both_halves<Shape::k16x32bx2>(); }

}  // namespace
}  // namespace bw::test::chapter02_stores
