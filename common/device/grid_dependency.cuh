#pragma once
/// \file
/// Programmatic dependent launch (PTX ISA, "griddepcontrol"): a grid may begin while the previous
/// one in the stream still runs.

namespace bw::ptx {

// griddepcontrol.wait;
// PTX ISA 7.8, sm_90
/// Waits until the grids that this one depends on are complete and their writes visible; passes
/// at once when there are none. Every thread that reads what they wrote (itself, or by a copy that
/// it issues), or overwrites what they read, executes it before.
__device__ __forceinline__ void grid_dependency_wait() {
  asm volatile("griddepcontrol.wait;" ::: "memory");
}

// griddepcontrol.launch_dependents;
// PTX ISA 7.8, sm_90
/// This CTA allows the start of the dependent grids. It promises nothing about its
/// writes: dependents wait for the whole grid's end.
__device__ __forceinline__ void grid_dependency_launch_dependents() {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

}  // namespace bw::ptx
