/// \file
/// The mean of an array and its distance from it, in one cooperative launch: all CTAs meet at a
/// barrier of the grid between the passes. Sums of integers, so every order gives the same.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

#include "tests/simulator/programs/program_check.hpp"

namespace bw::programs {
namespace cg = cooperative_groups;

constexpr unsigned kThreads = 128, kCtas = 7;

__device__ long long block_sum(long long value) {
  __shared__ long long warps[kThreads / 32];
  const cg::thread_block block = cg::this_thread_block();
  const auto warp = cg::tiled_partition<32>(block);
  value = cg::reduce(warp, value, cg::plus<long long>());
  block.sync();
  if (warp.thread_rank() == 0) warps[warp.meta_group_rank()] = value;
  block.sync();
  long long sum = 0;
  for (const long long one : warps) sum += one;
  return sum;
}

/// `sums` holds one number for each CTA; results[0] is the sum, results[1] the sum of |n x - sum|.
__global__ void __launch_bounds__(kThreads)
    deviation(const int* values, unsigned count, long long* sums, long long* results) {
  const cg::grid_group grid = cg::this_grid();
  long long sum = 0;
  for (size_t i = grid.thread_rank(); i < count; i += grid.size()) sum += values[i];
  sum = block_sum(sum);
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
  grid.sync();
  long long total = 0;
  for (unsigned cta = 0; cta < kCtas; ++cta) total += sums[cta];
  grid.sync();  // the sums have been read
  long long distance = 0;
  for (size_t i = grid.thread_rank(); i < count; i += grid.size())
    distance += llabs(static_cast<long long>(count) * values[i] - total);
  distance = block_sum(distance);
  if (threadIdx.x == 0) sums[blockIdx.x] = distance;
  grid.sync();
  if (grid.thread_rank() != 0) return;
  results[0] = total;
  results[1] = 0;
  for (unsigned cta = 0; cta < kCtas; ++cta) results[1] += sums[cta];
}

int run() {
  constexpr unsigned kCount = 5003;
  std::mt19937 random(9);
  std::vector<int> values(kCount);
  for (int& value : values) value = static_cast<int>(random() % 20001) - 10000;
  DeviceBuffer<int> device_values(values);
  DeviceBuffer<long long> sums(kCtas), results(2);
  const int* input = device_values.data();
  unsigned count = kCount;
  long long *sums_pointer = sums.data(), *results_pointer = results.data();
  void* arguments[] = {&input, &count, &sums_pointer, &results_pointer};
  check_cuda(cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(deviation), dim3(kCtas),
                                         dim3(kThreads), arguments, 0, nullptr),
             "launch the kernel");
  check_cuda(cudaDeviceSynchronize(), "run the kernel");
  long long total = 0, distance = 0;
  for (const int value : values) total += value;
  for (const int value : values)
    distance += std::llabs(static_cast<long long>(kCount) * value - total);
  const std::vector<long long> computed = results.download();
  const bool right = computed[0] == total && computed[1] == distance;
  std::puts(right ? "cooperative_reduction: ok" : "cooperative_reduction: wrong sums");
  return right ? 0 : 1;
}

}  // namespace bw::programs

int main() { return bw::programs::run(); }
