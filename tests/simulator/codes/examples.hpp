#pragma once
/// \file
/// The environment of the examples of docs/codes/, and the program that runs them: each one
/// faulty and mended, in a process of its own; its output becomes one JSON object on stdout.

#include <cuda.h>
#include <cuda_runtime.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "common/device/bulk_copy.cuh"
#include "common/device/cluster.cuh"
#include "common/device/cluster_launch_control.cuh"
#include "common/device/fence.cuh"
#include "common/device/grid_dependency.cuh"
#include "common/device/instruction_descriptor.cuh"
#include "common/device/mbarrier.cuh"
#include "common/device/named_barrier.cuh"
#include "common/device/register_budget.cuh"
#include "common/device/shared_address.cuh"
#include "common/device/shared_descriptor.cuh"
#include "common/device/shared_mem_barrier.cuh"
#include "common/device/tcgen05_alloc.cuh"
#include "common/device/tcgen05_commit.cuh"
#include "common/device/tcgen05_fence.cuh"
#include "common/device/tcgen05_load_store.cuh"
#include "common/device/tcgen05_mma.cuh"
#include "common/device/tma_load.cuh"
#include "common/device/tma_store.cuh"

namespace bw::codes {

using namespace bw::ptx;

/// The device memory that an example gets, 0 everywhere.
constexpr size_t kDataBytes = 4096;

// Used by the examples of tensor maps: a matrix of 32 x 32 words in boxes of 8 x 8.
constexpr uint32_t kMapWords = 32;
constexpr uint32_t kBoxWords = 8;
constexpr uint32_t kBoxBytes = kBoxWords * kBoxWords * sizeof(uint32_t);

/// Options of a tensor map that an example changes.
struct MapOptions {
  uint64_t rows = kMapWords;                                  ///< of the matrix
  uint64_t row_bytes = kMapWords * sizeof(uint32_t);          ///< from row to row
  CUtensorMapDataType type = CU_TENSOR_MAP_DATA_TYPE_UINT32;  ///< of its elements
  CUtensorMapSwizzle swizzle = CU_TENSOR_MAP_SWIZZLE_NONE;    ///< of the box
};

/// A tensor map of the matrix at `data`.
inline CUtensorMap make_map(uint32_t* data, const MapOptions& options = {}) {
  CUtensorMap map{};
  const uint64_t extents[] = {kMapWords, options.rows}, strides[] = {options.row_bytes};
  const uint32_t box[] = {kBoxWords, kBoxWords}, steps[] = {1, 1};
  cuTensorMapEncodeTiled(&map, options.type, 2, data, extents, strides, box, steps,
                         CU_TENSOR_MAP_INTERLEAVE_NONE, options.swizzle,
                         CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  return map;
}

// Used by the examples of tcgen05.mma: A and B are 128 x 32 and 32 x 32 e4m3 numbers, both 0.
struct alignas(1024) MmaTile {
  uint8_t a[128 * 32];  ///< K-major, swizzled by 32 bytes
  uint8_t b[64 * 64];   ///< the same; the examples that need more of B have it
};
/// Arguments of one MMA: correct by default.
struct Mma {
  uint64_t a = 0;           ///< the descriptor of A
  uint64_t b = 0;           ///< the descriptor of B
  uint32_t descriptor = 0;  ///< the instruction descriptor
  uint32_t lane = 0;        ///< of D in Tensor Memory
};
/// The instruction descriptor of D [128, 32], fp32, of e4m3 numbers.
constexpr uint32_t kDescriptor = 1u << 4 | 32u / 8 << 17 | 128u / 16 << 24;

/// Fills the tiles with 0 and describes them. All 128 threads.
__device__ inline Mma prepare(MmaTile& tile) {
  for (uint32_t i = threadIdx.x; i < sizeof tile; i += blockDim.x)
    reinterpret_cast<uint8_t*>(&tile)[i] = 0;
  fence_proxy_async_shared();
  __syncthreads();
  return {make_k_major_descriptor(shared_address(tile.a), Swizzle::k32B),
          make_k_major_descriptor(shared_address(tile.b), Swizzle::k32B), kDescriptor, 0};
}

/// One operation from its allocation to its deallocation: 128 columns of Tensor Memory that hold
/// `word` everywhere; thread 0 calls `issue(address)`, and all wait for what that has issued. All
/// 128 threads.
template <class Issue>
__device__ inline void run_issued(uint32_t word, Issue&& issue) {
  constexpr uint32_t kColumns = 128;
  __shared__ uint32_t address;
  __shared__ SharedMemBarrier done;
  if (threadIdx.x == 0) done.init(1);
  __syncwarp();
  if (threadIdx.x < 32) tcgen05_alloc<1>(shared_address(&address), kColumns);
  fence_mbarrier_init();
  tcgen05_fence_before_thread_sync();
  __syncthreads();
  tcgen05_fence_after_thread_sync();
  for (uint32_t column = 0; column < kColumns; ++column) {
    const uint32_t words[1] = {word};
    tcgen05_st_32x32b(address + (threadIdx.x / 32 * 32 << 16) + column, words);
  }
  tcgen05_wait_st();
  tcgen05_fence_before_thread_sync();
  __syncthreads();
  tcgen05_fence_after_thread_sync();
  if (threadIdx.x == 0) {
    issue(address);
    tcgen05_commit<1>(done.address());
    done.wait(0);
  }
  __syncthreads();
  if (threadIdx.x < 32) tcgen05_dealloc<1>(address, kColumns);
}

/// Runs one MMA. All 128 threads.
__device__ inline void run_mma(const Mma& mma) {
  run_issued(0, [&](uint32_t address) {
    tcgen05_mma_f8f6f4<1>(address + (mma.lane << 16), mma.a, mma.b, mma.descriptor, 0);
  });
}

/// Runs entry `k` of a PTX text with the pointer `data` as its parameter, or without one.
inline void run_ptx(const char* text, uint32_t* data, unsigned grid, unsigned block,
                    bool takes_data) {
  cudaFree(nullptr);
  CUmodule module{};
  CUfunction function{};
  if (cuModuleLoadData(&module, text) != CUDA_SUCCESS) return;
  if (cuModuleGetFunction(&function, module, "k") != CUDA_SUCCESS) return;
  void* arguments[] = {&data};
  cuLaunchKernel(function, grid, 1, 1, block, 1, 1, 0, nullptr, takes_data ? arguments : nullptr,
                 nullptr);
}

/// One form of one example.
struct Form {
  void (*run)(uint32_t* data);  ///< what it does
  /// "NAME=value" pairs, separated by blanks; LIMIT_ADDRESS_SPACE is the process's in bytes.
  const char* environment;
};
/// An example.
struct Example {
  const char* code;  ///< "BW-B06"
  Form faulty;       ///< gives the code
  Form mended;       ///< runs without a word
};

inline void run_one(const Form& form) {
  uint32_t* data = nullptr;
  // What is too much to allocate before a setting is read is not needed after it.
  if (cudaMalloc(&data, kDataBytes) == cudaSuccess) cudaMemset(data, 0, kDataBytes);
  form.run(data);
  const cudaError_t error = cudaDeviceSynchronize();
  cudaFree(data);
  std::exit(error == cudaSuccess ? 0 : 1);
}

inline std::string json_string(const std::string& text) {
  std::string json = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') json += '\\';
    if (c == '\n')
      json += "\\n";
    else
      json += c;
  }
  return json + '"';
}

/// Runs a form in a process of its own; what it says on stderr and its exit status as JSON.
inline std::string outcome(const char* self, const Example& example, bool mended) {
  const Form& form = mended ? example.mended : example.faulty;
  int ends[2];
  if (pipe(ends) != 0) std::abort();
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDERR_FILENO);
    close(ends[0]);
    close(ends[1]);
    if (std::freopen("/dev/null", "w", stdout) == nullptr) std::abort();
    if (*form.environment == '\0') run_one(form);
    // Settings are read once in the life of a process.
    std::string rest = form.environment;
    while (!rest.empty()) {
      const size_t end = std::min(rest.find(' '), rest.size());
      const size_t equals = rest.find('=');
      const std::string name = rest.substr(0, equals);
      const std::string value = rest.substr(equals + 1, end - equals - 1);
      const rlimit limit{std::strtoull(value.c_str(), nullptr, 10), RLIM_INFINITY};
      if (name == "LIMIT_ADDRESS_SPACE")
        setrlimit(RLIMIT_AS, &limit);
      else
        setenv(name.c_str(), value.c_str(), 1);
      rest.erase(0, std::min(end + 1, rest.size()));
    }
    execl(self, self, example.code, mended ? "mended" : "faulty", nullptr);
    std::abort();
  }
  close(ends[1]);
  std::string text;
  std::array<char, 4096> buffer;
  for (ssize_t n = 0; (n = read(ends[0], buffer.data(), buffer.size())) > 0;)
    text.append(buffer.data(), static_cast<size_t>(n));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  return "{\"status\":" + std::to_string(WIFEXITED(status) ? WEXITSTATUS(status) : -1) +
         ",\"errors\":" + json_string(text) + "}";
}

/// `PROGRAM`: all examples; `PROGRAM CODE...`: these; `PROGRAM CODE faulty|mended`: one form, in
/// this process. `any_kernel`: one of them, with which their module is read before all forks.
inline int run_examples(int argc, char** argv, const std::vector<Example>& examples,
                        const void* any_kernel) {
  if (argc == 3)
    for (const Example& example : examples)
      if (std::string_view(argv[1]) == example.code) {
        if (std::string_view(argv[2]) == "faulty") run_one(example.faulty);
        if (std::string_view(argv[2]) == "mended") run_one(example.mended);
      }
  cudaFuncAttributes attributes{};
  cudaFuncGetAttributes(&attributes, any_kernel);
  const char* separator = "{";
  for (const Example& example : examples) {
    bool wanted = argc == 1;
    for (int i = 1; i < argc; ++i) wanted = wanted || std::string_view(argv[i]) == example.code;
    if (!wanted) continue;
    std::printf("%s\n\"%s\":{\"faulty\":%s,\n \"mended\":%s}", separator, example.code,
                outcome("/proc/self/exe", example, false).c_str(),
                outcome("/proc/self/exe", example, true).c_str());
    std::fflush(stdout);
    separator = ",";
  }
  std::printf("%s}\n", *separator == '{' ? "{" : "\n");
  return 0;
}

}  // namespace bw::codes
