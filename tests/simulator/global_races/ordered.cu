/// \file
/// What orders whole grids, CTAs of a cluster, and the units that copy: streams and events,
/// programmatic launches, cluster barriers, bulk copies, tensor maps.
#include <cuda.h>

#include <cstdint>

#include "common/device/bulk_copy.cuh"
#include "common/device/cluster.cuh"
#include "common/device/fence.cuh"
#include "common/device/grid_dependency.cuh"
#include "common/device/mbarrier.cuh"
#include "common/device/shared_address.cuh"
#include "common/device/tma_load.cuh"
#include "common/device/tma_store.cuh"
#include "common/host/stream.hpp"
#include "common/host/tensor_map.hpp"
#include "tests/simulator/global_races/cases.hpp"

namespace bw::global_races {
namespace {

constexpr int kThreads = 64, kCtas = 2, kNumbers = kThreads * kCtas;

__device__ unsigned thread_of_grid() { return threadIdx.x + blockIdx.x * blockDim.x; }

__global__ void write(int* data) {
  // expect: two_streams_racy non_blocking_stream_racy not_waited_racy BW-R13
  data[thread_of_grid()] = 1;
}
__global__ void read(const int* data, int* result) {
  // expect: two_streams_racy non_blocking_stream_racy BW-R13
  const int value = data[kNumbers - 1 - thread_of_grid()];
  result[thread_of_grid()] = value;
}

void one_stream() {
  DeviceBuffer<int> data(kNumbers), result(kNumbers);
  const Stream stream;
  write<<<kCtas, kThreads, 0, stream.get()>>>(data.data());
  read<<<kCtas, kThreads, 0, stream.get()>>>(data.data(), result.data());
  finish("two kernels");
}

enum class Order { none, event, host };

template <Order order>
void two_streams() {
  DeviceBuffer<int> data(kNumbers), result(kNumbers);
  const Stream first, second;
  write<<<kCtas, kThreads, 0, first.get()>>>(data.data());
  if constexpr (order == Order::event) {
    cudaEvent_t written{};
    check_cuda(cudaEventCreate(&written), "create an event");
    check_cuda(cudaEventRecord(written, first.get()), "record it");
    check_cuda(cudaStreamWaitEvent(second.get(), written, 0), "wait for it");
    check_cuda(cudaEventDestroy(written), "destroy it");
  }
  if constexpr (order == Order::host) check_cuda(cudaStreamSynchronize(first.get()), "wait");
  read<<<kCtas, kThreads, 0, second.get()>>>(data.data(), result.data());
  finish("kernels of two streams");
}

// A stream that the legacy default stream orders, and one that it does not.
template <unsigned flags>
void beside_default_stream() {
  DeviceBuffer<int> data(kNumbers), result(kNumbers);
  cudaStream_t stream{};
  check_cuda(cudaStreamCreateWithFlags(&stream, flags), "create a stream");
  write<<<kCtas, kThreads, 0, stream>>>(data.data());
  read<<<kCtas, kThreads>>>(data.data(), result.data());
  finish("kernels of two streams");
  check_cuda(cudaStreamDestroy(stream), "destroy the stream");
}

// A copy to the host in another stream than the kernel.
template <bool ordered>
void copied_by_stream() {
  DeviceBuffer<int> data(kNumbers);
  std::vector<int> values(kNumbers);
  const Stream first, second;
  write<<<kCtas, kThreads, 0, first.get()>>>(data.data());
  if constexpr (ordered) check_cuda(cudaStreamSynchronize(first.get()), "wait");
  check_cuda(cudaMemcpyAsync(values.data(), data.data(), data.bytes(), cudaMemcpyDeviceToHost,
                             second.get()),
             "copy");
  finish("a kernel and a copy");
}

// The second grid may begin while the first still writes.
__global__ void write_early(int* data) {
  ptx::grid_dependency_launch_dependents();
  data[thread_of_grid()] = 1;  // expect: dependent_racy BW-R14
}
template <bool waits>
__global__ void read_dependent(const int* data, int* result) {
  if constexpr (waits) ptx::grid_dependency_wait();
  const int value = data[kNumbers - 1 - thread_of_grid()];  // expect: dependent_racy BW-R14
  if constexpr (!waits) ptx::grid_dependency_wait();
  result[thread_of_grid()] = value;
}
template <bool waits>
void dependent() {
  DeviceBuffer<int> data(kNumbers), result(kNumbers);
  write_early<<<kCtas, kThreads>>>(data.data());
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t configuration{};
  configuration.gridDim = kCtas;
  configuration.blockDim = kThreads;
  configuration.attrs = &attribute;
  configuration.numAttrs = 1;
  const int* input = data.data();
  check_cuda(cudaLaunchKernelEx(&configuration, read_dependent<waits>, input, result.data()),
             "launch");
  finish("a dependent kernel");
}

// CTAs of a cluster exchange numbers in global memory.
template <bool releases>
__global__ void __cluster_dims__(kCtas) in_cluster(int* data, int* result) {
  data[thread_of_grid()] = 1;  // expect: in_cluster_racy BW-R07
  if constexpr (releases) {
    ptx::cluster_arrive();
  } else {
    ptx::cluster_arrive_relaxed();
  }
  ptx::cluster_wait();
  const int value = data[kNumbers - 1 - thread_of_grid()];  // expect: in_cluster_racy BW-R07
  result[thread_of_grid()] = value;
}

// Two clusters write one place.
template <bool apart>
__global__ void __cluster_dims__(2) two_clusters(int* data, int*) {
  if (threadIdx.x == 0)
    data[apart ? blockIdx.x : blockIdx.x % 2] = 1;  // expect: two_clusters_racy BW-R12
}

constexpr uint32_t kBytes = kThreads * sizeof(int);

// What a bulk store wrote is read by the thread that issued it, then by all.
template <bool waits>
__global__ void read_of_bulk_store(int* data, int* result) {
  __shared__ alignas(128) int values[kThreads];
  values[threadIdx.x] = 1;
  ptx::fence_proxy_async_shared();
  __syncthreads();
  int* const place = data + blockIdx.x * kThreads;
  if (threadIdx.x == 0) {
    // expect: read_of_bulk_store_racy BW-R04
    ptx::bulk_store(place, ptx::shared_address(values), kBytes);
    ptx::bulk_commit_group();
    if constexpr (waits) {
      ptx::bulk_wait_group<0>();
    } else {
      ptx::bulk_wait_group_read<0>();
    }
  }
  __syncthreads();
  result[thread_of_grid()] = place[threadIdx.x];  // expect: read_of_bulk_store_racy BW-R04
}

// A bulk load of what threads have written.
template <bool fenced>
__global__ void bulk_load_of_writes(int* data, int* result) {
  __shared__ alignas(128) int values[kThreads];
  __shared__ alignas(8) uint64_t full;
  int* const place = data + blockIdx.x * kThreads;
  place[threadIdx.x] = 1;  // expect: bulk_load_of_writes_racy BW-R03
  if constexpr (fenced) asm volatile("fence.proxy.async;" ::: "memory");
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(ptx::shared_address(&full), 1);
    ptx::fence_mbarrier_init();
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    ptx::mbarrier_arrive_expect_tx(ptx::shared_address(&full), kBytes);
    // expect: bulk_load_of_writes_racy BW-R03
    ptx::bulk_load(ptx::shared_address(values), place, kBytes, ptx::shared_address(&full));
  }
  while (!ptx::mbarrier_try_wait_parity(ptx::shared_address(&full), 0)) {
  }
  result[thread_of_grid()] = values[threadIdx.x];
}

// All CTAs add to the same numbers by the copy engine; a concurrent plain write is not one of them.
template <bool plain>
__global__ void bulk_reduction(int* data, int*) {
  __shared__ alignas(128) int values[kThreads];
  values[threadIdx.x] = 1;
  ptx::fence_proxy_async_shared();
  __syncthreads();
  if (threadIdx.x != 0) return;
  if (plain && blockIdx.x == 1) {
    data[0] = 0;  // expect: bulk_reduction_racy BW-R12
  } else {
    // expect: bulk_reduction_racy BW-R12
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%0], [%1], %2;" ::"l"(
                     __cvta_generic_to_global(data)),
                 "r"(ptx::shared_address(values)), "r"(kBytes)
                 : "memory");
    ptx::bulk_commit_group();
    ptx::bulk_wait_group<0>();
  }
}

using Kernel = void (*)(int*, int*);

template <Kernel kernel>
void on_zeros() {
  const std::vector<int> zeros(kNumbers);
  DeviceBuffer<int> data(zeros), result(zeros);
  kernel<<<kCtas, kThreads>>>(data.data(), result.data());
  finish("a kernel of two CTAs");
}

void two_clusters_of(Kernel kernel) {
  const std::vector<int> zeros(kNumbers);
  DeviceBuffer<int> data(zeros), result(zeros);
  constexpr int kTwoClusters = 4;
  kernel<<<kTwoClusters, kThreads>>>(data.data(), result.data());
  finish("a kernel of two clusters");
}

// A tensor map in global memory is pointed at another matrix between two copies.
enum class MapChange { whole, unfenced, in_flight };
constexpr uint32_t kBox = 32;

template <MapChange change>
__global__ void change_map(CUtensorMap* map, float* other, float* result) {
  __shared__ alignas(128) float box[2][kBox * kBox];
  __shared__ alignas(8) uint64_t full[2];
  if (threadIdx.x != 0) return;
  for (uint64_t& barrier : full) ptx::mbarrier_init(ptx::shared_address(&barrier), 1);
  ptx::fence_mbarrier_init();
  const auto load = [&](int copy) {
    const uint32_t barrier = ptx::shared_address(&full[copy]);
    ptx::mbarrier_arrive_expect_tx(barrier, sizeof box[0]);
    // expect: map_in_flight_racy map_unfenced_racy BW-T10
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes [%0], [%1, {0, "
        "0}], [%2];" ::"r"(ptx::shared_address(box[copy])),
        "l"(map), "r"(barrier)
        : "memory");
  };
  const auto wait = [&](int copy) {
    while (!ptx::mbarrier_try_wait_parity(ptx::shared_address(&full[copy]), 0)) {
    }
  };
  load(0);
  if constexpr (change != MapChange::in_flight) wait(0);
  // expect: map_in_flight_racy map_unfenced_racy BW-T10
  asm volatile("tensormap.replace.tile.global_address.global.b1024.b64 [%0], %1;" ::"l"(map),
               "l"(other)
               : "memory");
  if constexpr (change != MapChange::unfenced) {
    asm volatile("fence.proxy.tensormap::generic.release.gpu;" ::: "memory");
    asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(map) : "memory");
  }
  if constexpr (change == MapChange::in_flight) wait(0);
  load(1);
  wait(1);
  result[0] = box[0][0] + box[1][0];
}

template <MapChange change>
void with_map() {
  const std::vector<float> ones(kBox * kBox, 1);
  DeviceBuffer<float> first(ones), second(ones), result(1);
  const CUtensorMap encoded = make_tensor_map({.name = "A",
                                               .data = first.data(),
                                               .type = CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
                                               .element_bytes = sizeof(float),
                                               .inner = kBox,
                                               .outer = kBox,
                                               .stride_bytes = kBox * sizeof(float),
                                               .box_inner = kBox,
                                               .box_outer = kBox,
                                               .swizzle = CU_TENSOR_MAP_SWIZZLE_NONE});
  DeviceBuffer<CUtensorMap> map(1);
  check_cuda(cudaMemcpy(map.data(), &encoded, sizeof encoded, cudaMemcpyHostToDevice), "copy");
  change_map<change><<<1, kThreads>>>(map.data(), second.data(), result.data());
  finish("copies by a map that changes");
}

}  // namespace

std::vector<Case> ordered_cases() {
  return {
      {"one_stream", one_stream},
      {"streams_with_event", two_streams<Order::event>},
      {"streams_with_host", two_streams<Order::host>},
      {"two_streams_racy", two_streams<Order::none>},
      {"blocking_stream", beside_default_stream<cudaStreamDefault>},
      {"non_blocking_stream_racy", beside_default_stream<cudaStreamNonBlocking>},
      {"copied_by_stream", copied_by_stream<true>},
      {"not_waited_racy", copied_by_stream<false>},
      {"dependent", dependent<true>},
      {"dependent_racy", dependent<false>},
      {"in_cluster", on_zeros<in_cluster<true>>},
      {"in_cluster_racy", on_zeros<in_cluster<false>>},
      {"two_clusters", [] { two_clusters_of(two_clusters<true>); }},
      {"two_clusters_racy", [] { two_clusters_of(two_clusters<false>); }},
      {"read_of_bulk_store", on_zeros<read_of_bulk_store<true>>},
      {"read_of_bulk_store_racy", on_zeros<read_of_bulk_store<false>>},
      {"bulk_load_of_writes", on_zeros<bulk_load_of_writes<true>>},
      {"bulk_load_of_writes_racy", on_zeros<bulk_load_of_writes<false>>},
      {"bulk_reduction", on_zeros<bulk_reduction<false>>},
      {"bulk_reduction_racy", on_zeros<bulk_reduction<true>>},
      {"map_changed", with_map<MapChange::whole>},
      {"map_unfenced_racy", with_map<MapChange::unfenced>},
      {"map_in_flight_racy", with_map<MapChange::in_flight>},
  };
}

}  // namespace bw::global_races
