#pragma once
/// \file
/// The check of programs that run on a Hopper GPU alone, and what to tell the reader where there is
/// none.

#include <string>

namespace bw {

/// Throws Error unless the current device runs code for sm_90a: says which device was found, what
/// is needed and what can be done without it. Cheap enough for every launch.
void require_hopper();

/// What there is instead of a Hopper GPU as the current device; empty where it is one.
/// Architecture-specific code runs on compute capability 9.0 and on no other (CUDA C++ Programming
/// Guide, "Architecture-Specific Features").
std::string why_not_hopper();

}  // namespace bw
