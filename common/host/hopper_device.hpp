#pragma once
/// \file
/// The check of programs that run on a Hopper GPU alone.

namespace bw {

/// Throws Error unless the current device runs code for sm_90a: says which device was found, what
/// is needed and what can be done without it. Cheap enough for every launch.
void require_hopper();

}  // namespace bw
