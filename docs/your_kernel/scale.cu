/// \file
/// The kernel that launch.py loads. `extern "C"` gives it a name without C++'s mangling.
extern "C" __global__ void scale(float* values, int count, float factor) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) values[i] *= factor;
}
