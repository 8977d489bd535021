/// \file
/// The subjects of memory checkers: shared memory between warps and lanes, bounds, alignment,
/// memory that was freed, never freed or never written, and barriers that not all threads reach.
#include <cstdint>

#include <mma.h>

#include "tests/simulator/global_races/cases.hpp"

namespace bw::global_races {
namespace {

constexpr int kThreads = 64, kNumbers = 64, kRows = 16;

// One thread sums what all have left in shared memory.
template <bool synchronised>
__global__ void sum_of_block(int*, int* result) {
  __shared__ int values[kThreads];
  values[threadIdx.x] = static_cast<int>(threadIdx.x);  // expect: sum_of_block_racy BW-R01
  if constexpr (synchronised) __syncthreads();
  if (threadIdx.x != 0) return;
  int sum = 0;
  for (const int value : values) sum += value;  // expect: sum_of_block_racy BW-R01
  result[0] = sum;
}

// Shared memory is used again in the next round while others still read.
template <bool synchronised>
__global__ void next_round(int*, int* result) {
  __shared__ int values[kThreads];
  int sum = 0;
  for (int round = 0; round < 3; ++round) {
    values[threadIdx.x] = round;  // expect: next_round_racy BW-R01
    __syncthreads();
    sum += values[threadIdx.x ^ 32];  // expect: next_round_racy BW-R01
    if constexpr (synchronised) __syncthreads();
  }
  result[threadIdx.x] = sum;
}

// Lanes of a warp reduce through shared memory.
template <bool synchronised>
__global__ void lanes_reduce(int*, int* result) {
  __shared__ volatile int values[32];
  if (threadIdx.x >= 32) return;
  values[threadIdx.x] = static_cast<int>(threadIdx.x);  // expect: lanes_reduce_racy BW-R02
  for (unsigned distance = 16; distance > 0; distance /= 2) {
    if constexpr (synchronised) __syncwarp();
    const int other = values[(threadIdx.x + distance) % 32];  // expect: lanes_reduce_racy BW-R02
    if constexpr (synchronised) __syncwarp();
    values[threadIdx.x] = values[threadIdx.x] + other;  // expect: lanes_reduce_racy BW-R02
  }
  result[threadIdx.x] = values[threadIdx.x];
}

template <bool inside>
__global__ void past_the_end(int* data, int*) {
  data[threadIdx.x + (inside ? 0 : 1)] = 1;  // expect: past_the_end_faulty BW-M02
}

template <bool aligned>
__global__ void vector_store(int* data, int*) {
  auto* const first = reinterpret_cast<char*>(data) + (aligned ? 0 : 4);
  if (threadIdx.x == 0)
    *reinterpret_cast<int4*>(first) = {1, 2, 3, 4};  // expect: vector_store_faulty BW-M01
}

__global__ void store(int* data, int*) {
  data[threadIdx.x] = 1;  // expect: after_free_faulty BW-M03
}

__global__ void copy(int* data, int* result) {
  result[threadIdx.x] = data[threadIdx.x];  // expect: unwritten_faulty half_written_faulty BW-M14
}

// A matrix that a warp loads and stores as a fragment.
__global__ void copy_matrix(half* data, half* result) {
  using namespace nvcuda;
  wmma::fragment<wmma::accumulator, kRows, kRows, kRows, half> matrix;
  wmma::load_matrix_sync(matrix, data, kRows, wmma::mem_row_major);  // expect: matrix_faulty BW-M14
  wmma::store_matrix_sync(result, matrix, kRows, wmma::mem_row_major);
}

// A barrier in a branch that half of a warp takes.
template <bool all>
__global__ void barrier_in_branch(int*, int* result) {
  if (all || threadIdx.x % 2 == 0) {
    __syncthreads();  // expect: barrier_in_branch_faulty BW-W01
  }
  result[threadIdx.x] = 1;
}

// A warp synchronisation whose mask leaves the caller out.
template <bool all>
__global__ void mask_of_others(int*, int* result) {
  if (threadIdx.x < 32) {
    __syncwarp(all ? ~0u : 0xffffu);  // expect: mask_of_others_faulty BW-W02
    result[threadIdx.x] = 1;
  }
}

using Kernel = void (*)(int*, int*);

template <Kernel kernel>
void on_zeros() {
  const std::vector<int> zeros(kNumbers);
  DeviceBuffer<int> data(zeros), result(zeros);
  kernel<<<1, kThreads>>>(data.data(), result.data());
  finish("a kernel of one CTA");
}

void after_free() {
  int* data = nullptr;
  check_cuda(cudaMalloc(&data, kNumbers * sizeof(int)), "allocate");
  check_cuda(cudaFree(data), "free");
  store<<<1, kThreads>>>(data, nullptr);
  finish("a kernel on freed memory");
}

/// Only the first `written` numbers of what the kernel copies were written.
template <int written>
void partly_written() {
  DeviceBuffer<int> data(kNumbers), result(kNumbers);
  check_cuda(cudaMemset(data.data(), 0, written * sizeof(int)), "fill");
  copy<<<1, kThreads>>>(data.data(), result.data());
  finish("a copy");
}

/// Only the first `written` rows of what is copied, and what was copied is copied again.
template <int written>
void partly_written_matrix() {
  DeviceBuffer<half> data(kRows * kRows), middle(kRows * kRows), result(kRows * kRows);
  check_cuda(cudaMemset(data.data(), 0, written * kRows * sizeof(half)), "fill");
  copy_matrix<<<1, 32>>>(data.data(), middle.data());
  copy_matrix<<<1, 32>>>(middle.data(), result.data());
  finish("two copies");
}

template <bool freed>
void keeps_memory() {
  int* data = nullptr;
  check_cuda(cudaMalloc(&data, kNumbers * sizeof(int)), "allocate");
  store<<<1, kThreads>>>(data, nullptr);
  finish("a kernel");
  if (freed) check_cuda(cudaFree(data), "free");  // expect: never_freed_faulty BW-M15
}

}  // namespace

std::vector<Case> memory_cases() {
  constexpr const char* kUnwritten = "BW_SIM_MEMORY_CHECKS=unwritten";
  constexpr const char* kLeaks = "BW_SIM_MEMORY_CHECKS=leaks";
  return {
      {"sum_of_block", on_zeros<sum_of_block<true>>},
      {"sum_of_block_racy", on_zeros<sum_of_block<false>>},
      {"next_round", on_zeros<next_round<true>>},
      {"next_round_racy", on_zeros<next_round<false>>},
      {"lanes_reduce", on_zeros<lanes_reduce<true>>},
      {"lanes_reduce_racy", on_zeros<lanes_reduce<false>>},
      {"past_the_end", on_zeros<past_the_end<true>>},
      {"past_the_end_faulty", on_zeros<past_the_end<false>>},
      {"vector_store", on_zeros<vector_store<true>>},
      {"vector_store_faulty", on_zeros<vector_store<false>>},
      {"after_free_faulty", after_free},
      {"written", partly_written<kNumbers>, kUnwritten},
      {"half_written_faulty", partly_written<kNumbers / 2>, kUnwritten},
      {"unwritten_faulty", partly_written<0>, kUnwritten},
      {"matrix", partly_written_matrix<kRows>, kUnwritten},
      {"matrix_faulty", partly_written_matrix<kRows - 1>, kUnwritten},
      {"freed", keeps_memory<true>, kLeaks},
      {"never_freed_faulty", keeps_memory<false>, kLeaks},
      {"barrier_in_branch", on_zeros<barrier_in_branch<true>>},
      {"barrier_in_branch_faulty", on_zeros<barrier_in_branch<false>>},
      {"mask_of_others", on_zeros<mask_of_others<true>>},
      {"mask_of_others_faulty", on_zeros<mask_of_others<false>>},
  };
}

}  // namespace bw::global_races
