/// \file
/// The GEMM with the kernel that fits its shape.

#include "common/host/device_attribute.hpp"
#include "solutions/05_blockwise_fp8_gemm/blockwise_fp8_gemm.hpp"

namespace bw {

void blockwise_fp8_gemm(const BlockwiseFp8GemmArguments& gemm, cudaStream_t stream) {
  validate_gemm_arguments(gemm);
  const int multiprocessors = device_attribute(cudaDevAttrMultiProcessorCount);
  blockwise_fp8_gemm(gemm, choose_gemm_kernel(gemm.m, gemm.n, gemm.k, gemm.output, multiprocessors),
                     stream);
}

}  // namespace bw
