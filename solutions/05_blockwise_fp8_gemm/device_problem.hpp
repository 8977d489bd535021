#pragma once
/// \file
/// A problem's matrices on the device.

#include <cstdint>
#include <vector>

#include "common/host/blockwise_problem.hpp"
#include "common/host/device_buffer.hpp"
#include "solutions/05_blockwise_fp8_gemm/gemm_arguments.hpp"

namespace bw {

/// Copies of A, B, C and their scales, and a D of `output` elements filled with poison: what a
/// kernel doesn't write reads as NaN. Matrices are dense.
class DeviceProblem {
 public:
  /// Copies the problem to the device.
  explicit DeviceProblem(const BlockwiseProblem& problem, OutputType output = OutputType::kBf16)
      : a_(problem.a.values),
        b_(problem.b.values),
        a_scales_(problem.a.scales),
        b_scales_(problem.b.scales),
        c_(problem.c),
        d_(problem.m * problem.n * element_bytes(output)),
        arguments_{.m = problem.m,
                   .n = problem.n,
                   .k = problem.k,
                   .a = a_.data(),
                   .lda = problem.k,
                   .b = b_.data(),
                   .ldb = problem.k,
                   .a_scales = a_scales_.data(),
                   .lda_scales = problem.a.scales_stride,
                   .b_scales = b_scales_.data(),
                   .ldb_scales = problem.b.scales_stride,
                   .c = c_.data(),
                   .ldc = problem.n,
                   .d = d_.data(),
                   .ldd = problem.n,
                   .beta = problem.beta,
                   .output = output} {
    poison_d();
  }

  /// What the GEMM takes; valid as long as this object lives.
  const BlockwiseFp8GemmArguments& arguments() const { return arguments_; }

  /// Makes every element of D a NaN.
  void poison_d() {
    constexpr int kPoisonByte = 0xff;
    d_.fill_bytes(kPoisonByte);
  }

  /// D [m, n], after the default stream's work. `Output` is Bf16 or float, as D was made.
  template <class Output>
  std::vector<Output> download_d() const {
    require(sizeof(Output) == element_bytes(arguments_.output), "D has elements of ",
            element_bytes(arguments_.output), " bytes, not of ", sizeof(Output), ".");
    std::vector<Output> d(arguments_.m * arguments_.n);
    check_cuda(cudaMemcpy(d.data(), d_.data(), d_.bytes(), cudaMemcpyDeviceToHost), "download D");
    return d;
  }

 private:
  static constexpr size_t element_bytes(OutputType output) {
    return output == OutputType::kBf16 ? sizeof(Bf16) : sizeof(float);
  }

  DeviceBuffer<Fp8E4m3> a_, b_;
  DeviceBuffer<float> a_scales_, b_scales_;
  DeviceBuffer<Bf16> c_;
  DeviceBuffer<uint8_t> d_;
  BlockwiseFp8GemmArguments arguments_;
};

}  // namespace bw
