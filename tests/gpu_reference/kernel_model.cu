#include "tests/gpu_reference/kernel_model.hpp"

#include "solutions/06_hopper_fp8_gemm/gemm_launch.hpp"

namespace bw {

hopper::StreamKSchedule schedule_of(const BlockwiseFp8GemmArguments& gemm,
                                    const hopper::GemmKernel& kernel) {
  return hopper::prepare_gemm(gemm, kernel).arguments.stream_k.schedule;
}

DeviceBuffer<Bf16> model_of_kernel(const BlockwiseFp8GemmArguments& gemm,
                                   const hopper::GemmKernel& kernel) {
  return tensor_core_model(gemm, summation_order(hopper::prepare_gemm(gemm, kernel)));
}

}  // namespace bw
