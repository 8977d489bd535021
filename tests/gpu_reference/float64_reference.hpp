#pragma once
/// \file
/// A float64 reference of the blockwise-scaled FP8 GEMM that runs on the GPU, for shapes that take
/// too long on the CPU, and the comparison with it. It shares nothing with the kernels under test:
/// plain loads, plain float64 arithmetic.

#include <cstdint>
#include <string>

#include "common/host/comparison.hpp"
#include "common/host/device_buffer.hpp"
#include "solutions/05_blockwise_fp8_gemm/gemm_arguments.hpp"

namespace bw {

/// What D should be, dense [m, n], in device memory.
struct DeviceReference {
  int64_t m, n;
  DeviceBuffer<double> d;         ///< Σ a·b·scales + beta·C
  DeviceBuffer<float> magnitude;  ///< Σ |a·b|·scales
};

/// Computes the reference of `gemm` (its D is not touched) on the default stream.
DeviceReference float64_reference(const BlockwiseFp8GemmArguments& gemm);

/// Figures of a comparison on the device.
struct DeviceComparison {
  int64_t elements = 0;
  int64_t bad_elements = 0;
  int64_t first_bad_row = 0, first_bad_column = 0;
  float got = 0;           ///< the first bad element
  double expected = 0;     ///< its reference
  double worst_share = 0;  ///< the largest error, as a share of what is allowed
  double relative_frobenius_error = 0;

  bool verified() const { return elements > 0 && bad_elements == 0; }
  /// The figures, for messages.
  std::string describe() const;
};

/// Compares D [m, ldd] in device memory with the reference: an element may be off by one bf16 ulp
/// of the reference plus `accumulation_error` of its magnitude; NaN is bad. Waits for the device.
DeviceComparison compare_on_device(const Bf16* d, int64_t ldd, const DeviceReference& reference,
                                   double accumulation_error = kHopperAccumulationError);

}  // namespace bw
