/// \file
/// Lab: what Hopper's FP8 tensor cores keep of a sum, by the model that gave an H100's bits. Each
/// thread adds up one case in one or two steps of 32 products; nothing is multiplied by wgmma, so
/// that it runs anywhere.

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "common/host/comparison.hpp"
#include "common/host/device_buffer.hpp"
#include "common/host/lab_cycles.hpp"
#include "common/host/program.hpp"
#include "common/host/tensor_core_sum.hpp"
#include "common/host/timed_launch.hpp"

namespace bw::hopper::lab {

/// A product a · b that occurs `count` times among the 32 of a step.
struct Products {
  float a, b;
  int count;
};

struct Case {
  const char* name;
  std::vector<std::vector<Products>> steps;
};

const std::vector<Case>& cases() {
  constexpr Products kLarge{128, 128, 1}, kMinusLarge{-128, 128, 1};
  static const std::vector<Case> all = {
      {"16384 + 2 - 16384", {{kLarge, {1, 2, 1}, kMinusLarge}}},
      {"16384 + 1 - 16384", {{kLarge, {1, 1, 1}, kMinusLarge}}},
      {"16384 + 3 - 16384", {{kLarge, {1.5, 2, 1}, kMinusLarge}}},
      {"16384 + 31 ones", {{kLarge, {1, 1, 31}}}},
      {"31 ones, then 16384", {{{1, 1, 31}}, {kLarge}}},
  };
  return all;
}

constexpr int kSteps = 2;

/// Kernel arguments: [cases, kSteps, 32] operands, zero where there is nothing to add.
struct SumArguments {
  const Fp8E4m3* a;
  const Fp8E4m3* b;
  float* sums;
};

__global__ void tensor_core_sum_kernel(SumArguments args) {
  float sum = 0;
  for (int step = 0; step < kSteps; ++step) {
    const int64_t first = (int64_t{threadIdx.x} * kSteps + step) * kTensorCoreProducts;
    sum = tensor_core_step(args.a + first, args.b + first, sum);
  }
  args.sums[threadIdx.x] = sum;
}

ExitStatus run() {
  print_machine();
  const size_t count = cases().size();
  std::vector<Fp8E4m3> a(count * kSteps * kTensorCoreProducts), b(a.size());
  std::vector<double> exact(count), largest(count);
  for (size_t i = 0; i < count; ++i) {
    for (size_t step = 0; step < cases()[i].steps.size(); ++step) {
      size_t place = (i * kSteps + step) * kTensorCoreProducts;
      for (const Products& p : cases()[i].steps[step]) {
        for (int j = 0; j < p.count; ++j, ++place) {
          a[place] = to_fp8_e4m3(p.a);
          b[place] = to_fp8_e4m3(p.b);
          exact[i] += double{p.a} * p.b;
          largest[i] = std::fmax(largest[i], std::fabs(double{p.a} * p.b));
        }
      }
    }
  }
  const DeviceBuffer<Fp8E4m3> a_on_device(a), b_on_device(b);
  DeviceBuffer<float> sums(count);
  const float milliseconds =
      run_timed(tensor_core_sum_kernel,
                {.ctas = 1, .threads = static_cast<uint32_t>(count), .shared_bytes = 0},
                SumArguments{a_on_device.data(), b_on_device.data(), sums.data()});
  const std::vector<float> found = sums.download();
  for (size_t i = 0; i < count; ++i) {
    std::printf("sum      %s = %g (exactly %g)\n", cases()[i].name, found[i], exact[i]);
  }
  print_cycles(milliseconds);
  // Each of at most 33 terms of a step, and its result, lose less than 2^-13 of the largest.
  return print_verdict(compare_elements(
                           static_cast<int64_t>(count), 1, [&](int64_t i) { return found[i]; },
                           [&](int64_t i) { return exact[i]; },
                           [&](int64_t i) {
                             return kSteps * (kTensorCoreProducts + 2) * largest[i] *
                                    std::ldexp(1.0, -kTensorCoreFractionBits);
                           }),
                       "sums");
}

}  // namespace bw::hopper::lab

int main(int argc, char** argv) {
  bw::CommandLine command_line("Sums as Hopper's FP8 tensor cores form them, by their model.");
  return bw::run_main(command_line, "lab_06_tensor_core_sum", argc, argv,
                      [] { return bw::hopper::lab::run(); });
}
