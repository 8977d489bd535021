#pragma once
/// \file
/// Launches in clusters, and one CTA an SM.

#include <cuda_runtime_api.h>

#include <cstdint>

#include "common/host/cuda_check.hpp"
#include "common/host/dynamic_shared_memory.hpp"

namespace bw::timing {

/// Launches `ctas` CTAs of `threads` threads in clusters of `cluster_ctas`, after what is in the
/// stream.
template <class... Parameters, class... Arguments>
void launch_clusters_on(cudaStream_t stream, void (*kernel)(Parameters...), uint32_t ctas,
                        uint32_t cluster_ctas, uint32_t threads, uint32_t shared_bytes,
                        Arguments... arguments) {
  if (shared_bytes > 0) {
    allow_dynamic_shared_memory(reinterpret_cast<const void*>(kernel), shared_bytes);
  }
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim = {cluster_ctas, 1, 1};
  cudaLaunchConfig_t launch{};
  launch.gridDim = dim3(ctas);
  launch.blockDim = dim3(threads);
  launch.dynamicSmemBytes = shared_bytes;
  launch.stream = stream;
  launch.attrs = &attribute;
  launch.numAttrs = 1;
  check_cuda(cudaLaunchKernelEx(&launch, kernel, static_cast<Parameters>(arguments)...),
             "launch clusters");
}

/// The same on the default stream.
template <class... Parameters, class... Arguments>
void launch_clusters(void (*kernel)(Parameters...), uint32_t ctas, uint32_t cluster_ctas,
                     uint32_t threads, uint32_t shared_bytes, Arguments... arguments) {
  launch_clusters_on(nullptr, kernel, ctas, cluster_ctas, threads, shared_bytes, arguments...);
}

}  // namespace bw::timing
