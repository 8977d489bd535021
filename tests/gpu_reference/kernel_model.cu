#include "tests/gpu_reference/kernel_model.hpp"

#include "solutions/06_hopper_fp8_gemm/gemm_launch.hpp"

namespace bw {

hopper::StreamKSchedule schedule_of(const BlockwiseFp8GemmArguments& gemm,
                                    const hopper::GemmKernel& kernel) {
  return hopper::prepare_gemm(gemm, kernel).arguments.stream_k.schedule;
}

DeviceBuffer<Bf16> model_of_kernel(const BlockwiseFp8GemmArguments& gemm,
                                   const hopper::GemmKernel& kernel) {
  const hopper::SummationOrder order = summation_order(hopper::prepare_gemm(gemm, kernel));
  DeviceBuffer<Bf16> d = tensor_core_model(gemm, order.elsewhere());
  for (const hopper::SplitPiece& piece : order.split_pieces()) {
    overwrite_with_model(gemm, piece.parts, piece.window, d);
  }
  return d;
}

}  // namespace bw
