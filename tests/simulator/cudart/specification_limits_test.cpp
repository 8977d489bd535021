/// \file
/// What the CUDA C++ Programming Guide ("Technical Specifications per Compute Capability", 9.0 and
/// 10.0) and the comments of cuda_runtime_api.h say of devices, kernels and edges of graphs.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace {

constexpr int kKib = 1024;

TEST(Limits, AreThoseOfTheProgrammingGuide) {
  struct Row {
    cudaDeviceAttr attribute;
    int value;
  };
  constexpr Row kRows[] = {
      {cudaDevAttrMaxGridDimX, 2147483647},
      {cudaDevAttrMaxGridDimY, 65535},
      {cudaDevAttrMaxGridDimZ, 65535},
      {cudaDevAttrMaxBlockDimX, 1024},
      {cudaDevAttrMaxBlockDimY, 1024},
      {cudaDevAttrMaxBlockDimZ, 64},
      {cudaDevAttrMaxThreadsPerBlock, 1024},
      {cudaDevAttrWarpSize, 32},
      {cudaDevAttrMaxBlocksPerMultiprocessor, 32},
      {cudaDevAttrMaxThreadsPerMultiProcessor, 2048},
      {cudaDevAttrMaxRegistersPerMultiprocessor, 64 * kKib},
      {cudaDevAttrMaxRegistersPerBlock, 64 * kKib},
      {cudaDevAttrMaxSharedMemoryPerMultiprocessor, 228 * kKib},
      {cudaDevAttrMaxSharedMemoryPerBlockOptin, 227 * kKib},
      {cudaDevAttrMaxSharedMemoryPerBlock, 48 * kKib},
      {cudaDevAttrTotalConstantMemory, 64 * kKib},
      {cudaDevAttrMaxTexture1DWidth, 131072},
      {cudaDevAttrMaxTexture1DLinearWidth, 1 << 28},
      {cudaDevAttrMaxTexture1DLayeredWidth, 32768},
      {cudaDevAttrMaxTexture1DLayeredLayers, 2048},
      {cudaDevAttrMaxTexture2DWidth, 131072},
      {cudaDevAttrMaxTexture2DHeight, 65536},
      {cudaDevAttrMaxTexture2DLinearWidth, 131072},
      {cudaDevAttrMaxTexture2DLinearHeight, 65000},
      {cudaDevAttrMaxTexture2DGatherWidth, 32768},
      {cudaDevAttrMaxTexture2DGatherHeight, 32768},
      {cudaDevAttrMaxTexture2DLayeredWidth, 32768},
      {cudaDevAttrMaxTexture2DLayeredHeight, 32768},
      {cudaDevAttrMaxTexture2DLayeredLayers, 2048},
      {cudaDevAttrMaxTexture3DWidth, 16384},
      {cudaDevAttrMaxTexture3DHeight, 16384},
      {cudaDevAttrMaxTexture3DDepth, 16384},
      {cudaDevAttrMaxTextureCubemapWidth, 32768},
      {cudaDevAttrMaxTextureCubemapLayeredWidth, 32768},
      {cudaDevAttrMaxTextureCubemapLayeredLayers, 2046},
      {cudaDevAttrMaxSurface1DWidth, 32768},
      {cudaDevAttrMaxSurface1DLayeredWidth, 32768},
      {cudaDevAttrMaxSurface1DLayeredLayers, 2048},
      {cudaDevAttrMaxSurface2DWidth, 131072},
      {cudaDevAttrMaxSurface2DHeight, 65536},
      {cudaDevAttrMaxSurface2DLayeredWidth, 32768},
      {cudaDevAttrMaxSurface2DLayeredHeight, 32768},
      {cudaDevAttrMaxSurface2DLayeredLayers, 2048},
      {cudaDevAttrMaxSurface3DWidth, 16384},
      {cudaDevAttrMaxSurface3DHeight, 16384},
      {cudaDevAttrMaxSurface3DDepth, 16384},
      {cudaDevAttrMaxSurfaceCubemapWidth, 32768},
      {cudaDevAttrMaxSurfaceCubemapLayeredWidth, 32768},
      {cudaDevAttrMaxSurfaceCubemapLayeredLayers, 2046},
  };
  for (const auto& [attribute, value] : kRows) {
    int given = -1;
    ASSERT_EQ(cudaDeviceGetAttribute(&given, attribute, 0), cudaSuccess);
    EXPECT_EQ(given, value) << attribute;
  }
  int none = 0;
  EXPECT_EQ(cudaDeviceGetAttribute(&none, static_cast<cudaDeviceAttr>(0), 0),
            cudaErrorInvalidValue);
  EXPECT_EQ(cudaDeviceGetAttribute(&none, cudaDevAttrMax, 0), cudaErrorInvalidValue);
  (void)cudaGetLastError();
}

// A device offers what its description says; a program may ask for either.
TEST(Limits, PropertiesAreTheAttributes) {
  cudaDeviceProp p;
  ASSERT_EQ(cudaGetDeviceProperties(&p, 0), cudaSuccess);
  const std::pair<cudaDeviceAttr, size_t> kPairs[] = {
      {cudaDevAttrMaxThreadsPerBlock, p.maxThreadsPerBlock},
      {cudaDevAttrMaxBlockDimX, p.maxThreadsDim[0]},
      {cudaDevAttrMaxBlockDimY, p.maxThreadsDim[1]},
      {cudaDevAttrMaxBlockDimZ, p.maxThreadsDim[2]},
      {cudaDevAttrMaxGridDimX, p.maxGridSize[0]},
      {cudaDevAttrMaxGridDimY, p.maxGridSize[1]},
      {cudaDevAttrMaxGridDimZ, p.maxGridSize[2]},
      {cudaDevAttrMaxSharedMemoryPerBlock, p.sharedMemPerBlock},
      {cudaDevAttrTotalConstantMemory, p.totalConstMem},
      {cudaDevAttrWarpSize, p.warpSize},
      {cudaDevAttrMaxPitch, p.memPitch},
      {cudaDevAttrMaxRegistersPerBlock, p.regsPerBlock},
      {cudaDevAttrTextureAlignment, p.textureAlignment},
      {cudaDevAttrTexturePitchAlignment, p.texturePitchAlignment},
      {cudaDevAttrSurfaceAlignment, p.surfaceAlignment},
      {cudaDevAttrMultiProcessorCount, p.multiProcessorCount},
      {cudaDevAttrCanMapHostMemory, p.canMapHostMemory},
      {cudaDevAttrMaxTexture1DWidth, p.maxTexture1D},
      {cudaDevAttrMaxTexture1DMipmappedWidth, p.maxTexture1DMipmap},
      {cudaDevAttrMaxTexture2DWidth, p.maxTexture2D[0]},
      {cudaDevAttrMaxTexture2DHeight, p.maxTexture2D[1]},
      {cudaDevAttrMaxTexture2DMipmappedWidth, p.maxTexture2DMipmap[0]},
      {cudaDevAttrMaxTexture2DMipmappedHeight, p.maxTexture2DMipmap[1]},
      {cudaDevAttrMaxTexture2DLinearWidth, p.maxTexture2DLinear[0]},
      {cudaDevAttrMaxTexture2DLinearHeight, p.maxTexture2DLinear[1]},
      {cudaDevAttrMaxTexture2DLinearPitch, p.maxTexture2DLinear[2]},
      {cudaDevAttrMaxTexture2DGatherWidth, p.maxTexture2DGather[0]},
      {cudaDevAttrMaxTexture2DGatherHeight, p.maxTexture2DGather[1]},
      {cudaDevAttrMaxTexture3DWidth, p.maxTexture3D[0]},
      {cudaDevAttrMaxTexture3DHeight, p.maxTexture3D[1]},
      {cudaDevAttrMaxTexture3DDepth, p.maxTexture3D[2]},
      {cudaDevAttrMaxTexture3DWidthAlt, p.maxTexture3DAlt[0]},
      {cudaDevAttrMaxTexture3DHeightAlt, p.maxTexture3DAlt[1]},
      {cudaDevAttrMaxTexture3DDepthAlt, p.maxTexture3DAlt[2]},
      {cudaDevAttrMaxTextureCubemapWidth, p.maxTextureCubemap},
      {cudaDevAttrMaxTexture1DLayeredWidth, p.maxTexture1DLayered[0]},
      {cudaDevAttrMaxTexture1DLayeredLayers, p.maxTexture1DLayered[1]},
      {cudaDevAttrMaxTexture2DLayeredWidth, p.maxTexture2DLayered[0]},
      {cudaDevAttrMaxTexture2DLayeredHeight, p.maxTexture2DLayered[1]},
      {cudaDevAttrMaxTexture2DLayeredLayers, p.maxTexture2DLayered[2]},
      {cudaDevAttrMaxTextureCubemapLayeredWidth, p.maxTextureCubemapLayered[0]},
      {cudaDevAttrMaxTextureCubemapLayeredLayers, p.maxTextureCubemapLayered[1]},
      {cudaDevAttrMaxSurface1DWidth, p.maxSurface1D},
      {cudaDevAttrMaxSurface2DWidth, p.maxSurface2D[0]},
      {cudaDevAttrMaxSurface2DHeight, p.maxSurface2D[1]},
      {cudaDevAttrMaxSurface3DWidth, p.maxSurface3D[0]},
      {cudaDevAttrMaxSurface3DHeight, p.maxSurface3D[1]},
      {cudaDevAttrMaxSurface3DDepth, p.maxSurface3D[2]},
      {cudaDevAttrMaxSurface1DLayeredWidth, p.maxSurface1DLayered[0]},
      {cudaDevAttrMaxSurface1DLayeredLayers, p.maxSurface1DLayered[1]},
      {cudaDevAttrMaxSurface2DLayeredWidth, p.maxSurface2DLayered[0]},
      {cudaDevAttrMaxSurface2DLayeredHeight, p.maxSurface2DLayered[1]},
      {cudaDevAttrMaxSurface2DLayeredLayers, p.maxSurface2DLayered[2]},
      {cudaDevAttrMaxSurfaceCubemapWidth, p.maxSurfaceCubemap},
      {cudaDevAttrMaxSurfaceCubemapLayeredWidth, p.maxSurfaceCubemapLayered[0]},
      {cudaDevAttrMaxSurfaceCubemapLayeredLayers, p.maxSurfaceCubemapLayered[1]},
      {cudaDevAttrConcurrentKernels, p.concurrentKernels},
      {cudaDevAttrAsyncEngineCount, p.asyncEngineCount},
      {cudaDevAttrUnifiedAddressing, p.unifiedAddressing},
      {cudaDevAttrGlobalMemoryBusWidth, p.memoryBusWidth},
      {cudaDevAttrL2CacheSize, p.l2CacheSize},
      {cudaDevAttrMaxPersistingL2CacheSize, p.persistingL2CacheMaxSize},
      {cudaDevAttrMaxThreadsPerMultiProcessor, p.maxThreadsPerMultiProcessor},
      {cudaDevAttrStreamPrioritiesSupported, p.streamPrioritiesSupported},
      {cudaDevAttrGlobalL1CacheSupported, p.globalL1CacheSupported},
      {cudaDevAttrLocalL1CacheSupported, p.localL1CacheSupported},
      {cudaDevAttrMaxSharedMemoryPerMultiprocessor, p.sharedMemPerMultiprocessor},
      {cudaDevAttrMaxRegistersPerMultiprocessor, p.regsPerMultiprocessor},
      {cudaDevAttrManagedMemory, p.managedMemory},
      {cudaDevAttrConcurrentManagedAccess, p.concurrentManagedAccess},
      {cudaDevAttrComputePreemptionSupported, p.computePreemptionSupported},
      {cudaDevAttrCooperativeLaunch, p.cooperativeLaunch},
      {cudaDevAttrMaxSharedMemoryPerBlockOptin, p.sharedMemPerBlockOptin},
      {cudaDevAttrDirectManagedMemAccessFromHost, p.directManagedMemAccessFromHost},
      {cudaDevAttrMaxBlocksPerMultiprocessor, p.maxBlocksPerMultiProcessor},
      {cudaDevAttrMaxAccessPolicyWindowSize, p.accessPolicyMaxWindowSize},
      {cudaDevAttrReservedSharedMemoryPerBlock, p.reservedSharedMemPerBlock},
      {cudaDevAttrHostRegisterSupported, p.hostRegisterSupported},
      {cudaDevAttrClusterLaunch, p.clusterLaunch},
      {cudaDevAttrMemoryPoolsSupported, p.memoryPoolsSupported},
      {cudaDevAttrNumaId, p.deviceNumaId},
      {cudaDevAttrHostNumaId, p.hostNumaId},
  };
  for (const auto& [attribute, property] : kPairs) {
    int value = -99;
    ASSERT_EQ(cudaDeviceGetAttribute(&value, attribute, 0), cudaSuccess);
    EXPECT_EQ(static_cast<size_t>(value), property) << attribute;
  }
}

constexpr const char* kShapedPtx = R"(
.version 9.0
.target sm_100a
.address_size 64
.visible .entry shaped(.param .u8 a, .param .u64 b, .param .u32 c)
.maxntid 8, 4, 2
.explicitcluster
.reqnctapercluster 2
{
  .shared .align 4 .b8 tile[1024];
  .local .align 8 .b8 depot[32];
  .reg .b32 %r<2>;
  mov.u32 %r1, 1;
  st.shared.u32 [tile], %r1;
  st.local.u32 [depot], %r1;
  ret;
}
.visible .entry plain()
{
  ret;
}
)";

class KernelLimits : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(cudaLibraryLoadData(&library_, kShapedPtx, nullptr, nullptr, 0, nullptr, nullptr, 0),
              cudaSuccess);
    ASSERT_EQ(cudaLibraryGetKernel(&shaped_, library_, "shaped"), cudaSuccess);
    ASSERT_EQ(cudaLibraryGetKernel(&plain_, library_, "plain"), cudaSuccess);
    testing::internal::CaptureStderr();
  }
  void TearDown() override {
    (void)testing::internal::GetCapturedStderr();
    (void)cudaGetLastError();
    EXPECT_EQ(cudaLibraryUnload(library_), cudaSuccess);
  }
  static const void* function(cudaKernel_t kernel) { return reinterpret_cast<const void*>(kernel); }
  static cudaError_t set(cudaKernel_t kernel, cudaFuncAttribute attribute, int value) {
    return cudaFuncSetAttribute(function(kernel), attribute, value);
  }

  cudaLibrary_t library_ = nullptr;
  cudaKernel_t shaped_ = nullptr, plain_ = nullptr;
};

TEST_F(KernelLimits, AKernelHasTheAttributesOfItsDirectives) {
  cudaFuncAttributes attributes{};
  ASSERT_EQ(cudaFuncGetAttributes(&attributes, function(shaped_)), cudaSuccess);
  EXPECT_EQ(attributes.maxThreadsPerBlock, 8 * 4 * 2);
  EXPECT_EQ(attributes.sharedSizeBytes, 1024u);
  EXPECT_EQ(attributes.localSizeBytes, 32u);
  EXPECT_EQ(attributes.ptxVersion, 100);
  EXPECT_EQ(attributes.binaryVersion, 100);
  EXPECT_EQ(attributes.requiredClusterWidth, 2);
  EXPECT_EQ(attributes.requiredClusterHeight, 1);
  EXPECT_EQ(attributes.requiredClusterDepth, 1);
  EXPECT_EQ(attributes.clusterDimMustBeSet, 1);
  EXPECT_EQ(attributes.nonPortableClusterSizeAllowed, 0);
  ASSERT_EQ(cudaFuncGetAttributes(&attributes, function(plain_)), cudaSuccess);
  EXPECT_EQ(attributes.maxThreadsPerBlock, 1024);
  EXPECT_EQ(attributes.sharedSizeBytes, 0u);
  EXPECT_EQ(attributes.localSizeBytes, 0u);
  EXPECT_EQ(attributes.clusterDimMustBeSet, 0);
  EXPECT_EQ(attributes.requiredClusterWidth, 0);
  EXPECT_EQ(attributes.maxDynamicSharedSizeBytes, 48 * kKib);
  EXPECT_EQ(cudaFuncGetAttributes(nullptr, function(plain_)), cudaErrorInvalidValue);

  const std::pair<size_t, size_t> kParameters[] = {{0, 1}, {8, 8}, {16, 4}};
  for (size_t i = 0; i < 3; ++i) {
    size_t offset = 99, size = 99;
    ASSERT_EQ(cudaFuncGetParamInfo(function(shaped_), i, &offset, &size), cudaSuccess);
    EXPECT_EQ(std::pair(offset, size), kParameters[i]);
  }
  size_t offset = 0;
  EXPECT_EQ(cudaFuncGetParamInfo(function(shaped_), 3, &offset, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFuncGetParamInfo(function(shaped_), 0, nullptr, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFuncGetName(nullptr, function(shaped_)), cudaErrorInvalidValue);
}

TEST_F(KernelLimits, AttributesOfKernelsHaveBounds) {
  constexpr int kMost = 227 * kKib;
  const auto dynamic = cudaFuncAttributeMaxDynamicSharedMemorySize;
  EXPECT_EQ(set(plain_, dynamic, kMost), cudaSuccess);
  EXPECT_EQ(set(plain_, dynamic, kMost + 1), cudaErrorInvalidValue);
  EXPECT_EQ(set(plain_, dynamic, 0), cudaSuccess);
  EXPECT_EQ(set(plain_, dynamic, -1), cudaErrorInvalidValue);
  EXPECT_EQ(set(shaped_, dynamic, kMost - 1024), cudaSuccess);
  EXPECT_EQ(set(shaped_, dynamic, kMost - 1023), cudaErrorInvalidValue);
  const auto carveout = cudaFuncAttributePreferredSharedMemoryCarveout;
  for (const int percent : {-1, 0, 100}) {
    EXPECT_EQ(set(plain_, carveout, percent), cudaSuccess);
    cudaFuncAttributes attributes{};
    ASSERT_EQ(cudaFuncGetAttributes(&attributes, function(plain_)), cudaSuccess);
    EXPECT_EQ(attributes.preferredShmemCarveout, percent);
  }
  EXPECT_EQ(set(plain_, carveout, -2), cudaErrorInvalidValue);
  EXPECT_EQ(set(plain_, carveout, 101), cudaErrorInvalidValue);
  EXPECT_EQ(set(plain_, static_cast<cudaFuncAttribute>(99), 1), cudaErrorInvalidValue);
}

TEST_F(KernelLimits, OccupancyFollowsFromTheLimitsOfAnSm) {
  const auto blocks = [&](int threads, size_t dynamic_bytes) {
    int count = -1;
    EXPECT_EQ(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&count, function(plain_), threads,
                                                            dynamic_bytes),
              cudaSuccess);
    return count;
  };
  EXPECT_EQ(blocks(1, 0), 32);
  EXPECT_EQ(blocks(64, 0), 32);
  EXPECT_EQ(blocks(65, 0), 2048 / 96);
  EXPECT_EQ(blocks(1024, 0), 2);
  EXPECT_EQ(blocks(1025, 0), 0);
  EXPECT_EQ(blocks(32, 48 * kKib), 228 / (48 + 1));
  EXPECT_EQ(blocks(32, 48 * kKib + 1), 0);
  int count = 0;
  EXPECT_EQ(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&count, function(plain_), 0, 0),
            cudaErrorInvalidValue);
  EXPECT_EQ(cudaOccupancyMaxActiveBlocksPerMultiprocessor(nullptr, function(plain_), 32, 0),
            cudaErrorInvalidValue);
  EXPECT_EQ(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&count, &count, 32, 0),
            cudaErrorInvalidDeviceFunction);
}

// A cluster has up to 8 CTAs, up to 16 where the kernel allows sizes that are not portable.
TEST_F(KernelLimits, ClustersAreAsLargeAsTheKernelAllows) {
  int sms = 0;
  ASSERT_EQ(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0), cudaSuccess);
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(16);
  config.blockDim = dim3(128);
  config.attrs = &attribute;
  const auto clusters_of = [&](unsigned size) {
    attribute.val.clusterDim.x = size;
    int clusters = -1;
    const cudaError_t error = cudaOccupancyMaxActiveClusters(&clusters, function(plain_), &config);
    return error == cudaSuccess ? clusters : -static_cast<int>(error);
  };
  int most = 0;
  for (const int allowed : {0, 1}) {
    config.numAttrs = 1;
    ASSERT_EQ(set(plain_, cudaFuncAttributeNonPortableClusterSizeAllowed, allowed), cudaSuccess);
    cudaFuncAttributes attributes{};
    ASSERT_EQ(cudaFuncGetAttributes(&attributes, function(plain_)), cudaSuccess);
    EXPECT_EQ(attributes.nonPortableClusterSizeAllowed, allowed);
    EXPECT_EQ(clusters_of(1), sms * 2048 / 128);
    EXPECT_EQ(clusters_of(0), -cudaErrorInvalidClusterSize);
    const int limit = allowed == 1 ? 16 : 8;
    for (const int size : {2, 8, 9, 16, 17}) {
      if (size > limit) {
        EXPECT_EQ(clusters_of(size), -cudaErrorInvalidClusterSize) << size;
      } else {
        EXPECT_GT(clusters_of(size), 0) << size;
        EXPECT_LE(clusters_of(size) * size, clusters_of(1)) << size;
      }
    }
    config.numAttrs = 0;
    ASSERT_EQ(cudaOccupancyMaxPotentialClusterSize(&most, function(plain_), &config), cudaSuccess);
    EXPECT_EQ(most, limit);
  }
  config.numAttrs = 1;
  for (const unsigned threads : {0u, 1025u}) {
    config.blockDim = dim3(threads);
    EXPECT_EQ(clusters_of(1), 0);
    EXPECT_EQ(cudaOccupancyMaxPotentialClusterSize(&most, function(plain_), &config), cudaSuccess);
    EXPECT_EQ(most, 1) << "no cluster fits";
  }
  config.blockDim = dim3(1024);
  EXPECT_EQ(clusters_of(1), 2 * sms);
  EXPECT_EQ(cudaOccupancyMaxActiveClusters(nullptr, function(plain_), &config),
            cudaErrorInvalidValue);
  EXPECT_EQ(cudaOccupancyMaxActiveClusters(&most, function(plain_), nullptr),
            cudaErrorInvalidValue);
  EXPECT_EQ(cudaOccupancyMaxPotentialClusterSize(nullptr, function(plain_), &config),
            cudaErrorInvalidValue);
  // The size that a kernel requires may be set before its launch.
  ASSERT_EQ(set(plain_, cudaFuncAttributeRequiredClusterWidth, 2), cudaSuccess);
  ASSERT_EQ(set(plain_, cudaFuncAttributeRequiredClusterHeight, 3), cudaSuccess);
  ASSERT_EQ(set(plain_, cudaFuncAttributeClusterSchedulingPolicyPreference,
                cudaClusterSchedulingPolicySpread),
            cudaSuccess);
  cudaFuncAttributes attributes{};
  ASSERT_EQ(cudaFuncGetAttributes(&attributes, function(plain_)), cudaSuccess);
  EXPECT_EQ(attributes.requiredClusterWidth, 2);
  EXPECT_EQ(attributes.requiredClusterHeight, 3);
  EXPECT_EQ(attributes.requiredClusterDepth, 1);
  EXPECT_EQ(attributes.clusterSchedulingPolicyPreference, cudaClusterSchedulingPolicySpread);
}

TEST_F(KernelLimits, ALibraryComesFromAFile) {
  const std::string path = testing::TempDir() + "specification.ptx";
  std::ofstream(path) << kShapedPtx;
  const auto load = [](cudaLibrary_t* library, const char* name) {
    return cudaLibraryLoadFromFile(library, name, nullptr, nullptr, 0, nullptr, nullptr, 0);
  };
  cudaLibrary_t library = nullptr;
  EXPECT_EQ(load(nullptr, path.c_str()), cudaErrorInvalidValue);
  EXPECT_EQ(load(&library, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(load(&library, "/no/such.ptx"), cudaErrorFileNotFound);
  ASSERT_EQ(load(&library, path.c_str()), cudaSuccess);
  cudaKernel_t kernel = nullptr;
  EXPECT_EQ(cudaLibraryGetKernel(&kernel, library, "plain"), cudaSuccess);
  EXPECT_EQ(cudaLibraryGetKernel(nullptr, library, "plain"), cudaErrorInvalidValue);
  EXPECT_EQ(cudaLibraryGetKernel(&kernel, library, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaLibraryGetKernel(&kernel, library, "none"), cudaErrorSymbolNotFound);
  unsigned count = 0;
  EXPECT_EQ(cudaLibraryGetKernelCount(&count, library), cudaSuccess);
  EXPECT_EQ(count, 2u);
  EXPECT_EQ(cudaLibraryGetKernelCount(nullptr, library), cudaErrorInvalidValue);
  cudaKernel_t kernels[2] = {};
  EXPECT_EQ(cudaLibraryEnumerateKernels(nullptr, 1, library), cudaErrorInvalidValue);
  ASSERT_EQ(cudaLibraryEnumerateKernels(kernels, 1, library), cudaSuccess);
  EXPECT_NE(kernels[0], nullptr);
  EXPECT_EQ(kernels[1], nullptr);
  ASSERT_EQ(cudaLibraryEnumerateKernels(kernels, 2, library), cudaSuccess);
  EXPECT_NE(kernels[1], kernels[0]);
  EXPECT_EQ(cudaLibraryUnload(library), cudaSuccess);
  EXPECT_EQ(cudaLibraryLoadData(&library, nullptr, nullptr, nullptr, 0, nullptr, nullptr, 0),
            cudaErrorInvalidValue);
  EXPECT_EQ(cudaLibraryLoadData(nullptr, kShapedPtx, nullptr, nullptr, 0, nullptr, nullptr, 0),
            cudaErrorInvalidValue);
}

// The comments of cudaGraphEdgeData and cudaGraphDependencyType: a programmatic edge is between
// kernels and from port 1 or 2; port 1 needs one; only kernels have ports; every edge ends in port
// 0.
TEST_F(KernelLimits, OnlyTheEdgesThatCudaDescribesAreTaken) {
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaGraphCreate(&graph, 0), cudaSuccess);
  cudaKernelNodeParams params{};
  params.func = reinterpret_cast<void*>(plain_);
  params.gridDim = params.blockDim = dim3(1);
  const auto node = [&](bool is_kernel) {
    cudaGraphNode_t made = nullptr;
    EXPECT_EQ(is_kernel ? cudaGraphAddKernelNode(&made, graph, nullptr, 0, &params)
                        : cudaGraphAddEmptyNode(&made, graph, nullptr, 0),
              cudaSuccess);
    return made;
  };
  for (const bool from_kernel : {false, true})
    for (const bool to_kernel : {false, true})
      for (unsigned char from_port = 0; from_port <= 3; ++from_port)
        for (unsigned char to_port = 0; to_port <= 1; ++to_port)
          for (unsigned char type = 0; type <= 2; ++type) {
            const bool is_programmatic = type == cudaGraphDependencyTypeProgrammatic;
            const bool port_exists = from_port == 0 || (from_kernel && from_port <= 2);
            const bool is_taken =
                to_port == 0 && type <= 1 && port_exists &&
                (is_programmatic ? from_kernel && to_kernel && from_port != 0 : from_port != 1);
            const cudaGraphNode_t from = node(from_kernel), to = node(to_kernel);
            const cudaGraphEdgeData edge{from_port, to_port, type, {}};
            EXPECT_EQ(cudaGraphAddDependencies(graph, &from, &to, &edge, 1),
                      is_taken ? cudaSuccess : cudaErrorInvalidValue)
                << from_kernel << to_kernel << int{from_port} << int{to_port} << int{type};
          }
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
}

}  // namespace
