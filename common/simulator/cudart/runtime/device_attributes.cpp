/// \file
/// Sources: CUDA C++ Programming Guide, "Technical Specifications per Compute Capability" (9.0 and
/// 10.0 share everything in this file); what differs between machines is in
/// machine_description.cpp.
#include "common/simulator/cudart/runtime/device_attributes.hpp"

#include <algorithm>
#include <string>

#include <fmt/core.h>

#include "common/simulator/cudart/runtime/runtime.hpp"
#include "common/simulator/machine/address_space.hpp"
#include "common/simulator/machine/limits.hpp"

namespace bw::sim::cudart {
namespace {

constexpr int kMaxGridX = 0x7fffffff;
constexpr int kMaxGridYz = 65535;
constexpr int kMaxBlockXy = 1024;
constexpr int kMaxBlockZ = 64;
constexpr int kConstantBytes = 64 * 1024;
constexpr int kMaxPitchBytes = 0x7fffffff;
constexpr int kAccessWindowBytes = 128 * 1024 * 1024;
constexpr int kSinglePerDouble = 2;

// Textures and surfaces: limits for the programs that print them; their use is refused.
constexpr int kTextureAlignmentBytes = 512;
constexpr int kTexturePitchAlignmentBytes = 32;
constexpr int kTexture1D = 131072;
constexpr int kTexture2DWidth = 131072;
constexpr int kTexture2DHeight = 65536;
constexpr int kTexture3D = 16384;
constexpr int kTexture3DAltWidth = 8192;
constexpr int kTexture3DAltDepth = 32768;
constexpr int kLayeredWidth = 32768;
constexpr int kLayers = 2048;
constexpr int kCubemapLayers = 2046;
constexpr int kLinear1D = 268435456;
constexpr int kLinear2DWidth = 131072;
constexpr int kLinear2DHeight = 65000;
constexpr int kLinear2DPitch = 2097120;

struct AttributeRow {
  int attribute;
  int value;
};

// Attributes that all machines share. Those which are 0 (no such feature) are at the end
// of `device_attribute`.
constexpr AttributeRow kAttributes[] = {
    {cudaDevAttrMaxThreadsPerBlock, kMaxThreadsPerBlock},
    {cudaDevAttrMaxBlockDimX, kMaxBlockXy},
    {cudaDevAttrMaxBlockDimY, kMaxBlockXy},
    {cudaDevAttrMaxBlockDimZ, kMaxBlockZ},
    {cudaDevAttrMaxGridDimX, kMaxGridX},
    {cudaDevAttrMaxGridDimY, kMaxGridYz},
    {cudaDevAttrMaxGridDimZ, kMaxGridYz},
    {cudaDevAttrMaxSharedMemoryPerBlock, kSharedBytesDefault},
    {cudaDevAttrTotalConstantMemory, kConstantBytes},
    {cudaDevAttrWarpSize, kWarpLanes},
    {cudaDevAttrMaxPitch, kMaxPitchBytes},
    {cudaDevAttrMaxRegistersPerBlock, kRegistersPerSm},
    {cudaDevAttrTextureAlignment, kTextureAlignmentBytes},
    {cudaDevAttrGpuOverlap, 1},
    {cudaDevAttrCanMapHostMemory, 1},
    {cudaDevAttrMaxTexture1DWidth, kTexture1D},
    {cudaDevAttrMaxTexture2DWidth, kTexture2DWidth},
    {cudaDevAttrMaxTexture2DHeight, kTexture2DHeight},
    {cudaDevAttrMaxTexture3DWidth, kTexture3D},
    {cudaDevAttrMaxTexture3DHeight, kTexture3D},
    {cudaDevAttrMaxTexture3DDepth, kTexture3D},
    {cudaDevAttrMaxTexture2DLayeredWidth, kLayeredWidth},
    {cudaDevAttrMaxTexture2DLayeredHeight, kLayeredWidth},
    {cudaDevAttrMaxTexture2DLayeredLayers, kLayers},
    {cudaDevAttrSurfaceAlignment, kTextureAlignmentBytes},
    {cudaDevAttrConcurrentKernels, 1},
    {cudaDevAttrMaxThreadsPerMultiProcessor, kMaxThreadsPerSm},
    {cudaDevAttrUnifiedAddressing, 1},
    {cudaDevAttrMaxTexture1DLayeredWidth, kLayeredWidth},
    {cudaDevAttrMaxTexture1DLayeredLayers, kLayers},
    {cudaDevAttrMaxTexture2DGatherWidth, kLayeredWidth},
    {cudaDevAttrMaxTexture2DGatherHeight, kLayeredWidth},
    {cudaDevAttrMaxTexture3DWidthAlt, kTexture3DAltWidth},
    {cudaDevAttrMaxTexture3DHeightAlt, kTexture3DAltWidth},
    {cudaDevAttrMaxTexture3DDepthAlt, kTexture3DAltDepth},
    {cudaDevAttrTexturePitchAlignment, kTexturePitchAlignmentBytes},
    {cudaDevAttrMaxTextureCubemapWidth, kLayeredWidth},
    {cudaDevAttrMaxTextureCubemapLayeredWidth, kLayeredWidth},
    {cudaDevAttrMaxTextureCubemapLayeredLayers, kCubemapLayers},
    {cudaDevAttrMaxSurface1DWidth, kLayeredWidth},
    {cudaDevAttrMaxSurface2DWidth, kTexture2DWidth},
    {cudaDevAttrMaxSurface2DHeight, kTexture2DHeight},
    {cudaDevAttrMaxSurface3DWidth, kTexture3D},
    {cudaDevAttrMaxSurface3DHeight, kTexture3D},
    {cudaDevAttrMaxSurface3DDepth, kTexture3D},
    {cudaDevAttrMaxSurface1DLayeredWidth, kLayeredWidth},
    {cudaDevAttrMaxSurface1DLayeredLayers, kLayers},
    {cudaDevAttrMaxSurface2DLayeredWidth, kLayeredWidth},
    {cudaDevAttrMaxSurface2DLayeredHeight, kLayeredWidth},
    {cudaDevAttrMaxSurface2DLayeredLayers, kLayers},
    {cudaDevAttrMaxSurfaceCubemapWidth, kLayeredWidth},
    {cudaDevAttrMaxSurfaceCubemapLayeredWidth, kLayeredWidth},
    {cudaDevAttrMaxSurfaceCubemapLayeredLayers, kCubemapLayers},
    {cudaDevAttrMaxTexture1DLinearWidth, kLinear1D},
    {cudaDevAttrMaxTexture2DLinearWidth, kLinear2DWidth},
    {cudaDevAttrMaxTexture2DLinearHeight, kLinear2DHeight},
    {cudaDevAttrMaxTexture2DLinearPitch, kLinear2DPitch},
    {cudaDevAttrMaxTexture2DMipmappedWidth, kLayeredWidth},
    {cudaDevAttrMaxTexture2DMipmappedHeight, kLayeredWidth},
    {cudaDevAttrMaxTexture1DMipmappedWidth, kLayeredWidth},
    {cudaDevAttrStreamPrioritiesSupported, 1},
    {cudaDevAttrGlobalL1CacheSupported, 1},
    {cudaDevAttrLocalL1CacheSupported, 1},
    {cudaDevAttrMaxSharedMemoryPerMultiprocessor, kSharedBytesPerSm},
    {cudaDevAttrMaxRegistersPerMultiprocessor, kRegistersPerSm},
    {cudaDevAttrManagedMemory, 1},
    {cudaDevAttrSingleToDoublePrecisionPerfRatio, kSinglePerDouble},
    {cudaDevAttrConcurrentManagedAccess, 1},
    {cudaDevAttrComputePreemptionSupported, 1},
    {cudaDevAttrCooperativeLaunch, 1},
    {cudaDevAttrMaxSharedMemoryPerBlockOptin, kSharedBytesPerBlock},
    {cudaDevAttrHostRegisterSupported, 1},
    {cudaDevAttrDirectManagedMemAccessFromHost, 1},
    {cudaDevAttrMaxBlocksPerMultiprocessor, kMaxCtasPerSm},
    {cudaDevAttrMaxAccessPolicyWindowSize, kAccessWindowBytes},
    {cudaDevAttrReservedSharedMemoryPerBlock, kReservedSharedBytes},
    {cudaDevAttrMemoryPoolsSupported, 1},
    {cudaDevAttrClusterLaunch, 1},
    {cudaDevAttrMemSyncDomainCount, 4},
    {cudaDevAttrNumaId, -1},
    {cudaDevAttrHostNumaId, -1},
};

// Those of the machine that is simulated.
std::optional<int> machine_attribute(int attribute, const Settings& settings) {
  constexpr double kKilohertzPerGigahertz = 1e6;
  const MachineDescription& machine = *settings.machine;
  switch (attribute) {
    case cudaDevAttrMultiProcessorCount:
      return static_cast<int>(settings.sm_count);
    case cudaDevAttrComputeCapabilityMajor:
      return static_cast<int>(machine.major);
    case cudaDevAttrComputeCapabilityMinor:
      return static_cast<int>(machine.minor);
    case cudaDevAttrClockRate:
      return static_cast<int>(machine.clock_ghz * kKilohertzPerGigahertz);
    case cudaDevAttrMemoryClockRate:
      return static_cast<int>(machine.memory_clock_kilohertz);
    case cudaDevAttrGlobalMemoryBusWidth:
      return static_cast<int>(machine.memory_bus_bits);
    case cudaDevAttrAsyncEngineCount:
      return static_cast<int>(machine.copy_engines);
    case cudaDevAttrL2CacheSize:
      return static_cast<int>(machine.l2_bytes);
    case cudaDevAttrMaxPersistingL2CacheSize:
      return static_cast<int>(machine.l2_bytes / 16 * 10);
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<int> device_attribute(int attribute, const Settings& settings) {
  if (attribute <= 0 || attribute >= cudaDevAttrMax) return std::nullopt;
  if (const auto value = machine_attribute(attribute, settings)) return value;
  for (const AttributeRow& row : kAttributes)
    if (row.attribute == attribute) return row.value;
  return 0;  // a feature that the simulated device does not have, or a reserved number
}

cudaDeviceProp device_properties(const Settings& settings) {
  const auto value = [&](cudaDeviceAttr attribute) {
    return device_attribute(attribute, settings).value_or(0);
  };
  cudaDeviceProp p{};
  settings.machine->device_name.copy(p.name, sizeof p.name - 1);
  const std::string uuid = fmt::format("bw simulator {:3}", settings.machine->architecture());
  uuid.copy(p.uuid.bytes, sizeof p.uuid.bytes);
  p.totalGlobalMem = settings.memory_bytes;
  p.sharedMemPerBlock = kSharedBytesDefault;
  p.regsPerBlock = kRegistersPerSm;
  p.warpSize = kWarpLanes;
  p.memPitch = kMaxPitchBytes;
  p.maxThreadsPerBlock = kMaxThreadsPerBlock;
  const int block[] = {kMaxBlockXy, kMaxBlockXy, kMaxBlockZ};
  const int grid[] = {kMaxGridX, kMaxGridYz, kMaxGridYz};
  std::copy_n(block, 3, p.maxThreadsDim);
  std::copy_n(grid, 3, p.maxGridSize);
  p.totalConstMem = kConstantBytes;
  p.major = value(cudaDevAttrComputeCapabilityMajor);
  p.minor = value(cudaDevAttrComputeCapabilityMinor);
  p.textureAlignment = kTextureAlignmentBytes;
  p.texturePitchAlignment = kTexturePitchAlignmentBytes;
  p.multiProcessorCount = static_cast<int>(settings.sm_count);
  p.canMapHostMemory = value(cudaDevAttrCanMapHostMemory);
  p.maxTexture1D = kTexture1D;
  p.maxTexture1DMipmap = kLayeredWidth;
  const int texture_2d[] = {kTexture2DWidth, kTexture2DHeight};
  const int texture_layered[] = {kLayeredWidth, kLayeredWidth, kLayers};
  const int texture_3d[] = {kTexture3D, kTexture3D, kTexture3D};
  const int texture_3d_alt[] = {kTexture3DAltWidth, kTexture3DAltWidth, kTexture3DAltDepth};
  const int texture_linear[] = {kLinear2DWidth, kLinear2DHeight, kLinear2DPitch};
  const int layered_1d[] = {kLayeredWidth, kLayers};
  const int cubemap_layered[] = {kLayeredWidth, kCubemapLayers};
  std::copy_n(texture_2d, 2, p.maxTexture2D);
  std::copy_n(texture_layered, 2, p.maxTexture2DMipmap);
  std::copy_n(texture_linear, 3, p.maxTexture2DLinear);
  std::copy_n(texture_layered, 2, p.maxTexture2DGather);
  std::copy_n(texture_3d, 3, p.maxTexture3D);
  std::copy_n(texture_3d_alt, 3, p.maxTexture3DAlt);
  p.maxTextureCubemap = kLayeredWidth;
  std::copy_n(layered_1d, 2, p.maxTexture1DLayered);
  std::copy_n(texture_layered, 3, p.maxTexture2DLayered);
  std::copy_n(cubemap_layered, 2, p.maxTextureCubemapLayered);
  p.maxSurface1D = kLayeredWidth;
  std::copy_n(texture_2d, 2, p.maxSurface2D);
  std::copy_n(texture_3d, 3, p.maxSurface3D);
  std::copy_n(layered_1d, 2, p.maxSurface1DLayered);
  std::copy_n(texture_layered, 3, p.maxSurface2DLayered);
  p.maxSurfaceCubemap = kLayeredWidth;
  std::copy_n(cubemap_layered, 2, p.maxSurfaceCubemapLayered);
  p.surfaceAlignment = kTextureAlignmentBytes;
  p.concurrentKernels = 1;
  p.asyncEngineCount = value(cudaDevAttrAsyncEngineCount);
  p.unifiedAddressing = 1;
  p.memoryBusWidth = value(cudaDevAttrGlobalMemoryBusWidth);
  p.l2CacheSize = value(cudaDevAttrL2CacheSize);
  p.persistingL2CacheMaxSize = value(cudaDevAttrMaxPersistingL2CacheSize);
  p.maxThreadsPerMultiProcessor = kMaxThreadsPerSm;
  p.streamPrioritiesSupported = 1;
  p.globalL1CacheSupported = 1;
  p.localL1CacheSupported = 1;
  p.sharedMemPerMultiprocessor = kSharedBytesPerSm;
  p.regsPerMultiprocessor = kRegistersPerSm;
  p.managedMemory = 1;
  p.concurrentManagedAccess = 1;
  p.computePreemptionSupported = 1;
  p.cooperativeLaunch = 1;
  p.sharedMemPerBlockOptin = kSharedBytesPerBlock;
  p.directManagedMemAccessFromHost = 1;
  p.maxBlocksPerMultiProcessor = kMaxCtasPerSm;
  p.accessPolicyMaxWindowSize = kAccessWindowBytes;
  p.reservedSharedMemPerBlock = kReservedSharedBytes;
  p.hostRegisterSupported = 1;
  p.clusterLaunch = 1;
  p.memoryPoolsSupported = 1;
  p.deviceNumaId = -1;
  p.hostNumaId = -1;
  return p;
}

}  // namespace bw::sim::cudart
