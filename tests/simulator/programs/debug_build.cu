/// \file
/// What a debug build (nvcc -G) leaves in a kernel that optimisation removes: calls of everything,
/// virtual functions, pointers to functions, a switch by a table, tiles of several warps.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

#include "tests/simulator/programs/program_check.hpp"

namespace bw::programs {
namespace cg = cooperative_groups;

struct Shape {
  __device__ virtual ~Shape() {}
  [[nodiscard]] __device__ virtual int area() const = 0;
};
struct Square : Shape {
  int side;
  __device__ explicit Square(int length) : side(length) {}
  [[nodiscard]] __device__ int area() const override { return side * side; }
};
struct Rectangle : Shape {
  int width, height;
  __device__ Rectangle(int w, int h) : width(w), height(h) {}
  [[nodiscard]] __device__ int area() const override { return width * height; }
};

__device__ int half(int x) { return x / 2; }
__device__ int negative(int x) { return -x; }
using Function = int (*)(int);
__device__ Function functions[2] = {half, negative};

__device__ int chosen(int which, int x) {
  switch (which) {
    case 0:
      return x + 1;
    case 1:
      return x * 3;
    case 2:
      return x - 7;
    case 3:
      return x ^ 5;
    case 4:
      return x << 2;
    default:
      return 0;
  }
}

constexpr unsigned kThreads = 128;

__global__ void everything(int* out) {
  const int t = static_cast<int>(threadIdx.x);
  Square square(t);
  Rectangle rectangle(t, 3);
  const Shape* const shape = t % 2 == 0 ? static_cast<const Shape*>(&square) : &rectangle;
  int value = shape->area();
  value = functions[t % 3 == 0 ? 1 : 0](value);
  value = chosen(t % 6, value);
  const auto block = cg::this_thread_block();
  const auto pair_of_warps = cg::tiled_partition<64>(block);
  out[t] = value + cg::reduce(pair_of_warps, t, cg::plus<int>());
}

int expected(int t) {
  int value = t % 2 == 0 ? t * t : t * 3;
  value = t % 3 == 0 ? -value : value / 2;
  switch (t % 6) {
    case 0:
      value = value + 1;
      break;
    case 1:
      value = value * 3;
      break;
    case 2:
      value = value - 7;
      break;
    case 3:
      value = value ^ 5;
      break;
    case 4:
      value = value * 4;
      break;
    default:
      value = 0;
  }
  const int first = t / 64 * 64;
  return value + (2 * first + 63) * 32;  // of 64 neighbours
}

int run() {
  DeviceBuffer<int> out(kThreads);
  everything<<<1, kThreads>>>(out.data());
  check_cuda(cudaDeviceSynchronize(), "run the kernel");
  const std::vector<int> computed = out.download();
  for (int t = 0; t < int{kThreads}; ++t) {
    const int value = computed[static_cast<size_t>(t)];
    if (value == expected(t)) continue;
    std::printf("debug_build: thread %d has %d instead of %d\n", t, value, expected(t));
    return 1;
  }
  std::puts("debug_build: ok");
  return 0;
}

}  // namespace bw::programs

int main() { return bw::programs::run(); }
