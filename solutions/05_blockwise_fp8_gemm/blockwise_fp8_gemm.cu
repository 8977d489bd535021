#include "solutions/05_blockwise_fp8_gemm/blockwise_fp8_gemm.hpp"

#include "solutions/05_blockwise_fp8_gemm/gemm_launch.hpp"
#include "solutions/05_blockwise_fp8_gemm/make_kernel_arguments.hpp"
#include "solutions/05_blockwise_fp8_gemm/prepared_gemm.hpp"

namespace bw {
namespace {

GemmBoxes boxes_of(const GemmKernel& kernel) {
  const GemmTraits& traits = kernel.traits;
  return {.a_rows = traits.cta_rows() / traits.a_slices(),
          .b_rows = traits.cta_b_rows() / traits.b_slices(),
          .a_scales = traits.cta_rows(),
          .slice_rows = traits.cta_rows(),
          .slice_columns = kernel.slice_columns,
          .cluster_rows = traits.cluster_rows(),
          .cluster_columns = traits.cluster_columns()};
}

}  // namespace

PreparedGemm::PreparedGemm(const BlockwiseFp8GemmArguments& gemm, const GemmKernel& kernel)
    : kernel_(kernel) {
  validate_gemm_arguments(gemm);
  require(kernel.traits.output == gemm.output, "The configuration ", kernel.name, " writes ",
          kernel.traits.output == OutputType::kBf16 ? "bf16" : "fp32",
          ", but the arguments ask for the other type: choose one whose output they name.");
  prepare_gemm_kernel(kernel);
  arguments_ = make_kernel_arguments(gemm, boxes_of(kernel));
  grid_ = grid_to_launch(kernel, arguments_.raster);
}

void PreparedGemm::launch(cudaStream_t stream, bool is_dependent) const {
  launch_gemm_kernel(kernel_, grid_, &arguments_, stream, is_dependent);
}

void blockwise_fp8_gemm(const BlockwiseFp8GemmArguments& gemm, const GemmKernel& kernel,
                        cudaStream_t stream) {
  PreparedGemm(gemm, kernel).launch(stream);
}

}  // namespace bw
