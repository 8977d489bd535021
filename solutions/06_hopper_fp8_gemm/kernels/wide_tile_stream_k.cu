#include "solutions/06_hopper_fp8_gemm/gemm_kernel_groups.hpp"
#include "solutions/06_hopper_fp8_gemm/instantiate_kernel.cuh"
#include "solutions/06_hopper_fp8_gemm/kernels/tile_traits.hpp"

namespace bw::hopper::detail {

GemmKernel wide_tile_stream_k() { return instantiate_kernel<with_stream_k(kWideTile)>(); }

}  // namespace bw::hopper::detail
