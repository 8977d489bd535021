#pragma once
/// \file
/// Whether the current device runs what a program was compiled for.

#include "common/host/device_attribute.hpp"

namespace bw {

/// The devices that a kernel runs on, as compute capabilities.
struct Architecture {
  int major;         ///< 9 in 9.0
  bool or_newer;     ///< false: of this major version only
  const char* name;  ///< as errors say it
};

/// mbarrier transactions, TMA, clusters.
inline constexpr Architecture kHopperOrNewer{9, true, "9.0 (Hopper) or newer"};
/// tcgen05 and tensor memory: the sm_100 family.
inline constexpr Architecture kBlackwell{10, false, "10.x (Blackwell)"};

/// Throws Error unless the current device is one of `needed`. `who_needs` begins the second half of
/// the sentence, such as "this kernel needs".
inline void require_architecture(const Architecture& needed,
                                 const char* who_needs = "this program needs") {
  const int major = device_attribute(cudaDevAttrComputeCapabilityMajor);
  require(major == needed.major || (needed.or_newer && major > needed.major),
          "The current device has compute capability ", major, ".x; ", who_needs, " ", needed.name,
          ", or the simulator's runtime, which runs on any CPU.");
  // Architecture-specific code runs on its own compute capability alone, code for a family on all
  // of the family's (CUDA C++ Programming Guide, "Feature Sets").
#ifdef BW_BLACKWELL_FAMILY
  constexpr bool kRunsOnFamily = true;
#else
  constexpr bool kRunsOnFamily = false;
#endif
  const int minor = device_attribute(cudaDevAttrComputeCapabilityMinor);
  require(
      kRunsOnFamily || major != kBlackwell.major || minor == 0,
      "The current device has compute capability ", major, ".", minor,
      "; this program was compiled for sm_100a, which 10.0 alone runs. Configure the build with "
      "-DBW_BLACKWELL_ARCH=100f, which compiles for the family; `./workbook run` does that by "
      "itself.");
}

/// For programs of tcgen05 code.
inline void require_blackwell() { require_architecture(kBlackwell); }

}  // namespace bw
