/// \file
/// What a configuration is called.

#include <string>

#include "common/host/lasting_text.hpp"
#include "solutions/05_blockwise_fp8_gemm/gemm_kernels.hpp"

namespace bw {

const char* gemm_kernel_name(const GemmTraits& t) {
  const auto by = [](int first, int second) {
    return "_" + std::to_string(first) + "x" + std::to_string(second);
  };
  std::string name = "cta" + std::to_string(t.cta_group);
  name += by(t.mma_m, t.mma_n) + by(t.cluster_m, t.cluster_n);
  if (t.scheduling == TileScheduling::kLaunchControl) name += "_clc";
  if (t.output == OutputType::kFp32) name += "_fp32";
  if (t.k_group_size > 1) name += "_kgroup" + std::to_string(t.k_group_size);
  return lasting_text(name);
}

}  // namespace bw
