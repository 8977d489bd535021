/// \file
/// The examples that the site shows with a type (docs/site/examples.dox): compiled, run, compared.
#include <cstdint>
#include <numeric>
#include <vector>

#include "common/device/fence.cuh"
#include "common/device/shared_descriptor.cuh"
#include "common/host/cuda_check.hpp"
#include "common/host/device_buffer.hpp"
#include "solutions/01_mbarrier_pipeline/producer_consumer_pipeline.cuh"
#include "solutions/02_tmem_lifecycle/tmem_address.cuh"
#include "solutions/02_tmem_lifecycle/tmem_allocation.cuh"
#include "tests/device_cases.hpp"

namespace bw::test {
namespace {

constexpr int kStages = 2;
constexpr uint32_t kRounds = 9;
constexpr uint32_t kLanes = ptx::kWarpThreads;

// [ring]
/// Two warps: warp 1 hands rows of 32 numbers to warp 0, which adds them up.
__global__ void sum_rows(const uint32_t* rows, uint32_t* sums) {
  __shared__ uint32_t tiles[kStages][kLanes];
  __shared__ SharedMemBarrier barriers[ProducerConsumerPipeline<kStages>::kNumBarriers];
  ProducerConsumerPipeline<kStages> ring(barriers);
  const uint32_t lane = threadIdx.x % kLanes;
  if (threadIdx.x == 0) {
    ring.init_barriers(/*producer_arrivals=*/kLanes, /*consumer_arrivals=*/kLanes);
    ptx::fence_mbarrier_init();
  }
  __syncthreads();  // no thread uses a barrier before it is initialised
  if (threadIdx.x >= kLanes) {
    for (uint32_t row = 0; row < kRounds; ++row) {
      auto stage = ring.produce();  // waits until the stage is empty
      tiles[stage.index()][lane] = rows[row * kLanes + lane];
      stage.mbar()->arrive();  // the stage's end steps, and does not signal
    }
  } else {
    uint32_t sum = 0;
    for (uint32_t row = 0; row < kRounds; ++row) {
      auto stage = ring.consume();  // waits until it is full; its end arrives and steps
      sum += tiles[stage.index()][lane];
    }
    sums[lane] = sum;
  }
}
// [ring]

TEST(Examples, Ring) {
  std::vector<uint32_t> rows(kRounds * kLanes);
  std::iota(rows.begin(), rows.end(), 5u);
  const DeviceBuffer<uint32_t> input(rows);
  DeviceBuffer<uint32_t> sums(kLanes);
  sum_rows<<<1, 2 * kLanes>>>(input.data(), sums.data());
  check_cuda(cudaDeviceSynchronize(), "run the example");
  const std::vector<uint32_t> got = sums.download();
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    uint32_t expected = 0;
    for (uint32_t row = 0; row < kRounds; ++row) expected += rows[row * kLanes + lane];
    EXPECT_EQ(got[lane], expected) << "lane " << lane;
  }
}

constexpr int kColumns = 32;

// [tensor memory]
/// One warp: 32 columns of tensor memory, there and back.
__global__ void round_trip(uint32_t* values) {
  __shared__ uint32_t slot;
  const auto memory = TmemAllocation<1, kColumns>::allocate(&slot);
  const TmemAddress tile{memory.addr};
  uint32_t row[kColumns];
  for (int i = 0; i < kColumns; ++i) row[i] = values[threadIdx.x * kColumns + i];
  tile.store_32x32b(row);
  TmemAddress::wait_store();  // before it, the columns may hold what was there
  uint32_t back[kColumns];
  tile.load_32x32b(back);
  TmemAddress::wait_load(back);  // before it, the registers are undefined
  for (int i = 0; i < kColumns; ++i) values[threadIdx.x * kColumns + i] = ~back[i];
  memory.release_lock();
  memory.deallocate();
}
// [tensor memory]

TEST(Examples, TensorMemory) {
  std::vector<uint32_t> values(kLanes * kColumns);
  std::iota(values.begin(), values.end(), 100u);
  DeviceBuffer<uint32_t> buffer(values);
  round_trip<<<1, kLanes>>>(buffer.data());
  check_cuda(cudaDeviceSynchronize(), "run the example");
  const std::vector<uint32_t> got = buffer.download();
  for (size_t i = 0; i < values.size(); ++i) EXPECT_EQ(got[i], ~values[i]) << i;
}

// [descriptor]
/// A tile of 128-byte rows at shared address 2048: the address of byte 16 of row 3, and the tile's
/// name.
constexpr uint32_t kTile = 2048, kRow = 3, kRowBytes = 128;
constexpr uint32_t kByte = kTile + swizzled_offset(Swizzle::k128B, kRow* kRowBytes + 16);
constexpr uint64_t kDescriptor = make_k_major_descriptor(kTile, Swizzle::k128B);
constexpr uint64_t kSecondMma = advance_descriptor(kDescriptor, 32);  // 32 bytes along K
// [descriptor]

TEST(Examples, Descriptor) {
  // Chunk 1 of row 3 goes to place 1 xor 3; the fields are those of the PTX ISA.
  EXPECT_EQ(kByte, 2048u + 3 * 128 + 2 * 16);
  EXPECT_EQ(kDescriptor, uint64_t{2048 / 16} | uint64_t{1} << 16 | uint64_t{1024 / 16} << 32 |
                             uint64_t{1} << 46 | uint64_t{2} << 61);
  EXPECT_EQ(kSecondMma, kDescriptor + 2);
}

}  // namespace
}  // namespace bw::test
