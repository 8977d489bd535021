#pragma once
/// \file
/// A problem's matrices on the device, with their scales laid out.

#include <cstdint>
#include <vector>

#include "common/host/block_scaled_problem.hpp"
#include "common/host/device_buffer.hpp"
#include "solutions/07_block_scaled_gemm/block_scaled_gemm.hpp"

namespace bw {

/// Copies of A, B, C and the atoms of their scales, and a D filled with poison: what a kernel
/// doesn't write reads as NaN. Matrices are dense.
class DeviceBlockScaledProblem {
 public:
  /// Lays the scales out and copies the problem to the device. Throws Error for scales without a
  /// value.
  explicit DeviceBlockScaledProblem(const BlockScaledProblem& problem)
      : a_(problem.a.values),
        b_(problem.b.values),
        a_scales_(lay_out_scales("A", problem.a)),
        b_scales_(lay_out_scales("B", problem.b)),
        c_(problem.c),
        d_(static_cast<size_t>(problem.m * problem.n)),
        arguments_{.format = problem.a.format,
                   .m = problem.m,
                   .n = problem.n,
                   .k = problem.k,
                   .a = a_.data(),
                   .a_stride = problem.a.row_bytes(),
                   .b = b_.data(),
                   .b_stride = problem.b.row_bytes(),
                   .a_scales = a_scales_.data(),
                   .a_scale_bytes = static_cast<int64_t>(a_scales_.size()),
                   .b_scales = b_scales_.data(),
                   .b_scale_bytes = static_cast<int64_t>(b_scales_.size()),
                   .factor = problem.factor(),
                   .c = c_.data(),
                   .ldc = problem.n,
                   .d = d_.data(),
                   .ldd = problem.n,
                   .beta = problem.beta} {
    poison_d();
  }

  /// What the GEMM takes; valid as long as this object lives.
  const BlockScaledGemmArguments& arguments() const { return arguments_; }

  /// Makes every element of D a NaN.
  void poison_d() {
    constexpr int kPoisonByte = 0xff;
    d_.fill_bytes(kPoisonByte);
  }

  /// D [m, n], after the default stream's work.
  std::vector<Bf16> download_d() const { return d_.download(); }

 private:
  DeviceBuffer<uint8_t> a_, b_, a_scales_, b_scales_;
  DeviceBuffer<Bf16> c_, d_;
  BlockScaledGemmArguments arguments_;
};

}  // namespace bw
