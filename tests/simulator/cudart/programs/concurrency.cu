/// \file
/// Programs in the manner of ordinary CUDA code: graphs, pools, cooperative grids, kernels that
/// wait for the host or for each other. Each verifies its result and prints "<name>: ok".
#include <cooperative_groups.h>
#include <cuda_runtime.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <thread>
#include <vector>

namespace {

#define CHECK(call)                                                            \
  do {                                                                         \
    const cudaError_t error = (call);                                          \
    if (error != cudaSuccess) {                                                \
      std::printf("%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorName(error)); \
      return false;                                                            \
    }                                                                          \
  } while (false)

constexpr int kThreads = 64;

__global__ void add(int* values, int count, int addend) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) values[i] += addend;
}

// Sums with one grid barrier a level: every block adds the other half's elements to its own.
__global__ void sum_of_all(int* values, int count) {
  const cooperative_groups::grid_group grid = cooperative_groups::this_grid();
  for (int half = count / 2; half > 0; half /= 2) {
    const int i = static_cast<int>(grid.thread_rank());
    if (i < half) values[i] += values[i + half];
    grid.sync();
  }
}

bool cooperative() {
  constexpr int kCount = 8 * kThreads;
  int* values = nullptr;
  CHECK(cudaMallocManaged(&values, kCount * sizeof(int)));
  for (int i = 0; i < kCount; ++i) values[i] = i;
  int count = kCount;
  void* arguments[] = {&values, &count};
  const auto kernel = reinterpret_cast<const void*>(sum_of_all);
  CHECK(cudaLaunchCooperativeKernel(kernel, dim3(8), dim3(kThreads), arguments));
  CHECK(cudaDeviceSynchronize());
  const bool right = values[0] == kCount * (kCount - 1) / 2;
  CHECK(cudaFree(values));
  return right;
}

bool cooperative_too_large() {
  int* values = nullptr;
  int count = 0;
  void* arguments[] = {&values, &count};
  const auto kernel = reinterpret_cast<const void*>(sum_of_all);
  int blocks = 0;
  int multiprocessors = 0;
  CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, kThreads, 0));
  CHECK(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0));
  const auto most = static_cast<unsigned>(blocks * multiprocessors);
  const cudaError_t error =
      cudaLaunchCooperativeKernel(kernel, dim3(most + 1), dim3(kThreads), arguments);
  return error == cudaErrorCooperativeLaunchTooLarge && cudaGetLastError() == error;
}

// Two branches of a captured graph that meet again, launched twice, then with another addend.
bool graph() {
  constexpr int kCount = 100;
  int* values = nullptr;
  std::vector<int> results(kCount);
  CHECK(cudaMalloc(&values, kCount * sizeof(int)));
  cudaStream_t stream;
  cudaStream_t other;
  cudaEvent_t fork;
  cudaEvent_t join;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
  CHECK(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
  CHECK(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));

  const auto capture = [&](int addend, cudaGraph_t& graph) -> bool {
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    CHECK(cudaMemsetAsync(values, 0, kCount * sizeof(int), stream));
    CHECK(cudaEventRecord(fork, stream));
    CHECK(cudaStreamWaitEvent(other, fork));
    add<<<1, kThreads, 0, stream>>>(values, kCount / 2, addend);
    add<<<1, kThreads, 0, other>>>(values + kCount / 2, kCount / 2, 2 * addend);
    CHECK(cudaEventRecord(join, other));
    CHECK(cudaStreamWaitEvent(stream, join));
    CHECK(cudaMemcpyAsync(results.data(), values, kCount * sizeof(int), cudaMemcpyDeviceToHost,
                          stream));
    CHECK(cudaStreamEndCapture(stream, &graph));
    return true;
  };
  const auto launch_and_compare = [&](cudaGraphExec_t exec, int addend) -> bool {
    std::fill(results.begin(), results.end(), -1);
    CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
    return results[0] == addend && results[kCount / 2 - 1] == addend &&
           results[kCount / 2] == 2 * addend && results[kCount - 1] == 2 * addend;
  };
  cudaGraph_t first;
  cudaGraph_t second;
  cudaGraphExec_t exec;
  if (!capture(3, first)) return false;
  if (results[0] != 0) return false;  // nothing has run
  CHECK(cudaGraphInstantiate(&exec, first));
  if (!launch_and_compare(exec, 3) || !launch_and_compare(exec, 3)) return false;
  if (!capture(5, second)) return false;
  cudaGraphExecUpdateResultInfo info;
  CHECK(cudaGraphExecUpdate(exec, second, &info));
  if (!launch_and_compare(exec, 5)) return false;
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(first));
  CHECK(cudaGraphDestroy(second));
  CHECK(cudaFree(values));
  return true;
}

bool pools() {
  cudaMemPool_t pool;
  CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
  uint64_t threshold = UINT64_MAX;
  CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  int* values = nullptr;
  CHECK(cudaMallocAsync(&values, kThreads * sizeof(int), stream));
  uint64_t used = 0;
  CHECK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used));
  if (used < kThreads * sizeof(int)) return false;
  CHECK(cudaMemsetAsync(values, 0, kThreads * sizeof(int), stream));
  add<<<1, kThreads, 0, stream>>>(values, kThreads, 7);
  int result = 0;
  CHECK(cudaMemcpyAsync(&result, values + kThreads - 1, sizeof result, cudaMemcpyDeviceToHost,
                        stream));
  CHECK(cudaFreeAsync(values, stream));
  CHECK(cudaStreamSynchronize(stream));
  CHECK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used));
  return result == 7 && used == 0;
}

__managed__ int managed_sum = 5;

__global__ void add_to_managed(const int* values, int count) {
  for (int i = 0; i < count; ++i) managed_sum += values[i];
}

bool managed() {
  int* values = nullptr;
  CHECK(cudaMallocManaged(&values, 3 * sizeof(int)));
  for (int i = 0; i < 3; ++i) values[i] = i + 1;
  managed_sum += 100;
  add_to_managed<<<1, 1>>>(values, 3);
  CHECK(cudaDeviceSynchronize());
  return managed_sum == 111;
}

// Answers each of the host's questions: waits for `asked` to become n, writes n * n to `answer`.
__global__ void answer_host(volatile int* asked, volatile int* answer, int rounds) {
  for (int round = 1; round <= rounds; ++round) {
    while (*asked < round) {
    }
    *answer = round * round;
    __threadfence_system();
  }
}

bool wait_for_host() {
  constexpr int kRounds = 3;
  volatile int* mailbox = nullptr;
  CHECK(cudaHostAlloc(const_cast<int**>(&mailbox), 2 * sizeof(int), cudaHostAllocMapped));
  mailbox[0] = 0;
  mailbox[1] = 0;
  answer_host<<<1, 1>>>(mailbox, mailbox + 1, kRounds);
  CHECK(cudaGetLastError());
  if (cudaStreamQuery(nullptr) != cudaErrorNotReady) return false;
  for (int round = 1; round <= kRounds; ++round) {
    mailbox[0] = round;
    // No call of the runtime: the kernel goes on by itself.
    while (mailbox[1] != round * round) std::this_thread::yield();
  }
  CHECK(cudaDeviceSynchronize());
  return true;
}

__global__ void wait_until_set(const volatile int* flag, int* seen) {
  while (*flag == 0) {
  }
  *seen = *flag;
}

__global__ void set_flag(volatile int* flag, int value) { *flag = value; }

bool wait_for_kernel() {
  int* memory = nullptr;
  CHECK(cudaMalloc(&memory, 2 * sizeof(int)));
  CHECK(cudaMemset(memory, 0, 2 * sizeof(int)));
  cudaStream_t first;
  cudaStream_t second;
  CHECK(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
  wait_until_set<<<1, 1, 0, first>>>(memory, memory + 1);
  // Behind the kernel that waits, so its own order holds.
  int seen = -1;
  CHECK(cudaMemcpyAsync(&seen, memory + 1, sizeof seen, cudaMemcpyDeviceToHost, first));
  if (seen != -1) return false;
  set_flag<<<1, 1, 0, second>>>(memory, 42);
  CHECK(cudaStreamSynchronize(first));
  return seen == 42;
}

// The thread that writes the flag starts late.
bool wait_for_thread() {
  volatile int* flag = nullptr;
  CHECK(cudaHostAlloc(const_cast<int**>(&flag), 2 * sizeof(int), cudaHostAllocMapped));
  flag[0] = 0;
  wait_until_set<<<1, 1>>>(flag, const_cast<int*>(flag) + 1);
  std::thread writer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    flag[0] = 9;
  });
  const cudaError_t error = cudaDeviceSynchronize();
  writer.join();
  return error == cudaSuccess && flag[1] == 9;
}

bool nobody_helps() {
  int* flag = nullptr;
  CHECK(cudaMalloc(&flag, 2 * sizeof(int)));
  CHECK(cudaMemset(flag, 0, 2 * sizeof(int)));
  wait_until_set<<<1, 1>>>(flag, flag + 1);
  std::printf("the host goes on\n");
  const cudaError_t error = cudaDeviceSynchronize();
  std::printf("after the livelock: %s\n", cudaGetErrorName(error));
  return error == cudaErrorLaunchTimeout;
}

bool never_synchronised() {
  int* flag = nullptr;
  CHECK(cudaMalloc(&flag, 2 * sizeof(int)));
  CHECK(cudaMemset(flag, 0, 2 * sizeof(int)));
  wait_until_set<<<1, 1>>>(flag, flag + 1);
  return true;
}

struct Case {
  const char* name;
  bool (*run)();
};

constexpr Case kCases[] = {
    {"cooperative", cooperative},
    {"cooperative_too_large", cooperative_too_large},
    {"graph", graph},
    {"pools", pools},
    {"managed", managed},
    {"wait_for_host", wait_for_host},
    {"wait_for_kernel", wait_for_kernel},
    {"wait_for_thread", wait_for_thread},
    {"nobody_helps", nobody_helps},
    {"never_synchronised", never_synchronised},
};

}  // namespace

int main(int count, char** arguments) {
  for (const Case& one : kCases) {
    if (count < 2 || std::strcmp(arguments[1], one.name) != 0) continue;
    const bool right = one.run();
    std::printf("%s: %s\n", one.name, right ? "ok" : "wrong");
    return right ? 0 : 1;
  }
  return 2;
}
