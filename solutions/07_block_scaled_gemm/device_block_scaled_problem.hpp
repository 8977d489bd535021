#pragma once
/// \file
/// A problem's matrices on the device, with their scales laid out.

#include <cstdint>
#include <vector>

#include "common/device/scale_atom.cuh"
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

  /// The arguments of the same GEMM with a D in another format.
  BlockScaledGemmArguments arguments(const QuantisedOutput& quantised) const {
    BlockScaledGemmArguments with_output = arguments_;
    with_output.quantised = quantised;
    return with_output;
  }

  /// D [m, n], after the default stream's work.
  std::vector<Bf16> download_d() const { return d_.download(); }

 private:
  DeviceBuffer<uint8_t> a_, b_, a_scales_, b_scales_;
  DeviceBuffer<Bf16> c_, d_;
  BlockScaledGemmArguments arguments_;
};

/// Memory for a D [m, n] in codes and atoms of scales, all of it poison: what a kernel doesn't
/// write has scales that are NaN.
class DeviceQuantisedOutput {
 public:
  /// `n` elements are whole blocks; `factor` as QuantisedOutput has it.
  DeviceQuantisedOutput(BlockFormat format, int64_t m, int64_t n, float factor)
      : m_(m),
        n_(n),
        values_(static_cast<size_t>(m * n * element_bits(format) / 8)),
        scales_(static_cast<size_t>(scale_bytes(m, n / scale_block(format)))),
        output_{.format = format,
                .values = values_.data(),
                .stride = n * element_bits(format) / 8,
                .scales = scales_.data(),
                .scale_bytes = static_cast<int64_t>(scales_.size()),
                .factor = factor} {
    constexpr int kPoisonByte = 0xff;
    values_.fill_bytes(kPoisonByte);
    scales_.fill_bytes(kPoisonByte);
  }

  /// Where the kernel writes; valid as long as this object lives.
  const QuantisedOutput& output() const { return output_; }
  /// Codes in device memory.
  const uint8_t* values() const { return values_.data(); }
  /// Atoms in device memory.
  const DeviceBuffer<uint8_t>& scales() const { return scales_; }

  /// D with its scales in plain order, after the default stream's work.
  BlockScaledMatrix download() const {
    return collect_scales(output_.format, m_, n_, values_.download(), scales_.download(),
                          output_.factor);
  }

 private:
  int64_t m_, n_;
  DeviceBuffer<uint8_t> values_, scales_;
  QuantisedOutput output_;
};

}  // namespace bw
