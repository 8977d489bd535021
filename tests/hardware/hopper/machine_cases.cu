/// \file
/// What the device says about itself, as far as a program's choices depend on it.
#include "tests/hardware/cases.hpp"
#include "tests/hardware/raw_memory.hpp"

namespace bw::conformance::machine {

__global__ void kernel(uint32_t* out) {
  if (out != nullptr) *out = 1;
}

/// Clusters of `ctas` CTAs that are resident at once, each CTA with `bytes` of shared memory.
uint64_t most_clusters(unsigned ctas, size_t bytes) {
  const auto* const function = reinterpret_cast<const void*>(&kernel);
  check_cuda(cudaFuncSetAttribute(function, cudaFuncAttributeNonPortableClusterSizeAllowed, 1),
             "allow large clusters");
  check_cuda(cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  static_cast<int>(bytes)),
             "allow shared memory");
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim = {ctas, 1, 1};
  cudaLaunchConfig_t configuration{};
  constexpr unsigned kEnough = 1024;
  configuration.gridDim = dim3(ctas * kEnough);
  configuration.blockDim = dim3(128);
  configuration.dynamicSmemBytes = bytes;
  configuration.attrs = &attribute;
  configuration.numAttrs = 1;
  int clusters = 0;
  check_cuda(cudaOccupancyMaxActiveClusters(&clusters, function, &configuration),
             "ask how many clusters fit");
  return static_cast<uint64_t>(clusters);
}

constexpr unsigned kSizes[] = {1, 2, 4, 8, 16};
constexpr size_t kOneCtaAnSm = 200 * 1024;

Result measure_clusters() {
  Result result;
  for (const unsigned ctas : kSizes) result.values.push_back(most_clusters(ctas, kOneCtaAnSm));
  result.describe = [](size_t i) { return "clusters of " + std::to_string(kSizes[i]) + " CTAs"; };
  return result;
}

constexpr cudaDeviceAttr kAttributes[] = {cudaDevAttrComputeCapabilityMajor,
                                          cudaDevAttrComputeCapabilityMinor,
                                          cudaDevAttrMultiProcessorCount,
                                          cudaDevAttrClockRate,
                                          cudaDevAttrMaxThreadsPerBlock,
                                          cudaDevAttrMaxSharedMemoryPerBlock,
                                          cudaDevAttrMaxSharedMemoryPerBlockOptin,
                                          cudaDevAttrMaxSharedMemoryPerMultiprocessor,
                                          cudaDevAttrReservedSharedMemoryPerBlock,
                                          cudaDevAttrMaxRegistersPerBlock,
                                          cudaDevAttrMaxRegistersPerMultiprocessor,
                                          cudaDevAttrMaxThreadsPerMultiProcessor,
                                          cudaDevAttrMaxBlocksPerMultiprocessor,
                                          cudaDevAttrWarpSize,
                                          cudaDevAttrL2CacheSize,
                                          cudaDevAttrMaxPersistingL2CacheSize,
                                          cudaDevAttrMemoryClockRate,
                                          cudaDevAttrGlobalMemoryBusWidth,
                                          cudaDevAttrClusterLaunch,
                                          cudaDevAttrCooperativeLaunch,
                                          cudaDevAttrTotalConstantMemory,
                                          cudaDevAttrAsyncEngineCount,
                                          cudaDevAttrMemSyncDomainCount,
                                          cudaDevAttrMaxAccessPolicyWindowSize};

Result measure_attributes() {
  Result result;
  for (const cudaDeviceAttr attribute : kAttributes) {
    int value = 0;
    check_cuda(cudaDeviceGetAttribute(&value, attribute, 0), "ask for an attribute");
    result.values.push_back(static_cast<uint64_t>(value));
  }
  result.describe = [](size_t i) { return "attribute " + std::to_string(kAttributes[i]); };
  return result;
}

const Registration kRegistrations[] = {
    {"machine.attributes", measure_attributes},
    {"machine.clusters", measure_clusters},
};

}  // namespace bw::conformance::machine
