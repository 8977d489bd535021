/// \file
/// What only Blackwell has: fragments of tensor memory, copies and shifts into it, sums of the
/// tensor core, allocation, pairs of CTAs (PTX ISA, "Tensor Memory", "tcgen05"). NOT MEASURED yet:
/// the program runs in the simulator, and its results wait for a GPU to be compared with.
#include "common/device/cluster.cuh"
#include "common/device/elect.cuh"
#include "common/device/fence.cuh"
#include "common/device/instruction_descriptor.cuh"
#include "common/device/mbarrier.cuh"
#include "common/device/shared_address.cuh"
#include "common/device/shared_descriptor.cuh"
#include "common/device/tcgen05_alloc.cuh"
#include "common/device/tcgen05_commit.cuh"
#include "common/device/tcgen05_fence.cuh"
#include "common/device/tcgen05_load_store.cuh"
#include "common/device/tcgen05_mma.cuh"
#include "common/host/cuda_check.hpp"
#include "tests/hardware/cases.hpp"
#include "tests/hardware/inputs.hpp"
#include "tests/hardware/raw_memory.hpp"

namespace bw::conformance::blackwell {

constexpr uint32_t kThreads = 128;
constexpr uint32_t kWarp = 32;
constexpr uint32_t kColumns = 64;
constexpr int kLaneShift = 16;  ///< of a TMEM address, and of the values that name a cell

/// First and last steps of every kernel: one warp allocates and frees, all see the address.
template <int cta_group, uint32_t columns>
__device__ uint32_t allocate(uint32_t* shared_word) {
  if (threadIdx.x < kWarp) {
    ptx::tcgen05_alloc<cta_group>(ptx::shared_address(shared_word), columns);
    ptx::tcgen05_relinquish_alloc_permit<cta_group>();
  }
  ptx::tcgen05_fence_before_thread_sync();
  __syncthreads();
  ptx::tcgen05_fence_after_thread_sync();
  return *static_cast<volatile uint32_t*>(shared_word);
}

template <int cta_group, uint32_t columns>
__device__ void release(uint32_t tmem) {
  ptx::tcgen05_fence_before_thread_sync();
  __syncthreads();
  ptx::tcgen05_fence_after_thread_sync();
  if (threadIdx.x < kWarp) ptx::tcgen05_dealloc<cta_group>(tmem, columns);
}

__device__ uint32_t own_lanes() { return threadIdx.x / kWarp * kWarp << kLaneShift; }

/// Numbers the cells: writes its address into each cell of the first kColumns columns.
__device__ void number_cells(uint32_t tmem) {
  uint32_t r[kColumns];
  for (uint32_t column = 0; column < kColumns; ++column)
    r[column] = threadIdx.x << kLaneShift | column;
  ptx::tcgen05_st_32x32b(tmem + own_lanes(), r);
  ptx::tcgen05_wait_st();
  ptx::tcgen05_fence_before_thread_sync();
  __syncthreads();
  ptx::tcgen05_fence_after_thread_sync();
}

/// All columns of the thread's own lane.
__device__ void read_cells(uint32_t tmem, uint32_t* result) {
  uint32_t r[kColumns];
  ptx::tcgen05_ld_32x32b(r, tmem + own_lanes());
  ptx::tcgen05_wait_ld(r);
  for (uint32_t column = 0; column < kColumns; ++column)
    result[threadIdx.x * kColumns + column] = r[column];
}

enum class Shape { k32x32b, k16x64b, k16x128b, k16x256b, k16x32bx2 };
constexpr uint32_t kFragmentRegisters = 8;

/// Which cells a load of 8 registers gives to which thread, at two places of the warp's lanes.
template <Shape shape>
__global__ void fragments(uint32_t* result) {
  __shared__ uint32_t word;
  const uint32_t tmem = allocate<1, kColumns>(&word);
  number_cells(tmem);
  constexpr uint32_t kHalves = shape == Shape::k32x32b ? 1 : 2;
  for (uint32_t half = 0; half < kHalves; ++half) {
    constexpr uint32_t kHalfLanes = 16, kFirstColumn = 8;
    constexpr int kSplitColumns = 32;
    const uint32_t from = tmem + own_lanes() + (half * kHalfLanes << kLaneShift) + kFirstColumn;
    uint32_t r[kFragmentRegisters];
    if constexpr (shape == Shape::k32x32b) ptx::tcgen05_ld_32x32b(r, from);
    if constexpr (shape == Shape::k16x64b) ptx::tcgen05_ld_16x64b(r, from);
    if constexpr (shape == Shape::k16x128b) ptx::tcgen05_ld_16x128b(r, from);
    if constexpr (shape == Shape::k16x256b) ptx::tcgen05_ld_16x256b(r, from);
    if constexpr (shape == Shape::k16x32bx2) ptx::tcgen05_ld_16x32bx2<kSplitColumns>(r, from);
    ptx::tcgen05_wait_ld(r);
    for (uint32_t i = 0; i < kFragmentRegisters; ++i)
      result[(half * kThreads + threadIdx.x) * kFragmentRegisters + i] = r[i];
  }
  release<1, kColumns>(tmem);
}

/// Waits until the tensor core has done what one thread gave it.
__device__ void wait_for_commit(uint32_t barrier, uint32_t phase) {
  while (!ptx::mbarrier_try_wait_parity(barrier, phase)) {
  }
  ptx::tcgen05_fence_after_thread_sync();
}

__device__ void make_barrier(uint32_t barrier) {
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(barrier, 1);
    ptx::fence_mbarrier_init();
  }
  __syncthreads();
}

#ifndef BW_BLACKWELL_FAMILY
// ptxas has this instruction for sm_100a and not for the family sm_100f.
/// tcgen05.shift.down of the cells of column 0 to 7: where do the rows go?
__global__ void shift(uint32_t* result) {
  __shared__ uint32_t word;
  __shared__ alignas(8) uint64_t done;
  const uint32_t tmem = allocate<1, kColumns>(&word);
  number_cells(tmem);
  make_barrier(ptx::shared_address(&done));
  if (threadIdx.x == 0) {
    asm volatile("tcgen05.shift.cta_group::1.down [%0];" ::"r"(tmem) : "memory");
    ptx::tcgen05_commit<1>(ptx::shared_address(&done));
  }
  wait_for_commit(ptx::shared_address(&done), 0);
  read_cells(tmem, result);
  release<1, kColumns>(tmem);
}

#endif

/// An operand in shared memory without a swizzle: core matrices of 8 rows x 16 bytes, first along
/// K.
template <uint32_t row_bytes>
struct Plain {
  static constexpr uint32_t kCoreRows = 8, kCoreRowBytes = 16, kCoreBytes = 128;
  static constexpr uint32_t kStrideBytes = row_bytes / kCoreRowBytes * kCoreBytes;

  static __device__ uint32_t offset(uint32_t row, uint32_t byte) {
    return row / kCoreRows * kStrideBytes + byte / kCoreRowBytes * kCoreBytes +
           row % kCoreRows * kCoreRowBytes + byte % kCoreRowBytes;
  }
  static __device__ uint64_t descriptor(uint32_t address) {
    using Layout = SharedDescriptorLayout;
    return uint64_t{address >> Layout::kUnitShift} << Layout::kStartAddressShift |
           uint64_t{kCoreBytes >> Layout::kUnitShift} << Layout::kLeadingByteOffsetShift |
           uint64_t{kStrideBytes >> Layout::kUnitShift} << Layout::kStrideByteOffsetShift |
           Layout::kVersion << Layout::kVersionShift;
  }
};

/// tcgen05.cp.128x256b of numbered bytes: 128 rows of 32 bytes into 8 columns.
__global__ void copy(uint32_t* result) {
  constexpr uint32_t kRowBytes = 32;
  __shared__ uint32_t word;
  __shared__ alignas(8) uint64_t done;
  __shared__ alignas(128) uint32_t tile[kThreads * kRowBytes / sizeof(uint32_t)];
  const uint32_t tmem = allocate<1, kColumns>(&word);
  number_cells(tmem);
  make_barrier(ptx::shared_address(&done));
  constexpr uint32_t kWords = kRowBytes / sizeof(uint32_t);
  constexpr uint32_t kFromTile = 1u << 31;
  for (uint32_t i = 0; i < kWords; ++i) {
    const uint32_t at = Plain<kRowBytes>::offset(threadIdx.x, i * sizeof(uint32_t));
    tile[at / sizeof(uint32_t)] = kFromTile | threadIdx.x << kLaneShift | i;
  }
  ptx::fence_proxy_async_shared();
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("tcgen05.cp.cta_group::1.128x256b [%0], %1;" ::"r"(tmem),
                 "l"(Plain<kRowBytes>::descriptor(ptx::shared_address(tile)))
                 : "memory");
    ptx::tcgen05_commit<1>(ptx::shared_address(&done));
  }
  wait_for_commit(ptx::shared_address(&done), 0);
  read_cells(tmem, result);
  release<1, kColumns>(tmem);
}

constexpr uint32_t kRows = 128, kN = 64, kK = 32;

/// D of `steps` successive MMAs of K = 32 in e4m3 into the same accumulator.
__global__ void sums(const uint8_t* a, const uint8_t* b, uint32_t steps, uint32_t* result) {
  __shared__ uint32_t word;
  __shared__ alignas(8) uint64_t done;
  __shared__ alignas(128) uint8_t a_tile[kRows * kK];
  __shared__ alignas(128) uint8_t b_tile[kN * kK];
  const uint32_t tmem = allocate<1, kColumns>(&word);
  make_barrier(ptx::shared_address(&done));
  constexpr uint32_t kInstruction = make_e4m3_instruction_descriptor<kRows, kN, 1>();
  for (uint32_t step = 0; step < steps; ++step) {
    const uint32_t row = threadIdx.x;
    for (uint32_t k = 0; k < kK; ++k) {
      const uint32_t column = step * kK + k;
      a_tile[Plain<kK>::offset(row, k)] = a[row * steps * kK + column];
      if (row < kN) b_tile[Plain<kK>::offset(row, k)] = b[row * steps * kK + column];
    }
    ptx::fence_proxy_async_shared();
    __syncthreads();
    if (threadIdx.x == 0) {
      ptx::tcgen05_mma_f8f6f4<1>(tmem, Plain<kK>::descriptor(ptx::shared_address(a_tile)),
                                 Plain<kK>::descriptor(ptx::shared_address(b_tile)), kInstruction,
                                 /*accumulate=*/step > 0);
      ptx::tcgen05_commit<1>(ptx::shared_address(&done));
    }
    wait_for_commit(ptx::shared_address(&done), step % 2);
    __syncthreads();
  }
  read_cells(tmem, result);
  release<1, kColumns>(tmem);
}

/// The same by a pair of CTAs: M is 256, each CTA holds half of A's rows and half of B's.
__global__ __cluster_dims__(2, 1, 1) void pair_sums(const uint8_t* a, const uint8_t* b,
                                                    uint32_t* result) {
  constexpr uint32_t kOwnN = kN / 2;
  constexpr uint16_t kBothCtas = 0b11;
  __shared__ uint32_t word;
  __shared__ alignas(8) uint64_t done;
  __shared__ alignas(128) uint8_t a_tile[kRows * kK];
  __shared__ alignas(128) uint8_t b_tile[kOwnN * kK];
  const uint32_t rank = ptx::cluster_cta_rank();
  const uint32_t tmem = allocate<2, kColumns>(&word);
  make_barrier(ptx::shared_address(&done));
  const uint32_t row = threadIdx.x;
  for (uint32_t k = 0; k < kK; ++k) {
    a_tile[Plain<kK>::offset(row, k)] = a[(rank * kRows + row) * kK + k];
    if (row < kOwnN) b_tile[Plain<kK>::offset(row, k)] = b[(rank * kOwnN + row) * kK + k];
  }
  ptx::fence_proxy_async_shared();
  ptx::cluster_arrive();
  ptx::cluster_wait();
  if (rank == 0 && threadIdx.x == 0) {
    constexpr uint32_t kInstruction = make_e4m3_instruction_descriptor<2 * kRows, kN, 2>();
    ptx::tcgen05_mma_f8f6f4<2>(tmem, Plain<kK>::descriptor(ptx::shared_address(a_tile)),
                               Plain<kK>::descriptor(ptx::shared_address(b_tile)), kInstruction,
                               /*accumulate=*/false);
    ptx::tcgen05_commit_multicast<2>(ptx::shared_address(&done), kBothCtas);
  }
  while (!ptx::mbarrier_try_wait_parity_cluster(ptx::shared_address(&done), 0)) {
  }
  ptx::tcgen05_fence_after_thread_sync();
  read_cells(tmem, result + rank * kRows * kColumns);
  // Neither frees columns that the other's half of an MMA may still use.
  ptx::cluster_arrive();
  ptx::cluster_wait();
  release<2, kColumns>(tmem);
}

/// Addresses of allocations that never grow: which columns does the hardware give?
__global__ void allocations(uint32_t* result) {
  constexpr uint32_t kFirst = 256, kSecond = 128, kThird = 32;
  __shared__ uint32_t words[3];
  if (threadIdx.x < kWarp) {
    ptx::tcgen05_alloc<1>(ptx::shared_address(&words[0]), kFirst);
    ptx::tcgen05_alloc<1>(ptx::shared_address(&words[1]), kSecond);
    ptx::tcgen05_alloc<1>(ptx::shared_address(&words[2]), kThird);
    ptx::tcgen05_relinquish_alloc_permit<1>();
  }
  ptx::tcgen05_fence_before_thread_sync();
  __syncthreads();
  ptx::tcgen05_fence_after_thread_sync();
  if (threadIdx.x < 3) result[threadIdx.x] = words[threadIdx.x];
  __syncthreads();
  if (threadIdx.x < kWarp) {
    ptx::tcgen05_dealloc<1>(words[2], kThird);
    ptx::tcgen05_dealloc<1>(words[1], kSecond);
    ptx::tcgen05_dealloc<1>(words[0], kFirst);
  }
}

constexpr unsigned kWordBytes = sizeof(uint32_t);

/// Runs a kernel of one CTA that writes `words` words, from `arguments` and a pointer to them.
template <class... Arguments>
Result measure(const void* kernel, unsigned blocks, size_t words, Arguments... arguments) {
  const DeviceBuffer<uint8_t> result = to_device(std::vector<uint64_t>(words), kWordBytes);
  launch(kernel, blocks, kThreads, arguments..., result.data());
  return {from_device(result, kWordBytes), [](size_t i) { return "word " + std::to_string(i); }};
}

/// e4m3 operands: any finite bits, or few bits and large exponents that differ, so that a sum says
/// how many bits an accumulator keeps.
std::vector<uint64_t> e4m3(size_t count, uint64_t seed, bool cancels) {
  constexpr uint64_t kNan = 0x7f, kSign = 0x80;
  RandomBits random(seed);
  std::vector<uint64_t> values(count);
  for (uint64_t& value : values) {
    value = random.below(256);
    if (cancels) value = (value & kSign) | (random.below(2) != 0 ? 0x7e : 0x01 + random.below(8));
    if ((value & kNan) == kNan) value ^= 1;
  }
  return values;
}

Result measure_sums(uint32_t steps, bool cancels) {
  const auto a = to_device(e4m3(kRows * kK * steps, 1, cancels), 1);
  const auto b = to_device(e4m3(kN * kK * steps, 2, cancels), 1);
  return measure(reinterpret_cast<const void*>(sums), 1, kRows * kColumns,
                 static_cast<const uint8_t*>(a.data()), static_cast<const uint8_t*>(b.data()),
                 steps);
}

template <Shape shape>
Result measure_fragments() {
  constexpr size_t kHalves = shape == Shape::k32x32b ? 1 : 2;
  return measure(reinterpret_cast<const void*>(fragments<shape>), 1,
                 kHalves * kThreads * kFragmentRegisters);
}

const Registration kCases[] = {
    {"tcgen05.alloc", [] { return measure(reinterpret_cast<const void*>(allocations), 1, 3); }},
    {"tcgen05.cp.128x256b",
     [] { return measure(reinterpret_cast<const void*>(copy), 1, kThreads * kColumns); }},
    {"tcgen05.ld.32x32b.x8", [] { return measure_fragments<Shape::k32x32b>(); }},
    {"tcgen05.ld.16x64b.x8", [] { return measure_fragments<Shape::k16x64b>(); }},
    {"tcgen05.ld.16x128b.x4", [] { return measure_fragments<Shape::k16x128b>(); }},
    {"tcgen05.ld.16x256b.x2", [] { return measure_fragments<Shape::k16x256b>(); }},
    {"tcgen05.ld.16x32bx2.x8", [] { return measure_fragments<Shape::k16x32bx2>(); }},
    {"tcgen05.mma.e4m3.k32", [] { return measure_sums(1, false); }},
    {"tcgen05.mma.e4m3.k32.cancels", [] { return measure_sums(1, true); }},
    {"tcgen05.mma.e4m3.k128", [] { return measure_sums(4, false); }},
    {"tcgen05.mma.e4m3.k128.cancels", [] { return measure_sums(4, true); }},
    {"tcgen05.mma.cta_group2.e4m3.k32",
     [] {
       const auto a = to_device(e4m3(2 * kRows * kK, 3, false), 1);
       const auto b = to_device(e4m3(kN * kK, 4, false), 1);
       return measure(reinterpret_cast<const void*>(pair_sums), 2, 2 * kRows * kColumns,
                      static_cast<const uint8_t*>(a.data()), static_cast<const uint8_t*>(b.data()));
     }},
#ifndef BW_BLACKWELL_FAMILY
    {"tcgen05.shift.down",
     [] { return measure(reinterpret_cast<const void*>(shift), 1, kThreads * kColumns); }},
#endif
};

}  // namespace bw::conformance::blackwell
