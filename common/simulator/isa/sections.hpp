#pragma once
/// \file
/// Sections of the PTX ISA that reports cite without an instruction.

#include <string_view>

namespace bw::sim {

inline constexpr std::string_view kWarpBarrierSection = "bar.warp.sync";  ///< __syncwarp()
/// Programmatic dependent launch.
inline constexpr std::string_view kDependentLaunchSection = "griddepcontrol";
inline constexpr std::string_view kMbarrierInitSection = "mbarrier.init";    ///< initialises one
inline constexpr std::string_view kMbarrierInvalSection = "mbarrier.inval";  ///< ends one
inline constexpr std::string_view kNonCoherentLoadSection = "ld.global.nc";  ///< loads by .nc
/// Allocation of Tensor Memory.
inline constexpr std::string_view kTensorAllocationSection = "tcgen05.alloc";

}  // namespace bw::sim
