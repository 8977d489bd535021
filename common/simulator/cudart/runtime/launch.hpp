#pragma once
/// \file
/// What a launch configuration means for a kernel.

#include <driver_types.h>

#include <cstddef>

#include "common/simulator/cudart/runtime/operations.hpp"

namespace bw::sim::cudart {

/// Launches a kernel, or goes on with a launch that waits; `operation.waiting` is set while it
/// does. Throws SimulationError for a configuration that cannot run and for the kernel's faults.
cudaError_t launch(Runtime& runtime, KernelOperation& operation);

/// Dynamic shared memory that a launch may ask for: what cudaFuncSetAttribute chose, or 48 KB less
/// the static part.
[[nodiscard]] size_t dynamic_shared_limit(const Function& function, const Kernel& kernel);

/// The cluster that the kernel is compiled for (__cluster_dims__) or that cudaFuncSetAttribute
/// requires; zeros when none is.
[[nodiscard]] Dim3 required_cluster(const Function& function, const Kernel& kernel);

/// The cluster of a launch: its attribute, else the required one, else {1,1,1}.
[[nodiscard]] Dim3 cluster_of(const cudaLaunchConfig_t& config, const Function& function,
                              const Kernel& kernel);

}  // namespace bw::sim::cudart
