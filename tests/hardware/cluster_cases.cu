/// \file
/// Clusters: ranks, distributed shared memory, remote barriers, copies between CTAs and multicast
/// (PTX ISA, "Cluster of Cooperative Thread Arrays", "mapa", "getctarank", "cp.async.bulk").
#include <string>

#include "tests/hardware/cases.hpp"
#include "tests/hardware/inputs.hpp"
#include "tests/hardware/raw_memory.hpp"
#include "tests/hardware/tensor_maps.hpp"

namespace bw::conformance::cluster {

constexpr unsigned kThreads = 64;
constexpr unsigned kClusterSize = 4;
constexpr unsigned kWordsOfCta = 1024;

__device__ uint32_t shared_address(const void* pointer) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

__device__ uint32_t mapped(uint32_t address, uint32_t rank) {
  uint32_t result;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(result) : "r"(address), "r"(rank));
  return result;
}

__device__ uint32_t own_rank() {
  uint32_t rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

__device__ void cluster_sync() {
  asm volatile("barrier.cluster.arrive.aligned;\n barrier.cluster.wait.aligned;" ::: "memory");
}

__device__ void initialise(uint32_t barrier, uint32_t arrivals) {
  if (threadIdx.x == 0)
    asm volatile(
        "mbarrier.init.shared::cta.b64 [%0], %1;\n"
        "fence.mbarrier_init.release.cluster;" ::"r"(barrier),
        "r"(arrivals)
        : "memory");
}

__device__ void wait_for(uint32_t barrier, uint32_t parity) {
  uint32_t done = 0;
  while (done == 0)
    asm volatile(
        "{.reg .pred p; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1],"
        " %2; selp.b32 %0, 1, 0, p;}"
        : "=r"(done)
        : "r"(barrier), "r"(parity)
        : "memory");
}

__device__ unsigned linear_cta() {
  return blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
}

/// The special registers of every CTA.
__global__ void positions(uint32_t* result) {
  if (threadIdx.x != 0) return;
  uint32_t* out = result + linear_cta() * 16;
#define BW_READ(INDEX, NAME) asm volatile("mov.u32 %0, %%" NAME ";" : "=r"(out[INDEX]))
  BW_READ(0, "cluster_ctaid.x");
  BW_READ(1, "cluster_ctaid.y");
  BW_READ(2, "cluster_ctaid.z");
  BW_READ(3, "cluster_nctaid.x");
  BW_READ(4, "cluster_nctaid.y");
  BW_READ(5, "cluster_nctaid.z");
  BW_READ(6, "cluster_ctarank");
  BW_READ(7, "cluster_nctarank");
  BW_READ(8, "clusterid.x");
  BW_READ(9, "clusterid.y");
  BW_READ(10, "clusterid.z");
  BW_READ(11, "nclusterid.x");
  BW_READ(12, "nclusterid.y");
  BW_READ(13, "nclusterid.z");
  BW_READ(14, "ctaid.x");
  asm volatile("{.reg .pred p; mov.pred p, %%is_explicit_cluster; selp.b32 %0, 1, 0, p;}"
               : "=r"(out[15]));
}

/// Loads, stores, atomics and generic accesses to the shared memory of the other CTAs.
__global__ void remote_accesses(uint32_t* result) {
  __shared__ alignas(16) uint32_t memory[kWordsOfCta];
  const uint32_t rank = own_rank();
  for (unsigned i = threadIdx.x; i < kWordsOfCta; i += kThreads) memory[i] = rank << 16 | i;
  cluster_sync();
  const uint32_t t = threadIdx.x;
  const uint32_t peer = mapped(shared_address(memory), (rank + 1) % kClusterSize);
  uint32_t value;
  asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(value) : "r"(peer + 4 * t) : "memory");
  uint64_t generic;
  asm volatile("cvta.shared::cluster.u64 %0, %1;" : "=l"(generic) : "l"(uint64_t{peer}));
  const uint32_t second = reinterpret_cast<const uint32_t*>(generic)[64 + t];
  uint32_t owner;
  asm volatile("getctarank.shared::cluster.u32 %0, %1;" : "=r"(owner) : "r"(peer + 4 * t));
  uint32_t own_owner;
  asm volatile("getctarank.u64 %0, %1;" : "=r"(own_owner) : "l"(memory));
  uint32_t spaces;
  asm volatile(
      "{.reg .pred p; .reg .b32 t; isspacep.shared::cluster p, %1; selp.b32 %0, 1, 0, p;\n"
      " isspacep.shared::cta p, %1; selp.b32 t, 2, 0, p; or.b32 %0, %0, t;\n"
      " isspacep.shared::cta p, %2; selp.b32 t, 4, 0, p; or.b32 %0, %0, t;\n"
      " isspacep.global p, %1; selp.b32 t, 8, 0, p; or.b32 %0, %0, t;}"
      : "=r"(spaces)
      : "l"(generic), "l"(memory));
  asm volatile("st.shared::cluster.v2.u32 [%0], {%1, %2};" ::"r"(peer + 1024 + 8 * t),
               "r"(value + 1), "r"(second + 2)
               : "memory");
  asm volatile("red.shared::cluster.add.u32 [%0], %1;" ::"r"(peer + 2048 + 4 * (t % 8)), "r"(t)
               : "memory");
  uint32_t old_value;
  asm volatile("atom.shared::cluster.exch.b32 %0, [%1], %2;"
               : "=r"(old_value)
               : "r"(peer + 2304 + 4 * t), "r"(t * 3)
               : "memory");
  asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(peer + 3072 + 4 * t),
               "r"(old_value ^ owner << 8 ^ own_owner << 12 ^ spaces << 24)
               : "memory");
  cluster_sync();
  for (unsigned i = threadIdx.x; i < kWordsOfCta; i += kThreads)
    result[linear_cta() * kWordsOfCta + i] = memory[i];
}

/// Every CTA sends 512 bytes to the next one, and adds to the one after; barriers are remote.
__global__ void remote_copies(uint32_t* result) {
  __shared__ alignas(128) uint32_t memory[kWordsOfCta];
  __shared__ alignas(8) uint64_t objects[2];
  const uint32_t rank = own_rank();
  const uint32_t barrier = shared_address(objects);
  const uint32_t arrivals = shared_address(objects + 1);
  for (unsigned i = threadIdx.x; i < kWordsOfCta; i += kThreads) memory[i] = rank << 16 | i * i;
  initialise(barrier, 1);
  initialise(arrivals, kClusterSize);
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  cluster_sync();
  const uint32_t next = (rank + 1) % kClusterSize;
  const uint32_t after = (rank + 2) % kClusterSize;
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 1024;" ::"r"(barrier)
                 : "memory");
    const uint32_t own = shared_address(memory);
    asm volatile(
        "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes"
        " [%0], [%1], 512, [%2];" ::"r"(mapped(own + 2048, next)),
        "r"(own), "r"(mapped(barrier, next))
        : "memory");
    asm volatile(
        "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes"
        ".add.u32 [%0], [%1], 256, [%2];" ::"r"(mapped(own + 3072, after)),
        "r"(own + 512), "r"(mapped(barrier, after))
        : "memory");
    asm volatile(
        "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes"
        ".max.s32 [%0], [%1], 256, [%2];" ::"r"(mapped(own + 3328, after)),
        "r"(own + 768), "r"(mapped(barrier, after))
        : "memory");
    for (uint32_t to = 0; to < kClusterSize; ++to)
      asm volatile(
          "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(mapped(arrivals, to))
          : "memory");
  }
  wait_for(barrier, 0);
  wait_for(arrivals, 0);
  cluster_sync();
  for (unsigned i = threadIdx.x; i < kWordsOfCta; i += kThreads)
    result[linear_cta() * kWordsOfCta + i] = memory[i];
}

/// Each CTA loads a quarter of every CTA's tile: a tensor box to all, bytes to CTAs 1 and 3.
__global__ void multicast_copies(const __grid_constant__ CUtensorMap map, const uint8_t* source,
                                 uint32_t* result) {
  __shared__ alignas(1024) uint32_t memory[kWordsOfCta];
  __shared__ alignas(8) uint64_t object;
  const uint32_t rank = own_rank();
  const uint32_t barrier = shared_address(&object);
  for (unsigned i = threadIdx.x; i < kWordsOfCta; i += kThreads) memory[i] = 0xcdcdcdcd;
  initialise(barrier, 1);
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  cluster_sync();
  if (threadIdx.x == 0) {
    constexpr uint32_t kBoxBytes = 16 * 8 * 4, kBytes = 256;
    const uint32_t bytes = kClusterSize * kBoxBytes + (rank % 2) * kClusterSize * kBytes;
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
                 : "memory");
    const uint32_t own = shared_address(memory);
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
        ".multicast::cluster [%0], [%1, {%2, %3}], [%4], %5;" ::"r"(own + rank * kBoxBytes),
        "l"(&map), "r"(rank * 16), "r"(rank * 5), "r"(barrier), "h"(static_cast<uint16_t>(0xf))
        : "memory");
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
        ".multicast::cluster [%0], [%1], %2, [%3], %4;" ::"r"(own + 2048 + rank * kBytes),
        "l"(source + rank * 1024), "r"(kBytes), "r"(barrier), "h"(static_cast<uint16_t>(0xa))
        : "memory");
  }
  wait_for(barrier, 0);
  cluster_sync();
  for (unsigned i = threadIdx.x; i < kWordsOfCta; i += kThreads)
    result[linear_cta() * kWordsOfCta + i] = memory[i];
}

template <class... Arguments>
void launch_clusters(const void* kernel, dim3 grid, dim3 cluster_size, Arguments... arguments) {
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim = {cluster_size.x, cluster_size.y, cluster_size.z};
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = dim3(kThreads);
  config.attrs = &attribute;
  config.numAttrs = 1;
  void* pointers[] = {&arguments...};
  check_cuda(cudaLaunchKernelExC(&config, kernel, pointers), "launch clusters");
}

std::string word_of_cta(size_t i, size_t words) {
  return "CTA " + std::to_string(i / words) + " word " + std::to_string(i % words);
}

Result measure_positions(dim3 grid, dim3 cluster_size) {
  DeviceBuffer<uint8_t> result(grid.x * grid.y * grid.z * 64);
  launch_clusters(reinterpret_cast<const void*>(&positions), grid, cluster_size, result.data());
  return {from_device(result, 4), [](size_t i) { return word_of_cta(i, 16); }};
}

Result measure_ctas(const void* kernel) {
  constexpr unsigned kCtas = 2 * kClusterSize;
  DeviceBuffer<uint8_t> result(kCtas * kWordsOfCta * 4);
  launch_clusters(kernel, dim3(kCtas), dim3(kClusterSize), result.data());
  return {from_device(result, 4), [](size_t i) { return word_of_cta(i, kWordsOfCta); }};
}

Result measure_multicast() {
  DeviceBuffer<uint8_t> source = to_device(operands(4, 0, 8192), 4);
  DeviceBuffer<uint8_t> result(kClusterSize * kWordsOfCta * 4);
  MapArguments arguments;
  arguments.address = reinterpret_cast<uintptr_t>(source.data());
  CUtensorMap map;
  require(encode(map, arguments) == CUDA_SUCCESS, "The tensor map was refused.");
  launch_clusters(reinterpret_cast<const void*>(&multicast_copies), dim3(kClusterSize),
                  dim3(kClusterSize), map, source.data(), result.data());
  return {from_device(result, 4), [](size_t i) { return word_of_cta(i, kWordsOfCta); }};
}

const Registration kCases[] = {
    {"cluster.positions.4", [] { return measure_positions(dim3(8), dim3(4)); }},
    {"cluster.positions.2x2", [] { return measure_positions(dim3(4, 6), dim3(2, 2)); }},
    {"cluster.positions.1x2x4", [] { return measure_positions(dim3(3, 2, 8), dim3(1, 2, 4)); }},
    {"cluster.accesses",
     [] { return measure_ctas(reinterpret_cast<const void*>(&remote_accesses)); }},
    {"cluster.copies", [] { return measure_ctas(reinterpret_cast<const void*>(&remote_copies)); }},
    {"cluster.multicast", measure_multicast},
};

}  // namespace bw::conformance::cluster
