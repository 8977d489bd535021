#pragma once
/// \file
/// Warps of a CTA by role, for GEMMs that load, multiply and write.

#include <cstdint>

#include "common/device/elect.cuh"

namespace bw {

/// Warps 0 to 3 are the epilogue: warp w reads TMEM lanes 32w … 32w + 31.
struct TileRoles {
  static constexpr uint32_t kEpilogueThreads = 128;           ///< threads of all epilogue warps
  static constexpr uint32_t kMmaThreads = ptx::kWarpThreads;  ///< threads of the MMA warp
  /// Number of the load warp.
  static constexpr uint32_t kLoadWarp = kEpilogueThreads / ptx::kWarpThreads;
  static constexpr uint32_t kMmaWarp = kLoadWarp + 1;               ///< number of the MMA warp
  static constexpr uint32_t kWarps = kMmaWarp + 1;                  ///< warps of a CTA
  static constexpr uint32_t kThreads = kWarps * ptx::kWarpThreads;  ///< threads of a CTA
};

/// Dispatch: `roles.load()`, `roles.multiply()` or `roles.write()`, by the calling thread's warp.
template <class Roles>
__device__ __forceinline__ void run_role(const Roles& roles) {
  // The same in all lanes, and the compiler knows it: roles are branches of whole warps.
  const uint32_t warp = __shfl_sync(ptx::kFullWarpMask, threadIdx.x / ptx::kWarpThreads, 0);
  switch (warp) {
    case TileRoles::kLoadWarp:
      return roles.load();
    case TileRoles::kMmaWarp:
      return roles.multiply();
    default:
      return roles.write();
  }
}

}  // namespace bw
