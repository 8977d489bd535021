/// \file
/// Thrust algorithms on device vectors, checked against the host.
#include <thrust/device_vector.h>
#include <thrust/fill.h>
#include <thrust/host_vector.h>
#include <thrust/sequence.h>
#include <thrust/transform.h>

#include <cstdio>

struct TwicePlus {
  int addend;
  __host__ __device__ int operator()(int value) const { return 2 * value + addend; }
};

int main() {
  constexpr int kCount = 10000;
  thrust::device_vector<int> values(kCount);
  thrust::fill(values.begin(), values.end(), 5);
  thrust::device_vector<int> results(kCount);
  thrust::sequence(results.begin(), results.end());
  thrust::transform(results.begin(), results.end(), results.begin(), TwicePlus{3});
  const thrust::host_vector<int> filled = values;
  const thrust::host_vector<int> transformed = results;
  for (int i = 0; i < kCount; ++i) {
    if (filled[i] != 5 || transformed[i] != 2 * i + 3) {
      std::printf("element %d: %d, %d\n", i, filled[i], transformed[i]);
      return 1;
    }
  }
  std::printf("thrust: ok\n");
  return 0;
}
