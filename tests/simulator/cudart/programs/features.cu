/// \file
/// Uses the CUDA runtime as programs do. `features NAME` runs one of the cases below, prints
/// "NAME: ok" and returns 0, or says what is wrong and returns 1.
#include "features.cuh"

// Release builds switch assertions off; here they are what is tested.
#undef NDEBUG
#include <cassert>

#include <cuda_runtime.h>

#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

namespace {

#define CHECK(condition)                                               \
  do {                                                                 \
    if (!(condition)) {                                                \
      std::printf("line %d: %s is false (%s)\n", __LINE__, #condition, \
                  cudaGetErrorName(cudaPeekAtLastError()));            \
      return 1;                                                        \
    }                                                                  \
  } while (false)
#define CUDA(call) CHECK((call) == cudaSuccess)

__constant__ float scale_and_shift[2] = {2.0f, 1.0f};
__device__ int table[4] = {1, 2, 3, 4};
__managed__ int managed_counter = 7;

__global__ void saxpy(float a, const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}

int run_saxpy() {
  constexpr int kCount = 1000;
  std::vector<float> x(kCount), y(kCount);
  for (int i = 0; i < kCount; ++i) x[i] = float(i), y[i] = float(2 * i);
  float *dx = nullptr, *dy = nullptr;
  CUDA(cudaMalloc(&dx, kCount * sizeof(float)));
  CUDA(cudaMalloc(&dy, kCount * sizeof(float)));
  CUDA(cudaMemcpy(dx, x.data(), kCount * sizeof(float), cudaMemcpyHostToDevice));
  CUDA(cudaMemcpy(dy, y.data(), kCount * sizeof(float), cudaMemcpyHostToDevice));
  saxpy<<<(kCount + 127) / 128, 128>>>(3.0f, dx, dy, kCount);
  CUDA(cudaGetLastError());
  CUDA(cudaMemcpy(y.data(), dy, kCount * sizeof(float), cudaMemcpyDeviceToHost));
  for (int i = 0; i < kCount; ++i) CHECK(y[i] == float(5 * i));
  CUDA(cudaFree(dx));
  CUDA(cudaFree(dy));
  return 0;
}

__global__ void use_variables(float* out) {
  out[threadIdx.x] = scale_and_shift[0] * float(table[threadIdx.x]) + scale_and_shift[1];
  if (threadIdx.x == 0) managed_counter += 1;
}

int run_symbols() {
  float* out = nullptr;
  CUDA(cudaMallocManaged(&out, 4 * sizeof(float)));
  CHECK(managed_counter == 7);
  use_variables<<<1, 4>>>(out);
  CUDA(cudaDeviceSynchronize());
  for (int i = 0; i < 4; ++i) CHECK(out[i] == 2.0f * float(i + 1) + 1.0f);
  CHECK(managed_counter == 8);

  const float changed[2] = {10.0f, 0.5f};
  CUDA(cudaMemcpyToSymbol(scale_and_shift, changed, sizeof changed));
  const int last = 9;
  CUDA(cudaMemcpyToSymbol(table, &last, sizeof last, 3 * sizeof(int)));
  use_variables<<<1, 4>>>(out);
  CUDA(cudaDeviceSynchronize());
  CHECK(out[0] == 10.5f && out[3] == 90.5f);
  int back[4];
  CUDA(cudaMemcpyFromSymbol(back, table, sizeof back));
  CHECK(back[2] == 3 && back[3] == 9);
  void* address = nullptr;
  size_t size = 0;
  CUDA(cudaGetSymbolAddress(&address, table));
  CUDA(cudaGetSymbolSize(&size, table));
  CHECK(address != nullptr && size == sizeof table);
  CHECK(cudaMemcpyToSymbol(table, back, sizeof back, 4) == cudaErrorInvalidValue);
  return 0;
}

int run_second_unit() {
  int* out = nullptr;
  CUDA(cudaMallocManaged(&out, sizeof(int)));
  launch_second_unit(out);
  CUDA(cudaDeviceSynchronize());
  CHECK(*out == 42);
  set_second_unit_value(100);
  launch_second_unit(out);
  CUDA(cudaDeviceSynchronize());
  CHECK(*out == 102);
  return 0;
}

__global__ void print_something(const char* text) {
  if (threadIdx.x < 2) {
    printf("block %d thread %u: %s %5.2f %-4d| %lld %c %%\n", blockIdx.x, threadIdx.x, text,
           1.5 * threadIdx.x, -3, 1ll << 40, 'z');
  }
}

int run_printf() {
  char* text = nullptr;
  CUDA(cudaMallocManaged(&text, 8));
  std::strcpy(text, "hello");
  print_something<<<2, 32>>>(text);
  CUDA(cudaDeviceSynchronize());
  return 0;
}

__global__ void reverse(int* values, int n) {
  extern __shared__ int shared[];
  for (int i = threadIdx.x; i < n; i += blockDim.x) shared[i] = values[i];
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) values[i] = shared[n - 1 - i];
}

int run_dynamic_shared() {
  constexpr int kCount = 25000;  // 100 KB
  constexpr size_t kBytes = kCount * sizeof(int);
  int* values = nullptr;
  CUDA(cudaMallocManaged(&values, kBytes));
  for (int i = 0; i < kCount; ++i) values[i] = i;
  // More than 48 KB needs the opt-in attribute.
  reverse<<<1, 256, kBytes>>>(values, kCount);
  CHECK(cudaGetLastError() == cudaErrorInvalidValue);
  CHECK(cudaFuncSetAttribute(reverse, cudaFuncAttributeMaxDynamicSharedMemorySize, 300000) ==
        cudaErrorInvalidValue);
  CHECK(cudaGetLastError() == cudaErrorInvalidValue);
  CUDA(cudaFuncSetAttribute(reverse, cudaFuncAttributeMaxDynamicSharedMemorySize, int(kBytes)));
  reverse<<<1, 256, kBytes>>>(values, kCount);
  CUDA(cudaDeviceSynchronize());
  for (int i = 0; i < kCount; ++i) CHECK(values[i] == kCount - 1 - i);
  cudaFuncAttributes attributes;
  CUDA(cudaFuncGetAttributes(&attributes, reverse));
  CHECK(attributes.maxDynamicSharedSizeBytes == int(kBytes));
  CHECK(attributes.ptxVersion == 100 && attributes.maxThreadsPerBlock == 1024);
  int blocks = 0;
  CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, reverse, 256, kBytes));
  CHECK(blocks == 2);
  return 0;
}

__global__ void spin(volatile int* out, int n) {
  int sum = 0;
  for (int i = 0; i < n; ++i) sum += out[i & 1];
  out[2] = sum;
}

int run_events() {
  int* out = nullptr;
  CUDA(cudaMallocManaged(&out, 3 * sizeof(int)));
  out[0] = out[1] = 1;
  cudaStream_t stream;
  CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  cudaEvent_t events[3];
  for (cudaEvent_t& event : events) CUDA(cudaEventCreate(&event));
  CUDA(cudaEventRecord(events[0], stream));
  // Long enough that launching them, some microseconds, does not count.
  spin<<<1, 1, 0, stream>>>(out, 1'000);
  CUDA(cudaEventRecord(events[1], stream));
  spin<<<1, 1, 0, stream>>>(out, 10'000);
  CUDA(cudaEventRecord(events[2], stream));
  CUDA(cudaStreamSynchronize(stream));
  float small = 0, large = 0;
  CUDA(cudaEventElapsedTime(&small, events[0], events[1]));
  CUDA(cudaEventElapsedTime(&large, events[1], events[2]));
  CHECK(small > 0 && large > 5 * small && large < 20 * small);
  CHECK(out[2] == 10'000);
  for (cudaEvent_t& event : events) CUDA(cudaEventDestroy(event));
  CUDA(cudaStreamDestroy(stream));
  return 0;
}

__global__ void __launch_bounds__(128) bounded(int* out) { out[threadIdx.x] = 1; }
__global__ void rank_in_cluster(unsigned* out) {
  unsigned rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  out[blockIdx.x] = rank;
}

int run_launch() {
  int* out = nullptr;
  CUDA(cudaMallocManaged(&out, 1024 * sizeof(int)));
  bounded<<<1, 2048>>>(out);
  CHECK(cudaGetLastError() == cudaErrorInvalidConfiguration);
  bounded<<<0, 32>>>(out);
  CHECK(cudaGetLastError() == cudaErrorInvalidConfiguration);
  bounded<<<1, 256>>>(out);
  CHECK(cudaGetLastError() != cudaSuccess);
  CUDA(cudaGetLastError());
  bounded<<<1, 128>>>(out);
  CUDA(cudaDeviceSynchronize());
  CHECK(out[127] == 1);

  unsigned* ranks = nullptr;
  CUDA(cudaMallocManaged(&ranks, 8 * sizeof(unsigned)));
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim.x = 4;
  attribute.val.clusterDim.y = 1;
  attribute.val.clusterDim.z = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = 8;
  config.blockDim = 1;
  config.attrs = &attribute;
  config.numAttrs = 1;
  CUDA(cudaLaunchKernelEx(&config, rank_in_cluster, ranks));
  for (unsigned i = 0; i < 8; ++i) CHECK(ranks[i] == i % 4);
  attribute.val.clusterDim.x = 16;
  config.gridDim = 16;
  CHECK(cudaLaunchKernelEx(&config, rank_in_cluster, ranks) == cudaErrorInvalidClusterSize);
  int clusters = 0;
  attribute.val.clusterDim.x = 4;
  CUDA(cudaOccupancyMaxActiveClusters(&clusters, rank_in_cluster, &config));
  CHECK(clusters > 0);
  (void)cudaGetLastError();
  return 0;
}

__global__ void check_value(int value) { assert(value > 0); }

int run_assert() {
  check_value<<<2, 64>>>(0);
  const cudaError_t error = cudaDeviceSynchronize();
  std::printf("after the assertion: %s\n", cudaGetErrorName(error));
  return error == cudaErrorAssert ? 0 : 1;
}

__global__ void write_far(int* out) { out[1000] = 1; }

int run_out_of_bounds() {
  int* out = nullptr;
  CUDA(cudaMalloc(&out, 16));
  write_far<<<1, 1>>>(out);
  std::printf("after the fault\n");
  CHECK(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
  CHECK(cudaFree(out) == cudaErrorIllegalAddress);
  CHECK(cudaGetLastError() == cudaErrorIllegalAddress);
  CHECK(cudaGetLastError() == cudaErrorIllegalAddress);
  CUDA(cudaDeviceReset());
  return run_saxpy();
}

// A video instruction: valid PTX for sm_100a that the simulator does not execute.
__global__ void video(int* out) {
  int result;
  asm volatile("vadd.s32.s32.s32 %0, %1, %2;" : "=r"(result) : "r"(out[0]), "r"(out[1]));
  out[2] = result;
}

int run_unsupported() {
  video<<<1, 1>>>(nullptr);
  CHECK(cudaGetLastError() == cudaErrorUnsupportedPtxVersion);
  return run_saxpy();
}

// Prints which machine this is.
int run_machine() {
  cudaDeviceProp properties{};
  CUDA(cudaGetDeviceProperties(&properties, 0));
  int clock_kilohertz = 0;
  CUDA(cudaDeviceGetAttribute(&clock_kilohertz, cudaDevAttrClockRate, 0));
  std::printf("%s: %d.%d, %d SMs, %d kHz\n", properties.name, properties.major, properties.minor,
              properties.multiProcessorCount, clock_kilohertz);
  return run_saxpy();
}

struct Case {
  const char* name;
  int (*run)();
};
constexpr Case kCases[] = {
    {"saxpy", run_saxpy},
    {"symbols", run_symbols},
    {"second_unit", run_second_unit},
    {"printf", run_printf},
    {"dynamic_shared", run_dynamic_shared},
    {"events", run_events},
    {"launch", run_launch},
    {"machine", run_machine},
    {"assert", run_assert},
    {"out_of_bounds", run_out_of_bounds},
    {"unsupported", run_unsupported},
};

}  // namespace

int main(int argc, char** argv) {
  for (const Case& c : kCases) {
    if (argc != 2 || std::string(argv[1]) != c.name) continue;
    if (c.run() != 0) return 1;
    std::printf("%s: ok\n", c.name);
    return 0;
  }
  std::printf("give the name of one case\n");
  return 2;
}
