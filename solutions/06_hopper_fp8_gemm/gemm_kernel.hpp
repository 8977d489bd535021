#pragma once
/// \file
/// One compiled kernel and what a launch of it needs.

#include <cstdint>

#include "common/host/kernel_description.hpp"
#include "solutions/06_hopper_fp8_gemm/gemm_traits.hpp"

namespace bw::hopper {

/// One compiled configuration of the kernel.
struct GemmKernel {
  /// "128x256_2x1": tile, cluster; "…_split4": K split over a cluster; "…_streamk": the last round
  /// of tiles divided along K.
  const char* name;
  GemmTraits traits;      ///< the configuration
  uint32_t shared_bytes;  ///< dynamic shared memory of a CTA
  const void* function;   ///< the entry, for the runtime's calls
  /// What it is made of, in clusters that split K `split_k` times.
  KernelDescription (*describe)(int split_k);
};

/// The name that these traits give a kernel, for as long as the program runs.
const char* gemm_kernel_name(const GemmTraits& traits);

}  // namespace bw::hopper
