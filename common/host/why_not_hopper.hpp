#pragma once
/// \file
/// Is the current device a Hopper GPU, and what to tell the reader where it isn't.

#include <string>

namespace bw {

/// What there is instead of a Hopper GPU as the current device; empty where it is one.
/// Architecture-specific code runs on compute capability 9.0 and on no other (CUDA C++ Programming
/// Guide, "Architecture-Specific Features").
std::string why_not_hopper();

}  // namespace bw
