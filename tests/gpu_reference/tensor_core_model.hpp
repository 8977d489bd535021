#pragma once
/// \file
/// tensor_core_element() (common/host/tensor_core_element.hpp) of a whole matrix, on a GPU, and the
/// comparison with it.

#include <cstdint>
#include <string>

#include "common/host/tensor_core_element.hpp"
#include "solutions/06_hopper_fp8_gemm/summation_order.hpp"
#include "tests/gpu_reference/float64_reference.hpp"

namespace bw {

/// The model's D of `gemm`, dense [m, n], on the device (its own D is not touched), on the default
/// stream, with K summed in `parts`.
DeviceBuffer<Bf16> tensor_core_model(const BlockwiseFp8GemmArguments& gemm,
                                     const KParts& parts = {});

/// The same with K summed in the order of a kernel, piece by piece.
DeviceBuffer<Bf16> tensor_core_model(const BlockwiseFp8GemmArguments& gemm,
                                     const hopper::SummationOrder& order);

/// The same of a window of `d`, dense [m, n]: for kernels that don't split K everywhere alike.
void overwrite_with_model(const BlockwiseFp8GemmArguments& gemm, const KParts& parts,
                          const hopper::OutputWindow& window, DeviceBuffer<Bf16>& d);

/// D against the model and against the float64 reference.
struct ModelComparison {
  int64_t elements = 0;
  int64_t different = 0;      ///< not the model's bits
  int64_t outside = 0;        ///< off the reference by more than is allowed
  int64_t unexplained = 0;    ///< both
  int64_t model_outside = 0;  ///< elements of the model off by more than is allowed

  /// Whether every element outside is the model's, and their number is within the limit: the
  /// rule of solutions/06_hopper_fp8_gemm/hopper_verification.hpp.
  bool verified() const;
  /// The figures, for messages.
  std::string describe() const;
};

/// Compares D [m, ldd] in device memory with both; "allowed" as compare_on_device() has it.
ModelComparison compare_with_model(const Bf16* d, int64_t ldd, const DeviceBuffer<Bf16>& model,
                                   const DeviceReference& reference,
                                   double accumulation_error = kHopperAccumulationError);

}  // namespace bw
