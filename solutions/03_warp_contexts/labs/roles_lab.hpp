#pragma once
/// \file
/// A kernel of roles as the labs run it.

#include "solutions/03_warp_contexts/labs/hand_written_roles.cuh"
#include "solutions/03_warp_contexts/labs/lab_run.hpp"

namespace bw {

/// The kernel of a class of roles, such as HandWrittenRoles.
template <class Roles>
constexpr Fp8GemmKernel role_kernel() {
  return {role_gemm_kernel<Roles>, TileRoles::kThreads, sizeof(typename Roles::SharedStorage)};
}

}  // namespace bw
