/// \file
/// Dependent chains of one warp: cycles from an instruction to the one that needs its result.

#include <string>

#include "common/device/shared_address.cuh"
#include "tests/hardware/timing/clock.cuh"
#include "tests/hardware/timing/l2_flush.hpp"
#include "tests/hardware/timing/measurement.hpp"
#include "tests/hardware/timing/operations.cuh"

namespace bw::timing {
namespace {

constexpr int kUnrolled = 64;
constexpr int kRounds = 8;
constexpr double kSteps = 1.0 * kUnrolled * kRounds;

/// The first pass brings the code into the instruction cache, the second is measured.
template <class Step>
__device__ void time_steps(Span* spans, Step step) {
  int64_t begin = 0, end = 0;
#pragma unroll 1
  for (int pass = 0; pass < 2; ++pass) {
    begin = cycle();
#pragma unroll 1
    for (int i = 0; i < kRounds; ++i) {
#pragma unroll
      for (int j = 0; j < kUnrolled; ++j) step();
    }
    end = cycle();
  }
  write_span(spans, begin, end);
}

template <class Operation>
__global__ void chain(Span* spans, uint32_t seed, uint32_t* sink) {
  Operation operation(seed);
  time_steps(spans, [&] { operation.step(); });
  keep(operation.result(), sink);
}

constexpr uint32_t kWords = 1024;

/// Every word of shared memory holds the address of the first: a load is its successor's address.
__device__ uint32_t fill_with_address(uint32_t (&words)[kWords], uint32_t address) {
  for (uint32_t i = threadIdx.x; i < kWords; i += blockDim.x) words[i] = address;
  __syncthreads();
  return address;
}

__global__ void shared_chase(Span* spans, uint32_t* sink) {
  __shared__ alignas(16) uint32_t words[kWords];
  uint32_t x = fill_with_address(words, ptx::shared_address(words));
  time_steps(spans, [&] { asm volatile("ld.shared.u32 %0, [%0];" : "+r"(x)::"memory"); });
  keep(x, sink);
}

__global__ void ldmatrix_chase(Span* spans, uint32_t* sink) {
  __shared__ alignas(16) uint32_t words[kWords];
  uint32_t x = fill_with_address(words, ptx::shared_address(words));
  uint32_t y, z, w;
  time_steps(spans, [&] {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%0];"
                 : "+r"(x), "=r"(y), "=r"(z), "=r"(w)::"memory");
  });
  keep(x, sink);
}

__global__ void shared_atomic_chain(Span* spans, uint32_t* sink) {
  __shared__ uint32_t words[kWords];
  const uint32_t address = ptx::shared_address(words) + threadIdx.x * sizeof(uint32_t);
  uint32_t x = fill_with_address(words, address);
  time_steps(spans, [&] {
    asm volatile("atom.shared.add.u32 %0, [%1], %0;" : "+r"(x) : "r"(address) : "memory");
  });
  keep(x, sink);
}

/// Two CTAs; the first one's warp reads the other's shared memory.
__global__ void __cluster_dims__(2) remote_chase(Span* spans, uint32_t* sink) {
  __shared__ alignas(16) uint32_t words[kWords];
  uint32_t remote;
  asm("mapa.shared::cluster.u32 %0, %1, 1;" : "=r"(remote) : "r"(ptx::shared_address(words)));
  uint32_t x = fill_with_address(words, remote);
  asm volatile("barrier.cluster.arrive.aligned;\n barrier.cluster.wait.aligned;" ::: "memory");
  time_steps(spans, [&] { asm volatile("ld.shared::cluster.u32 %0, [%0];" : "+r"(x)::"memory"); });
  keep(x, sink);
  asm volatile("barrier.cluster.arrive.aligned;\n barrier.cluster.wait.aligned;" ::: "memory");
}

// A chain of pointers through global memory. The stride isn't a multiple of a page or a slice.
constexpr uint64_t kStrideBytes = 4096 + 128;
constexpr uint32_t kPointers = 512;

__global__ void link_pointers(uint8_t* memory, uint64_t stride_bytes, uint32_t pointers) {
  for (uint32_t i = threadIdx.x; i < pointers; i += blockDim.x) {
    *reinterpret_cast<uint8_t**>(memory + i * stride_bytes) =
        memory + (i + 1) % pointers * stride_bytes;
  }
}

enum class Cached { in_l1, in_l2 };

/// One thread follows the pointers; `passes` rounds, the last of which is measured.
template <Cached cached>
__global__ void pointer_chase(Span* spans, uint8_t* memory, uint32_t pointers, int passes,
                              uint32_t* sink) {
  const uint8_t* p = memory;
  int64_t begin = 0, end = 0;
#pragma unroll 1
  for (int pass = 0; pass < passes; ++pass) {
    begin = cycle();
#pragma unroll 1
    for (uint32_t i = 0; i < pointers; i += 8) {
#pragma unroll
      for (int j = 0; j < 8; ++j) {
        if constexpr (cached == Cached::in_l1) {
          asm volatile("ld.global.ca.u64 %0, [%0];" : "+l"(p)::"memory");
        } else {
          asm volatile("ld.global.cg.u64 %0, [%0];" : "+l"(p)::"memory");
        }
      }
    }
    end = cycle();
  }
  write_span(spans, begin, end);
  keep(static_cast<uint32_t>(reinterpret_cast<uintptr_t>(p)), sink);
}

__global__ void global_atomic_chain(Span* spans, uint32_t* word, uint32_t* sink) {
  uint32_t x = threadIdx.x;
  uint32_t* const own = word + threadIdx.x;
  time_steps(spans, [&] {
    asm volatile("atom.global.add.u32 %0, [%1], %0;" : "+r"(x) : "l"(own) : "memory");
  });
  keep(x, sink);
}

template <class Launch>
void add(Results& results, const char* name, Launch launch, double steps = kSteps,
         size_t ctas = 1) {
  const double cycles = least_cycles(ctas, 1, launch);
  results.add(std::string("latency.") + name, "", "cycles", cycles / steps);
}

}  // namespace

void measure_latency(Results& results) {
  uint32_t* const none = nullptr;
  add(results, "fma", [&](Span* s) { chain<FusedMultiplyAdd><<<1, 32>>>(s, 1, none); });
  add(results, "mma_16x8x16_half",
      [&](Span* s) { chain<MatrixMultiplyAdd><<<1, 32>>>(s, 1, none); });
  add(results, "mad", [&](Span* s) { chain<IntegerMultiplyAdd><<<1, 32>>>(s, 1, none); });
  add(results, "add_and_xor", [&](Span* s) { chain<AddAndXor><<<1, 32>>>(s, 1, none); });
  add(results, "fma_half2", [&](Span* s) { chain<PackedHalfMultiplyAdd><<<1, 32>>>(s, 1, none); });
  add(results, "fma_double", [&](Span* s) { chain<DoubleMultiplyAdd><<<1, 32>>>(s, 1, none); });
  add(results, "ex2", [&](Span* s) { chain<Exponential><<<1, 32>>>(s, 1, none); });
  add(results, "convert_bf16x2", [&](Span* s) { chain<Convert><<<1, 32>>>(s, 1, none); });
  add(results, "shuffle", [&](Span* s) { chain<Shuffle><<<1, 32>>>(s, 1, none); });
  add(results, "shared_load", [&](Span* s) { shared_chase<<<1, 32>>>(s, none); });
  add(results, "ldmatrix_x4", [&](Span* s) { ldmatrix_chase<<<1, 32>>>(s, none); });
  add(results, "shared_atomic", [&](Span* s) { shared_atomic_chain<<<1, 32>>>(s, none); });
  add(
      results, "remote_shared_load", [&](Span* s) { remote_chase<<<2, 32>>>(s, none); }, kSteps, 2);

  DeviceBuffer<uint8_t> memory(kPointers * kStrideBytes);
  constexpr uint32_t kFewPointers = 64;
  const auto link = [&](uint64_t stride_bytes, uint32_t pointers) {
    link_pointers<<<1, 256>>>(memory.data(), stride_bytes, pointers);
  };
  link(128, kFewPointers);
  add(
      results, "l1_load",
      [&](Span* s) {
        pointer_chase<Cached::in_l1><<<1, 1>>>(s, memory.data(), kFewPointers, 3, none);
      },
      kFewPointers);
  link(kStrideBytes, kPointers);
  add(
      results, "l2_load",
      [&](Span* s) {
        pointer_chase<Cached::in_l2><<<1, 1>>>(s, memory.data(), kPointers, 3, none);
      },
      kPointers);
  const L2Flush flush;
  add(
      results, "hbm_load",
      [&](Span* s) {
        flush.run();
        pointer_chase<Cached::in_l2><<<1, 1>>>(s, memory.data(), kPointers, 1, none);
      },
      kPointers);
  DeviceBuffer<uint32_t> words(32);
  words.fill_bytes(0);
  add(results, "global_atomic",
      [&](Span* s) { global_atomic_chain<<<1, 32>>>(s, words.data(), none); });
}

}  // namespace bw::timing
