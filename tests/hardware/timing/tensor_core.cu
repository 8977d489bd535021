/// \file
/// tcgen05 on a Blackwell GPU: MMAs by shape, by the place of A and by CTAs, copies to tensor
/// memory, loads and stores of it; and what one operation on an mbarrier takes.

#include <string>

#include "common/device/cluster.cuh"
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
#include "tests/hardware/timing/clock.cuh"
#include "tests/hardware/timing/cluster_launch.hpp"
#include "tests/hardware/timing/measurement.hpp"

namespace bw::timing {
namespace {

constexpr uint32_t kThreads = 128;
constexpr uint32_t kColumns = 512;  // all tensor memory
constexpr uint32_t kAlignment = 1024;
constexpr uint32_t kRowBytes = 128;
constexpr uint32_t kMostRows = 256;
/// A and B, each of at most 256 rows.
constexpr uint32_t kOperandBytes = kMostRows * kRowBytes;
constexpr uint32_t kDynamicBytes = 2 * kOperandBytes + kAlignment;
/// D takes the first columns; A or what tcgen05.cp brings begins here.
constexpr uint32_t kSecondColumns = 256;

/// Memory and barrier of a kernel; all of it is zero.
template <int cta_group>
struct Workplace {
  uint32_t tensor_memory;
  uint32_t operands;  ///< shared address
  uint32_t barrier;
};

template <int cta_group>
__device__ Workplace<cta_group> set_up(uint32_t* tensor_memory_address, uint64_t* barrier) {
  extern __shared__ uint8_t raw[];
  Workplace<cta_group> place;
  place.barrier = ptx::shared_address(barrier);
  place.operands = (ptx::shared_address(raw) + kAlignment - 1) / kAlignment * kAlignment;
  for (uint32_t i = threadIdx.x; i < kDynamicBytes / 4; i += blockDim.x) {
    reinterpret_cast<uint32_t*>(raw)[i] = 0;
  }
  if (threadIdx.x < 32) {
    ptx::tcgen05_alloc<cta_group>(ptx::shared_address(tensor_memory_address), kColumns);
    ptx::tcgen05_relinquish_alloc_permit<cta_group>();
  }
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(place.barrier, 1);
    ptx::fence_mbarrier_init();
  }
  ptx::fence_proxy_async_shared();
  ptx::tcgen05_fence_before_thread_sync();
  __syncthreads();
  ptx::tcgen05_fence_after_thread_sync();
  place.tensor_memory = *tensor_memory_address;
  const uint32_t quarter = place.tensor_memory + (threadIdx.x / 32 * 32 << 16);
  uint32_t zeros[64] = {};
  for (uint32_t column = 0; column < kColumns; column += 64) {
    ptx::tcgen05_st_32x32b(quarter + column, zeros);
  }
  ptx::tcgen05_wait_st();
  ptx::tcgen05_fence_before_thread_sync();
  __syncthreads();
  ptx::tcgen05_fence_after_thread_sync();
  if constexpr (cta_group == 2) {
    ptx::cluster_arrive();
    ptx::cluster_wait();
  }
  return place;
}

template <int cta_group>
__device__ void tear_down(const Workplace<cta_group>& place) {
  ptx::tcgen05_fence_before_thread_sync();
  __syncthreads();
  if constexpr (cta_group == 2) {
    ptx::cluster_arrive();
    ptx::cluster_wait();
  }
  ptx::tcgen05_fence_after_thread_sync();
  if (threadIdx.x < 32) ptx::tcgen05_dealloc<cta_group>(place.tensor_memory, kColumns);
}

__device__ __forceinline__ void wait(uint32_t barrier, uint32_t parity) {
  while (!ptx::mbarrier_try_wait_parity(barrier, parity)) {
  }
}

/// A in tensor memory: 32 elements along K take 8 columns.
template <int cta_group>
__device__ __forceinline__ void multiply_with_tensor_memory(uint32_t d, uint32_t a, uint64_t b,
                                                            uint32_t descriptor) {
  asm volatile(
      "{\n\t"
      ".reg .pred accumulate;\n\t"
      "setp.ne.b32 accumulate, 1, 0;\n\t"
      "tcgen05.mma.cta_group::%4.kind::f8f6f4 [%0], [%1], %2, %3, accumulate;\n\t"
      "}" ::"r"(d),
      "r"(a), "l"(b), "r"(descriptor), "n"(cta_group)
      : "memory");
}

enum class PlaceOfA { shared_memory, tensor_memory };

/// `batch` MMAs of 32 bytes along K by one thread, a commit, a wait; the second round counts.
template <int cta_group, PlaceOfA place_of_a, int batch>
__global__ void multiply(Span* spans, uint32_t descriptor) {
  __shared__ uint32_t tensor_memory_address;
  __shared__ uint64_t barrier;
  const auto place = set_up<cta_group>(&tensor_memory_address, &barrier);
  const bool leads = cta_group == 1 || ptx::cluster_cta_rank() == 0;
  const uint64_t a = make_k_major_descriptor(place.operands, Swizzle::k128B);
  const uint64_t b = make_k_major_descriptor(place.operands + kOperandBytes, Swizzle::k128B);
  if (threadIdx.x == 0) {
    int64_t begin = 0, end = 0;
#pragma unroll 1
    for (int pass = 0; leads && pass < 2; ++pass) {
      begin = cycle();
#pragma unroll
      for (int i = 0; i < batch; ++i) {
        if constexpr (place_of_a == PlaceOfA::shared_memory) {
          ptx::tcgen05_mma_f8f6f4<cta_group>(place.tensor_memory, a, b, descriptor, true);
        } else {
          multiply_with_tensor_memory<cta_group>(
              place.tensor_memory, place.tensor_memory + kSecondColumns, b, descriptor);
        }
      }
      ptx::tcgen05_commit<cta_group>(place.barrier);
      wait(place.barrier, static_cast<uint32_t>(pass));
      end = cycle();
    }
    if (leads) spans[blockIdx.x / cta_group] = {begin, end};
  }
  tear_down(place);
}

/// `batch` copies of 128 rows of 32 bytes to tensor memory.
template <int batch>
__global__ void copy(Span* spans) {
  __shared__ uint32_t tensor_memory_address;
  __shared__ uint64_t barrier;
  const auto place = set_up<1>(&tensor_memory_address, &barrier);
  const uint64_t source = make_k_major_descriptor(place.operands, Swizzle::k32B);
  if (threadIdx.x == 0) {
    int64_t begin = 0, end = 0;
#pragma unroll 1
    for (int pass = 0; pass < 2; ++pass) {
      begin = cycle();
#pragma unroll
      for (int i = 0; i < batch; ++i) {
        asm volatile("tcgen05.cp.cta_group::1.128x256b [%0], %1;" ::"r"(place.tensor_memory),
                     "l"(source)
                     : "memory");
      }
      ptx::tcgen05_commit<1>(place.barrier);
      wait(place.barrier, static_cast<uint32_t>(pass));
      end = cycle();
    }
    spans[0] = {begin, end};
  }
  tear_down(place);
}

enum class Direction { load, store };

/// Every warp moves `registers` columns of its quarter, and waits; the second round counts.
template <Direction direction, int registers>
__global__ void move_columns(Span* spans, uint32_t* sink) {
  __shared__ uint32_t tensor_memory_address;
  __shared__ uint64_t barrier;
  const auto place = set_up<1>(&tensor_memory_address, &barrier);
  const uint32_t quarter = place.tensor_memory + (threadIdx.x / 32 * 32 << 16);
  uint32_t values[registers] = {};
  // The second round of stores would wait for code of its own; loads take longer than that.
  constexpr int kUnrolled = direction == Direction::store ? 1 : 2;
  int64_t begin = 0, end = 0;
#pragma unroll kUnrolled
  for (int pass = 0; pass < 2; ++pass) {
    __syncthreads();
    begin = cycle();
    if constexpr (direction == Direction::load) {
      ptx::tcgen05_ld_32x32b(values, quarter);
      ptx::tcgen05_wait_ld(values);
    } else {
      ptx::tcgen05_st_32x32b(quarter, values);
      ptx::tcgen05_wait_st();
    }
    end = cycle();
  }
  write_span(spans, begin, end);
  uint32_t sum = 0;
#pragma unroll
  for (const uint32_t value : values) sum ^= value;
  keep(sum, sink);
  tear_down(place);
}

constexpr int kOperations = 16;

enum class Operation { arrive, passing_wait };

/// One thread, no loop: nothing but the operations is counted.
template <Operation operation>
__global__ void mbarrier_operations(Span* spans, uint32_t* sink) {
  __shared__ uint64_t barrier;
  constexpr uint32_t kManyArrivals = 1 << 16;
  const uint32_t address = ptx::shared_address(&barrier);
  ptx::mbarrier_init(address, kManyArrivals);
  uint32_t passed = 0;
  int64_t begin = 0, end = 0;
#pragma unroll 1
  for (int pass = 0; pass < 2; ++pass) {
    begin = cycle();
#pragma unroll
    for (int i = 0; i < kOperations; ++i) {
      if constexpr (operation == Operation::arrive) {
        ptx::mbarrier_arrive(address);
      } else {
        while (!ptx::mbarrier_try_wait_parity(address, 1)) ++passed;  // so that it is waited for
      }
    }
    end = cycle();
  }
  write_span(spans, begin, end);
  keep(passed, sink);
}

/// As make_e4m3_instruction_descriptor, of a shape that is known when the program runs.
uint32_t instruction_descriptor(uint32_t m, uint32_t n) {
  using Layout = InstructionDescriptorLayout;
  return static_cast<uint32_t>(MmaAccumulatorFormat::kF32) << Layout::kDFormatShift |
         n / Layout::kNUnit << Layout::kNShift | m / Layout::kMUnit << Layout::kMShift;
}

template <int cta_group, PlaceOfA place_of_a, int batch>
double mma_cycles(uint32_t m, uint32_t n) {
  return least_cycles(1, 1, [&](Span* s) {
    launch_clusters(multiply<cta_group, place_of_a, batch>, cta_group, cta_group, kThreads,
                    kDynamicBytes, s, instruction_descriptor(m, n));
  });
}

template <int cta_group, PlaceOfA place_of_a>
void add_mmas(Results& results, uint32_t m) {
  constexpr int kFew = 8, kMany = 24;
  for (const uint32_t n : {32u, 64u, 128u, 192u, 256u}) {
    const std::string parameter =
        "ctas=" + std::to_string(cta_group) + " m=" + std::to_string(m) +
        " n=" + std::to_string(n) +
        (place_of_a == PlaceOfA::tensor_memory ? " a=tensor_memory" : " a=shared_memory");
    const double few = mma_cycles<cta_group, place_of_a, kFew>(m, n);
    const double many = mma_cycles<cta_group, place_of_a, kMany>(m, n);
    results.add("tensor_core.mma_latency", parameter, "cycles",
                mma_cycles<cta_group, place_of_a, 1>(m, n));
    results.add("tensor_core.mma_interval", parameter, "cycles", (many - few) / (kMany - kFew));
    results.add("tensor_core.batch_of_" + std::to_string(kMany), parameter, "cycles", many);
  }
}

template <int batch>
double copy_cycles() {
  return least_cycles(
      1, 1, [](Span* s) { launch_clusters(copy<batch>, 1, 1, kThreads, kDynamicBytes, s); });
}

template <Direction direction, int registers>
void add_move(Results& results, const char* name) {
  results.add(std::string("tensor_core.") + name, "columns=" + std::to_string(registers), "cycles",
              least_cycles(1, kThreads / 32, [](Span* s) {
                launch_clusters(move_columns<direction, registers>, 1, 1, kThreads, kDynamicBytes,
                                s, nullptr);
              }));
}

}  // namespace

void measure_tensor_core(Results& results) {
  for (const uint32_t m : {64u, 128u}) {
    add_mmas<1, PlaceOfA::shared_memory>(results, m);
    add_mmas<1, PlaceOfA::tensor_memory>(results, m);
  }
  for (const uint32_t m : {128u, 256u}) {
    add_mmas<2, PlaceOfA::shared_memory>(results, m);
    add_mmas<2, PlaceOfA::tensor_memory>(results, m);
  }
  constexpr int kFew = 4, kMany = 12;
  results.add("tensor_core.copy_latency", "128x256b", "cycles", copy_cycles<1>());
  results.add("tensor_core.copy_interval", "128x256b", "cycles",
              (copy_cycles<kMany>() - copy_cycles<kFew>()) / (kMany - kFew));
  add_move<Direction::load, 64>(results, "tensor_memory_load");
  add_move<Direction::load, 128>(results, "tensor_memory_load");
  add_move<Direction::store, 64>(results, "tensor_memory_store");
  add_move<Direction::store, 128>(results, "tensor_memory_store");
}

void measure_mbarrier(Results& results) {
  const auto add = [&](const char* name, auto kernel) {
    results.add(std::string("mbarrier.") + name, "", "cycles",
                least_cycles(1, 1, [&](Span* s) { kernel<<<1, 1>>>(s, nullptr); }) / kOperations);
  };
  add("arrive", mbarrier_operations<Operation::arrive>);
  add("passing_wait", mbarrier_operations<Operation::passing_wait>);
}

}  // namespace bw::timing
