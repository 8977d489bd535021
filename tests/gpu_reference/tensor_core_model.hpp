#pragma once
/// \file
/// The blockwise-scaled FP8 GEMM in the arithmetic of Hopper's tensor cores: what a kernel gives,
/// bit for bit, that sums every K block by one chain of wgmma, promotes it by one fp32 FMA and
/// rounds to bf16 at the end.

#include <cstdint>
#include <string>

#include "common/host/blockwise_problem.hpp"
#include "tests/gpu_reference/float64_reference.hpp"

namespace bw {

/// Element (row, column) of D, on the host. `split_k`: ranges of K blocks that are summed on their
/// own and then added in order, as kernels do that split K.
Bf16 tensor_core_element(const BlockwiseProblem& problem, int64_t row, int64_t column,
                         int split_k = 1);

/// D of `gemm`, dense [m, n], on the device (its D is not touched), on the default stream.
DeviceBuffer<Bf16> tensor_core_model(const BlockwiseFp8GemmArguments& gemm, int split_k = 1);

/// D against the model and against the float64 reference.
struct ModelComparison {
  int64_t elements = 0;
  int64_t different = 0;      ///< not the model's bits
  int64_t outside = 0;        ///< off the reference by more than is allowed
  int64_t unexplained = 0;    ///< both
  int64_t model_outside = 0;  ///< elements of the model off by more than is allowed

  /// The figures, for messages.
  std::string describe() const;
};

/// Compares D [m, ldd] in device memory with both; "allowed" as compare_on_device() has it.
ModelComparison compare_with_model(const Bf16* d, int64_t ldd, const DeviceBuffer<Bf16>& model,
                                   const DeviceReference& reference,
                                   double accumulation_error = kHopperAccumulationError);

}  // namespace bw
